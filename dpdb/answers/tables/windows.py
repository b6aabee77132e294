"""Window functions over the rows of an answer, which are noisy: post-processing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpdb.answers.tables.groups import Groups, grouped
from dpdb.answers.tables.noisy_table import RowIndices, in_order, rank_values, shown, spread
from dpdb.plan.expressions.expressions import Literal
from dpdb.plan.logical.derived import Window
from dpdb.records import dataclass
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import AnyVector, Array, Bools, TextVector, Vector, alike, finite, numbers


@dataclass(frozen=True, repr=False)
class _Partition:
    """The rows of one partition in the order of the window."""

    rows: RowIndices
    peers: RowIndices
    """For each row the place of its value among the different values of ORDER BY, from 0 on."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def places(self) -> RowIndices:
        """The place of each row, from 0 on."""
        return np.arange(len(self))

    @property
    def first_peers(self) -> RowIndices:
        """For each row the place of the first that is equal to it in ORDER BY."""
        return np.searchsorted(self.peers, self.peers)

    @property
    def after_peers(self) -> RowIndices:
        """For each row the place after the last that is equal to it in ORDER BY."""
        return np.searchsorted(self.peers, self.peers, side="right")

    def frames(self, window: Window) -> tuple[RowIndices, RowIndices]:
        """For each row where the rows that it reads begin, and where they end."""
        number, frame = len(self), window.frame
        if frame is None:
            return np.zeros(number, dtype=np.intp), self.after_peers
        begin, end = np.zeros(number, dtype=np.intp), np.full(number, number)
        if frame.first is not None:
            begin = np.clip(self.places + frame.first, 0, number)
        if frame.last is not None:
            end = np.clip(self.places + frame.last + 1, 0, number)
        return begin, np.maximum(end, begin)


def values(window: Window, frame: Frame, number: int) -> AnyVector:
    """The value of a window function on each of so many rows."""
    parts = _partitions(window, frame, number)
    if window.function in _RANKS:
        result = np.zeros(number)
        for part in parts:
            result[part.rows] = _RANKS[window.function](part, window)
        return numbers(result)
    if window.function in ("lag", "lead"):
        return _neighbours(window, frame, parts, number)
    if window.function in ("first_value", "last_value", "nth_value"):
        return _framed_value(window, frame, parts, number)
    return _aggregates(window, frame, parts, number)


def _partitions(window: Window, frame: Frame, number: int) -> list[_Partition]:
    """The partitions of the rows."""
    keys = [evaluate(each, frame) for each in window.partition]
    groups = grouped(keys, number) if keys else Groups.of_all(number)
    order = in_order(window.order, frame, np.arange(number), number)
    sorted_by = [(each.expression, each.expression.kind) for each in window.order]
    terms = [shown(evaluate(each, frame), kind).take(order) for each, kind in sorted_by]
    alike_in_order = grouped(terms, number).of_row if terms else np.zeros(number, dtype=np.intp)
    # Rows that are equal in ORDER BY stand together, so that each value is met once.
    peers = np.empty(number, dtype=np.intp)
    peers[order] = alike_in_order
    of_row = groups.of_row[order]
    by_group = np.argsort(of_row, kind="stable")
    ends = np.searchsorted(of_row[by_group], np.arange(1, groups.number))
    split = np.split(order[by_group], ends)
    return [_Partition(rows, peers[rows]) for rows in split]


def _literal(window: Window, index: int) -> int:
    """An argument that is a constant whole number."""
    argument = window.arguments[index]
    assert isinstance(argument, Literal)
    assert isinstance(argument.value, int)
    return argument.value


def _dense(part: _Partition) -> Array:
    return np.unique(part.peers, return_inverse=True)[1] + 1


def _tiles(part: _Partition, window: Window) -> Array:
    """The numbers of equal parts of the rows, of which the first have one row more."""
    tiles, number = _literal(window, 0), len(part)
    size, larger = divmod(number, tiles)
    in_larger = part.places // (size + 1)
    after = larger + (part.places - larger * (size + 1)) // max(size, 1)
    return np.where(part.places < larger * (size + 1), in_larger, after) + 1


_RANKS: dict[str, Callable[[_Partition, Window], Array]] = {
    "row_number": lambda part, _: part.places + 1,
    "rank": lambda part, _: part.first_peers + 1,
    "dense_rank": lambda part, _: _dense(part),
    "percent_rank": lambda part, _: part.first_peers / max(len(part) - 1, 1),
    "cume_dist": lambda part, _: part.after_peers / max(len(part), 1),
    "ntile": _tiles,
}


