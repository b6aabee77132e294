"""The tables of FROM, joined: rows are looked up by the equalities of ON and WHERE.

The work of a join is so that of its result, and not of all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from sqlglot import exp

from dpdb.records import dataclass
from dpdb.server.postgres.catalogue.expressions import Expressions
from dpdb.server.postgres.catalogue.functions import name_of
from dpdb.server.postgres.catalogue.parts import Env, Row, Work, alike, refused
from dpdb.server.postgres.catalogue.relations import Relation
from dpdb.server.postgres.catalogue.scopes import Scope, Source

Value = Callable[[Env], Any]


@dataclass(eq=False)
class Level:
    """A table and the conditions under which its rows meet those before it."""

    relation: Relation
    side: str
    keys: list[tuple[Value, Value]] = field(default_factory=list)
    """Values that are equal: of the rows before it, and of its own."""
    on: list[Value] = field(default_factory=list)
    after: list[Value] = field(default_factory=list)
    """Conditions of WHERE that can be told once it is joined."""
    cost: int = 1
    kept: dict[Row, list[int]] | None = None
    """The places of its rows by their keys, where they are fixed."""

    @property
    def blank(self) -> Row:
        """The row in place of one that is not met."""
        return (None,) * len(self.relation.source.columns)


def flat(tree: exp.Select) -> tuple[list[exp.Expr], list[exp.Join]]:
    """The tables of FROM and the joins between them: `((a JOIN b) JOIN c)` is `a JOIN b JOIN c`."""
    joins = [*(tree.args.get("joins") or ())]
    if tree.args.get("from_") is None:
        return [], joins
    source = tree.args["from_"].this
    while isinstance(source, exp.Subquery) and isinstance(source.this, exp.Table | exp.Subquery):
        joins = [*(source.args.get("joins") or ()), *joins]
        source = source.this
    joins = [*(source.args.get("joins") or ()), *joins]
    return [source, *(join.this for join in joins)], joins


def is_empty(relations: Sequence[Relation], joins: Sequence[exp.Join]) -> bool:
    """Whether joined tables have no rows because one that they need has none."""
    empty = relations[0].is_empty if relations else False
    for relation, join in zip(relations[1:], joins, strict=True):
        match join.side:
            case "":
                empty |= relation.is_empty
            case "RIGHT":
                empty = relation.is_empty
            case "FULL":
                empty &= relation.is_empty
    return empty


def levels(
    relations: Sequence[Relation],
    joins: Sequence[exp.Join],
    where: exp.Expr | None,
    scope: Scope,
    expressions: Expressions,
) -> list[Level]:
    """The tables with all conditions of ON and WHERE, each at the first table that can tell it."""
    sides = ["", *(join.side for join in joins)][: len(relations)]
    made = [Level(relation, side) for relation, side in zip(relations, sides, strict=True)]
    for level, join in zip(made[1:], joins, strict=True):
        for condition in _conditions(join, level.relation.source, scope):
            level.cost += sum(1 for _ in condition.walk())
            if not _found_by(level, condition, scope, expressions):
                level.on.append(expressions.truth(condition, scope))
    is_early = not {"RIGHT", "FULL"} & {*sides}
    for condition in where.flatten() if isinstance(where, exp.And) else [where] if where else []:
        places = _places(condition, scope)
        is_known = is_early and places is not None
        level = made[max((p - made[0].relation.source.place for p in places or ()), default=0)] if (
            is_known
        ) else made[-1]  # fmt: skip
        level.cost += sum(1 for _ in condition.walk())
        if level.side or not is_known or not _found_by(level, condition, scope, expressions):
            level.after.append(expressions.truth(condition, scope))
    return made


def _conditions(join: exp.Join, own: Source, scope: Scope) -> Iterator[exp.Expr]:
    """The conditions of a join that all have to hold."""
    if join.args.get("method") or join.kind not in ("", "INNER", "CROSS", "OUTER"):
        raise refused(join)
    on = join.args.get("on")
    if on is not None:
        yield from on.unnest().flatten() if isinstance(on.unnest(), exp.And) else [on]
    for each in join.args.get("using") or ():
        name = each.name
        first = next(
            (s for s in scope.sources if any(known == name for known, _ in s.columns)), None
        )
        if first is None:
            raise refused(join)
        left, right = (exp.column(name, source.name) for source in (first, own))
        yield exp.EQ(this=left, expression=right)


def _places(node: exp.Expr, scope: Scope) -> set[int] | None:
    """The places of the tables whose columns are in it; None where it has subqueries."""
    if node.find(exp.Query) is not None:
        return None
    owners = (
        scope.owner(each.table.lower(), each.name.lower()) for each in node.find_all(exp.Column)
    )
    return {owner for owner in owners if owner is not None}


def _found_by(level: Level, condition: exp.Expr, scope: Scope, expressions: Expressions) -> bool:
    """Take a condition as a key by which rows are looked up, if it is such an equality."""
    own = level.relation.source.place
    test = condition.unnest()
    if not isinstance(test, exp.EQ) or isinstance(test.right, exp.Any) or name_of(test.right):
        return False
    for mine, other in ((test.left, test.right), (test.right, test.left)):
        places, before = _places(mine, scope), _places(other, scope)
        if places == {own} and before is not None and all(place < own for place in before):
            pair = alike(expressions.bind(other, scope), expressions.bind(mine, scope))
            level.keys.append(pair)
            return True
    return False


def joined(made: Sequence[Level], around: Env, work: Work) -> list[Env]:
    """The rows of the joined tables for which all conditions hold."""
    envs = [around]
    for at, level in enumerate(made):
        before = (*around, *(each.blank for each in made[:at]))
        envs = [
            env
            for env in _met(level, envs, around, before, work)
            if all(test(env) is True for test in level.after)
        ]
    return envs


def _met(level: Level, envs: Sequence[Env], around: Env, before: Env, work: Work) -> Iterator[Env]:
    """The rows so far with those of the next table; `before` stands for those not met."""
    relation, side = level.relation, level.side
    rows = () if relation.is_lateral else relation.rows(around)
    index = None if relation.is_lateral else _index(level, rows, around, work)
    met = set[int]()
    for env in envs:
        if relation.is_lateral:
            rows = relation.rows(env)
            index = _index(level, rows, env, work)
        assert index is not None
        places = index.get(tuple(value(env) for value, _ in level.keys), ())
        is_met = False
        work.spend(1)
        for place in places:
            work.spend(level.cost)
            extended = (*env, rows[place])
            if all(test(extended) is True for test in level.on):
                is_met = True
                met.add(place)
                yield extended
        if not is_met and side in ("LEFT", "FULL"):
            yield (*env, level.blank)
    if side in ("RIGHT", "FULL"):
        yield from ((*before, row) for place, row in enumerate(rows) if place not in met)


def _index(
    level: Level, rows: Sequence[Row], around: Env, work: Work
) -> Mapping[Row, Sequence[int]]:
    """The places of the rows by the values of their keys; NULL equals nothing."""
    if not level.keys:
        return {(): range(len(rows))}
    if level.kept is not None:
        return level.kept
    pad: Env = ((),) * level.relation.source.place
    index = dict[Row, list[int]]()
    work.spend(len(rows) * len(level.keys))
    for place, row in enumerate(rows):
        key = tuple(value((*pad, row)) for _, value in level.keys)
        if None not in key:
            index.setdefault(key, []).append(place)
    if level.relation.is_fixed:
        level.kept = index
    return index
