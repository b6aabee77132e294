"""GROUP BY over the rows of answers: groups of noisy rows, and aggregates of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpdb.answers.tables.noisy_table import RowIndices
from dpdb.plan.logical.per_unit import without_distinct
from dpdb.plan.logical.query import DEVIATIONS, SAMPLED, Aggregate, Function
from dpdb.records import dataclass
from dpdb.vectors.evaluate import Frame, evaluate, holds
from dpdb.vectors.relational.keys import numbered, ranks, spread, whole
from dpdb.vectors.vector import (
    AnyVector,
    Array,
    Bools,
    Vector,
    constant,
    finite,
    numbers,
)


@dataclass(frozen=True, repr=False)
class Groups:
    """Which group each row is in, of groups that are numbered in the order of their first rows."""

    of_row: RowIndices
    number: int

    @staticmethod
    def of_all(rows: int) -> Groups:
        """One group of all rows."""
        return Groups(np.zeros(rows, dtype=np.intp), 1)

    @property
    def first(self) -> RowIndices:
        """The first row of each group."""
        _, first = np.unique(self.of_row, return_index=True)
        return first

    def members(self, kept: Bools) -> list[RowIndices]:
        """For each group its rows that are kept."""
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
    kept = np.ones(rows, dtype=np.bool_)
    if aggregate.where is not None:
        kept &= holds(aggregate.where, frame)
    if aggregate.argument is None:
        return numbers(np.array([float(len(each)) for each in groups.members(kept)]))
    argument = evaluate(aggregate.argument, frame)
    kept &= ~spread(argument.null, rows)
    weights = np.ones(rows)
    if aggregate.weight is not None:
        weight = evaluate(aggregate.weight, frame)
        assert isinstance(weight, Vector)
        kept, weights = kept & ~spread(weight.null, rows), spread(weight.values, rows)
    members = groups.members(kept)
    if aggregate.function is Function.COUNT:
        return numbers(np.array([float(len(each)) for each in members]))
    ranked = spread(ranks(argument).astype(np.float64), rows)
    if aggregate.function is Function.COUNT_DISTINCT:
        return numbers(np.array([float(len(np.unique(ranked[each]))) for each in members]))
    if aggregate.function is Function.MODE:
        return (
            _modes(argument, ranked, weights, members) if rows else constant(None, aggregate.kind)
        )
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
