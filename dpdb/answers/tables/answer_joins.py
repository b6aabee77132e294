"""Joins of answers: pairs of noisy rows."""

from __future__ import annotations

import numpy as np

from dpdb.answers.record import Detail
from dpdb.answers.tables.noisy_table import Accuracy, NoisyColumn, NoisyTable, RowIndices
from dpdb.plan.expressions.expressions import Expr, Slot, slots
from dpdb.plan.logical.derived import AnswerJoin
from dpdb.plan.relations.relations import JoinKind
from dpdb.vectors.evaluate import Frame, true_rows
from dpdb.vectors.vector import Bools, constant

_NONE = -1
"""Stands for the row that a row has no match in."""


def joined(join: AnswerJoin, left: NoisyTable, right: NoisyTable) -> NoisyTable:
    """The pairs of rows for which the condition is true, and rows without any in outer joins."""
    first = np.repeat(np.arange(left.rows), right.rows)
    second = np.tile(np.arange(right.rows), left.rows)
    if join.condition is not None:
        pairs = _pairs(join.condition, left, right, first, second)
        kept = true_rows(join.condition, pairs, len(first))
        first, second = first[kept], second[kept]
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
    condition: Expr, left: NoisyTable, right: NoisyTable, first: RowIndices, second: RowIndices
) -> Frame:
    """The columns that a condition reads, of pairs of rows."""
    columns = [(each, first) for each in left.columns] + [(each, second) for each in right.columns]
    read = slots(condition, "column")
    return Frame(
        {},
        {
            Slot("column", index, column.kind): column.values.take(rows)
            for index, (column, rows) in enumerate(columns)
            if index in read
        },
    )


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
