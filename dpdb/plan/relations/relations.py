"""Relations: the rows that a query reads, as a tree of scans and joins; no data is read.

A relation R is unit-wise if R(D) is the disjoint union of R(D_u) over the units u, where D_u has
the rows of u in all private tables and all public tables, and if R is empty without units. Then
each row has one unit, and no row is there or missing because of another unit. What an engine
makes of a relation is unit-wise by construction: two private rows are joined only if they have
the same unit, and every row of a relation has a private row in it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import field, replace
from enum import StrEnum
from functools import cached_property
from typing import Protocol, assert_never

from dpdb.errors import Unsupported
from dpdb.plan.expressions.expressions import Expr, Literal, columns_of, conjunction, conjuncts
from dpdb.policy.catalog import Column, Kind, Table, Value
from dpdb.records import dataclass


@dataclass(frozen=True, repr=False)
class Scan:
    """The rows of a table that have a unit, or all rows of a public table."""

    table: Table
    leaf: str = ""
    """Prefix that makes this scan's column names unique; empty if none is needed."""

    def name(self, column: Column) -> str:
        """The name of a column in the relation."""
        return f"{self.leaf}.{column.name}" if self.leaf else column.name

    def column(self, column: Column, *, nullable: bool = False) -> Column:
        """A column as one of the relation, where it may also be NULL for want of a match."""
        label = f"{self.leaf}.{column.label}" if column.label else ""
        renamed = replace(column, name=self.name(column), label=label) if self.leaf else column
        return replace(renamed, nullable=True) if nullable and not column.nullable else renamed

    @property
    def presence(self) -> Column:
        """Whether there is a row, which an outer join may be without."""
        return Column(self.leaf, Kind.BOOLEAN, nullable=False)

    def __str__(self) -> str:
        return self.leaf or self.table.name

    def __repr__(self) -> str:
        """A text that tells it from other scans of tables of one policy."""
        return f"Scan({self.table.name!r}, {self.leaf!r})"


class JoinKind(StrEnum):
    """Join types: rows without a match are dropped, kept of the left side, or kept of both."""

    INNER = "JOIN"
    LEFT = "LEFT JOIN"
    FULL = "FULL JOIN"


Equality = tuple[Expr, Expr]
"""An expression over the left side of a join that equals one over the right side."""


@dataclass(frozen=True)
class Join:
    """The pairs of a row of each side for which all `on` are equal and `rest` is true.

    Where both sides are private, the two rows of a pair have the same unit.
    """

    kind: JoinKind
    left: Relation
    right: Scan
    on: tuple[Equality, ...]
    rest: Expr | None = None


