"""Groups of answers: keys and their order; GROUP BY and OVER on noisy rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import is_not

import numpy as np
import numpy.typing as npt

from dpdb.answers.estimates import Noisy, vector
from dpdb.answers.tables.noisy_table import RowIndices, order_keys
from dpdb.plan.expressions.expressions import Expr, Slot
from dpdb.plan.logical.derived import Window
from dpdb.plan.logical.per_unit import without_distinct
from dpdb.plan.logical.query import DEVIATIONS, SAMPLED, Aggregate, Function, KeyRow, are_sought
from dpdb.plan.logical.row_tables import PICKS, TOTALS
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Value
from dpdb.records import dataclass
from dpdb.vectors.evaluate import Frame, evaluate, holds
from dpdb.vectors.keys import numbered, ranks, sort_keys, spread, whole
from dpdb.vectors.vector import AnyVector, Array, Bools, alike, choose, constant, finite, numbers
from dpdb.vectors.windows import FrameTotals, OrderedRows


@dataclass(frozen=True, repr=False)
class Groups:
    """The number of each row's group; groups are numbered in the order of their first rows."""

    of_row: RowIndices
    number: int

    @staticmethod
    def of_all(rows: int) -> Groups:
        """The groups if all rows are in one."""
        return Groups(np.zeros(rows, dtype=np.intp), 1)

    @property
    def first(self) -> RowIndices:
        """The first row of each group."""
        _, first = np.unique(self.of_row, return_index=True)
        return first

    def members(self, kept: Bools) -> list[RowIndices]:
        """The kept rows of each group."""
        rows = np.flatnonzero(kept)
        rows = rows[np.argsort(self.of_row[rows], kind="stable")]
        ends = np.searchsorted(self.of_row[rows], np.arange(1, self.number))
        return np.split(rows, ends)


def grouped(keys: Sequence[AnyVector], rows: int) -> Groups:
    """The groups of rows that are equal in all keys; NULLs are equal."""
    of_row, first = numbered([whole(key, rows) for key in keys], np.arange(rows))
    places = np.empty(len(first), dtype=np.intp)
    places[np.argsort(first)] = np.arange(len(first))
    return Groups(places[of_row], len(first))


def aggregated(aggregate: Aggregate, frame: Frame, groups: Groups) -> AnyVector:
    """The value of an aggregate in each group."""
    rows, every = len(groups.of_row), without_distinct(aggregate)
    aggregate = aggregate if every is None else every
    read = (aggregate.argument, aggregate.weight)
    vectors = [evaluate(each, frame) for each in read if each is not None]
    members = groups.members(_counted(aggregate.where, vectors, frame, rows))
    if aggregate.function is Function.COUNT:
        return numbers(np.array([float(len(each)) for each in members]))
    ranked = _ranked(vectors[0], rows)
    if aggregate.function is Function.COUNT_DISTINCT:
        return numbers(np.array([float(len(np.unique(ranked[each]))) for each in members]))
    if aggregate.function is Function.MODE:
        if not rows:
            return constant(None, aggregate.kind)
        weights = np.ones(rows) if aggregate.weight is None else _ranked(vectors[1], rows)
        return _modes(vectors[0], ranked, weights, members)
    cells = [ranked[each] if every is None else np.unique(ranked[each]) for each in members]
    values = [_value(aggregate, each) for each in cells]
    null = np.array([value is None for value in values], dtype=np.bool_)
    return finite(np.array([0.0 if value is None else value for value in values]), null)


def _modes(
    argument: AnyVector, ranked: Array, weights: Array, members: Sequence[RowIndices]
) -> AnyVector:
    """The value of most weight in each group, the first of several; NULL where there is none."""
    chosen, null = np.zeros(len(members), dtype=np.intp), np.zeros(len(members), dtype=np.bool_)
    for group, rows in enumerate(members):
        if not len(rows):
            null[group] = True
            continue
        _, first, place = np.unique(ranked[rows], return_index=True, return_inverse=True)
        sums = np.bincount(place, weights[rows])
        chosen[group] = rows[first[sums == sums.max()].min()]
    return argument.take(chosen).with_nulls(null)


def _value(aggregate: Aggregate, values: Array) -> float | None:
    """An aggregate of the values of one group, as SQL has it; None for NULL."""
    number = len(values)
    sampled = aggregate.function in SAMPLED
    if number < 1 + sampled:
        return None
    match aggregate.function:
        case Function.SUM:
            return float(values.sum())
        case Function.AVG:
            return float(values.mean())
        case Function.MIN:
            return float(values.min())
        case Function.MAX:
            return float(values.max())
        case Function.QUANTILE:
            assert aggregate.fraction is not None
            return float(np.quantile(values, float(aggregate.fraction)))
    variance = float(values.var(ddof=int(sampled)))
    rooted = aggregate.function in DEVIATIONS
    return variance**0.5 if rooted else variance