def _neighbours(window: Window, frame: Frame, parts: list[_Partition], number: int) -> AnyVector:
    """The value a number of rows before or after, or the default where there is no such row."""
    value, default = alike([evaluate(each, frame) for each in window.arguments[:2]])
    distance = _literal(window, 2) * (-1 if window.function == "lag" else 1)
    source = np.full(number, -1)
    for part in parts:
        places = part.places + distance
        inside = (places >= 0) & (places < len(part))
        source[part.rows[inside]] = part.rows[places[inside]]
    return _picked(value, default, source, number)


def _framed_value(window: Window, frame: Frame, parts: list[_Partition], number: int) -> AnyVector:
    """The first, the last or the nth value of the rows that each row reads; NULL without any."""
    value = evaluate(window.arguments[0], frame)
    source = np.full(number, -1)
    for part in parts:
        begin, end = part.frames(window)
        match window.function:
            case "first_value":
                places = begin
            case "last_value":
                places = end - 1
            case _:
                places = begin + _literal(window, 1) - 1
        inside = (places >= begin) & (places < end)
        source[part.rows[inside]] = part.rows[places[inside]]
    return _picked(value, None, source, number)


def _picked(
    value: AnyVector, default: AnyVector | None, source: RowIndices, number: int
) -> AnyVector:
    """The values of the source rows; where there is none, the default or NULL."""
    none, chosen = source < 0, np.maximum(source, 0)
    if isinstance(value, TextVector):
        codes = spread(value.codes, number)[chosen] if number else chosen
        others = len(value.dictionary) if default is None else spread(default.codes, number)  # type: ignore[union-attr]
        return TextVector(np.where(none, others, codes), value.dictionary)
    values, null = (spread(each, number)[chosen] for each in (value.values, value.null))
    if default is None:
        return Vector(np.where(none, np.zeros_like(values), values), null | none)
    assert isinstance(default, Vector)
    others, other_null = spread(default.values, number), spread(default.null, number)
    return Vector(np.where(none, others, values), np.where(none, other_null, null))


def _aggregates(window: Window, frame: Frame, parts: list[_Partition], number: int) -> AnyVector:
    """COUNT, SUM, AVG, MIN or MAX of the rows that each row reads."""
    kept, ranks = np.ones(number, dtype=np.bool_), np.zeros(number)
    if window.where is not None:
        passed = evaluate(window.where, frame)
        assert isinstance(passed, Vector)
        kept &= spread(passed.values, number)
    if window.arguments:
        argument = evaluate(window.arguments[0], frame)
        kept &= ~spread(argument.null, number)
        ranks = spread(rank_values(argument), number)
    result, counts = np.zeros(number), np.zeros(number)
    for part in parts:
        begin, end = part.frames(window)
        own, there = ranks[part.rows], kept[part.rows]
        counts[part.rows] = _sums(there.astype(np.float64), begin, end)
        result[part.rows] = _of_frames(window.function, own, there, begin, end)
    if window.function == "count":
        return numbers(counts)
    if window.function == "avg":
        result = result / np.maximum(counts, 1)
    return finite(result, counts == 0)


def _of_frames(
    function: str, values: Array, kept: Bools, begin: RowIndices, end: RowIndices
) -> Array:
    """The sum, the least or the greatest of the kept values from `begin` to before `end`."""
    match function:
        case "min":
            return -_greatest(np.where(kept, -values, -np.inf), begin, end)
        case "max":
            return _greatest(np.where(kept, values, -np.inf), begin, end)
    return _sums(np.where(kept, values, 0.0), begin, end)


def _sums(values: Array, begin: RowIndices, end: RowIndices) -> Array:
    before = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(before[end] - before[begin])


def _greatest(values: Array, begin: RowIndices, end: RowIndices) -> Array:
    """The greatest values of ranges: each is covered by two that are a power of two long."""
    levels = [values]
    while 2 ** len(levels) <= len(values):
        half = 2 ** (len(levels) - 1)
        levels.append(np.maximum(levels[-1][:-half], levels[-1][half:]))
    result = np.full(len(begin), -np.inf)
    lengths = end - begin
    for power, level in enumerate(levels):
        here = (lengths >= 2**power) & (lengths < 2 ** (power + 1))
        first, last = level[begin[here]], level[end[here] - 2**power]
        result[here] = np.maximum(first, last)
    return result
