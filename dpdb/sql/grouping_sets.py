"""ROLLUP, CUBE and GROUPING SETS: one query for each level of subtotals.

Each level is an answer of its own: what it groups by is public, its noise is fresh, and the levels
of a statement share its ε (sequential composition, [DR14] Theorem 3.16). Coarser levels are not
added up from the finest one: rows whose key is NULL, or has no declared value, are in no group of
that, but count for a total. Each level so means what GROUP BY means, for all aggregates alike, and
a total has the noise of one value and not of all that it would be added up from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product

from sqlglot import exp

from dpdb.errors import TooLarge
from dpdb.plan.derived import Derived, Released, UnionAll
from dpdb.plan.expressions import Expr, Literal, Slot
from dpdb.plan.query import Query
from dpdb.policy.catalog import Kind
from dpdb.sql.rewriting import with_operands
from dpdb.sql.trees import only, place

MAX_LEVELS = 32
"""The most levels of a statement."""

Nodes = tuple[exp.Expr, ...]
Level = tuple[int, ...]
"""The indices of the keys that a level groups by."""
Groupings = Sequence[tuple[int, ...]]
"""The arguments of each call of GROUPING, as indices of keys."""


def grouping_sets(group: exp.Group, text: str) -> tuple[Nodes, ...]:
    """The keys of each level, the finest first; one level where GROUP BY lists keys alone."""
    only(group, text, "expressions", "rollup", "cube")
    sets: list[list[Nodes]] = [_sets(each, text) for each in group.expressions]
    for name, of in (("rollup", _prefixes), ("cube", _subsets)):
        for clause in group.args.get(name) or ():
            only(clause, text)
            sets = [of([*group.expressions])]
    levels = tuple(tuple(n for part in parts for n in part) for parts in product(*sets))
    if len(levels) > MAX_LEVELS:
        raise TooLarge(f"more than {MAX_LEVELS} levels of groups", place=place(group, text))
    return levels


def _sets(node: exp.Expr, text: str) -> list[Nodes]:
    """The sets of keys that one term of GROUP BY stands for."""
    match node:
        case exp.Rollup() | exp.Cube() | exp.GroupingSets():
            only(node, text, "expressions")
        case _:
            return [_members(node)]
    if isinstance(node, exp.GroupingSets):
        return [each for term in node.expressions for each in _sets(term, text)]
    if len(node.expressions) > MAX_LEVELS:
        raise TooLarge(f"more than {MAX_LEVELS} levels of groups", place=place(node, text))
    of = _prefixes if isinstance(node, exp.Rollup) else _subsets
    return of(node.expressions)


def _prefixes(terms: Sequence[exp.Expr]) -> list[Nodes]:
    """The first terms, from all of them down to none."""
    return [_joined(terms[:end]) for end in range(len(terms), -1, -1)]


def _subsets(terms: Sequence[exp.Expr]) -> list[Nodes]:
    """All sets of terms, the largest first; no more than are too many."""
    if 2 ** len(terms) > MAX_LEVELS:
        return [()] * (MAX_LEVELS + 1)
    sizes = range(len(terms), -1, -1)
    return [_joined(chosen) for size in sizes for chosen in combinations(terms, size)]


def _joined(terms: Sequence[exp.Expr]) -> Nodes:
    return tuple(node for term in terms for node in _members(term))


def _members(node: exp.Expr) -> Nodes:
    """The keys of a term: of (a, b) both, which come and go together."""
    if isinstance(node, exp.Tuple):
        return tuple(node.expressions)
    return (node,)


def by_levels(query: Query, levels: Sequence[tuple[Expr, ...]], groupings: Groupings) -> Derived:
    """The answers of a query that groups by several sets of its keys."""
    indices = [tuple(map(query.keys.index, level)) for level in levels]
    return UnionAll(tuple(Released(_at(query, level, groupings)) for level in indices))


def _at(query: Query, level: Level, groupings: Groupings) -> Query:
    """One level: keys that it does not group by are NULL."""

    def at(expression: Expr) -> Expr:
        match expression:
            case Slot(role="key", index=index, kind=kind) if index not in level:
                return Literal(None, kind)
            case Slot(role="key", index=index):
                return replace(expression, index=level.index(index))
            case Slot(role="grouping", index=index):
                return Literal(_grouping(groupings[index], level), Kind.INTEGER)
        return with_operands(expression, at)

    return replace(
        query,
        keys=tuple(query.keys[index] for index in level),
        outputs=tuple(replace(each, expression=at(each.expression)) for each in query.outputs),
        having=None if query.having is None else at(query.having),
    )


def _grouping(arguments: tuple[int, ...], level: Level) -> int:
    """GROUPING: a bit for each argument, 1 where the level does not group by it."""
    return sum(2**place for place, key in enumerate(reversed(arguments)) if key not in level)