@dataclass(frozen=True)
class Lookup:
    """The search of EXISTS and IN: rows of a table for which `on` is equal and `rest` is true.

    In a private table only the unit's rows are looked at. For IN, the row also has to be equal in
    `compared`. If no row is equal but a NULL leaves it open, the answer is NULL, as in SQL.
    """

    right: Scan
    on: tuple[Equality, ...]
    rest: Expr | None = None
    compared: Equality | None = None

    @property
    def column(self) -> Column:
        """The answer, as a column of the rows for which it is asked."""
        return replace(self.right.presence, nullable=self.compared is not None)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All expressions that are compared or tested."""
        pairs = self.on if self.compared is None else (*self.on, self.compared)
        sides = (side for pair in pairs for side in pair)
        return (*sides,) if self.rest is None else (*sides, self.rest)

    @property
    def own_condition(self) -> Expr | None:
        """The part of `rest` that is about the looked-up row alone."""
        return conjunction(*(each for each in conjuncts(self.rest) if self._is_own(each)))

    @property
    def pair_condition(self) -> Expr | None:
        """The part of `rest` that is about both rows."""
        return conjunction(*(each for each in conjuncts(self.rest) if not self._is_own(each)))

    def _is_own(self, condition: Expr) -> bool:
        return all(name.startswith(f"{self.right.leaf}.") for name in columns_of(condition))


@dataclass(frozen=True)
class Attached:
    """A table with at most one row for each row that asks, which is joined by a LEFT JOIN."""

    right: Scan
    on: tuple[Equality, ...]


@dataclass(frozen=True)
class Mark:
    """The rows of a relation with a further column: whether a lookup finds a row for each."""

    left: Relation
    lookup: Lookup


Relation = Scan | Join | Mark


def scans(relation: Relation) -> Iterator[Scan]:
    """The scans of a relation, from left to right."""
    match relation:
        case Scan():
            yield relation
        case Join(left=left, right=right):
            yield from scans(left)
            yield right
        case Mark(left=left, lookup=lookup):
            yield from scans(left)
            yield lookup.right
        case _:
            assert_never(relation)


def relation_of(source: Source) -> Relation:
    """The source as a relation: a table alone is a scan."""
    return Scan(source) if isinstance(source, Table) else source.relation


def nodes(relation: Relation) -> int:
    """The number of joins and lookups."""
    return 0 if isinstance(relation, Scan) else 1 + nodes(relation.left)


def is_full(relation: Relation) -> bool:
    """Whether there is a FULL JOIN in a relation, of which no one table has all units."""
    match relation:
        case Join(kind=kind, left=left):
            return kind is JoinKind.FULL or is_full(left)
        case Mark(left=left):
            return is_full(left)
        case Scan():
            return False
        case _:
            assert_never(relation)


def columns_joined_on(relation: Relation) -> frozenset[str]:
    """The names of the columns that the joins of a relation read."""
    match relation:
        case Scan():
            return frozenset()
        case Join(left=left, on=on, rest=rest):
            read = [*(side for pair in on for side in pair), *([] if rest is None else [rest])]
            return columns_joined_on(left).union(*map(columns_of, read))
        case Mark(left=left, lookup=lookup):
            return columns_joined_on(left).union(*map(columns_of, lookup.expressions))
        case _:
            assert_never(relation)


@dataclass(frozen=True)
class NodeRows:
    """The numbers of rows of one unit in a join or a lookup, whatever rows the unit has."""

    rows: int
    """The most rows in the result."""
    made: int
    """The most rows, or pairs of rows, that exist during the computation."""
    unlimited: bool = False
    """Whether private rows are paired without a key that limits the number of pairs."""
    by_value: bool = False
    """Whether paired rows are equal in more than their unit."""
    looks_up: bool = False
    """Whether the node is a lookup, which makes no rows."""
    alike: int | None = None
    """The most rows of a unit, equal in what is joined on, that enter on the right side."""


@dataclass(frozen=True)
class Joined:
    """A relation of several tables as a query reads it: like a table with a unit and a cap."""

    relation: Relation
    unit: str | None
    """The policy's word for a privacy unit; None where each row of one table is a unit."""
    rows_per_unit: int
    """The most rows of one unit that a query counts."""
    nominal: int
    """The cap on a unit's rows that the tables' caps give; a query may ask for a lower one."""
    arithmetic: str
    """Computation of `nominal` from the tables' caps, as EXPLAIN shows it: `20 × 3`."""
    entering: int | None = None
    """The most rows of a unit that each table brings in; None where keys limit their pairs."""
    fan_out: int = 1
    """The most public rows that a row of a private table, or of the first one, is joined with."""
    unmatched: str | None = field(default=None, compare=False)
    """The public table of a LEFT JOIN whose rows without a match are left out, if any."""
    steps: tuple[NodeRows, ...] = ()
    """The joins and lookups, from the innermost on."""

    def node(self, scan: Scan) -> Join | Mark | None:
        """The join or lookup whose right side is a scan; None of the first one."""
        relation = self.relation
        while not isinstance(relation, Scan):
            right = relation.right if isinstance(relation, Join) else relation.lookup.right
            if right.leaf == scan.leaf:
                return relation
            relation = relation.left
        return None

    def step(self, node: Join | Mark) -> NodeRows:
        """The numbers of rows of a join or lookup within the relation."""
        return self.steps[nodes(node) - 1]

    @property
    def rows_held(self) -> int:
        """The most rows of one unit that the relation has; 0 where all are public."""
        if self.steps:
            return self.steps[-1].rows
        (scan,) = scans(self.relation)
        return 0 if scan.table.public else scan.table.rows_held

    @property
    def public(self) -> bool:
        """Whether everybody may know the rows, as all tables are public."""
        return all(scan.table.public for scan in scans(self.relation))

    @cached_property
    def kind(self) -> str:
        """The kind of unit that rows are about; empty where the policy declares none."""
        return next((each.table.kind for each in scans(self.relation) if each.table.unit), "")

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The different kinds of the two owners of each row; none where rows have one owner."""
        return next((k for scan in scans(self.relation) if (k := scan.table.kinds)), ())

    @property
    def groups_per_unit(self) -> None:
        """The most groups in which a unit counts: only its rows are limited."""

    @property
    def finds_cap(self) -> bool:
        """Whether a cap on the rows of a unit is to be found, as a table's policy says."""
        found = any(scan.table.finds_cap for scan in scans(self.relation))
        return found and not self.kinds and self.rows_per_unit == self.nominal

    @property
    def unit_in_words(self) -> str:
        """Word for a unit in messages."""
        return " or ".join(self.kinds) or self.kind or self.unit or "row"


Source = Table | Joined
"""The source of a query's rows."""


def certain_scans(relation: Relation) -> Iterator[Scan]:
    """The scans of which every row of a relation has a row."""
    match relation:
        case Scan():
            yield relation
        case Mark(left=left):
            yield from certain_scans(left)
        case Join(kind=kind, left=left, right=right):
            yield from () if kind is JoinKind.FULL else certain_scans(left)
            yield from (right,) if kind is JoinKind.INNER else ()
        case _:
            assert_never(relation)


class Facts(Protocol):
    """Facts about the rows of public tables."""

    @abstractmethod
    def fan_out(self, table: Table, columns: tuple[str, ...]) -> int:
        """The most rows of a public table that have the same values, none NULL, in the columns.

        That is the number of its rows where there are no columns.
        """

    @abstractmethod
    def rows(self, query: object) -> tuple[tuple[Value | None, ...], ...] | None:
        """The rows of a query of public tables, exact; None where no table may be read."""

    @abstractmethod
    def value(self, query: object) -> Literal | None:
        """The one value of a query of public tables, exact; None where no table may be read.

        Raises Unsupported where the query has more rows than one.
        """

    def is_told(self, query: object) -> bool:
        """Whether the noisy rows of a query are told, as those of a temporary table are."""
        return False


class _NoFacts(Facts):
    def fan_out(self, table: Table, columns: tuple[str, ...]) -> int:
        named = ", ".join(columns) or "its columns"
        raise Unsupported(
            f"the policy does not say how many rows of {table.name} one row can meet",
            hint=f"declare a unique key of {table.name}, or at_most for {named}",
        )

    def rows(self, query: object) -> None:
        return None

    def value(self, query: object) -> None:
        return None


NO_FACTS: Facts = _NoFacts()
"""The facts without access to any table: none but the policy."""
