"""Properties of the columns and rows of derived tables that follow from the query alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeGuard

from dpdb.errors import TooLarge
from dpdb.plan.expressions.expressions import Expr, Slot, children
from dpdb.plan.logical.derived import (
    AnswerJoin,
    Derived,
    Released,
    Selection,
    UnionAll,
    Values,
    inputs,
)
from dpdb.plan.logical.query import Query

MAX_PAIRS = 1_000_000
"""The most pairs of rows of answers that a join looks at."""
MAX_CELLS = 10_000_000
"""The most cells that these pairs have."""
_RELEASED = ("aggregate", "subquery")
"""The roles of the slots of an answer that have noise."""
_COMPUTED = ("aggregate", "window", "scalar")
"""The roles of the slots that a SELECT over answers computes from them."""


@lru_cache(maxsize=1_000)
def noisy_columns(derived: Derived) -> tuple[bool, ...]:
    """For each column whether it is computed from anything noisy."""
    match derived:
        case Released(query=query):
            return tuple(_reads(each.expression, _RELEASED, ()) for each in query.outputs)
        case Values(columns=columns):
            return (False,) * len(columns)
        case UnionAll(inputs=several):
            return tuple(map(any, zip(*map(noisy_columns, several), strict=True)))
        case AnswerJoin(left=left, right=right):
            return noisy_columns(left) + noisy_columns(right)
        case Selection(outputs=outputs):
            return tuple(_is_noisy(each.expression, derived) for each in outputs)


def _is_noisy(expression: Expr, selection: Selection) -> bool:
    """Whether an expression of a SELECT over answers is computed from anything noisy."""
    below = noisy_columns(selection.input)
    keys = {index for index, key in enumerate(selection.keys) if _reads(key, _COMPUTED, below)}
    noisy_keys = any(
        isinstance(part, Slot) and part.role == "key" and part.index in keys
        for part in _parts(expression)
    )
    return noisy_keys or _reads(expression, _COMPUTED, below)


def _reads(expression: Expr, roles: tuple[str, ...], noisy: tuple[bool, ...]) -> bool:
    """Whether an expression has a slot of these roles, or one of a noisy column."""
    parts = [part for part in _parts(expression) if isinstance(part, Slot)]
    return any(each.role in roles for each in parts) or any(
        each.role == "column" and noisy[each.index] for each in parts
    )


def _parts(expression: Expr) -> Iterator[Expr]:
    yield expression
    for child in children(expression):
        yield from _parts(child)


@lru_cache(maxsize=1_000)
def _passed_on(derived: Derived) -> tuple[bool, ...]:
    """For each column whether it is a noisy one of an answer, with its intervals."""
    match derived:
        case Released() | Values():
            return noisy_columns(derived)
        case UnionAll(inputs=several):
            return tuple(map(any, zip(*map(_passed_on, several), strict=True)))
        case AnswerJoin(left=left, right=right):
            return _passed_on(left) + _passed_on(right)
        case Selection(outputs=outputs, input=below):
            shown = (each.expression for each in outputs)
            return tuple(_is_column(each) and _passed_on(below)[each.index] for each in shown)


def has_intervals(derived: Derived) -> bool:
    """Whether some column of an answer is passed on as it is, with its intervals."""
    return any(_passed_on(derived))


def selects_by_noise(derived: Derived) -> bool:
    """Whether noise decides which rows are left of those whose intervals are passed on.

    The intervals of all of them must hold at once then. Groups have no intervals, so what chooses
    the rows that are grouped does not matter.
    """
    deciding: list[Expr | None]
    match derived:
        case Released(query=query):
            cut = query.limit is not None or bool(query.offset)
            deciding = [each.expression for each in query.order if cut]
            deciding += [query.having] if query.having else []
            return any(each and _reads(each, _RELEASED, ()) for each in deciding)
        case AnswerJoin(condition=condition):
            below = noisy_columns(derived)
            if condition is not None and _reads(condition, _COMPUTED, below):
                return True
        case Selection(grouped=True):
            return False
        case Selection():
            cut = derived.limit is not None or bool(derived.offset)
            deciding = [derived.where, derived.qualify]
            deciding += [each.expression for each in derived.order if cut]
            if derived.distinct or any(_is_noisy(each, derived) for each in deciding if each):
                return True
            return selects_by_noise(derived.input)
    return any(map(selects_by_noise, inputs(derived)))


def _is_column(expression: Expr) -> TypeGuard[Slot]:
    """Whether an expression is a column of the input as it is; none is where rows are grouped."""
    return isinstance(expression, Slot) and expression.role == "column"


def most_rows(derived: Derived, cells: Mapping[Query, int]) -> int:
    """The most rows that it can have, from the numbers of groups of the answers.

    Raises TooLarge where a join has to look at more than MAX_PAIRS pairs of rows, or MAX_CELLS.
    """
    match derived:
        case Released(query=query):
            return cells[query]
        case Values(rows=rows):
            return len(rows)
        case UnionAll(inputs=several):
            return sum(most_rows(each, cells) for each in several)
        case AnswerJoin(left=left, right=right):
            sides = most_rows(left, cells), most_rows(right, cells)
            if math.prod(sides) > MAX_PAIRS:
                raise TooLarge(f"{sides[0]} × {sides[1]} rows to join, {MAX_PAIRS} are allowed")
            columns = len(noisy_columns(derived))
            if math.prod(sides) * columns > MAX_CELLS:
                pairs = f"{sides[0]} × {sides[1]} rows of {columns} columns to join"
                raise TooLarge(f"{pairs}, {MAX_CELLS} cells are allowed")
            return math.prod(sides) + sum(sides)
        case Selection(input=below, scalars=scalars, limit=limit, grouped=grouped, keys=keys):
            for each in scalars:
                most_rows(each, cells)
            most = most_rows(below, cells)
            most = 1 if grouped and not keys else most
            return most if limit is None else min(most, limit)


def is_one_row(derived: Derived) -> bool:
    """Whether it has one row at most, whatever the noise is."""
    match derived:
        case Released(query=query):
            return not query.keys or query.limit == 1
        case Values(rows=rows):
            return len(rows) <= 1
        case Selection(grouped=grouped, keys=keys, limit=limit):
            return limit == 1 or (grouped and not keys)
    return False
