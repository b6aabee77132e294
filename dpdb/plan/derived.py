"""Derived tables: rows that are computed from the noisy rows of answers.

What reads nothing but released values gives away no more than they do, whatever it computes:
post-processing ([DR14] Proposition 2.1). So these nodes read answers, and no table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

from dpdb.plan.expressions import Expr, Slot, children
from dpdb.plan.query import Aggregate, Ordering, Output, Query
from dpdb.policy.catalog import Kind

Columns = tuple[tuple[str, Kind], ...]
"""The names and the types of the columns of a derived table."""


@dataclass(frozen=True)
class Released:
    """The noisy rows of the answer to a query."""

    query: Query

    @property
    def columns(self) -> Columns:
        """The names and types of its columns."""
        return _columns(self.query.outputs)


@dataclass(frozen=True)
class UnionAll:
    """The rows of several derived tables with columns of the same types, one after the other."""

    inputs: tuple[Derived, ...]

    @property
    def columns(self) -> Columns:
        """The names and types of its columns."""
        return self.inputs[0].columns


@dataclass(frozen=True)
class Join:
    """The pairs of rows for which the condition is true.

    Its slots of the role `column` count the columns of the left side first. An `outer` join keeps
    each row of the left side, with NULLs beside it where no pair has it.
    """

    left: Derived
    right: Derived
    condition: Expr | None = None
    outer: bool = False

    @property
    def columns(self) -> Columns:
        """The names and types of its columns."""
        return self.left.columns + self.right.columns


@dataclass(frozen=True)
class Frame:
    """The rows that a window function reads, counted from its own row: ROWS BETWEEN.

    An end that is None is that of the partition; negative numbers are rows before.
    """

    first: int | None
    last: int | None


@dataclass(frozen=True)
class Window:
    """A window function over rows of an answer.

    Without a `frame` an aggregate reads the rows up to the last of those that are equal in ORDER
    BY to its own; without ORDER BY these are all rows of the partition.
    """

    function: str
    arguments: tuple[Expr, ...]
    kind: Kind
    partition: tuple[Expr, ...] = ()
    order: tuple[Ordering, ...] = ()
    frame: Frame | None = None
    where: Expr | None = None
    """The FILTER of an aggregate."""

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The expressions that it reads."""
        ordering = (each.expression for each in self.order)
        where = () if self.where is None else (self.where,)
        return (*self.arguments, *self.partition, *ordering, *where)


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
        return _columns(self.outputs)


Derived = Released | UnionAll | Join | Selection


@dataclass(frozen=True)
class DerivedQuery(Query):
    """A SELECT over answers: its subqueries are the releases, and it reads no table itself."""

    derived: Derived | None = None

    @cached_property
    def has_intervals(self) -> bool:
        """Whether some column of an answer is passed on as it is, with its intervals."""
        assert self.derived is not None
        return any(passed_on(self.derived))

    @cached_property
    def selects_by_noise(self) -> bool:
        """Whether noise decides which rows are shown of those that have intervals."""
        assert self.derived is not None
        return self.has_intervals and selects_by_noise(self.derived)


def derived_query(derived: Derived) -> DerivedQuery:
    """The query that releases what `derived` reads, each answer once, and computes the rest."""
    releases = tuple(dict.fromkeys(released(derived)))
    outputs = tuple(
        Output(name, Slot("column", index, kind))
        for index, (name, kind) in enumerate(derived.columns)
    )
    return DerivedQuery(releases[0].table, outputs, (), subqueries=releases, derived=derived)


def inputs(derived: Derived) -> tuple[Derived, ...]:
    """The derived tables that one is computed from, those of scalar subqueries included."""
    match derived:
        case Released():
            return ()
        case UnionAll(inputs=several):
            return several
        case Join(left=left, right=right):
            return left, right
        case Selection(input=only, scalars=scalars):
            return only, *scalars


def released(derived: Derived) -> Iterator[Query]:
    """The queries whose answers are read, as often as they are."""
    if isinstance(derived, Released):
        yield derived.query
    for each in inputs(derived):
        yield from released(each)


def noisy_columns(derived: Derived) -> tuple[bool, ...]:
    """For each column whether it is computed from anything noisy."""
    match derived:
        case Released(query=query):
            return tuple(
                _reads(each.expression, ("aggregate", "subquery"), ()) for each in query.outputs
            )
        case UnionAll(inputs=several):
            return tuple(map(any, zip(*map(noisy_columns, several), strict=True)))
        case Join(left=left, right=right):
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


_COMPUTED = ("aggregate", "window", "scalar")


def _reads(expression: Expr, roles: tuple[str, ...], noisy: tuple[bool, ...]) -> bool:
    """Whether an expression has a slot of these roles, or one of a noisy column."""
    found = [part for part in _parts(expression) if isinstance(part, Slot)]
    return any(each.role in roles for each in found) or any(
        each.role == "column" and noisy[each.index] for each in found
    )


def _parts(expression: Expr) -> Iterator[Expr]:
    yield expression
    for child in children(expression):
        yield from _parts(child)


def passed_on(derived: Derived) -> tuple[bool, ...]:
    """For each column whether it is a noisy one of an answer, with its intervals."""
    match derived:
        case Released():
            return noisy_columns(derived)
        case UnionAll(inputs=several):
            return tuple(map(any, zip(*map(passed_on, several), strict=True)))
        case Join(left=left, right=right):
            return passed_on(left) + passed_on(right)
        case Selection(outputs=outputs, input=below):
            columns = (each.expression for each in outputs)
            return tuple(_is_column(each) and passed_on(below)[each.index] for each in columns)


def selects_by_noise(derived: Derived) -> bool:
    """Whether noise decides which rows are left of those whose intervals are passed on.

    The intervals of all of them must hold at once then. Groups have no intervals, so what chooses
    the rows that are grouped does not matter.
    """
    match derived:
        case Released():
            return False
        case Join(condition=condition):
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


def is_one_row(derived: Derived) -> bool:
    """Whether it has one row at most, whatever the noise is."""
    match derived:
        case Released(query=query):
            return not query.keys or query.limit == 1
        case Selection(grouped=grouped, keys=keys, limit=limit):
            return limit == 1 or (grouped and not keys)
    return False


def _columns(outputs: tuple[Output, ...]) -> Columns:
    return tuple((each.label, each.expression.kind) for each in outputs)
