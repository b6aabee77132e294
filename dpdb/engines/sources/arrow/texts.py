"""A column of texts of one batch, which stays as Arrow has it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import compute

from dpdb.engines.sources.arrow.values import (
    TEXTS,
    bools,
    bytes_of,
    cells,
    null_of,
    places_of,
    sizes_of,
)
from dpdb.engines.sources.cells.records import Places
from dpdb.engines.sources.cells.words import Words, followed, hashes
from dpdb.policy.catalog import LONGEST_TEXT, Value
from dpdb.records import dataclass
from dpdb.vectors import grammar
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import Array, Bools

_BLOCK = 2**15
"""Texts that are worked on at a time."""
_SHORT = 32
"""The most bytes of a part that is looked for in all places at once."""

_AFTER_THE_FIRST = -64
"""As numbers with a sign the bytes below this are those of a character but its first."""


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
        return self._where(bools(found), empty="" in constants)

    def containing(self, part: str) -> Bools:
        written = part.encode()
        if 0 < len(written) <= _SHORT:
            found = self._containing_short(written)
        else:
            found = bools(compute.match_substring(self.texts, pattern=part))
        return self._where(found, empty=part == "")

    def _containing_short(self, part: bytes) -> Bools:
        """Mask of texts that contain the part; takes as long whatever the texts are."""
        found = np.empty(len(self.texts), dtype=np.bool_)
        for rows, block in self._blocks():
            raw, bounds = bytes_of(block.texts)
            begins = MarkedBytes.of(begins_with(part, raw))
            # The first place, and the one after the last, where the part can begin in each text.
            first, end = bounds[:-1], np.maximum(bounds[:-1], bounds[1:] - (len(part) - 1))
            found[rows] = begins.before(first) != begins.before(end)
        return found

    def with_ends(self, first: str, last: str) -> Bools:
        begins = compute.starts_with(self.texts, pattern=first)
        ends = compute.ends_with(self.texts, pattern=last)
        most = sizes_of(self.texts) >= len(first.encode()) + len(last.encode())
        return self._where(bools(compute.and_(begins, ends)) & most, empty=first == last == "")

    def hashes(self, factors: Array) -> Array:
        found = np.empty(len(self.texts), dtype=np.uint64)
        for rows, block in self._blocks():
            found[rows] = block._hashes(factors)
        return found

    def _blocks(self) -> Iterator[tuple[slice, ArrowTexts]]:
        """The column in parts of which copies stay in the cache, and the rows of each."""
        for first in range(0, len(self.texts), _BLOCK):
            rows = slice(first, first + _BLOCK)
            yield rows, self.within(rows)

    def _hashes(self, factors: Array) -> Array:
        raw, bounds = bytes_of(self.texts)
        sizes = np.where(self._empty, 0, np.diff(bounds))
        found = hashes(followed(raw), bounds[:-1], sizes, factors)
        at = _replaced(self.texts)
        found[at] = hashes(*_joined([text.encode() for text in _texts_at(self.texts, at)]), factors)
        return found

    def _where(self, found: Bools, *, empty: bool) -> Bools:
        """Whether each cell is found; of an empty one the policy and the condition say it."""
        answer = empty and not self.nullable
        return np.asarray(found | self._empty if answer else np.greater(found, self._empty))


def within_length(texts: pyarrow.Array, length: int) -> pyarrow.Array:
    """The texts, without those of more bytes than a column has: as they are where all may stay.

    A byte that is replaced stands for the three of U+FFFD.
    """
    if length >= LONGEST_TEXT:
        return texts
    sizes = sizes_of(texts).astype(np.int64)
    replaced = _replaced(texts)
    sizes[replaced] = [len(text.encode()) for text in _texts_at(texts, replaced)]
    return compute.if_else(pyarrow.array(sizes <= length), texts, pyarrow.scalar(None, TEXTS))


def _replaced(texts: pyarrow.Array) -> Places:
    """The texts that mean something else than their bytes: a byte is NUL, or no part of UTF-8.

    Texts of ASCII without NUL do not. To know them takes a third of the time of decoding, so only
    the others are decoded.
    """
    raw, bounds = bytes_of(texts)
    others = places_with(raw.view(np.int8) <= 0, bounds)
    raw, bounds = bytes_of(texts.take(pyarrow.array(others)))
    escaped = raw.tobytes().decode("utf-8", "surrogateescape")
    marked = np.frombuffer(escaped.encode("utf-8", "replace"), np.uint8)
    special = (marked != raw) | (raw == 0)
    # A character whose bytes are in two texts is in none of them.
    inner = bounds[bounds < len(raw)]
    torn = inner[raw.view(np.int8)[inner] < _AFTER_THE_FIRST]
    special[torn] = special[torn - 1] = True
    return np.asarray(others[places_with(special, bounds)])


def _joined(texts: Sequence[bytes]) -> tuple[NDArray[np.uint8], Places, Places]:
    """The bytes of texts, with where each starts and its size."""
    sizes = np.fromiter(map(len, texts), np.intp, len(texts))
    raw = np.frombuffer(b"".join(texts), np.uint8)
    return followed(raw), np.cumsum(sizes) - sizes, sizes


def _decoded(texts: pyarrow.Array) -> list[str]:
    """The text of each cell, of which none is NULL; what is too long is empty."""
    special = sizes_of(texts) > grammar.LONGEST
    special[_replaced(texts)] = True
    decoded: list[str] = compute.if_else(pyarrow.array(~special), texts, "").to_pylist()
    at = np.flatnonzero(special)
    for place, text in zip(at.tolist(), _texts_at(texts, at), strict=True):
        decoded[place] = text
    return decoded


def _texts_at(texts: pyarrow.Array, at: Array) -> Iterator[str]:
    """The texts of some cells."""
    return (grammar.text(raw, b"") for raw in cells(texts.take(pyarrow.array(at))).written())


_HALF = np.uint64(32)
_ONE = np.uint64(1)
_WORD = 5
"""A word stands for two to this power of bytes."""


@dataclass(frozen=True, repr=False)
class MarkedBytes:
    """A bit for each byte of a buffer, with sums that count the marked ones before any place."""

    words: Words

    @classmethod
    def of(cls, marks: Bools) -> MarkedBytes:
        """The bytes with these marks."""
        bits = np.zeros((len(marks) >> _WORD) + 1, dtype="<u4")
        packed = np.packbits(marks, bitorder="little")
        bits.view(np.uint8)[: len(packed)] = packed
        sums = np.zeros(len(bits), dtype=np.uint64)
        np.cumsum(np.bitwise_count(bits[:-1]), out=sums[1:])
        return cls((sums << _HALF) | bits)

    def before(self, places: Places) -> Words:
        """Number of marked bytes before each place, which may be that after the last byte.

        It is the number modulo 2^32, which is more than a text has bytes.
        """
        found: Words = self.words[places >> _WORD]
        below = (_ONE << (places & 2**_WORD - 1).astype(np.uint64)) - _ONE
        below &= found
        found >>= _HALF
        found += np.bitwise_count(below)
        return found


def places_with(marks: Bools, bounds: Places) -> Places:
    """The texts with a mark, of which each begins where the one before it ends."""
    return np.flatnonzero(np.diff(MarkedBytes.of(marks).before(bounds)))


def begins_with(part: bytes, raw: NDArray[np.uint8]) -> Bools:
    """Where the part begins among the bytes; it has one byte at least."""
    begins = np.zeros(len(raw), dtype=np.bool_)
    if len(part) > len(raw):
        return begins
    inner = begins[: len(raw) - len(part) + 1]
    np.equal(raw[: len(inner)], part[0], out=inner)
    for at, byte in enumerate(part[1:], 1):
        inner &= raw[at : at + len(inner)] == byte
    return begins
