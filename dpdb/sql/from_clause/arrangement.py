"""The order in which tables are joined, and the equalities they are joined by.

Conditions of inner joins and those of WHERE mean the same, and so does the order of inner joins.
Both are put in a canonical order, so that queries with one meaning are one query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import groupby
from typing import assert_never

from dpdb.errors import Place, TooLarge, Unsupported
from dpdb.plan.expressions.expressions import (
    Compare,
    Expr,
    Logic,
    columns_of,
    conjunction,
    conjuncts,
)
from dpdb.plan.relations.privacy_ids import equal_in_a_row, name_of, named_together
from dpdb.plan.relations.relations import (
    Attached,
    Equality,
    Facts,
    Join,
    Joined,
    JoinKind,
    Lookup,
    Mark,
    Relation,
    Scan,
    Source,
    relation_of,
    scans,
)
from dpdb.plan.relations.stability import Owner, Shape, shape
from dpdb.policy.catalog import Policy
from dpdb.records import dataclass
from dpdb.sql.scopes.views import TableInJoin


def joined(
    parts: Sequence[TableInJoin], where: Expr | None, policy: Policy, facts: Facts
) -> tuple[Joined, Expr | None]:
    """The relation of these parts under WHERE, and the conditions that no join has taken over."""
    inner = (part.condition for part in parts if part.kind is JoinKind.INNER)
    arrangement = _Arrangement(policy, facts, list(conjuncts(conjunction(where, *inner))))
    for kind, together in groupby(parts, lambda part: part.kind):
        if kind is JoinKind.INNER:
            arrangement.add_inner(list(together))
        else:
            for part in together:
                arrangement.add_outer(part)
    assert arrangement.relation is not None
    source = replace(
        _as_source(arrangement.relation, policy, facts), unmatched=arrangement.unmatched
    )
    return source, conjunction(*arrangement.conditions)


def _as_source(relation: Relation, policy: Policy, facts: Facts) -> Joined:
    """The relation as a query reads it, with the policy's cap."""
    known = shape(relation, policy, facts)
    if known.owner is Owner.PUBLIC:
        _check_public(relation, known.fan_out, facts)
    unit = policy.unit if known.owner is Owner.UNIT else None
    return Joined(
        relation,
        unit,
        known.cap,
        known.cap,
        known.arithmetic,
        known.entering,
        known.fan_out,
        steps=known.steps,
    )


MAX_PUBLIC_HELD = 5_000_000
"""The most rows that a join of public tables alone makes."""


def _check_public(relation: Relation, fan_out: int, facts: Facts) -> None:
    """Refuse a join of public tables that may make too many rows."""
    tables = list(scans(relation))
    rows = facts.fan_out(tables[0].table, ()) * fan_out
    if rows > MAX_PUBLIC_HELD:
        raise TooLarge(
            f"{' and '.join(map(str, tables))} make up to {rows} rows,"
            f" {MAX_PUBLIC_HELD} are allowed",
            hint="join on more columns, or on a unique key",
        )


def with_lookups(
    source: Source, lookups: Sequence[Lookup | Attached], policy: Policy, facts: Facts
) -> Source:
    """The source of a SELECT with a column for each EXISTS, IN and correlated subquery."""
    if not lookups:
        return source
    relation = relation_of(source)
    for each in lookups:
        match each:
            case Lookup():
                relation = Mark(relation, each)
            case Attached(right=right, on=on):
                relation = Join(JoinKind.LEFT, relation, right, on)
            case _:
                assert_never(each)
    unmatched = source.unmatched if isinstance(source, Joined) else None
    known = _as_source(relation, policy, facts)
    return replace(known, rows_per_unit=source.rows_per_unit, unmatched=unmatched)


