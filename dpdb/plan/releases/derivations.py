"""Derivations: releases over other rows or other cells that answer a query, free of charge.

A release is about the rows that pass a filter, in the cells of some keys. It also tells

- one of its cells: `WHERE g = 'x'` from `GROUP BY g`,
- its cells in another order, and added up to coarser ones: a total from `GROUP BY g`,
- the rest of a whole without a part: `WHERE NOT p` from the whole and `WHERE p`.

Each row must be in exactly one of the cells that are added up, so their key is never NULL; and a
condition p that is left out must never be NULL, as NOT p would be NULL with it. Tables whose units
have several rows are left alone, and joins: which rows of a unit count depends on the filter. So
are sums of different values, as two cells can have the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from dpdb.plan.expressions.expressions import Compare, Expr, Literal, Logic, Not, conjunction
from dpdb.plan.expressions.single_values import single_value
from dpdb.plan.logical.query import Query
from dpdb.plan.physical.moments import Combination, GroupMoments, Moments
from dpdb.plan.physical.release import ReleasedGroup
from dpdb.plan.ranges.group_keys import key_values
from dpdb.plan.ranges.ranges import nullable
from dpdb.plan.relations.relations import Joined
from dpdb.policy.catalog import Kind, Value
from dpdb.records import dataclass

_MOST_PAIRS = 16
"""The most pairs of a whole and a part that are tried, the latest first."""
_EXACT = 2**53
"""Different whole numbers below this are different doubles, which comparisons are made in."""


@dataclass(frozen=True)
class KeptGroup:
    """A group that was drawn over the rows of a filter, for each cell of its keys."""

    where: Expr | None
    keys: tuple[Expr, ...]
    group: ReleasedGroup


@dataclass(frozen=True)
class Regrouping:
    """The noisy values that are read from a kept group: their order and sums."""

    of: KeptGroup
    shape: tuple[int, ...]
    """The number of values of each of its keys."""
    fixed: tuple[int | None, ...]
    """The index of the one value that is read of each key; None if all values are."""
    order: tuple[int, ...]
    """The places of the keys that stay, in their new order; the others are added up."""

    @property
    def terms(self) -> int:
        """The number of cells that are added up to one."""
        added = (
            size
            for place, (size, fixed) in enumerate(zip(self.shape, self.fixed, strict=True))
            if fixed is None and place not in self.order
        )
        return math.prod(added)


@dataclass(frozen=True)
class Derivation:
    """A group that follows from others, with the regroupings of those, in order."""

    group: ReleasedGroup
    parts: tuple[Regrouping, ...]


KeptOver = Callable[[Expr | None], Iterable[KeptGroup]]
"""Returns the groups that were drawn over the rows of a filter, the latest first."""


def derivations(query: Query, kept: KeptOver) -> Iterator[Derivation]:
    """The groups over a query's rows and cells that follow from kept ones."""
    if query.table.unit is not None or isinstance(query.table, Joined) or query.subqueries:
        return
    for part in _regrouped(query, kept):
        yield _alone(part)
    for condition, rest in _without_one(query.where):
        if nullable(condition):
            continue
        wholes = [*_regrouped(replace(query, where=conjunction(*rest)), kept, same=True)]
        for opposite in _opposites(condition):
            others = replace(query, where=conjunction(*rest, opposite))
            parts = [*_regrouped(others, kept, same=True)] if wholes else []
            pairs = [(whole, part) for whole in wholes for part in parts]
            for whole, part in pairs[:_MOST_PAIRS]:
                yield from _difference(whole, part)


def _regrouped(query: Query, kept: KeptOver, *, same: bool = False) -> Iterator[Regrouping]:
    """The regroupings that are over a query's rows and cells.

    With `same`, groups with the query's own keys are included.
    """
    for of in kept(query.where):
        regrouping = _regrouping(of, query, {})
        if regrouping is not None and (same or of.keys != query.keys):
            yield regrouping
    for condition, rest in _without_one(query.where):
        match condition:
            case Compare(operator="=", left=key, right=Literal(value=value)) if value is not None:
                pass
            case Compare(operator="=", left=Literal(value=value), right=key) if value is not None:
                pass
            case _:
                continue
        for of in kept(conjunction(*rest)):
            regrouping = _regrouping(of, query, {key: value})
            if regrouping is not None:
                yield regrouping


