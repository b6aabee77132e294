"""Columns at the prompt: their declaration in a few words, and the places that accept them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from dpdb.errors import printable
from dpdb.plan.expressions.functions import AGGREGATES, FUNCTIONS, Takes
from dpdb.plan.ranges.group_keys import has_key_values
from dpdb.policy.catalog import Column, Kind, Value
from dpdb.policy.names import quoted_text
from dpdb.policy.numbers import decimal
from dpdb.policy.timestamps import iso_text

NO_BOUNDS = "no bounds"


def declaration(column: Column) -> str:
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


_EITHER = {**FUNCTIONS, **AGGREGATES}


def is_accepted(column: Column, calls: Sequence[str]) -> bool:
    """Whether the column can stand in these calls, given by their names, the innermost first."""
    taken = [_EITHER[name].takes for name in calls if name in _EITHER]
    takes = next((each for each in taken if each is not Takes.CHOICE), Takes.ANY)
    if takes is Takes.KEY and taken[0] is not Takes.KEY:
        return False
    if not _fits(column, takes):
        return False
    # An argument of CLAMP needs no bounds of its own.
    bounded = next((AGGREGATES[name].bounded for name in calls if name in AGGREGATES), False)
    clamped = "CLAMP" in calls or takes is Takes.KEY or column.kind is Kind.BOOLEAN
    return not bounded or clamped or column.bounds is not None


def _fits(column: Column, takes: Takes) -> bool:
    """Whether a function takes the type of the column; an undeclared column has any type."""
    number = column.guessed or column.kind in (Kind.INTEGER, Kind.NUMBER)
    ordinal = column.guessed or column.kind.ordinal
    boolean = column.kind is Kind.BOOLEAN
    match takes:
        case Takes.NUMBER:
            return number
        case Takes.NUMBER_OR_BOOLEAN:
            return number or boolean
        case Takes.ORDINAL:
            return ordinal
        case Takes.ORDINAL_OR_BOOLEAN:
            return ordinal or boolean
        case Takes.TEXT:
            return column.kind is Kind.TEXT
        case Takes.DATE:
            return column.guessed or column.kind.temporal
        case Takes.TIMESTAMP:
            return column.guessed or column.kind is Kind.TIMESTAMP
        case Takes.KEY:
            return has_key_values(column)
        case Takes.NOTHING:
            return False
        case Takes.ANY | Takes.CHOICE:
            return True
        case _:
            assert_never(takes)
