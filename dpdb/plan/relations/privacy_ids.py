"""The columns that name the privacy unit of a row, or are the same in all rows of a unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from dpdb.plan.expressions.expressions import ColumnRef, Expr, columns_of
from dpdb.plan.relations.relations import (
    Equality,
    Join,
    Joined,
    JoinKind,
    Mark,
    Relation,
    Scan,
    Source,
    certain_scans,
    relation_of,
    scans,
)
from dpdb.policy.catalog import Column, Policy, Table
from dpdb.policy.names import Reference
from dpdb.records import dataclass


@dataclass(frozen=True)
class Name:
    """The meaning of an identifying column: a key of a table's rows, or a unit (`table` None).

    The `column` of a unit is its kind, where the policy declares kinds.

    Rows with equal values, none NULL, in columns with the same name are of one unit.
    """

    table: str | None = None
    column: str | None = None

    @property
    def is_unit(self) -> bool:
        """Whether values name a unit itself."""
        return self.table is None

    @property
    def reference(self) -> Reference | None:
        """The key that identifies a table's rows; None for the unit."""
        if self.table is None or self.column is None:
            return None
        return Reference(self.table, self.column)


THE_UNIT = Name()


def unit_name(kind: str) -> Name:
    """The name of a unit of a kind."""
    return Name(None, kind) if kind else THE_UNIT


def names_in(leaves: Iterable[Scan], policy: Policy) -> dict[str, Name]:
    """The names of the identifying columns of scans, by column."""
    return {
        scan.name(column): name
        for scan in leaves
        for column in scan.table.columns
        if (name := name_of(column, scan.table, policy)) is not None
    }


def name_of(column: Column, table: Table, policy: Policy) -> Name | None:
    """The name that a column of a table stands for; None if it identifies nothing."""
    if table.public or table.unit is None:
        return None
    for owner in table.owned_by:
        if column.name in owner.columns:
            named = owner.chain
            if named is None or not named.also:
                return unit_name(owner.kind) if named is None else _referred(named, policy)
            # The row with the key has the same unit, and the same value in its own column.
            there = policy.table(named.table)
            key = there and there.column(named.columns[owner.columns.index(column.name)])
            if there and key and (name := name_of(key, there, policy)):
                return name
    if column.references is not None:
        return _referred(column.references, policy)
    return Name(table.name, column.name) if table.key == (column.name,) else None


def _referred(reference: Reference, policy: Policy) -> Name:
    table = policy.table(reference.table)
    if table is not None and table.unit == reference.column and table.chain is None:
        return unit_name(table.kind)
    return Name(reference.table, reference.column)


def equal_in_a_row(on: Sequence[Equality], left: Iterable[Scan], right: Scan) -> frozenset[int]:
    """The equalities which together say that both sides are about one row of a private table.

    A key of several columns names a row, and so does a chain to it, as in
    `l.product = o.product AND l.supplier_id = o.supplier_id`. None of them says so alone.
    """
    at = {
        (one.column.name, other.column.name): index
        for index, (one, other) in enumerate(on)
        if isinstance(one, ColumnRef) and isinstance(other, ColumnRef)
    }
    for pairs in (pairs for scan in left for pairs in named_together(scan, right)):
        if all(pair in at for pair in pairs):
            return frozenset(at[pair] for pair in pairs)
    return frozenset()


def named_together(left: Scan, right: Scan) -> Iterator[list[tuple[str, str]]]:
    """The columns of both sides that name a row of one table by a key of several columns."""
    for (table, here), (other, there) in product(_rows_in(left), _rows_in(right)):
        if table == other:
            yield [(here[column], name) for column, name in there.items()]


def _rows_in(scan: Scan) -> Iterator[tuple[str, dict[str, str]]]:
    """The tables whose rows a scan names by several columns, and its name of each key column."""
    table, prefix = scan.table, f"{scan.leaf}." if scan.leaf else ""
    if type(table) is not Table:
        return
    if len(table.key) > 1 and table.unit is not None and not table.owners:
        yield table.name, {name: f"{prefix}{name}" for name in table.key}
    for owner in table.owned_by:
        if owner.chain is not None and owner.chain.also:
            named = zip(owner.chain.columns, owner.columns, strict=True)
            yield owner.chain.table, {there: f"{prefix}{here}" for there, here in named}


def unit_columns(source: Source, *, always: bool = False) -> frozenset[str]:
    """The names of the columns that name the privacy unit of a row, or `always` do.

    A column that references such a column is not one of them: the policy says which are.
    """
    if source.kinds:  # neither of two owners is all that a row is about
        return frozenset()
    match source:
        case Joined(relation=relation):
            return frozenset(
                f"{scan.leaf}.{name}" if scan.leaf else name
                for scan in (certain_scans(relation) if always else scans(relation))
                for name in unit_columns(scan.table, always=always)
            )
        case Table(unit=str(unit), chain=None) if unit:
            return frozenset((unit,) if source.names_every_unit or not always else ())
    return frozenset()


def names_unit(expression: Expr | None, source: Source, *, always: bool = False) -> bool:
    """Whether an expression is a column that names the privacy unit of a row; `always`, of each."""
    naming = unit_columns(source, always=always)
    return isinstance(expression, ColumnRef) and expression.column.name in naming


def columns_of_unit(source: Source) -> frozenset[str]:
    """The names of the columns that are the same in all rows of a unit, or NULL in all.

    They are the columns of tables with one row for each unit, and those that unique lookups find
    for them in public tables. A group by such columns has all rows of a unit or none.
    """
    return frozenset() if source.kinds else _same_in_unit(relation_of(source))


def _same_in_unit(relation: Relation) -> frozenset[str]:
    match relation:
        case Scan(table=table):
            # A unit can have another row where the column that names it is NULL.
            one_row = table.key != () and {*table.key} == unit_columns(table, always=True)
            return frozenset(map(relation.name, table.columns)) if one_row else frozenset()
        case Mark(left=left):
            return _same_in_unit(left)
        case Join(kind=JoinKind.FULL):
            return frozenset()
        case Join(left=left, right=Scan(table=Table(public=True)) as right):
            known = _same_in_unit(left)
            return known | _looked_up(relation, right, known)
        case Join(kind=JoinKind.INNER, left=left, right=right):
            return _same_in_unit(left) | _same_in_unit(right)
        case Join(left=left):
            return _same_in_unit(left)


def _looked_up(join: Join, right: Scan, known: frozenset[str]) -> frozenset[str]:
    """The columns of a public table, if all rows of a unit find the same row of it or none."""
    equal = {
        there.column.name
        for here, there in join.on
        if isinstance(there, ColumnRef) and columns_of(here).keys() <= known
    }
    key = {right.name(column) for column in right.table.columns if column.name in right.table.key}
    alone = len(join.on) == len(key) and join.rest is None
    unique = bool(key) and key <= equal and (alone or join.kind is JoinKind.INNER)
    return frozenset(map(right.name, right.table.columns)) if unique else frozenset()
