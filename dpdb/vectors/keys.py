"""Keys of rows: equal rows have equal numbers, by which they are sorted, grouped and joined."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from dpdb.plan.logical.query import Ordering
from dpdb.records import dataclass
from dpdb.vectors.vector import AnyVector, Array, Bools, TextVector, Vector, distinct


def spread(values: Array | None, rows: int) -> Array:
    """The values with one for each row, also if they are a constant; False for None."""
    return np.broadcast_to(np.False_ if values is None else values, rows)


def whole(vector: AnyVector, rows: int) -> AnyVector:
    """The vector with a value for each row, also if it is a constant."""
    if isinstance(vector, TextVector):
        return TextVector(spread(vector.codes, rows), vector.dictionary)
    null = None if vector.null is None else spread(vector.null, rows)
    return Vector(spread(vector.values, rows), null)


def ranks(vector: AnyVector) -> Array:
    """A number for every row, equal where the values are, and in their order."""
    if isinstance(vector, TextVector):
        return np.asarray(_text_ranks(vector.dictionary)[vector.codes])
    return vector.values


def _text_ranks(dictionary: Sequence[str]) -> Array:
    """The place of each text among the different ones in their order, and that of the empty one."""
    texts = [*dictionary, ""]
    # Python sorts texts in less time than numpy, which compares them as any objects.
    order = sorted(range(len(texts)), key=texts.__getitem__)
    ordered = [texts[place] for place in order]
    new = np.fromiter(map(operator.ne, ordered[1:], ordered), np.bool_, len(ordered) - 1)
    places = np.empty(len(texts), dtype=np.intp)
    places[order] = np.append(0, np.cumsum(new))
    return places


def numbered(vectors: Sequence[AnyVector], kept: Array) -> tuple[Array, Array]:
    """The number of each kept row's combination of values, and the first row of each number.

    Combinations are numbered in their order, by the first of the vectors first, with NULL last.
    Each vector has a value for each row.
    """
    numbers, first = np.zeros(len(kept), dtype=np.int64), kept[:1]
    for vector in vectors:
        different, places = distinct(ranks(vector)[kept])
        if vector.null is not None:
            places = np.where(vector.null[kept], len(different), places)
        pairs = numbers * (len(different) + 1) + places
        _, index, numbers = np.unique(pairs, return_index=True, return_inverse=True)
        first = kept[index]
    return numbers, first


def sort_keys(vector: AnyVector, rows: int, ordering: Ordering | None = None) -> list[Array]:
    """Ascending numbers that rows are sorted by: whether there is NULL, and the value.

    Without an ordering only equal numbers mean something: they stand for equal values.
    """
    values = ranks(vector).astype(np.float64)
    null = spread(vector.null, rows)
    if ordering is not None and ordering.descending:
        values = -values
    nulls_first = ordering is not None and ordering.nulls_first
    return [null != nulls_first, np.where(null, 0.0, values)]


def sorted_groups(*keys: Array) -> tuple[Array, Array]:
    """The rows in the order of their keys, the first key first, and each group's start in it.

    Rows of one group are equal in all keys, and stay as they stand.
    """
    order = np.lexsort(keys[::-1])
    return order, np.flatnonzero(changes((key[order] for key in keys), len(order)))


def changes(keys: Iterable[Array], rows: int) -> Bools:
    """Whether each of `rows` rows is the first, or differs in a key from the one before.

    Rows are best chosen with this mask by `compress`: an index of booleans takes several times as
    long where rows change now and then.
    """
    new = np.zeros(rows, dtype=np.bool_)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return new


PIECE = 2**20
"""The approximate number of pairs of rows that are made at a time."""
NO_CODE = -1
"""The code of a row that equals none: one of its values is NULL, or not on the other side."""


@dataclass(frozen=True, repr=False)
class _Values:
    """The different values of one expression on the right side, numbered from 0."""

    texts: dict[str, int] | None
    numbers: Array
    """In ascending order; empty where the values are texts."""

    @classmethod
    def of(cls, vector: AnyVector) -> _Values:
        if isinstance(vector, TextVector):
            texts = {text: number for number, text in enumerate(dict.fromkeys(vector.dictionary))}
            return cls(texts, np.empty(0))
        known = vector.values if vector.null is None else vector.values[~vector.null]
        return cls(None, np.unique(known.astype(np.float64)))

    @property
    def size(self) -> int:
        return len(self.numbers) if self.texts is None else len(self.texts)

    def codes(self, vector: AnyVector, rows: int) -> Array:
        """The number of each row's value; NO_CODE if it is NULL, or only on the left side."""
        if isinstance(vector, TextVector):
            assert self.texts is not None
            table = [*(self.texts.get(text, NO_CODE) for text in vector.dictionary), NO_CODE]
            return np.broadcast_to(np.array(table, dtype=np.int64)[vector.codes], rows)
        codes = _places(vector.values.astype(np.float64), self.numbers)
        if vector.null is not None:
            codes = np.where(vector.null, NO_CODE, codes)
        return np.broadcast_to(codes, rows)


