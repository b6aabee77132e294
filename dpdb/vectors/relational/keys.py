"""Keys of rows: equal ones have equal numbers, and ORDER BY sorts by them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

import numpy as np

from dpdb.plan.logical.query import Ordering
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
