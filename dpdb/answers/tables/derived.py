"""Derived tables: SELECTs over the noisy rows of answers.

They read released values and the query alone: post-processing, which gives nothing more away
([DR14] Proposition 2.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dpdb.answers.estimates import Noisy, points, scalar, vector
from dpdb.answers.record import Detail
from dpdb.answers.tables.cubes import level_tables
from dpdb.answers.tables.groups import Groups, aggregated, grouped, windowed, with_keys
from dpdb.answers.tables.noisy_table import (
    Accuracy,
    NoisyColumn,
    NoisyTable,
    RowIndices,
    in_order,
    joined,
    shown,
)
from dpdb.answers.tables.rows import answer_table, empty_table
from dpdb.plan.expressions.expressions import Expr, Slot
from dpdb.plan.logical.derived import (
    AnswerJoin,
    Derived,
    Released,
    Selection,
    UnionAll,
    Values,
    released,
)
from dpdb.plan.logical.query import Query
from dpdb.plan.physical.plan import Plan
from dpdb.vectors.evaluate import Frame, evaluate, true_rows
from dpdb.vectors.vector import AnyVector, Vector, concatenated, constant

NoisyTables = Mapping[Query, NoisyTable]
"""The rows of each query's answer."""


@np.errstate(all="ignore")
def noisy_table(plan: Plan, noisy: Noisy) -> NoisyTable:
    """The rows of the answer to a plan, from its noisy values."""
    plan = with_keys(plan, noisy.keys)
    if not plan.cells:
        return empty_table(plan)
    if plan.derived is None:
        return answer_table(plan, points(plan, noisy.draws), noisy.subqueries, noisy)
    tables: dict[int, NoisyTable] = {}
    for cube in plan.cubes:
        tables.update(zip(cube.places, level_tables(cube, plan, noisy), strict=True))
    below = enumerate(zip(plan.subplans, noisy.subresults, strict=True))
    answers = [tables.get(place) or noisy_table(*each) for place, each in below]
    return derived_table(plan.derived, answers)


def _scalar_value(plan: Plan, noisy: Noisy) -> AnyVector:
    """The value of a scalar subquery, for the query around it."""
    if plan.derived is None:
        return scalar(plan, points(plan, noisy.draws), noisy.subqueries)
    return only_value(noisy_table(plan, noisy))


def subquery_answers(plan: Plan, results: Sequence[Noisy]) -> dict[Slot, AnyVector]:
    """The values of a plan's scalar subqueries, from their noisy results."""
    if plan.derived is not None:  # its subqueries are tables
        return {}
    return {
        Slot("subquery", index, subplan.outputs[0].expression.kind): _scalar_value(subplan, noisy)
        for index, (subplan, noisy) in enumerate(zip(plan.subplans, results, strict=True))
    }


@np.errstate(all="ignore")
def derived_table(derived: Derived, answers: Sequence[NoisyTable]) -> NoisyTable:
    """The rows that are computed from answers, given in the order in which they are first read."""
    return _rows(derived, dict(zip(dict.fromkeys(released(derived)), answers, strict=True)))


def only_value(table: NoisyTable) -> AnyVector:
    """The value of a table with one column and one row; NULL without rows."""
    column = table.columns[0]
    if not table.rows:
        return constant(None, column.kind)
    return column.values.take(np.zeros(1, dtype=np.intp))


def _rows(derived: Derived, answers: NoisyTables) -> NoisyTable:
    match derived:
        case Released(query=query):
            return _as_shown(answers[query])
        case Values():
            return _public(derived)
        case UnionAll(inputs=several):
            return _united([_rows(each, answers) for each in several])
        case AnswerJoin(left=left, right=right):
            return joined(derived, _rows(left, answers), _rows(right, answers))
        case Selection():
            return _selected(derived, answers)


def _as_shown(table: NoisyTable) -> NoisyTable:
    """The answer with values as they are shown."""
    columns = (replace(each, values=shown(each.values, each.kind)) for each in table.columns)
    return NoisyTable(tuple(columns), table.rows)


def _public(values: Values) -> NoisyTable:
    """Public rows, which have no noise."""
    cells = [[row[index] for row in values.rows] for index in range(len(values.columns))]
    pairs = zip(cells, (kind for _, kind in values.columns), strict=True)
    columns = (NoisyColumn(vector(each, kind), kind) for each, kind in pairs)
    return NoisyTable(tuple(columns), len(values.rows))


