"""A column's declaration in the policy, in a few words."""

from __future__ import annotations

from dpdb.errors import printable
from dpdb.policy.catalog import Column, Kind, Value
from dpdb.policy.names import quoted_text
from dpdb.policy.numbers import decimal
from dpdb.policy.timestamps import iso_text

NO_BOUNDS = "no bounds"


def about(column: Column) -> str:
    """Bounds, number of values, or type; `no bounds` marks what cannot be summed yet."""
    if column.values is not None:
        return f"{len(column.values)} values"
    if column.bounds is not None:
        low, high = (value_text(bound, column.kind) for bound in column.bounds)
        return f"{low} to {high}"
    return NO_BOUNDS if column.guessed or column.kind.ordinal else str(column.kind)


def value_text(value: Value, kind: Kind) -> str:
    """A declared value as people read it."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return printable(value)
        case _ if kind.temporal:
            return iso_text(int(value), kind)
        case int():
            return str(value)
    return decimal(value)


def constant(value: Value, kind: Kind) -> str:
    """A declared value as it is written in SQL."""
    text = value if isinstance(value, str) else value_text(value, kind)
    return quoted_text(text) if kind is Kind.TEXT or kind.temporal else text
