"""Rows in blocks, and expressions worked out for a block of rows at a time.

Every step of an expression makes a copy, which should stay in the cache. The size of a block, and
whether there are any, follows from the expression and the policy.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpdb.plan.expressions.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Expr,
    children,
    columns_of,
)
from dpdb.policy.catalog import Column, Kind
from dpdb.vectors.evaluate import Frame, evaluate, holds, public_dictionary
from dpdb.vectors.vector import Bools

BLOCK = 2**16
"""The rows of a block."""
_SHORT = BLOCK // 64
"""The most values of a dictionary that may be worked through for every block."""


def row_blocks(rows: int, size: int = BLOCK) -> Iterator[slice]:
    """The rows of a table, block by block; one empty block where there are none."""
    for start in range(0, max(rows, 1), size):
        yield slice(start, min(start + size, rows))


def mask(condition: Expr, frame: Frame, rows: int) -> Bools:
    """Whether a condition is true in each row."""
    if not _makes_doubles(condition):
        return np.broadcast_to(holds(condition, frame), rows)
    passed = np.empty(rows, dtype=np.bool_)
    for block, part in parts(condition, frame, rows):
        passed[block] = holds(condition, part)
    return passed


def null_mask(argument: Expr, frame: Frame, rows: int) -> Bools | None:
    """Whether an expression is NULL in each row; None if it never is."""
    null: Bools | None = None
    for block, part in parts(argument, frame, rows):
        missing = evaluate(argument, part).null
        if missing is not None:
            null = np.empty(rows, dtype=np.bool_) if null is None else null
            null[block] = missing
    return null


def parts(expression: Expr, frame: Frame, rows: int) -> Iterator[tuple[slice, Frame]]:
    """The blocks of rows, with the columns that the expression reads."""
    columns = columns_of(expression)
    read = Frame({name: frame.columns[name] for name in columns}, frame.slots)
    # An expression over a long dictionary is worked out once, and not for every block.
    long = any(map(_has_long_dictionary, columns.values()))
    for block in row_blocks(rows, max(rows, 1) if long else BLOCK):
        yield block, read.within(block)


def _has_long_dictionary(column: Column) -> bool:
    """Whether a column may have many values; the number of texts in a file is private."""
    if column.kind is Kind.TEXT and not public_dictionary(column):
        return True
    return len(column.values or ()) > _SHORT


def _makes_doubles(condition: Expr) -> bool:
    """Whether a condition computes doubles, rather than comparing numbers as they are stored."""
    read = columns_of(condition).values()
    return any(column.step != 1 for column in read) or _works_out(condition)


def _works_out(expression: Expr) -> bool:
    """Whether an expression or a part of it is more than a condition on stored values."""
    if isinstance(expression, Arithmetic | Call | Case | Cast):
        return True
    return any(map(_works_out, children(expression)))
