"""The columns that name the owner of a row, its privacy unit, or are the same in all its rows."""

from __future__ import annotations

from collections.abc import Mapping

from dpdb.plan.expressions.expressions import ColumnRef, columns_of
from dpdb.plan.relations.relations import (
    Join,
    Joined,
    JoinKind,
    Mark,
    Relation,
    Scan,
    Source,
    certain_scans,
    scans,
)
from dpdb.policy.catalog import Column, Policy, Reference, Table
from dpdb.records import dataclass


@dataclass(frozen=True)
class Name:
    """The meaning of an identifying column: a key of a table's rows, or the unit (`table` None).

    Rows with equal values, none NULL, in columns with the same name are of one unit.
    """

    table: str | None = None
    column: str | None = None


THE_UNIT = Name()


def names_of(scan: Scan, policy: Policy) -> Mapping[str, Name]:
    """The names of a scan's identifying columns, by column."""
    named = ((column, name_of(column, scan.table, policy)) for column in scan.table.columns)
    return {scan.name(column): name for column, name in named if name is not None}


def name_of(column: Column, table: Table, policy: Policy) -> Name | None:
    """The name that a column of a table stands for; None if it identifies nothing."""
    if table.public or table.unit is None:
        return None
    if column.name == table.unit:
        return THE_UNIT if table.chain is None else _referred(table.chain, policy)
    if column.references is not None:
        return _referred(column.references, policy)
    return Name(table.name, column.name) if table.key == (column.name,) else None


def _referred(reference: Reference, policy: Policy) -> Name:
    table = policy.table(reference.table)
    if table is not None and table.unit == reference.column and table.chain is None:
        return THE_UNIT
    return Name(reference.table, reference.column)


def unit_columns(source: Source, *, always: bool = False) -> frozenset[str]:
    """The names of the columns that name the privacy unit of a row, or `always` do.

    A column that references such a column is not one of them: the policy says which are.
    """
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


def columns_of_owner(source: Source) -> frozenset[str]:
    """The names of the columns that are the same in all rows of a unit, or NULL in all.

    They are the columns of tables with one row for each unit, and those that unique lookups find
    for them in public tables. A group by such columns has all rows of a unit or none.
    """
    return _of_owner(source.relation if isinstance(source, Joined) else Scan(source))


def _of_owner(relation: Relation) -> frozenset[str]:
    match relation:
        case Scan(table=table):
            # A unit can have another row where the column that names it is NULL.
            one_row = table.key != () and {*table.key} == unit_columns(table, always=True)
            return frozenset(map(relation.name, table.columns)) if one_row else frozenset()
        case Mark(left=left):
            return _of_owner(left)
        case Join(kind=JoinKind.FULL):
            return frozenset()
        case Join(left=left, right=Scan(table=Table(public=True)) as right):
            known = _of_owner(left)
            return known | _looked_up(relation, right, known)
        case Join(kind=JoinKind.INNER, left=left, right=right):
            return _of_owner(left) | _of_owner(right)
        case Join(left=left):
            return _of_owner(left)


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
