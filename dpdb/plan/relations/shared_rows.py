"""Rows of two units: the relations in which each row keeps its owners, and the refusal of others.

Let R(D - u) be a relation's rows over the tables without the rows of a unit u. Sums over rows of
two units are filled (`engines.units.filling`), and that is sound where

    R(D - u) = the rows of R(D) that u does not own, for every unit u, of every kind.    (subset)

A scan, a filter, a projection and UNION ALL keep it: they read one row. A join with a public table
keeps it, as public rows never change. So does an inner join with a private table: a pair is there
where both rows are, and its owners are those of both. The second table must be joined on its key,
and one of the equalities must say that its unit is an owner already. So each row is in one pair at
most, which has two owners still. A LEFT or FULL JOIN, EXISTS and NOT IN, windows, DISTINCT, LIMIT
and GROUP BY within FROM break it: a row is there, or changes, because another unit's is not.

A table whose rows have one owner holds at most a number of rows of each unit
(`engines.units.held_rows`), which bounds the work of the unit. **No such limit on rows of two
owners keeps the subset rule.** Take away all units but the owners u and v of a row, one after the
other: by the rule the row is held as before. So whether a row is held follows from the rows whose
owners are all among u and v. If u shares one row with each of n others, each of these rows is held
as if it were the only one: all n, or none.

A limit that breaks the rule moves the rows of others. Let a table hold the rows that fit in rooms
of one row, and let it have rows of v_1 and v_2, v_2 and v_3, …, in this order. If u enters with a
row of u and v_1 before them, the first, third, … of these rows leave, and the others enter. A
filter can see half of them. So the time of a unit is bounded for as many rows as the policy says
count (`plan.unit_work`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dpdb.errors import Unsupported
from dpdb.plan.expressions.expressions import ColumnRef, columns_of
from dpdb.plan.relations.relations import Join, JoinKind, Mark, Relation, Scan, scans
from dpdb.policy.catalog import Table

Slots = Mapping[str, int]
"""The columns that say who an owner is, each with the index of that owner."""


def named_slots(scan: Scan) -> Slots:
    """The columns of a table whose rows have two owners that name an owner."""
    return {
        f"{scan.leaf}.{name}" if scan.leaf else name: at
        for at, each in enumerate(scan.table.owners)
        for name in each.columns
    }


def of_units(kinds: Iterable[str]) -> str:
    """The owners of a row in messages: `a customer and a supplier`, or `two persons`."""
    kinds = [*kinds]
    if len(kinds) == 1:
        return f"two {kinds[0]}s"
    return " and ".join(f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}" for kind in kinds)


def slot_joined(slots: Slots, kinds: tuple[str, ...], join: Join, *, same: list[bool]) -> int:
    """The owner of the left rows whose row of a private table the join finds.

    `same` says of each equality whether both sides name the same. Raises Unsupported where the
    join would not keep the subset rule, or make rows of three owners.
    """
    right, words = join.right.table, of_units(kinds)
    if join.kind is not JoinKind.INNER:
        raise Unsupported(
            f"{join.kind} would tell which rows of {join.right} are missing for {words}",
            hint="use JOIN",
        )
    key = {join.right.name(column) for column in right.columns if column.name in right.key}
    equal = {other.column.name for _, other in join.on if isinstance(other, ColumnRef)}
    found = [
        slots[one.column.name]
        for (one, _), alike in zip(join.on, same, strict=True)
        if alike and isinstance(one, ColumnRef) and one.column.name in slots
    ]
    if right.owners or not found or type(right) is not Table:
        number = 2 + max(1, len(right.owners))
        raise Unsupported(
            f"a row of this join can belong to {number} units, 2 are possible",
            hint="join on a key, or count edges",
        )
    if not key or not key <= equal:
        raise Unsupported(
            f"a row of {words} could meet several rows of {join.right}",
            hint=f'join on its key, or declare key = "…" in [tables.{right.name}]',
        )
    return found[0]


def columns_of_owner(relation: Relation, kind: str) -> frozenset[str]:
    """The columns that are a function of a row's owner of a kind, or NULL.

    They are those of tables with one row for each unit of the kind, and what unique lookups find
    for them in public tables. Of two owners of one kind a row has no such column: it is in the
    group of the one, and in that of the other.
    """
    base = next(scans(relation))
    if base.table.kinds.count(kind) != 1 or len(base.table.kinds) == 1:
        return frozenset()
    return _of_owner(relation, kind)


def _of_owner(relation: Relation, kind: str) -> frozenset[str]:
    match relation:
        case Scan(table=table):
            own = {each.column for each in table.owners if each.kind == kind and not each.chain}
            return frozenset(relation.name(c) for c in table.columns if c.name in own)
        case Mark(left=left):
            return _of_owner(left, kind)
        case Join(left=left, right=right):
            known = _of_owner(left, kind)
            one_row = right.table.has_one_row_per_unit and right.table.kind == kind
            if right.table.public or one_row:
                return known | _found(relation, known, own=one_row and not right.table.public)
            return known


def _found(join: Join, known: frozenset[str], *, own: bool) -> frozenset[str]:
    """The columns of the right table, where all rows of a unit find one row of it, or none."""
    right = join.right
    key = {right.name(column) for column in right.table.columns if column.name in right.table.key}
    equal = {
        there.column.name
        for here, there in join.on
        if isinstance(there, ColumnRef) and (own or columns_of(here).keys() <= known)
    }
    alone = len(join.on) == len(key) and join.rest is None
    unique = bool(key) and key <= equal and (alone or join.kind is JoinKind.INNER)
    return frozenset(map(right.name, right.table.columns)) if unique else frozenset()


def relation_kinds(relation: Relation) -> tuple[str, ...]:
    """The kinds of the two owners of each row; none where rows have one owner."""
    return next((scan.table.kinds for scan in scans(relation) if scan.table.owners), ())
