"""The logical plan: a SELECT as typed expressions, aggregates and options, without its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import assert_never

from dpdb.errors import Place
from dpdb.plan.expressions.expressions import (
    Expr,
    IntervalEnd,
    columns_of,
    conjunction,
    interval_ends,
    size,
)
from dpdb.plan.expressions.single_values import single_value, stored_columns
from dpdb.plan.ranges.group_keys import found_places
from dpdb.plan.relations.contradictions import Contradiction, contradiction
from dpdb.plan.relations.privacy_ids import columns_of_unit
from dpdb.plan.relations.relations import Source
from dpdb.policy.catalog import Column, Kind, Value
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.records import changed, dataclass


class Function(StrEnum):
    """The aggregate functions."""

    COUNT = "count"
    COUNT_DISTINCT = "count_distinct"
    SUM = "sum"
    AVG = "avg"
    VAR_SAMP = "var_samp"
    VAR_POP = "var_pop"
    STDDEV_SAMP = "stddev_samp"
    STDDEV_POP = "stddev_pop"
    MIN = "min"
    MAX = "max"
    QUANTILE = "quantile"
    MODE = "mode"
    APPROX_BOUNDS = "approx_bounds"


COUNTS = (Function.COUNT, Function.COUNT_DISTINCT)
"""The functions that return 0 rather than NULL if no row counts."""

SAMPLED = (Function.VAR_SAMP, Function.STDDEV_SAMP)
"""The functions of a sample, which divide by the number of rows less one."""

DEVIATIONS = (Function.STDDEV_SAMP, Function.STDDEV_POP)
"""The functions that are the root of a variance."""

VARIANCES = (Function.VAR_SAMP, Function.VAR_POP, *DEVIATIONS)
"""The functions that are made of the mean square."""


@dataclass(frozen=True)
class Aggregate:
    """An aggregate call: `argument` is None for COUNT(*), `where` is its FILTER.

    `fraction` is the order of a QUANTILE, from 0 to 1. A MODE with a `weight` is of the value whose
    rows have the largest sum of weights.
    """

    function: Function
    argument: Expr | None = None
    where: Expr | None = None
    fraction: Fraction | None = None
    place: Place | None = field(default=None, compare=False)
    weight: Expr | None = None

    @property
    def arguments(self) -> tuple[Expr, ...]:
        """The argument and the weight, if there are any: a row counts where neither is NULL."""
        return tuple(part for part in (self.argument, self.weight) if part is not None)

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The expressions over a row: the arguments and the filter."""
        return self.arguments if self.where is None else (*self.arguments, self.where)

    @property
    def kind(self) -> Kind:
        """The type of the answer."""
        match self.function:
            case Function.COUNT | Function.COUNT_DISTINCT:
                return Kind.INTEGER
            case Function.APPROX_BOUNDS:
                return Kind.TEXT
            case Function.SUM | Function.MIN | Function.MAX | Function.QUANTILE | Function.MODE:
                assert self.argument is not None
                return self.argument.kind
            case Function.AVG if self.argument and self.argument.kind.temporal:
                return self.argument.kind
            case (
                Function.AVG
                | Function.VAR_SAMP
                | Function.VAR_POP
                | Function.STDDEV_SAMP
                | Function.STDDEV_POP
            ):
                return Kind.NUMBER
            case _:
                assert_never(self.function)


@dataclass(frozen=True)
class Output:
    """A column of the answer; the leaves of `expression` are constants and slots."""

    label: str
    expression: Expr

    @property
    def column(self) -> tuple[str, Kind]:
        """The name and the type."""
        return self.label, self.expression.kind


@dataclass(frozen=True)
class Ordering:
    """A term of ORDER BY."""

    expression: Expr
    descending: bool
    nulls_first: bool

    def over(self, new: Callable[[Expr], Expr]) -> Ordering:
        """The term with `new` of its expression."""
        return replace(self, expression=new(self.expression))