def _united(tables: Sequence[NoisyTable]) -> NoisyTable:
    """The rows of several tables, one after the other."""
    columns = zip(*(table.columns for table in tables), strict=True)
    rows = [table.rows for table in tables]
    return NoisyTable(tuple(_chained(each, rows) for each in columns), sum(rows))


def _chained(columns: Sequence[NoisyColumn], rows: Sequence[int]) -> NoisyColumn:
    """Columns of tables with these numbers of rows, concatenated; missing intervals are NULL."""
    values = concatenated([each.values for each in columns], rows)
    return NoisyColumn(values, columns[0].kind, Detail(partial(_accuracy, columns, rows)))


def _accuracy(columns: Sequence[NoisyColumn], rows: Sequence[int]) -> Accuracy | None:
    """The accuracies of the columns, concatenated; None if no column has any."""
    accuracies = [each.accuracy for each in columns]
    if all(each is None for each in accuracies):
        return None
    null = Vector(np.zeros(1), np.ones(1, dtype=np.bool_))
    ends = [(null, null) if each is None else each.ends for each in accuracies]
    low, high = (concatenated([pair[side] for pair in ends], rows) for side in (0, 1))
    assert isinstance(low, Vector)
    assert isinstance(high, Vector)
    flags = (
        np.zeros(number, dtype=np.bool_) if each is None or each.only_noise is None
        else each.only_noise
        for each, number in zip(accuracies, rows, strict=True)
    )  # fmt: skip
    return Accuracy((low, high), np.concatenate([*flags]))


def _selected(selection: Selection, answers: NoisyTables) -> NoisyTable:
    """The rows of a SELECT over answers."""
    table = _rows(selection.input, answers)
    scalars: dict[Slot, AnyVector] = {
        Slot("scalar", index, each.columns[0][1]): only_value(_rows(each, answers))
        for index, each in enumerate(selection.scalars)
    }
    frame = Frame({}, {**scalars, **table.by_slot()})
    if selection.where is not None:
        table = table.take(true_rows(selection.where, frame, table.rows))
        frame = Frame({}, {**scalars, **table.by_slot()})
    number = table.rows
    if selection.grouped:
        frame, number = _grouped(selection, frame, number)
        frame = Frame({}, {**scalars, **frame.slots})
    rows = np.arange(number)
    if selection.having is not None:
        rows = true_rows(selection.having, frame, number)
        number = len(rows)
        frame = Frame({}, {slot: vector.take(rows) for slot, vector in frame.slots.items()})
        table = table if selection.grouped else table.take(rows)
    over = {
        Slot("window", index, each.kind): windowed(each, frame, number)
        for index, each in enumerate(selection.windows)
    }
    frame = Frame({}, {**frame.slots, **over})
    rows = np.arange(number)
    if selection.qualify is not None:
        rows = true_rows(selection.qualify, frame, number)
    columns = [_output(each.expression, selection, table, frame) for each in selection.outputs]
    if selection.distinct:
        rows = _first_of_each(columns, rows, number)
    rows = in_order(selection.order, frame, rows, number)
    end = None if selection.limit is None else selection.offset + selection.limit
    return NoisyTable(tuple(columns), number).take(rows[selection.offset : end])


def _grouped(selection: Selection, frame: Frame, number: int) -> tuple[Frame, int]:
    """The keys and aggregates of a SELECT's groups, and their number; one without keys."""
    keys = [evaluate(key, frame) for key in selection.keys]
    groups = grouped(keys, number) if keys else Groups.of_all(number)
    values: dict[Slot, AnyVector] = {
        Slot("key", index, key.kind): keys[index].take(groups.first)
        for index, key in enumerate(selection.keys)
    }
    for index, each in enumerate(selection.aggregates):
        values[Slot("aggregate", index, each.kind)] = aggregated(each, frame, groups)
    return Frame({}, values), groups.number


def _output(expression: Expr, selection: Selection, table: NoisyTable, frame: Frame) -> NoisyColumn:
    """A column of the answer; a column of the input that is not changed keeps its intervals."""
    if isinstance(expression, Slot) and expression.role == "column":
        return table.columns[expression.index]
    return NoisyColumn(evaluate(expression, frame), expression.kind)


def _first_of_each(columns: Sequence[NoisyColumn], rows: RowIndices, number: int) -> RowIndices:
    """The first row of each set of rows that are equal in all columns."""
    groups = grouped([each.values.take(rows) for each in columns], len(rows))
    return rows[np.sort(groups.first)]