def _regrouping(of: KeptGroup, query: Query, fixed: Mapping[Expr, Value]) -> Regrouping | None:
    """The regrouping of a kept group to the cells of a query and `fixed` values of other keys."""
    if any(single_value(each.argument) is not None for each in of.group.reads):
        return None
    if {*query.keys, *fixed} - {*of.keys} or fixed.keys() & {*query.keys}:
        return None
    values = {key: key_values(key, of.where, {}) for key in of.keys}
    if any(key_values(key, query.where, {}) != values[key] for key in query.keys):
        return None
    for key, value in fixed.items():
        if not (_is_exact(key, values[key]) and value in values[key]):
            return None
    added = [key for key in of.keys if key not in query.keys and key not in fixed]
    if any(map(nullable, added)):
        return None
    return Regrouping(
        of,
        tuple(len(values[key]) for key in of.keys),
        tuple(values[key].index(fixed[key]) if key in fixed else None for key in of.keys),
        tuple(of.keys.index(key) for key in query.keys),
    )


def _is_exact(key: Expr, values: Iterable[Value]) -> bool:
    """Whether `key = value` is true for the rows of that value's cell, and for no others."""
    if key.kind is Kind.NUMBER:
        return False
    return all(isinstance(value, str) or -_EXACT < value < _EXACT for value in values)


def _alone(part: Regrouping) -> Derivation:
    """The group that one regrouping gives."""
    drawn, terms = part.of.group, part.terms
    releases = tuple(replace(each, terms=each.terms * terms) for each in drawn.releases)
    read, *more = (
        replace(each, moments=each.moments.with_constants_times(terms)) for each in drawn.reads
    )
    if terms > 1:
        source = f"{terms} groups of an earlier answer, added up"
    elif any(place is not None for place in part.fixed):
        source = "one group of an earlier answer"
    else:
        source = "an earlier answer"
    group = ReleasedGroup(read, releases, source, linear=terms > 1, more=tuple(more))
    return Derivation(group, (part,))


def _difference(whole: Regrouping, part: Regrouping) -> Iterator[Derivation]:
    """The group of the rows of the whole that are not in the part."""
    one, other = _alone(whole).group, _alone(part).group
    less = other.read.moved(len(one.releases))
    if (one.read.argument, one.read.where) != (less.argument, less.where):
        return
    same_steps = one.read.moments.step == less.moments.step
    moments = Moments(
        one.read.moments.grid,
        one.read.moments.centre,
        rows=_less(one.read.moments.rows, less.moments.rows),
        count=_less(one.read.moments.count, less.moments.count),
        sum=_less(one.read.moments.sum, less.moments.sum) if same_steps else None,
    )
    read = GroupMoments(one.read.argument, one.read.where, moments)
    source = "an earlier answer about more rows, less one about the others"
    releases = (*one.releases, *other.releases)
    yield Derivation(ReleasedGroup(read, releases, source, linear=True), (whole, part))


def _less(whole: Combination | None, part: Combination | None) -> Combination | None:
    return None if whole is None or part is None else whole - part


def _without_one(where: Expr | None) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
    """Each conjunct of `where`, with the other conjuncts."""
    match where:
        case None:
            return
        case Logic(operator="and", operands=operands):
            for place, operand in enumerate(operands):
                yield operand, (*operands[:place], *operands[place + 1 :])
        case _:
            yield where, ()


def _opposites(condition: Expr) -> tuple[Expr, ...]:
    """The ways to write NOT of a condition that is never NULL."""
    match condition:
        case Not(operand=operand):
            return (operand, *_opposites_of_compare(operand, negated=True))
        case _:
            return (Not(condition), *_opposites_of_compare(condition))


def _opposites_of_compare(condition: Expr, *, negated: bool = False) -> Iterator[Expr]:
    """The comparison that is true where another is not; with `negated`, as a NOT of that."""
    turned: Expr
    match condition:
        case Compare(operator="=", left=left, right=right):
            turned = Compare("<>", left, right)
        case Compare(operator="<>", left=left, right=right):
            turned = Compare("=", left, right)
        case Compare(operator="<", left=left, right=right):
            turned = Compare("<=", right, left)
        case Compare(operator="<=", left=left, right=right):
            turned = Compare("<", right, left)
        case _:
            return
    yield Not(turned) if negated else turned