def ends_asked_for(
    outputs: Iterable[Output], having: Expr | None, order: Iterable[Ordering]
) -> set[IntervalEnd]:
    """The ends of intervals in the columns, HAVING and the terms of ORDER BY."""
    parts = [each.expression for each in outputs] + [each.expression for each in order]
    return set().union(*map(interval_ends, parts if having is None else [*parts, having]))


@dataclass(frozen=True)
class Options:
    """The options of a query; None where the session decides."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    noise_index: tuple[Fraction, ...] | None = None
    error: Fraction | None = None
    relative_error: Fraction | None = None
    confidence: Fraction | None = None
    mechanism: NoiseKind | None = None
    sensitivity: str | None = None
    interval: str | None = None
    goal: str | None = None
    """The errors that are made small where levels of a CUBE are drawn together: a `Goal`."""
    nonnegative: str | None = None
    bounds: str | None = None
    """'find' if bounds are to be found, 'alone' in the query that finds them, then 'found'."""
    rows_per_unit: str | None = None
    """'find' if a cap on what a unit adds is to be found, 'totals' if a SUM clamps totals."""

    @property
    def kind(self) -> NoiseKind:
        """The noise on counts and sums."""
        return self.mechanism or NoiseKind.LAPLACE

    def kind_for(self, function: Function) -> NoiseKind:
        """The noise on the releases of an aggregate."""
        return self.kind if function in (*COUNTS, Function.SUM) else self.kind.of_ratios

    @property
    def has_accuracy_goal(self) -> bool:
        """Whether the query fixes the size of its noise instead of its share of the budget."""
        return bool(self.noise_index or self.error or self.relative_error)


NO_OPTIONS = Options()
WORK = "_work"
"""The attribute in which `unit_work` caches the work on a query."""
_WORKED_OUT = ("contradictions", "groups_per_unit", WORK)
"""The cached attributes of a query that its options have no part in."""


@dataclass(frozen=True)
class Query:
    """A SELECT statement.

    `outputs`, `having` and `order` refer to `aggregates`, `keys` and `subqueries` through slots.
    """

    table: Source
    outputs: tuple[Output, ...]
    aggregates: tuple[Aggregate, ...]
    where: Expr | None = None
    keys: tuple[Expr, ...] = ()
    having: Expr | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    subqueries: tuple[Query, ...] = ()
    options: Options = NO_OPTIONS
    least_units: int = 1
    """The fewest units that a key found in the data must have to be shown."""
    minimum_units: int = 1
    """The fewest units of any group that is shown, by the policy; beyond 1 all keys are found."""
    top: int = 0
    """The number of declared groups that are chosen by their units; 0 if all are shown."""
    cube: tuple[Expr, ...] = ()
    """The keys of all levels of a CUBE that add up, of which the query is one.

    Such a level has a group for rows in which a key is NULL.
    """

    def with_options(self, options: Options) -> Query:
        """The query with other options, and with what was worked out of its other fields."""
        query, known = changed(self, options=options), vars(self)
        vars(query).update((name, known[name]) for name in _WORKED_OUT if name in known)
        return query

    @property
    def found_places(self) -> tuple[int, ...]:
        """The indices of the keys whose groups are found in the data."""
        if self.minimum_units > 1 or self.top:
            return tuple(range(len(self.keys)))
        return found_places(self.keys, self.where)

    @cached_property
    def contradictions(self) -> tuple[Contradiction | None, ...]:
        """For each aggregate why no row can pass WHERE and its FILTER; None where one might."""
        filters = {each.where: conjunction(self.where, each.where) for each in self.aggregates}
        by_filter = {each: contradiction(self.table, both) for each, both in filters.items()}
        return tuple(by_filter[each.where] for each in self.aggregates)

    @property
    def public(self) -> bool:
        """Whether it reads public tables and no other."""
        return self.table.public and all(query.public for query in self.subqueries)

    @property
    def columns_read(self) -> tuple[Column, ...]:
        """The different columns that its subqueries, filter, keys and aggregates read.

        Several can have one name, as those of two tables can.
        """
        parts = [part for each in self.aggregates for part in each.parts]
        own = (
            column
            for part in (self.where, *self.keys, *parts)
            if part is not None
            for column in (*columns_of(part).values(), *stored_columns(part).values())
        )
        inner = (column for query in self.subqueries for column in query.columns_read)
        return tuple(dict.fromkeys((*inner, *own)))

    @cached_property
    def groups_per_unit(self) -> int | None:
        """The most groups in which a unit counts; None where only its rows are limited.

        It is 1 if all keys are equal in all rows of a unit.
        """
        owned = columns_of_unit(self.table) if self.keys else frozenset[str]()
        if self.keys and all(columns_of(key).keys() <= owned for key in self.keys):
            return 1
        return self.table.groups_per_unit

    @property
    def has_single_values(self) -> bool:
        """Whether an aggregate reads single values of units or DISTINCT, made for each group."""
        return any(single_value(each.argument) is not None for each in self.aggregates)

    @property
    def measured(self) -> tuple[Expr, ...]:
        """The expressions whose confidence intervals the answer shows."""
        outputs = [each.expression for each in self.outputs]
        whole = {each for each in outputs if each.kind.ordinal and not interval_ends(each)}
        return tuple(whole.union(self.ends_read))

    @property
    def ends_read(self) -> tuple[Expr, ...]:
        """The expressions of which the query reads an end of the interval as a value."""
        ends = ends_asked_for(self.outputs, self.having, self.order)
        return tuple({end.operand for end in ends})

    @property
    def settled(self) -> bool:
        """Whether the policy alone gives the answer, because no row can count for it."""
        return not self.subqueries and all(self.contradictions)

    @property
    def size(self) -> int:
        """The number of expressions, those of subqueries included."""
        own = [output.expression for output in self.outputs]
        own += [term.expression for term in self.order]
        own += [part for each in self.aggregates for part in each.parts]
        own += [part for part in (self.where, self.having, *self.keys) if part]
        return sum(map(size, own)) + sum(query.size for query in self.subqueries)

    @property
    def selects(self) -> int:
        """The number of SELECTs: this one, and its subqueries with theirs."""
        return 1 + sum(query.selects for query in self.subqueries)

    @property
    def cut(self) -> bool:
        """Whether ORDER BY, LIMIT or OFFSET moves rows of the answer or leaves rows out."""
        return self.limit is not None or bool(self.offset) or bool(self.order)


@dataclass(frozen=True)
class PublicRows(Query):
    """Rows of a public table as they are: `outputs` and `order` are expressions over a row."""

    @property
    def columns_read(self) -> tuple[Column, ...]:
        """The different columns of the table that are read."""
        parts = [each.expression for each in self.outputs] + [e.expression for e in self.order]
        parts += [] if self.where is None else [self.where]
        return tuple(dict.fromkeys(c for part in parts for c in columns_of(part).values()))


KeyRow = tuple[Value | None, ...]
"""A value for each of the keys that are found; None is NULL, which is a value of its own here."""


@dataclass(frozen=True)
class FoundKeys:
    """The keys of a plan that are found in the data, and the values found so far.

    Values that are shown were released with noise, so they may be used like declared values.
    """

    places: tuple[int, ...]
    """Indices of the found keys among the plan's keys."""
    most: int = 1
    """A stand-in for the number of groups until the values are released."""
    among: tuple[tuple[Value, ...], ...] = ()
    """For each place the values that the policy lists, if groups are chosen from these."""
    shown: tuple[KeyRow, ...] | None = None
    """The released values, in ascending order with NULL last; None before their release."""


def are_sought(found: FoundKeys | None) -> bool:
    """Whether there are keys to be found."""
    return found is not None and found.shown is None
