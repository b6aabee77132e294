"""Derived tables: rows that are computed from the noisy rows of answers.

What reads nothing but released values gives away no more than they do, whatever it computes:
post-processing ([DR14] Proposition 2.1). So these nodes read answers, and no table.
"""

from __future__ import annotations

from collections.abc import Iterator

from dpdb.plan.expressions.expressions import Expr, Slot
from dpdb.plan.logical.query import Aggregate, Ordering, Output, Query
from dpdb.plan.relations.relations import JoinKind
from dpdb.policy.catalog import Kind, Value
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
        return _columns(self.query.outputs)


@dataclass(frozen=True, repr=False)
class Values:
    """Rows that everybody may know: those of public tables, exact."""

    columns: Columns
    rows: tuple[tuple[Value | None, ...], ...]


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
    return DerivedQuery(releases[0].table, outputs, (), subqueries=releases, derived=derived)


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


def released(derived: Derived) -> Iterator[Query]:
    """The queries whose answers are read, as often as they are."""
    if isinstance(derived, Released):
        yield derived.query
    for each in inputs(derived):
        yield from released(each)


def _columns(outputs: tuple[Output, ...]) -> Columns:
    return tuple((each.label, each.expression.kind) for each in outputs)
