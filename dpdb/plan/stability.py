"""Whose the rows of a relation are, and how many of them one unit can have.

A cap on the rows of each unit makes every relation safe, whatever is joined below it. What is
worked out here says how high the cap need be, so that it cuts off little: it serves accuracy, and
no privacy rests on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product

from dpdb.errors import Unsupported
from dpdb.plan.expressions import Call, ColumnRef, Expr
from dpdb.plan.facts import Facts
from dpdb.plan.relations import Equality, Join, JoinKind, Mark, Relation, Scan
from dpdb.policy.catalog import Column, Policy, Reference, Table

MAX_FAN_OUT = 10_000
"""The most public rows that one row may be joined with."""

MAX_PAIRS = 1_000_000
"""The most combinations of its rows that a unit can have where no key limits them."""


class Owner(StrEnum):
    """Whose a row is."""

    PUBLIC = "public"
    ROW = "row"
    """Each row of one table is a unit."""
    UNIT = "unit"
    """The policy's unit."""


@dataclass(frozen=True)
class Name:
    """What a column names: rows of a table by their key, or without a table the unit itself.

    Rows with equal values, none NULL, in columns that name the same are of one unit.
    """

    table: str | None = None
    column: str | None = None


THE_UNIT = Name()
Key = frozenset[str]
"""Columns that tell any two rows of one unit apart."""


@dataclass(frozen=True)
class Shape:
    """What is known of a relation."""

    owner: Owner
    sure: int | None
    """The most rows that any unit has; None where nothing limits them."""
    nominal: int
    """How many rows of a unit count unless a query asks for fewer."""
    arithmetic: str
    keys: frozenset[Key]
    names: Mapping[str, Name]
    """What columns name, by their names in the relation."""
    unlimited_pairs: int = 0
    """How many joins of private rows pair each with many of the other side."""
    fan_out: int = 1
    """The most public rows that a private row, or a pair of them, is joined with."""

    @property
    def cap(self) -> int:
        """The most rows of a unit that count."""
        return self.nominal if self.sure is None else min(self.sure, self.nominal)

    @property
    def entering(self) -> int | None:
        """The most rows of a unit that each table brings in; None where keys limit their pairs.

        Then no unit has more than MAX_PAIRS combinations, whatever rows it has.
        """
        tables = self.unlimited_pairs + 1
        if tables == 1:
            return None
        return max(n for n in range(1, 1001) if n**tables <= MAX_PAIRS)

    def named_by(self, expression: Expr) -> Name | None:
        """What the values of an expression name; None where they name nothing."""
        match expression:
            case ColumnRef(column=column):
                return self.names.get(column.name)
            case Call(name="coalesce", arguments=arguments):
                named = {self.named_by(argument) for argument in arguments}
                return named.pop() if len(named) == 1 else None
        return None


def shape(relation: Relation, policy: Policy, facts: Facts) -> Shape:
    """The shape of a relation; raises Unsupported where public rows fan out too far."""
    match relation:
        case Scan():
            return _scanned(relation, policy)
        case Mark():
            return _marked(relation, policy, facts)
        case Join(right=Scan(table=Table(public=True))):
            return _beside_public(relation, shape(relation.left, policy, facts), facts)
        case Join():
            left, right = shape(relation.left, policy, facts), _scanned(relation.right, policy)
            return _of_one_unit(relation, left, right)


def names_of(scan: Scan, policy: Policy) -> Mapping[str, Name]:
    """What the columns of a scan name."""
    return _scanned(scan, policy).names


def _scanned(scan: Scan, policy: Policy) -> Shape:
    table = scan.table
    names = {
        scan.name(column): name
        for column in table.columns
        if (name := name_of(column, table, policy)) is not None
    }
    key = frozenset(scan.name(c) for c in table.columns if c.name in table.key)
    keys = frozenset([_within_unit(key, names)] if key else [])
    if table.public:
        return Shape(Owner.PUBLIC, None, 1, "", keys, names)
    if table.unit is None:
        return Shape(Owner.ROW, 1, 1, "1", keys, names)
    sure = 1 if frozenset() in keys else None
    cap = table.rows_per_unit if sure is None else 1
    return Shape(Owner.UNIT, sure, cap, str(cap), keys, names)


def name_of(column: Column, table: Table, policy: Policy) -> Name | None:
    """What a column of a table names."""
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


def _within_unit(key: Key, names: Mapping[str, Name]) -> Key:
    """The columns of a key that tell rows of one unit apart."""
    return frozenset(name for name in key if names.get(name) != THE_UNIT)


def equated(on: Iterable[Equality], side: int) -> frozenset[str]:
    """The names of the plain columns of one side, 0 or 1, that a join equates."""
    sides = (pair[side] for pair in on)
    return frozenset(each.column.name for each in sides if isinstance(each, ColumnRef))


