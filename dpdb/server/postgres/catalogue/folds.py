"""Aggregates and windows over rows, and the order of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from dpdb.policy.catalog import Kind
from dpdb.server.postgres.catalogue.parts import Bound, Env, Work, refused, shown, whole
from dpdb.server.postgres.catalogue.scopes import Fold

Bind = Callable[[exp.Expr], Bound]


def order(size: int, keys: Sequence[tuple[exp.Expr, Sequence[Any]]], work: Work) -> list[int]:
    """The places of so many rows in order, by ORDER BY and its values; equal ones stay."""
    places = list(range(size))
    for each, values in reversed(keys):
        work.spend(10 * size)
        nulls = [at for at in places if values[at] is None]
        rest = [at for at in places if values[at] is not None]
        rest.sort(key=values.__getitem__, reverse=bool(each.args.get("desc")))
        places = [*nulls, *rest] if each.args.get("nulls_first") else [*rest, *nulls]
    return places


def fold_of(node: exp.Expr, bind: Bind, work: Work) -> Fold:
    """An aggregate or a window; raises Refusal."""
    match node:
        case exp.Window():
            return _window(node, bind, work)
        case exp.Filter():
            inner, test = fold_of(node.this, bind, work), bind(node.expression.this).value
            return Fold(inner.kind, lambda envs: inner.values([e for e in envs if test(e) is True]))
    keys, distinct, inside = list[tuple[exp.Expr, Callable[[Env], Any]]](), False, node.this
    if isinstance(inside, exp.Order):
        keys = [(each, bind(each.this).value) for each in inside.expressions]
        inside = inside.this
    if isinstance(inside, exp.Distinct):
        distinct, inside = True, inside.expressions[0]
    if isinstance(inside, exp.Star):
        return Fold(Kind.INTEGER, len)
    argument = bind(inside)

    def told(envs: Sequence[Env]) -> list[Any]:
        work.spend(len(envs))
        values = [argument.value(env) for env in envs]
        if keys:
            sorting = [(each, [value(env) for env in envs]) for each, value in keys]
            values = [values[at] for at in order(len(envs), sorting, work)]
        return list(dict.fromkeys(values)) if distinct else values

    def present(envs: Sequence[Env]) -> list[Any]:
        return [value for value in told(envs) if value is not None]

    kind = argument.kind
    match node:
        case exp.Count():
            return Fold(Kind.INTEGER, lambda envs: len(present(envs)))
        case exp.Sum() if kind in (Kind.INTEGER, Kind.NUMBER):
            total: Callable[[Any], Any] = whole if kind is Kind.INTEGER else float
            return Fold(kind, lambda envs: total(sum(v)) if (v := present(envs)) else None)
        case exp.Min():
            return Fold(kind, lambda envs: min(present(envs), default=None))
        case exp.Max():
            return Fold(kind, lambda envs: max(present(envs), default=None))
        case exp.LogicalOr() | exp.LogicalAnd() if kind is Kind.BOOLEAN:
            chosen = any if isinstance(node, exp.LogicalOr) else all
            return Fold(kind, lambda envs: chosen(v) if (v := present(envs)) else None)
        case exp.ArrayAgg():
            return Fold(Kind.TEXT, lambda envs: tuple(told(envs)) if envs else None)
        case exp.GroupConcat():
            between = node.args.get("separator")
            sign = "" if between is None else str(bind(between).value(()))
            return Fold(
                Kind.TEXT,
                lambda envs: work.joined(map(shown, v), sign) if (v := present(envs)) else None,
            )
    raise refused(node)


def _window(node: exp.Window, bind: Bind, work: Work) -> Fold:
    """The numbers of rows within their partitions, in order."""
    ordering, frame = node.args.get("order"), node.args.get("spec")
    if not isinstance(node.this, exp.RowNumber) or frame:
        raise refused(node)
    parts = [bind(each).value for each in node.args.get("partition_by") or ()]
    keys = [(each, bind(each.this).value) for each in ordering.expressions] if ordering else []

    def values(envs: Sequence[Env]) -> list[int]:
        sorting = [(each, [value(env) for env in envs]) for each, value in keys]
        numbers, seen = [0] * len(envs), dict[Any, int]()
        for at in order(len(envs), sorting, work):
            group = tuple(part(envs[at]) for part in parts)
            numbers[at] = seen[group] = seen.get(group, 0) + 1
        return numbers

    return Fold(Kind.INTEGER, values, is_window=True)
