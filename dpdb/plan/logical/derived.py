"""Derived tables: rows that are computed from the noisy rows of answers.

A computation on released values reveals no more than they do: post-processing ([DR14]
Proposition 2.1). So these nodes read answers, and no table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import assert_never

from dpdb.errors import TooLarge
from dpdb.plan.expressions.expressions import Expr, Slot, slots
from dpdb.plan.logical.query import Aggregate, Ordering, Output, Query
from dpdb.plan.relations.relations import JoinKind, Source
from dpdb.policy.catalog import Kind, Table, Value
from dpdb.records import dataclass

Columns = tuple[tuple[str, Kind], ...]
"""The names and the types of the columns of a derived table."""


@dataclass(frozen=True)
class Released:
    """The noisy rows of the answer to a query."""

    query: Query

    @property
    def columns(self) -> Columns:
        """The names and types of its columns."""
        return tuple(each.column for each in self.query.outputs)


@dataclass(frozen=True, repr=False)
class Values:
    """Rows that everybody may know: those of public tables, exact."""

    columns: Columns
    rows: tuple[tuple[Value | None, ...], ...]


ONE_ROW = Values((("row", Kind.INTEGER),), ((1,),))
"""The source of a SELECT without FROM and without subqueries."""
_NO_TABLE = Table("constants", Path(), (), public=True)
"""The table of a query that reads none."""


@dataclass(frozen=True)
class UnionAll:
    """The rows of several derived tables with columns of the same types, one after the other."""

    inputs: tuple[Derived, ...]

    @property
    def columns(self) -> Columns:
        """The names and types of its columns."""
        return self.inputs[0].columns


@dataclass(frozen=True)
class AnswerJoin:
    """The pairs of rows for which the condition is true.

    Its slots of the role `column` count the columns of the left side first. A LEFT JOIN keeps each
    row of the left side, with NULLs beside it where no pair has it, and a FULL JOIN those of both.
    """

    kind: JoinKind
    left: Derived
    right: Derived
    condition: Expr | None = None

    @property
    def columns(self) -> Columns:
        """The names and types of its columns."""
        return self.left.columns + self.right.columns


@dataclass(frozen=True)
class WindowFrame:
    """The rows that a window function reads, counted from its own row: ROWS BETWEEN.

    An end that is None is that of the partition; negative numbers are rows before.
    """

    first: int | None
    last: int | None


@dataclass(frozen=True)
class Window:
    """A window function over rows of an answer, or over those of a unit.

    Without a `frame` an aggregate reads the rows up to the last of those that are equal in ORDER
    BY to its own; without ORDER BY these are all rows of the partition.
    """

    function: str
    arguments: tuple[Expr, ...]
    kind: Kind
    partition: tuple[Expr, ...] = ()
    order: tuple[Ordering, ...] = ()
    frame: WindowFrame | None = None
    where: Expr | None = None
    """The FILTER of an aggregate."""

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The expressions that it reads."""
        ordering = (each.expression for each in self.order)
        where = () if self.where is None else (self.where,)
        return (*self.arguments, *self.partition, *ordering, *where)

    def over(self, new: Callable[[Expr], Expr]) -> Window:
        """The window with each of these expressions replaced by `new` of it."""
        return replace(
            self,
            arguments=tuple(map(new, self.arguments)),
            partition=tuple(map(new, self.partition)),
            order=tuple(each.over(new) for each in self.order),
            where=None if self.where is None else new(self.where),
        )


