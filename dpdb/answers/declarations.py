"""The policy's declarations of a column, as plain values to show."""

from __future__ import annotations

from fractions import Fraction

from dpdb.answers.record import Cell
from dpdb.policy.catalog import Column, Kind, Table, Value
from dpdb.policy.timestamps import iso_text

COLUMN_COLUMNS = ("column", "type", "lower", "upper", "values", "nulls", "names")


def declared_range(column: Column) -> str:
    """The declared values or bounds in parentheses; empty if there are none."""
    _, _, lower, upper, values, _ = _declared(column)
    if values is not None:
        return f" ({values})"
    return "" if lower is None else f" ({lower} to {upper})"


def column_row(table: Table, column: Column) -> tuple[Cell, ...]:
    """The column's row in the answer to DESCRIBE; its cells are those of `COLUMN_COLUMNS`."""
    return *_declared(column), ", ".join(named_by(table, column)) or None


def named_by(table: Table, column: Column) -> tuple[str, ...]:
    """What the values of the column name: the unit, the rows of its table, or those of another."""
    facts = {
        "unit": column.name == table.unit and table.chain is None,
        "key": table.key == (column.name,),
        "part of the key": column.name in table.key and len(table.key) > 1,
        f"{table.chain}": column.name == table.unit and table.chain,
        f"{column.references}": column.references,
    }
    return tuple(name for name, holds in facts.items() if holds)


def _declared(column: Column) -> tuple[Cell, ...]:
    kind = "text or number (guessed)" if column.guessed else str(column.kind)
    values = None
    if column.values is not None:
        listed = [str(plain_value(value, column.kind)) for value in column.values[:6]]
        more = len(column.values) - len(listed)
        values = ", ".join(listed) + (f", … {more} more" if more else "")
    bounds = (None, None) if column.bounds is None or column.values is not None else column.bounds
    lower, upper = (None if b is None else plain_value(b, column.kind) for b in bounds)
    return column.name, kind, lower, upper, values, column.nullable


def plain_value(value: Value, kind: Kind) -> Cell:
    """A declared value as a cell: dates and timestamps, which are held as numbers, become text."""
    if kind.temporal and isinstance(value, (int, Fraction)):
        return iso_text(int(value), kind)
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value
