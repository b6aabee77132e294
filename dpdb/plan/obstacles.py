"""Filters that no row can pass, told from their text and the policy alone.

What is found here is answered exactly and for nothing, so it must be certain for every
file: it rests on `regions`, which hold every row for which the engine finds a condition
true. Undeclared columns are never limited, and so never in the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpdb.errors import did_you_mean
from dpdb.plan.expressions import ColumnRef, Compare, Expr, InList, Literal, Logic, children
from dpdb.plan.regions import region
from dpdb.policy.catalog import Column, Table, Value

MAX_VALUES = 10_000
"""Declared values among which a misspelt one is looked for."""


@dataclass(frozen=True)
class Obstacle:
    """Why no row can pass a filter: what it asks of `column` is not declared of it.

    Without a column, the filter is the constant FALSE or NULL.
    """

    column: Column | None = None


def obstacle(table: Table, condition: Expr | None) -> Obstacle | None:
    """What keeps every row of `table` from passing `condition`; None if any might pass."""
    match condition:
        case None:
            return None
        case Literal():
            return None if condition.value else Obstacle()
        case Logic(operator="or", operands=operands):
            found = [obstacle(table, operand) for operand in operands]
            return None if None in found else found[0]
        case Logic(operands=operands):
            alone = (obstacle(table, operand) for operand in operands)
            first = next((each for each in alone if each is not None), None)
            if first is not None:
                return first
    limits = region(table, condition).limits
    column = next((cells.column for cells in limits.values() if not cells.possible), None)
    return None if column is None else Obstacle(column)


def hint(column: Column, condition: Expr) -> str | None:
    """The declared value that the condition misspells, perhaps."""
    known = [_written(value) for value in (column.values or ())[:MAX_VALUES]]
    slips = [_written(value) for value in _constants(column, condition)]
    slip = next((slip for slip in slips if slip not in known), None)
    return None if slip is None else did_you_mean(slip, known)


def _constants(column: Column, condition: Expr) -> Iterator[Value]:
    """The constants that the column is compared with."""
    match condition:
        case Compare(left=left, right=right):
            for side, other in ((left, right), (right, left)):
                if (
                    side == ColumnRef(column)
                    and isinstance(other, Literal)
                    and other.value is not None
                ):
                    yield other.value
        case InList(operand=ColumnRef(column=found), values=values) if found == column:
            yield from values
    for child in children(condition):
        yield from _constants(column, child)


def _written(value: Value) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)