def _places(values: Array, ascending: Array) -> Array:
    """The place of each value among ascending ones, NO_CODE where it is not among them."""
    if not len(ascending):
        return np.full(len(values), NO_CODE)
    places = np.searchsorted(ascending, values).clip(max=len(ascending) - 1)
    return np.where(ascending[places] == values, places, NO_CODE)


@dataclass(frozen=True, repr=False)
class Matches:
    """The rows of the right side, by a code that equal rows share."""

    values: tuple[_Values, ...]
    steps: tuple[Array, ...]
    """For each expression but the first the pairs of codes up to it, in ascending order."""
    order: Array
    """The rows that have a code, in the order of their codes."""
    starts: Array
    """For each code the start of its rows in `order`, and last the end of all."""
    codes: Array
    """The code of each row."""

    @classmethod
    def of(cls, vectors: Sequence[AnyVector], rows: int) -> Matches:
        """The rows of the right side with these values; without any all rows are equal."""
        values = tuple(map(_Values.of, vectors))
        codes, steps = np.zeros(rows, dtype=np.int64), []
        for place, (known, vector) in enumerate(zip(values, vectors, strict=True)):
            pairs = _paired(codes, known.codes(vector, rows), known.size)
            if not place:
                codes = pairs
                continue
            steps.append(np.unique(pairs[pairs != NO_CODE]))
            codes = _places(pairs, steps[-1])
        number = int(codes.max(initial=NO_CODE)) + 1
        starts = np.zeros(number + 1, dtype=np.int64)
        counts = np.bincount(codes[codes != NO_CODE], minlength=number)
        starts[1:] = np.cumsum(counts)
        order = np.argsort(codes, kind="stable")[int(np.count_nonzero(codes == NO_CODE)) :]
        return cls(values, tuple(steps), order, starts, codes)

    def find(self, vectors: Sequence[AnyVector], rows: int) -> Array:
        """The code of each row of the left side; NO_CODE where it equals no row of the right."""
        codes = np.zeros(rows, dtype=np.int64)
        for place, (known, vector) in enumerate(zip(self.values, vectors, strict=True)):
            codes = _paired(codes, known.codes(vector, rows), known.size)
            if place:
                codes = _places(codes, self.steps[place - 1])
        codes = np.where(codes < len(self.starts) - 1, codes, NO_CODE)
        # A dictionary may have texts of rows that a condition has left out.
        return np.where(self.counts(codes) > 0, codes, NO_CODE)

    def counts(self, codes: Array) -> Array:
        """The number of rows that each code stands for."""
        return np.asarray(self._sizes[codes])

    @cached_property
    def _sizes(self) -> Array:
        """The numbers of rows of the codes, and last that of no code."""
        return np.append(np.diff(self.starts), 0)

    @property
    def most(self) -> int:
        """The size of the largest set of equal rows."""
        return int(np.diff(self.starts).max(initial=0))

    def pairs(self, codes: Array) -> tuple[Array, Array]:
        """All pairs of a row of the left side and an equal one of the right, by their places."""
        counts = self.counts(codes)
        left = np.repeat(np.arange(len(codes)), counts)
        before = np.cumsum(counts) - counts
        within = np.arange(len(left)) - before[left]
        return left, self.order[self.starts[codes[left]] + within]


def _paired(codes: Array, more: Array, size: int) -> Array:
    """A code for each pair of codes; there are fewer rows than 2³¹, so that a pair fits 64 bits."""
    pairs = codes * size + more
    return np.where((codes == NO_CODE) | (more == NO_CODE), NO_CODE, pairs)


def pieces(counts: Array) -> Iterator[slice]:
    """Slices of rows that are in about PIECE pairs each; a row that is in more is alone."""
    ends = np.flatnonzero(np.diff(np.cumsum(counts) // PIECE)) + 1
    start = 0
    for end in [*ends.tolist(), len(counts)]:
        yield slice(start, end)
        start = end
