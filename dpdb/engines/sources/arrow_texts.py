"""A column of texts of one batch, which stays as Arrow has it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import compute

from dpdb.engines.sources.arrow_cells import TEXTS, bools, cells, null_of, places_of, sizes_of
from dpdb.policy.catalog import Value
from dpdb.vectors import grammar
from dpdb.vectors.stored_texts import StoredTexts, TextNumbers
from dpdb.vectors.vector import Array, Bools


class ArrowTexts(StoredTexts):
    """Texts of which each means what the cell of a CSV file would that has its bytes.

    So one that is too long is empty, and an empty one is NULL where the column may be.
    """

    def __init__(self, texts: pyarrow.Array, *, nullable: bool) -> None:
        self.texts = texts
        self.nullable = nullable

    def within(self, rows: slice) -> ArrowTexts:
        """The column cut to `rows`."""
        return ArrowTexts(self.texts[rows], nullable=self.nullable)

    def taken(self, rows: Array) -> ArrowTexts:
        return ArrowTexts(self.texts.take(pyarrow.array(rows)), nullable=self.nullable)

    def followed_by(self, others: Sequence[ArrowTexts]) -> ArrowTexts:
        together = [self.texts, *(other.texts for other in others)]
        return ArrowTexts(pyarrow.concat_arrays(together), nullable=self.nullable)

    @property
    def size(self) -> int:
        return int(self.texts.nbytes)

    def numbers(self) -> ArrowNumbers:
        return ArrowNumbers(nullable=self.nullable)

    @cached_property
    def codes(self) -> NDArray[Any]:
        """The place of each text among the values."""
        return self._coded[0]

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The texts, each once."""
        return self._coded[1]

    @cached_property
    def _coded(self) -> tuple[NDArray[Any], tuple[str, ...]]:
        encoded = self.texts.dictionary_encode()
        texts = _decoded(encoded.dictionary)
        # Bytes that are written in two ways can be one text.
        values = tuple(text for text in dict.fromkeys([*texts, ""]) if text or not self.nullable)
        code_of = {text: code for code, text in enumerate(values)}
        missing = len(values)
        table = np.array([code_of.get(text, missing) for text in [*texts, ""]], dtype=np.int32)
        return table[places_of(encoded)], values

    @cached_property
    def _empty(self) -> Bools:
        sizes = sizes_of(self.texts)
        return np.asarray((sizes == 0) | (sizes > grammar.LONGEST) | null_of(self.texts))

    @cached_property
    def null(self) -> Bools:
        return self._empty if self.nullable else np.zeros(len(self.texts), dtype=np.bool_)

    def equal_to_any(self, constants: Collection[str]) -> Bools:
        if len(constants) == 1:
            [constant] = constants
            found = compute.equal(self.texts, pyarrow.scalar(constant, TEXTS))
        else:
            found = compute.is_in(self.texts, value_set=pyarrow.array([*constants], TEXTS))
        return self._where(found, empty="" in constants)

    def containing(self, part: str) -> Bools:
        return self._where(compute.match_substring(self.texts, pattern=part), empty=part == "")

    def with_ends(self, first: str, last: str) -> Bools:
        begins = compute.starts_with(self.texts, pattern=first)
        ends = compute.ends_with(self.texts, pattern=last)
        most = sizes_of(self.texts) >= len(first.encode()) + len(last.encode())
        return self._where(compute.and_(begins, ends), empty=first == last == "") & (
            most | self._empty
        )

    def _where(self, found: pyarrow.BooleanArray, *, empty: bool) -> Bools:
        """Whether each cell is found; of an empty one the policy and the condition say it."""
        answer = empty and not self.nullable
        return np.where(self._empty, answer, bools(found))


class ArrowNumbers(TextNumbers):
    """Numbers of texts, which are looked up for many columns at once."""

    def __init__(self, *, nullable: bool) -> None:
        self._nullable = nullable
        self._known = pyarrow.array([], TEXTS)

    def of(self, columns: Sequence[StoredTexts]) -> list[Array]:
        held = [column.texts for column in columns if isinstance(column, ArrowTexts)]
        texts = [compute.fill_null(each, "") for each in held]
        # What is known comes first, so that its numbers stay.
        encoded = pyarrow.concat_arrays([self._known, *texts]).dictionary_encode()
        ends = np.cumsum([len(self._known), *map(len, texts)])
        self._known = encoded.dictionary
        return np.split(places_of(encoded), ends[:-1])[1:]

    def known(self) -> ArrowTexts:
        return ArrowTexts(self._known, nullable=self._nullable)

    def same(self) -> Array:
        # Bytes that are not looked at here are a text that no others are.
        at = np.flatnonzero(_special(self._known) | (sizes_of(self._known) == 0))
        same, number_of = np.arange(len(self._known)), dict[str, int]()
        for number, text in zip(at.tolist(), _texts_at(self._known, at), strict=True):
            same[number] = number_of.setdefault(text, number)
        return same


def _decoded(texts: pyarrow.Array) -> list[str]:
    """The text of each cell, of which none is NULL; what is too long is empty."""
    special = _special(texts)
    plain: list[str] = compute.if_else(pyarrow.array(~special), texts, "").to_pylist()
    at = np.flatnonzero(special)
    for place, text in zip(at.tolist(), _texts_at(texts, at), strict=True):
        plain[place] = text
    return plain


def _special(texts: pyarrow.Array) -> Bools:
    """Which cells may have another text than their bytes say."""
    special = ~bools(compute.string_is_ascii(texts)) | bools(compute.match_substring(texts, "\0"))
    return special | (sizes_of(texts) > grammar.LONGEST)


def _texts_at(texts: pyarrow.Array, at: Array) -> Iterator[str]:
    """The texts of some cells."""
    return (grammar.text(raw, b"") for raw in cells(texts.take(pyarrow.array(at))).written())
