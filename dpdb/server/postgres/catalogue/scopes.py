"""The tables that an expression sees, and aggregates, windows and the order of their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.server.postgres.catalogue.parts import (
    NULL,
    Bound,
    Columns,
    Env,
    Work,
    refused,
    shown,
    whole,
)
from dpdb.server.postgres.protocol import Refusal


@dataclass(frozen=True)
class Source:
    """A table of FROM; one without columns has each column, which is NULL."""

    name: str
    columns: Columns
    place: int
    """The place of its row among those that expressions see."""


@dataclass(frozen=True)
class Fold:
    """An aggregate, which has a value for some rows, or a window, with a value for each of them."""

    kind: Kind
    values: Callable[[Sequence[Env]], Any]
    is_window: bool = False


class Scope:
    """The tables of a SELECT, and those of the queries around it."""

    def __init__(self, base: int, number: int, outer: Scope | None):
        """The rows of `number` tables begin at the place `base`; aggregates stand after them."""
        self.sources: list[Source] = []
        self.number, self.slot = number, base + number
        self.outer = outer
        self.folds: list[Fold] | None = None
        """The aggregates of its select list; None where none may be."""

    @property
    def end(self) -> int:
        """The first place after its own rows."""
        return self.slot + 1

    def owner(self, table: str, name: str) -> int | None:
        """The place of the first own table that has a column; None where none has."""
        own = (each for each in self.sources if table in ("", each.name))
        found = (s.place for s in own if any(known.lower() == name for known, _ in s.columns))
        return next(found, None)

    def column(self, table: str, name: str) -> Bound | None:
        """A column; that of the innermost query, and there of the first table, that has it."""
        own = [each for each in self.sources if table in ("", each.name)]
        for source in own:
            for at, (known, kind) in enumerate(source.columns):
                if known.lower() == name:
                    return _cell(source.place, at, kind)
        if table and own and name in ("ctid", "tableoid", "xmin"):
            return Bound(Kind.INTEGER, lambda _: 0)
        if any(not source.columns for source in own):
            return NULL
        if table and own:
            return None
        if self.outer is not None:
            return self.outer.column(table, name)
        if table:
            raise Refusal("42P01", f"no table {table[:63]} in this statement")
        return None

    def folded(self, make: Callable[[Scope], Fold]) -> Bound:
        """An aggregate or a window over the rows; its own expressions may have none."""
        if self.folds is None:
            raise Refusal("42803", "aggregates are not allowed here")
        inside = Scope(self.slot, 0, self.outer)
        inside.sources = self.sources
        fold, place = make(inside), len(self.folds)
        self.folds.append(fold)
        return _cell(self.slot, place, fold.kind)


def _cell(place: int, at: int, kind: Kind) -> Bound:
    return Bound(kind, lambda env: env[place][at])


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