def _counted(where: Expr | None, read: Sequence[AnyVector], frame: Frame, rows: int) -> Bools:
    """The rows that an aggregate counts: its FILTER holds, and no value that it reads is NULL."""
    counted = np.ones(rows, dtype=np.bool_)
    if where is not None:
        counted &= holds(where, frame)
    for each in read:
        counted &= ~spread(each.null, rows)
    return counted


def _ranked(vector: AnyVector, rows: int) -> Array:
    """A double for each row, in the order of the values; of numbers the value itself."""
    return spread(ranks(vector).astype(np.float64), rows)


def windowed(window: Window, frame: Frame, number: int) -> AnyVector:
    """The value of a window function on each of the `number` rows of a frame."""
    keys = [evaluate(each, frame) for each in window.partition]
    within = [key for each in keys for key in sort_keys(each, number)]
    by = order_keys(window.order, frame, number)
    rows = OrderedRows.of(within, by, np.arange(number))
    if window.function in PICKS:
        return _picked(window, frame, rows)
    if window.function in TOTALS:
        return _total(window, frame, rows, number)
    return numbers(rows.ranked(window))


def _picked(window: Window, frame: Frame, rows: OrderedRows) -> AnyVector:
    """The value of another row; where there is none, the default of LAG and LEAD, or NULL."""
    chosen, there = rows.picked(window)
    if window.function not in ("lag", "lead"):
        return evaluate(window.arguments[0], frame).take(chosen).with_nulls(~there)
    value, default = alike([evaluate(each, frame) for each in window.arguments[:2]])
    return choose(there, value.take(chosen), default)


def _total(window: Window, frame: Frame, rows: OrderedRows, number: int) -> AnyVector:
    """COUNT, SUM, AVG, MIN or MAX of the rows in each row's frame."""
    vectors = [evaluate(each, frame) for each in window.arguments]
    totals = FrameTotals(rows, window, _counted(window.where, vectors, frame, number))
    if window.function == "count":
        return numbers(totals.number)
    return finite(totals.of(_ranked(vectors[0], number), np.inf), totals.number == 0)


def with_keys(plan: Plan, rows: tuple[KeyRow, ...]) -> Plan:
    """The plan with the keys found in the data that are shown."""
    if plan.found is None or not are_sought(plan.found):
        return plan
    shown = replace(plan, found=replace(plan.found, shown=rows))
    if plan.competing_rows == plan.found.most:  # and not with the rows of other answers
        return replace(shown, competing_rows=max(shown.cells, 1))
    return shown


def with_all_keys(plan: Plan, noisy: Noisy) -> Plan:
    """The plan and its subplans, each with the keys that are shown."""
    if noisy.subresults:
        below = zip(plan.subplans, noisy.subresults, strict=True)
        subplans = tuple(with_all_keys(*each) for each in below)
        if any(map(is_not, subplans, plan.subplans)):
            plan = replace(plan, subplans=subplans)
    return with_keys(plan, noisy.keys)


def key_vectors(plan: Plan) -> Mapping[Slot, AnyVector]:
    """The values of each GROUP BY key, one for each group."""
    return {
        Slot("key", index, key.kind): vector(values, key.kind).take(places)
        for (index, key), (values, places) in zip(enumerate(plan.keys), _keys(plan), strict=True)
    }


def group_order(plan: Plan) -> npt.NDArray[np.intp]:
    """The groups by their first key, then by their second, and so on.

    Declared values stand in the order of their declaration, and found ones by size, NULL last.
    """
    if plan.found is None or len(plan.found.places) == len(plan.keys):
        return np.arange(plan.cells)
    places = [places for _, places in _keys(plan)]
    return np.lexsort(places[::-1])


KeyPlaces = list[tuple[tuple[Value | None, ...], npt.NDArray[np.intp]]]
"""For each key its different values, and for each group the index of its value."""


def _keys(plan: Plan) -> KeyPlaces:
    """The places of all keys; declared keys change faster from group to group than found ones."""
    groups = np.arange(plan.cells)
    found = 1 if plan.found is None else len(plan.found.shown or ())
    repeated = declared = len(groups) // max(1, found)
    keys: KeyPlaces = []
    for index, values in enumerate(plan.key_values):
        if plan.found is not None and index in plan.found.places:
            different, places = _found(plan, plan.found.places.index(index))
            keys.append((different, places[groups // max(1, declared)]))
        else:
            repeated //= len(values)
            keys.append((values, groups // max(1, repeated) % len(values)))
    return keys


def _found(plan: Plan, column: int) -> tuple[tuple[Value | None, ...], npt.NDArray[np.intp]]:
    """The different values of a found key in their order, NULL last, and each row's index."""
    assert plan.found is not None
    values = [row[column] for row in plan.found.shown or ()]
    known = sorted({value for value in values if value is not None})
    different = (*known, None) if None in values else tuple(known)
    index = {value: place for place, value in enumerate(different)}
    return different, np.array([index[value] for value in values], dtype=np.intp)
