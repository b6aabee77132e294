"""Joins of answers: pairs of noisy rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpdb.answers.record import Detail
from dpdb.answers.tables.noisy_table import Accuracy, NoisyColumn, NoisyTable, RowIndices
from dpdb.plan.expressions.expressions import Compare, Expr, Slot, conjuncts, slots
from dpdb.plan.logical.derived import AnswerJoin
from dpdb.plan.relations.relations import Equality, JoinKind
from dpdb.vectors.evaluate import Frame, evaluate, true_rows
from dpdb.vectors.relational.matching import Matches
from dpdb.vectors.vector import AnyVector, Bools, constant

_NONE = -1
"""Stands for the row that a row has no match in."""


def joined(join: AnswerJoin, left: NoisyTable, right: NoisyTable) -> NoisyTable:
    """The pairs of rows for which the condition is true, and rows without any in outer joins."""
    first, second = _pairs(join.condition, left, right)
    if join.kind in (JoinKind.LEFT, JoinKind.FULL):
        alone = np.setdiff1d(np.arange(left.rows), first)
        first = np.concatenate([first, alone])
        second = np.concatenate([second, np.full(len(alone), _NONE)])
        order = np.argsort(first, kind="stable")
        first, second = first[order], second[order]
    if join.kind is JoinKind.FULL:
        alone = np.setdiff1d(np.arange(right.rows), second)
        first = np.concatenate([first, np.full(len(alone), _NONE)])
        second = np.concatenate([second, alone])
    return NoisyTable((*_matched(left, first), *_matched(right, second)), len(first))


def _pairs(
    condition: Expr | None, left: NoisyTable, right: NoisyTable
) -> tuple[RowIndices, RowIndices]:
    """The pairs of rows for which the condition is true, in the order of the left side."""
    sides = _columns(left), _columns(right, len(left.columns))
    equal = [pair for each in conjuncts(condition) for pair in _equality(each, len(left.columns))]
    on_left, on_right = (
        [evaluate(pair[side], Frame({}, columns)) for pair in equal]
        for side, columns in enumerate(sides)
    )
    matches = Matches.of(on_right, right.rows)
    first, second = matches.pairs(matches.find(on_left, left.rows))
    if condition is None:
        return first, second
    read = slots(condition, "column")
    frame = {
        slot: values.take(rows)
        for side, rows in zip(sides, (first, second), strict=True)
        for slot, values in side.items()
        if slot.index in read
    }
    kept = true_rows(condition, Frame({}, frame), len(first))
    return first[kept], second[kept]


def _columns(table: NoisyTable, before: int = 0) -> dict[Slot, AnyVector]:
    """The columns of one side by their slots; `before` is the number of those of the left side."""
    return {
        Slot("column", index, column.kind): column.values
        for index, column in enumerate(table.columns, before)
    }


def _equality(condition: Expr, width: int) -> Iterator[Equality]:
    """The sides of an equality of the first `width` columns and others, if it is one."""
    if isinstance(condition, Compare) and condition.operator == "=":
        one, other = condition.left, condition.right
        for pair in ((one, other), (other, one)):
            read = [slots(each, "column") for each in pair]
            if all(read) and max(read[0]) < width <= min(read[1]):
                yield pair


def _matched(table: NoisyTable, rows: RowIndices) -> tuple[NoisyColumn, ...]:
    """The columns in these rows, NULL where there is none."""
    missing = rows == _NONE
    if not missing.any():
        return table.take(rows).columns
    if not table.rows:
        return tuple(NoisyColumn(constant(None, each.kind), each.kind) for each in table.columns)
    return tuple(_with_nulls(each, np.maximum(rows, 0), missing) for each in table.columns)


def _with_nulls(column: NoisyColumn, rows: RowIndices, missing: Bools) -> NoisyColumn:
    """The column in these rows, NULL where a row is missing."""

    def accuracy() -> Accuracy | None:
        if column.accuracy is None:
            return None
        low, high = (end.take(rows).with_nulls(missing) for end in column.accuracy.ends)
        flags = column.accuracy.only_noise
        return Accuracy((low, high), None if flags is None else flags[rows] & ~missing)

    return NoisyColumn(column.values.take(rows).with_nulls(missing), column.kind, Detail(accuracy))