@dataclass
class _Arrangement:
    """The tables joined so far, and the conditions left to join by."""

    policy: Policy
    facts: Facts
    conditions: list[Expr]
    """The conjuncts of WHERE that no join has taken over."""
    relation: Relation | None = None
    parts: list[TableInJoin] = field(default_factory=list)
    """The parts joined so far."""
    unmatched: str | None = None
    """The public table whose rows without a match are left out."""
    done: set[str] = field(default_factory=set)
    """The names of the columns of the tables joined so far."""

    def add_inner(self, parts: list[TableInJoin]) -> None:
        """Join tables of any order, each next to a table that an equality links it to, if any."""
        left = sorted(parts, key=_joined_in_order)
        if self.relation is None:
            self.relation = left[0].scan
            self._add(left.pop(0))
        while left:
            part = next((p for p in left if self._links(p)), None) or left[0]
            left.remove(part)
            on = self._equalities(self.conditions, part.scan)
            self._check_units(part, on)
            self.conditions = [c for c in self.conditions if not _is_among(c, on)]
            self._join(part, tuple(on), None)

    def add_outer(self, part: TableInJoin) -> None:
        """Join a table by LEFT or FULL JOIN."""
        conditions = list(conjuncts(part.condition))
        self._check_known(part, conditions)
        on = self._equalities(conditions, part.scan)
        if self._begins_with_public(part):
            self._turn(part, on, conditions)
            return
        self._check_units(part, on)
        rest = [condition for condition in conditions if not _is_among(condition, on)]
        if part.kind is JoinKind.FULL and (rest or not isinstance(self.relation, Scan)):
            raise Unsupported(
                "FULL JOIN is of two whole tables, on equal columns alone",
                hint="write other conditions into WHERE",
                place=part.place,
            )
        self._join(part, tuple(on), conjunction(*rest))

    def _check_known(self, part: TableInJoin, conditions: Iterable[Expr]) -> None:
        """Refuse EXISTS, IN and correlated subqueries in the ON of a LEFT or FULL JOIN.

        A lookup is a column of the rows after all joins.
        """
        known = self.done | _names(part.scan)
        if not all(columns_of(each).keys() <= known for each in conditions):
            raise Unsupported(
                f"the ON of a {part.kind} looks into no further table",
                hint="EXISTS and IN go into WHERE, or into CASE around a column of the SELECT list",
                place=part.place,
            )

    def _begins_with_public(self, part: TableInJoin) -> bool:
        """Whether the join is `public LEFT JOIN private`, its first one."""
        public = isinstance(self.relation, Scan) and self.relation.table.public
        return public and part.kind is JoinKind.LEFT and not part.scan.table.public

    def _turn(self, part: TableInJoin, on: list[Equality], conditions: list[Expr]) -> None:
        """Join a public table with the private rows that match it, and note its unmatched rows."""
        (public,) = self.parts
        self.unmatched = public.alias
        rest = conjunction(*(each for each in conditions if not _is_among(each, on)))
        turned = tuple((there, here) for here, there in on)
        self.relation = Join(JoinKind.INNER, part.scan, public.scan, turned, rest)
        self._add(part)

    def _join(self, part: TableInJoin, on: tuple[Equality, ...], rest: Expr | None) -> None:
        assert self.relation is not None
        self.relation = Join(part.kind, self.relation, part.scan, on, rest)
        self._add(part)

    def _add(self, part: TableInJoin) -> None:
        self.parts.append(part)
        self.done |= _names(part.scan)

    def _links(self, part: TableInJoin) -> bool:
        """Whether a table may be joined next: by the unit's column; if public, by any equality."""
        on = self._equalities(self.conditions, part.scan)
        return bool(on) if part.scan.table.public else self._of_one_unit(part, on)

    def _equalities(self, conditions: Iterable[Expr], scan: Scan) -> list[Equality]:
        """The equalities of the conditions between a scan and the tables joined so far."""
        names = _names(scan)
        equalities: dict[Equality, None] = {}
        for condition in conditions:
            for equal in _equal_for_sure(condition):
                for one, other in ((equal.left, equal.right), (equal.right, equal.left)):
                    here, there = set(columns_of(one)), set(columns_of(other))
                    if here and there and here <= self.done and there <= names:
                        equalities[one, other] = None
        return sorted(equalities, key=repr)

    @property
    def _shape(self) -> Shape:
        assert self.relation is not None
        return shape(self.relation, self.policy, self.facts)

    def _of_one_unit(self, part: TableInJoin, on: Sequence[Equality]) -> bool:
        """Whether the equalities imply that both rows are of one unit."""
        left, right = self._shape, shape(part.scan, self.policy, self.facts)
        named = ((left.named_by(one), right.named_by(other)) for one, other in on)
        return any(one is not None and one == other for one, other in named) or bool(
            equal_in_a_row(on, [each.scan for each in self.parts], part.scan)
        )

    def _check_units(self, part: TableInJoin, on: list[Equality]) -> None:
        """Refuse a join that would make one row from rows of several units."""
        left, unit = self._shape, self.policy.unit
        if part.scan.table.public:
            if part.kind is JoinKind.FULL and left.owner is not Owner.PUBLIC:
                raise refusal_of_unmatched(part.alias, unit, part.place)
            return
        if left.owner is Owner.PUBLIC:
            raise refusal_of_unmatched(self.parts[0].alias, unit, part.place)
        if left.slots or part.scan.table.owners:
            self._check_two_units(part, on)
            return
        here = " and ".join(each.alias for each in self.parts)
        if Owner.ROW in (left.owner, shape(part.scan, self.policy, self.facts).owner):
            alone = part.alias if part.scan.table.unit is None else here
            raise Unsupported(
                f"{here} and {part.alias} cannot be joined: "
                f"each row of {alone} is a unit of its own",
                hint='name the column that says whom a row is about: unit = "…", or public = true'
                " for one of them",
                place=part.place,
            )
        if self._of_one_unit(part, on):
            return
        columns = {
            column.name.removeprefix(f"{part.scan.leaf}."): None
            for _, other in on
            for column in columns_of(other).values()
        }
        by = f"on {', '.join(columns)}, which does not say" if on else "and nothing says"
        raise Unsupported(
            f"{here} and {part.alias} are joined {by} that both rows are of one {unit}",
            hint=self._missing_equality(part),
            place=part.place,
        )

    def _check_two_units(self, part: TableInJoin, on: list[Equality]) -> None:
        """Refuse a join after which rows of two units would not be each unit's alone."""
        assert self.relation is not None
        try:
            shape(Join(part.kind, self.relation, part.scan, tuple(on)), self.policy, self.facts)
        except Unsupported as refusal:
            refusal.place = part.place
            raise

    def _missing_equality(self, part: TableInJoin) -> str:
        """A hint at the equality that would join rows of one unit, if there is one."""
        pairs = [
            (name, f"{each.alias}.{one.name} = {part.alias}.{other.name}")
            for each in self.parts
            for one in each.scan.table.columns
            for other in part.scan.table.columns
            if (name := name_of(one, each.scan.table, self.policy)) is not None
            and name == name_of(other, part.scan.table, self.policy)
        ]
        for each in self.parts:
            for together in named_together(each.scan, part.scan):
                equal = (
                    f"{each.alias}.{one.removeprefix(f'{each.scan.leaf}.')} = "
                    f"{part.alias}.{other.removeprefix(f'{part.scan.leaf}.')}"
                    for one, other in together
                )
                return f"add AND {' AND '.join(equal)}"
        if not pairs:
            return 'declare what a column names: references = "table.key"'
        _, equality = min(pairs, key=lambda pair: not pair[0].is_unit)
        return f"add AND {equality}, or declare what a column names with references"


