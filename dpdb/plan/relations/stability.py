"""The stability of relations: how many rows one unit can have in each, and how many are held.

A join multiplies the rows of a unit by its fan-out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from itertools import product
from typing import assert_never

from dpdb.errors import Unsupported
from dpdb.plan.expressions.expressions import Call, ColumnRef, Expr
from dpdb.plan.relations.privacy_ids import Name, equal_in_a_row, names_in
from dpdb.plan.relations.relations import (
    Equality,
    Facts,
    Join,
    JoinKind,
    Mark,
    NodeRows,
    Relation,
    Scan,
    scans,
)
from dpdb.plan.relations.shared_rows import named_slots, relation_kinds, slot_joined
from dpdb.policy.catalog import Policy, Table
from dpdb.records import dataclass

MAX_FAN_OUT = 10_000
"""The most public rows that one row may be joined with."""

MAX_PAIRS = 15_000
"""The most pairs of its rows that a unit can have in a join that no key limits."""


class Owner(StrEnum):
    """The owner of a relation's rows."""

    PUBLIC = "public"
    ROW = "row"
    """Each row of a table is a unit of its own."""
    UNIT = "unit"
    """The policy's unit."""


Key = frozenset[str]
"""Columns in which no two rows of one unit are equal."""


@dataclass(frozen=True)
class Shape:
    """Bounds on the rows of one unit in a relation, with its keys and identifying columns."""

    owner: Owner
    sure: int
    """The most rows that any unit has; 0 where all rows are public."""
    nominal: int
    """The most rows of a unit that count, unless a query asks for fewer."""
    arithmetic: str
    keys: frozenset[Key]
    names: Mapping[str, Name]
    """The identifying columns of the relation, by name, with their meaning."""
    fan_out: int = 1
    """The most public rows that a private row, or a pair of them, is joined with."""
    entering: int | None = None
    """The most rows of a unit that each table brings in; None if no row is left out."""
    steps: tuple[NodeRows, ...] = ()
    """The joins and lookups, from the innermost on."""
    slots: Mapping[str, int] = field(default_factory=dict)
    """The columns that name one of the two owners of a row, each with the index of that owner."""

    @property
    def cap(self) -> int:
        """The most rows of a unit that count."""
        return self.nominal if self.owner is Owner.PUBLIC else min(self.sure, self.nominal)

    def named_by(self, expression: Expr) -> Name | None:
        """The name that the expression's values stand for; None if they identify nothing."""
        match expression:
            case ColumnRef(column=column):
                return self.names.get(column.name)
            case Call(name="coalesce", arguments=arguments):
                named = {self.named_by(argument) for argument in arguments}
                return named.pop() if len(named) == 1 else None
        return None