@dataclass(frozen=True)
class Selection:
    """A SELECT that reads a derived table.

    Slots of the role `column` are the columns of the input, `scalar` the values of `scalars`, and
    `key`, `aggregate` and `window` those of the SELECT itself. `where`, `keys` and the arguments of
    aggregates are expressions over rows of the input, and so are the others without `grouped`.
    """

    input: Derived
    outputs: tuple[Output, ...]
    where: Expr | None = None
    grouped: bool = False
    keys: tuple[Expr, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    having: Expr | None = None
    windows: tuple[Window, ...] = ()
    qualify: Expr | None = None
    distinct: bool = False
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    scalars: tuple[Derived, ...] = ()
    """The scalar subqueries over answers: each has one column, and at most one row."""

    @property
    def columns(self) -> Columns:
        """The names and types of its columns."""
        return tuple(each.column for each in self.outputs)


Derived = Released | Values | UnionAll | AnswerJoin | Selection


@dataclass(frozen=True)
class DerivedQuery(Query):
    """A SELECT over answers: its subqueries are the releases, and it reads no table itself."""

    derived: Derived | None = None

    @property
    def public(self) -> bool:
        """Whether all answers that it reads are about public tables."""
        return all(query.public for query in self.subqueries)


def derived_query(derived: Derived) -> DerivedQuery:
    """The query that releases what `derived` reads, each answer once, and computes the rest."""
    releases = tuple(dict.fromkeys(released(derived)))
    outputs = tuple(
        Output(name, Slot("column", index, kind))
        for index, (name, kind) in enumerate(derived.columns)
    )
    return DerivedQuery(first_table(derived), outputs, (), subqueries=releases, derived=derived)


def as_derived(query: Query) -> Derived:
    """The answer of a query as a table that other SELECTs read."""
    known = query.derived if isinstance(query, DerivedQuery) else None
    return known or Released(query)


def inputs(derived: Derived) -> tuple[Derived, ...]:
    """The derived tables that one is computed from, those of scalar subqueries included."""
    match derived:
        case Released() | Values():
            return ()
        case UnionAll(inputs=several):
            return several
        case AnswerJoin(left=left, right=right):
            return left, right
        case Selection(input=only, scalars=scalars):
            return only, *scalars
        case _:
            assert_never(derived)


def released(derived: Derived) -> Iterator[Query]:
    """The queries whose answers are read, as often as they are."""
    if isinstance(derived, Released):
        yield derived.query
    for each in inputs(derived):
        yield from released(each)


def first_table(derived: Derived) -> Source:
    """The table of the first answer that is read; constants are those of a public one."""
    return next((query.table for query in released(derived)), _NO_TABLE)


MAX_PAIRS = 1_000_000
"""The most pairs of rows of answers that a join looks at."""
MAX_CELLS = 10_000_000
"""The most cells that these pairs have."""
_RELEASED = ("aggregate", "subquery")
"""The roles of the slots of an answer that have noise."""
_COMPUTED = ("aggregate", "window", "scalar")
"""The roles of the slots that a SELECT over answers computes from them."""


@lru_cache(maxsize=1_000)
def noisy_columns(derived: Derived, *, passed_on: bool = False) -> tuple[bool, ...]:
    """For each column whether it is computed from anything noisy.

    With `passed_on`, whether it is a noisy column of an answer as it is, with its intervals.
    """
    of = partial(noisy_columns, passed_on=passed_on)
    match derived:
        case Released(query=query):
            return tuple(_reads(each.expression, _RELEASED, ()) for each in query.outputs)
        case Values(columns=columns):
            return (False,) * len(columns)
        case UnionAll(inputs=several):
            return tuple(map(any, zip(*map(of, several), strict=True)))
        case AnswerJoin(left=left, right=right):
            return of(left) + of(right)
        case Selection(outputs=outputs, input=below) if passed_on:
            # A grouped Selection has no columns of its input.
            shown, noisy = (each.expression for each in outputs), of(below)
            return tuple(
                isinstance(each, Slot) and each.role == "column" and noisy[each.index]
                for each in shown
            )
        case Selection(outputs=outputs):
            return tuple(_is_noisy(each.expression, derived) for each in outputs)
        case _:
            assert_never(derived)


def _is_noisy(expression: Expr, selection: Selection) -> bool:
    """Whether an expression of a SELECT over answers is computed from anything noisy."""
    below = noisy_columns(selection.input)
    keys = slots(expression, "key")
    noisy_keys = any(_reads(selection.keys[index], _COMPUTED, below) for index in keys)
    return noisy_keys or _reads(expression, _COMPUTED, below)


def _reads(expression: Expr, roles: tuple[str, ...], noisy: tuple[bool, ...]) -> bool:
    """Whether an expression has a slot of these roles, or one of a noisy column."""
    return any(slots(expression, role) for role in roles) or any(
        noisy[index] for index in slots(expression, "column")
    )


def has_intervals(derived: Derived) -> bool:
    """Whether some column of an answer is passed on as it is, with its intervals."""
    return any(noisy_columns(derived, passed_on=True))


def selects_by_noise(derived: Derived) -> bool:
    """Whether noise decides which rows are left of those whose intervals are passed on.

    The intervals of all of them must hold at once then. Groups have no intervals, so what chooses
    the rows that are grouped does not matter.
    """
    match derived:
        case Released(query=query):
            cut = query.limit is not None or bool(query.offset)
            deciding = [query.having, *(each.expression for each in query.order if cut)]
            return any(each and _reads(each, _RELEASED, ()) for each in deciding)
        case AnswerJoin(condition=condition):
            below = noisy_columns(derived)
            if condition is not None and _reads(condition, _COMPUTED, below):
                return True
        case Selection(grouped=True):
            return False
        case Selection():
            cut = derived.limit is not None or bool(derived.offset)
            ordering = (each.expression for each in derived.order if cut)
            deciding = [derived.where, derived.qualify, *ordering]
            if derived.distinct or any(_is_noisy(each, derived) for each in deciding if each):
                return True
            return selects_by_noise(derived.input)
        case UnionAll() | Values():
            pass
        case _:
            assert_never(derived)
    return any(map(selects_by_noise, inputs(derived)))


def most_rows(derived: Derived, cells: Mapping[Query, int]) -> int:
    """The most rows of a derived table, given those of the answers; refuses too large joins."""
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
            columns = len(derived.columns)
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
        case _:
            assert_never(derived)


def is_one_row(derived: Derived) -> bool:
    """Whether it has one row at most, whatever the noise is."""
    match derived:
        case Released(query=query):
            return not query.keys or query.limit == 1
        case Values(rows=rows):
            return len(rows) <= 1
        case Selection(input=below, grouped=grouped, keys=keys, limit=limit):
            return limit == 1 or (grouped and not keys) or is_one_row(below)
        case UnionAll() | AnswerJoin():
            return False
        case _:
            assert_never(derived)