def _has_key(keys: Iterable[Key], columns: frozenset[str]) -> bool:
    return any(key <= columns for key in keys)


def _beside_public(join: Join, left: Shape, facts: Facts) -> Shape:
    """Each row of the result is a function of one private row and of public rows."""
    scan, columns = join.right, equated(join.on, 1)
    public = _scanned(scan, Policy((scan.table,)))
    fan_out = 1
    if not _has_key(public.keys, columns):
        fan_out = max(1, _fan_out(scan, columns, facts))
    keys = left.keys if fan_out == 1 else _pairs(left.keys, public.keys)
    most = left.fan_out * fan_out
    _check_fan_out(most, scan)
    sure = None if left.sure is None else left.sure * fan_out
    arithmetic = left.arithmetic if fan_out == 1 else f"{left.arithmetic} × {fan_out}"
    return replace(
        left,
        sure=sure,
        nominal=left.nominal * fan_out,
        arithmetic=arithmetic,
        keys=keys,
        fan_out=most,
    )


def _marked(mark: Mark, policy: Policy, facts: Facts) -> Shape:
    """The rows of the left side; a condition on pairs of rows has them all looked at."""
    left, lookup = shape(mark.left, policy, facts), mark.lookup
    if lookup.pair_condition is None:
        return left
    right, columns = _scanned(lookup.right, policy), equated(lookup.on, 1)
    unique = _has_key(right.keys, columns)
    if not lookup.right.table.public:
        unique = unique or _has_key(left.keys, equated(lookup.on, 0))
        return replace(left, unlimited_pairs=left.unlimited_pairs + (not unique))
    if not unique:
        _check_fan_out(left.fan_out * _fan_out(lookup.right, columns, facts), lookup.right)
    return left


def _check_fan_out(most: int, scan: Scan) -> None:
    if most > MAX_FAN_OUT:
        raise Unsupported(
            f"a row can meet {most} rows of {scan}",
            hint=f"join on a key of {scan}, or declare at_most for its columns in the policy",
        )


def _fan_out(scan: Scan, columns: frozenset[str], facts: Facts) -> int:
    """The most rows of a public table that one row can meet."""
    equal = tuple(c.name for c in scan.table.columns if scan.name(c) in columns)
    declared = [most for name, most in scan.table.at_most if name in equal]
    return min(declared) if declared else facts.fan_out(scan.table, equal)


def _of_one_unit(join: Join, left: Shape, right: Shape) -> Shape:
    """Of each unit the join of its own rows."""
    unique_right = _has_key(right.keys, equated(join.on, 1))
    unique_left = _has_key(left.keys, equated(join.on, 0))
    most, arithmetic = _most(join.kind, left.nominal, right.nominal, unique_left, unique_right)
    if "×" in arithmetic and left.nominal == 1:
        arithmetic = right.arithmetic
    elif "×" in arithmetic:
        arithmetic = f"{left.arithmetic} × {right.arithmetic}"
    sure = None
    if left.sure is not None and right.sure is not None:
        sure, _ = _most(join.kind, left.sure, right.sure, unique_left, unique_right)
    elif left.sure is not None and unique_right and join.kind is not JoinKind.FULL:
        sure = left.sure
    elif right.sure is not None and unique_left and join.kind is JoinKind.INNER:
        sure = right.sure
    keys = _pairs(left.keys, right.keys)
    if join.kind is JoinKind.FULL:
        keys = frozenset()
    elif unique_right:
        keys = left.keys
    elif unique_left and join.kind is JoinKind.INNER:
        keys = right.keys
    names = {**left.names, **right.names}
    unlimited = left.unlimited_pairs + (not (unique_left or unique_right))
    return Shape(left.owner, sure, most, arithmetic, keys, names, unlimited, left.fan_out)


def _most(
    kind: JoinKind, left: int, right: int, unique_left: bool, unique_right: bool
) -> tuple[int, str]:
    """The most rows of a unit after a join of so many, and how they are counted.

    Each number is reached by some database.
    """
    both, added = (left * right, f"{left} × {right}"), (left + right, f"{left} + {right}")
    ways = [both]
    match kind:
        case JoinKind.FULL:
            ways = [added] if unique_left or unique_right else [max(both, added)]
        case JoinKind.LEFT:
            ways += [(left, str(left))] if unique_right else []
            ways += [added] if unique_left else []
        case JoinKind.INNER:
            ways += [(left, str(left))] if unique_right else []
            ways += [(right, str(right))] if unique_left else []
    return min(ways)


def _pairs(left: Iterable[Key], right: Iterable[Key]) -> frozenset[Key]:
    return frozenset(a | b for a, b in product(left, right))