@dataclass(frozen=True)
class _Limits:
    """The numbers of rows of a unit that enter joins of private tables that no key limits.

    Where rows that meet are equal in something beside whose they are, such as `a.oid = b.oid`,
    few of them share it: then each join takes so many alike that no unit has more than MAX_PAIRS
    pairs. Otherwise each of n tables brings in so many rows that their n-th power is not more.
    """

    entering: int | None = None
    """The most rows of a unit that each table brings in."""
    by_value: int | None = None
    """The number of joins that take few rows that are alike; lookups are not among them."""

    @staticmethod
    def of(steps: Sequence[NodeRows]) -> _Limits:
        """The limits for these joins and lookups, worked out without any."""
        paired = [step for step in steps if step.unlimited]
        joins = [step for step in paired if not step.looks_up]
        if all(step.made <= MAX_PAIRS for step in paired):
            return _Limits()
        if all(step.by_value for step in paired):
            return _Limits(by_value=len(joins))
        # Lookups make no rows, so that they do not multiply each other.
        tables = 1 + len(joins) + (len(paired) > len(joins))
        return _Limits(_root(MAX_PAIRS, tables))

    def alike(self, left: Shape, *, by_value: bool, looks_up: bool) -> int | None:
        """The most rows of a unit, equal in the join's values, that enter the join after `left`."""
        if self.by_value is None or not by_value:
            return None
        before = sum(step.unlimited and not step.looks_up for step in left.steps)
        joins = 1 if looks_up else self.by_value - before
        return max(1, _root(MAX_PAIRS // max(left.sure, 1), joins))


def _root(number: int, degree: int) -> int:
    """The greatest whole number whose power is not more."""
    root: int = round(number ** (1 / degree))
    return root if pow(root, degree) <= number else root - 1


def shape(relation: Relation, policy: Policy, facts: Facts) -> Shape:
    """The shape of a relation; raises Unsupported where public rows fan out too far."""
    ample = _Shapes(policy, facts, _Limits()).of(relation)
    limits = _Limits.of(ample.steps)
    if limits == _Limits():
        return ample
    return replace(_Shapes(policy, facts, limits).of(relation), entering=limits.entering)


def _scanned(scan: Scan, policy: Policy) -> Shape:
    table = scan.table
    names = names_in([scan], policy)
    key = frozenset(scan.name(c) for c in table.columns if c.name in table.key)
    if table.public:
        return Shape(Owner.PUBLIC, 0, 1, "", frozenset([key] if key else []), names)
    if table.owners:
        rows, slots = table.rows_per_unit, named_slots(scan)
        keys = frozenset([key] if key else [])
        return Shape(Owner.UNIT, rows, rows, str(rows), keys, names, slots=slots)
    if table.unit is None:
        return Shape(Owner.ROW, 1, 1, "1", frozenset([key] if key else []), names)
    # A column that only references the unit's may differ among the rows of a unit.
    constant = table.chain is None and bool(table.unit) and table.names_every_unit
    own = {scan.name(c) for c in table.columns if constant and c.name == table.unit}
    keys = frozenset([key - own] if key else [])
    one = frozenset() in keys
    cap = 1 if one else table.rows_per_unit
    return Shape(Owner.UNIT, 1 if one else table.rows_held, cap, str(cap), keys, names)


def equated(on: Iterable[Equality], side: int) -> frozenset[str]:
    """The names of the plain columns of one side, 0 or 1, that a join equates."""
    sides = (pair[side] for pair in on)
    return frozenset(each.column.name for each in sides if isinstance(each, ColumnRef))


def _has_key(keys: Iterable[Key], columns: frozenset[str]) -> bool:
    return any(key <= columns for key in keys)


@dataclass(frozen=True)
class _Shapes:
    """Computes shapes under the `limits` on the rows of a unit that enter joins."""

    policy: Policy
    facts: Facts
    limits: _Limits

    def of(self, relation: Relation) -> Shape:
        """The shape of a relation."""
        match relation:
            case Scan():
                return self._entering(relation)
            case Mark():
                return self._marked(relation)
            case Join(right=Scan(table=Table(public=True))):
                return self._beside_public(relation, self.of(relation.left))
            case Join() if relation_kinds(relation):
                return self._of_two_units(relation)
            case Join():
                return self._of_one_unit(relation)
            case _:
                assert_never(relation)

    def _entering(self, scan: Scan) -> Shape:
        shape = _scanned(scan, self.policy)
        if self.limits.entering is None:
            return shape
        return replace(shape, sure=min(shape.sure, self.limits.entering))

    def _beside_public(self, join: Join, left: Shape) -> Shape:
        """Each row of the result is a function of one private row and of public rows."""
        scan, columns = join.right, equated(join.on, 1)
        public = _scanned(scan, Policy((scan.table,)))
        fan_out = 1
        if not _has_key(public.keys, columns):
            fan_out = max(1, self._fan_out(scan, columns))
        keys = left.keys if fan_out == 1 else _pairs(left.keys, public.keys)
        most = left.fan_out * fan_out
        _check_fan_out(most, scan)
        rows = left.sure * fan_out
        arithmetic = left.arithmetic if fan_out == 1 else f"{left.arithmetic} × {fan_out}"
        return replace(
            left,
            sure=rows,
            nominal=left.nominal * fan_out,
            arithmetic=arithmetic,
            keys=keys,
            fan_out=most,
            steps=(*left.steps, NodeRows(rows, rows)),
        )

    def _marked(self, mark: Mark) -> Shape:
        """The rows of the left side; a condition on pairs of rows has them all looked at."""
        left, lookup = self.of(mark.left), mark.lookup
        if left.slots or lookup.right.table.owners:
            raise Unsupported("EXISTS and IN would tell of rows of two units", hint="use JOIN")
        right, columns = self._entering(lookup.right), equated(lookup.on, 1)
        step = NodeRows(left.sure, left.sure + right.sure, looks_up=True)
        if lookup.pair_condition is None:
            return replace(left, steps=(*left.steps, step))
        unique_right = _has_key(right.keys, columns)
        if lookup.right.table.public:
            if not unique_right:
                fan_out = self._fan_out(lookup.right, columns)
                _check_fan_out(left.fan_out * fan_out, lookup.right)
                step = replace(step, made=left.sure * max(1, fan_out))
            return replace(left, steps=(*left.steps, step))
        unique_left = _has_key(left.keys, equated(lookup.on, 0))
        step = self._pairing(left, right, lookup.on, unique_left or unique_right, looks_up=True)
        entering = right.sure if step.alike is None else step.alike
        most, _ = _most(JoinKind.INNER, left.sure, entering, unique_left, unique_right)
        made = max(most, left.sure + right.sure)
        return replace(left, steps=(*left.steps, replace(step, rows=left.sure, made=made)))

    def _pairing(
        self, left: Shape, right: Shape, on: Sequence[Equality], unique: bool, *, looks_up: bool
    ) -> NodeRows:
        """The step that pairs private rows, its row counts still 0."""
        if unique:
            return NodeRows(0, 0, looks_up=looks_up)
        named = ((left.named_by(one), right.named_by(other)) for one, other in on)
        by_value = any(one != other or one is None or one.reference for one, other in named)
        alike = self.limits.alike(left, by_value=by_value, looks_up=looks_up)
        alike = None if alike is None or right.sure <= alike else alike
        return NodeRows(0, 0, True, by_value, looks_up, alike)

    def _fan_out(self, scan: Scan, columns: frozenset[str]) -> int:
        """The most rows of a public table that one row can meet."""
        equal = tuple(c.name for c in scan.table.columns if scan.name(c) in columns)
        declared = [most for name, most in scan.table.at_most if name in equal]
        return min(declared) if declared else self.facts.fan_out(scan.table, equal)

    def _of_two_units(self, join: Join) -> Shape:
        """The rows of two owners, each with its row of a private table that has one of them."""
        left, right = self.of(join.left), self._entering(join.right)
        alike = equal_in_a_row(join.on, scans(join.left), join.right)
        named = ((left.named_by(one), right.named_by(other)) for one, other in join.on)
        same = [(n is not None and n == m) or at in alike for at, (n, m) in enumerate(named)]
        slot = slot_joined(left.slots, relation_kinds(join), join, same=same)
        step, columns = NodeRows(left.sure, left.sure), join.right.table.columns
        return replace(
            left,
            names={**left.names, **right.names},
            steps=(*left.steps, step),
            slots={**left.slots, **dict.fromkeys(map(join.right.name, columns), slot)},
        )

    def _of_one_unit(self, join: Join) -> Shape:
        """Of each unit the join of its own rows."""
        left, right = self.of(join.left), self._entering(join.right)
        unique_right = _has_key(right.keys, equated(join.on, 1))
        unique_left = _has_key(left.keys, equated(join.on, 0))
        most, arithmetic = _most(join.kind, left.nominal, right.nominal, unique_left, unique_right)
        if "×" in arithmetic and left.nominal == 1:
            arithmetic = right.arithmetic
        elif "×" in arithmetic:
            arithmetic = f"{left.arithmetic} × {right.arithmetic}"
        step = self._pairing(left, right, join.on, unique_left or unique_right, looks_up=False)
        entering = right.sure if step.alike is None else step.alike
        sure, _ = _most(join.kind, left.sure, entering, unique_left, unique_right)
        if join.kind is JoinKind.FULL:  # Of rows that are alike some are left out for good.
            sure += right.sure - entering
        keys = _pairs(left.keys, right.keys)
        if join.kind is JoinKind.FULL:
            keys = frozenset()
        elif unique_right:
            keys = left.keys
        elif unique_left and join.kind is JoinKind.INNER:
            keys = right.keys
        if sure < most:
            arithmetic = str(sure)
        made = max(sure, left.sure + right.sure)
        return Shape(
            left.owner,
            sure,
            most,
            arithmetic,
            keys,
            {**left.names, **right.names},
            left.fan_out,
            steps=(*left.steps, replace(step, rows=sure, made=made)),
        )


def _check_fan_out(most: int, scan: Scan) -> None:
    if most > MAX_FAN_OUT:
        raise Unsupported(
            f"a row can meet {most} rows of {scan}",
            hint=f"join on a unique key of {scan}, or declare at_most for its columns",
        )


def _most(
    kind: JoinKind, left: int, right: int, unique_left: bool, unique_right: bool
) -> tuple[int, str]:
    """The most rows of a unit after a join of `left` and `right` rows, and their arithmetic.

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
        case _:
            assert_never(kind)
    return min(ways)


def _pairs(left: Iterable[Key], right: Iterable[Key]) -> frozenset[Key]:
    return frozenset(a | b for a, b in product(left, right))