def _joined_in_order(part: TableInJoin) -> tuple[bool, bool, str]:
    """The canonical order of inner joins: rows of two units first, public tables last."""
    return part.scan.table.public, not part.scan.table.owners, part.scan.leaf


def _names(scan: Scan) -> set[str]:
    """The names of a scan's columns, with that of its presence."""
    return {scan.presence.name, *(scan.name(column) for column in scan.table.columns)}


def _equal_for_sure(condition: Expr) -> Iterator[Compare]:
    """The equalities that a condition implies; of an OR those that all its branches have."""
    match condition:
        case Compare(operator="="):
            yield condition
        case Logic(operator="or", operands=operands):
            branches = [
                [each for part in conjuncts(operand) for each in _equal_for_sure(part)]
                for operand in operands
            ]
            yield from (each for each in branches[0] if all(each in other for other in branches))


def _is_among(condition: Expr, on: Iterable[Equality]) -> bool:
    """Whether a condition is one of the equalities of a join."""
    if not (isinstance(condition, Compare) and condition.operator == "="):
        return False
    sides = condition.left, condition.right
    return any(pair in (sides, sides[::-1]) for pair in on)


def refusal_of_unmatched(public: str, unit: str, where: Place | None) -> Unsupported:
    """The error for rows of a public table that are kept without a match."""
    return Unsupported(
        f"a row of {public} without a match would tell that no {unit} has one",
        hint="use JOIN, or COUNT of a private column: groups are shown even if nobody is in them",
        place=where,
    )
