"""A column of texts of one batch, which stays as Arrow has it."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import compute

from dpdb.engines.sources.arrow_cells import TEXTS, bools, null_of, repeated_cells, sizes_of
from dpdb.policy.catalog import Value
from dpdb.vectors import grammar
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import Bools


class ArrowTexts(StoredTexts):
    """Texts of which each means what the cell of a CSV file would that has its bytes.

    So one that is too long is empty, and an empty one is NULL where the column may be.
    """

    def __init__(self, texts: pyarrow.Array, *, nullable: bool) -> None:
        self._texts = texts
        self._nullable = nullable

    def within(self, rows: slice) -> ArrowTexts:
        """The column cut to `rows`."""
        return ArrowTexts(self._texts[rows], nullable=self._nullable)

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
        cells, places = repeated_cells(self._texts.dictionary_encode())
        texts = [grammar.text(raw, b"") for raw in cells.written()]
        # Bytes that are written in two ways can be one text.
        values = tuple(text for text in dict.fromkeys(texts) if text or not self._nullable)
        code_of = {text: code for code, text in enumerate(values)}
        codes = np.array([code_of.get(text, len(values)) for text in texts], dtype=np.int32)
        return codes[places], values

    @cached_property
    def _empty(self) -> Bools:
        sizes = sizes_of(self._texts)
        return np.asarray((sizes == 0) | (sizes > grammar.LONGEST) | null_of(self._texts))

    @cached_property
    def null(self) -> Bools:
        return self._empty if self._nullable else np.zeros(len(self._texts), dtype=np.bool_)

    def equal_to_any(self, constants: Collection[str]) -> Bools:
        if len(constants) == 1:
            [constant] = constants
            found = compute.equal(self._texts, pyarrow.scalar(constant, TEXTS))
        else:
            found = compute.is_in(self._texts, value_set=pyarrow.array([*constants], TEXTS))
        return self._where(found, empty="" in constants)

    def containing(self, part: str) -> Bools:
        return self._where(compute.match_substring(self._texts, pattern=part), empty=part == "")

    def with_ends(self, first: str, last: str) -> Bools:
        begins = compute.starts_with(self._texts, pattern=first)
        ends = compute.ends_with(self._texts, pattern=last)
        most = sizes_of(self._texts) >= len(first.encode()) + len(last.encode())
        return self._where(compute.and_(begins, ends), empty=first == last == "") & (
            most | self._empty
        )

    def _where(self, found: pyarrow.BooleanArray, *, empty: bool) -> Bools:
        """Whether each cell is found; of an empty one the policy and the condition say it."""
        answer = empty and not self._nullable
        return np.where(self._empty, answer, bools(found))
