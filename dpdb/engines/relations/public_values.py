"""Facts about the rows of public tables, as a policy would declare them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpdb.engines.protocol import Witness
from dpdb.engines.sources.opening import open_source
from dpdb.engines.units.keys import check_declarations, declared_of
from dpdb.errors import DataFileError
from dpdb.plan.expressions.expressions import ColumnRef
from dpdb.policy.catalog import Column, Kind, Policy, Table, Value
from dpdb.policy.reading.column_reader import MAX_VALUES
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.keys import Matches


def with_public_values(policy: Policy, witness: Witness | None = None) -> Policy:
    """The policy with the values of public tables, for their columns and those that name them.

    Columns of numbers stay as they are declared. Raises DataFileError if a column takes its
    values from one that has none, or more than can be declared.
    """
    public = [_with_values(table, witness) for table in policy.tables if table.public]
    known = {table.name: table for table in public}
    tables = (known.get(table.name) or _borrowing(table, known) for table in policy.tables)
    return replace(policy, tables=tuple(tables))


def most_alike(table: Table, columns: tuple[str, ...], witness: Witness | None = None) -> int:
    """The size of the largest set of a public table's rows that are equal in the columns.

    A row with a NULL in them equals none.
    """
    assert table.public
    loaded = open_source(table).load(columns, witness=witness)
    frame = Frame(loaded.columns)
    read = [ColumnRef(column) for column in table.columns if column.name in columns]
    return Matches.of([evaluate(column, frame) for column in read], loaded.rows).most


def check_data(table: Table) -> None:
    """Raise DataFileError if a table's rows break its declared key or `at_most`."""
    if names := declared_of(table):
        check_declarations(table, open_source(table).load(names).columns)


def _with_values(table: Table, witness: Witness | None) -> Table:
    """A public table, each column with the values in its rows."""
    names = [column.name for column in table.columns if _is_open(column)]
    held = open_source(table).load(names, witness=witness).columns if names else {}
    return replace(
        table,
        columns=tuple(
            _holding(column, _values(held[column.name])) if column.name in held else column
            for column in table.columns
        ),
    )


def _is_open(column: Column) -> bool:
    """Whether the policy leaves the column's values to the rows."""
    declared = column.values is not None or column.bounds is not None
    return not declared and column.kind not in (Kind.NUMBER, Kind.BOOLEAN)


def _values(column: Numbers | Codes) -> Sequence[Value]:
    """The values in a column, in ascending order."""
    if isinstance(column, Codes):
        return sorted(map(str, column.values))
    assert column.step is not None
    units = column.units if column.null is None else column.units[~column.null]
    return [int(unit * column.step) for unit in np.unique(units).tolist()]


def _holding(column: Column, values: Sequence[Value]) -> Column:
    """The column with its values; with the ends alone if there are too many to list."""
    if not values or "" in values:
        return column
    if column.kind.ordinal:
        column = replace(column, lower=Fraction(values[0]), upper=Fraction(values[-1]))
    return replace(column, values=tuple(values) if len(values) <= MAX_VALUES else None)


def _borrowing(table: Table, known: dict[str, Table]) -> Table:
    """The table, with the values of public columns for the columns that name one."""
    columns = []
    for column in table.columns:
        named = column.values_from
        there = None if named is None else known[named.table].column(named.column)
        if there is not None and there.values is None:
            raise DataFileError(f"{named} has no values, or more than {MAX_VALUES}")
        if there is not None:
            low, high, step = there.lower, there.upper, there.step
            column = replace(  # noqa: PLW2901
                column, values=there.values, lower=low, upper=high, step=step
            )
        columns.append(column)
    return replace(table, columns=tuple(columns)) if columns != [*table.columns] else table
