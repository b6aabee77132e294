"""The tables of FROM: those of the catalogue, of WITH, subqueries, and members of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.server.postgres.catalogue.expressions import Expressions
from dpdb.server.postgres.catalogue.functions import label, spelled
from dpdb.server.postgres.catalogue.parts import (
    Columns,
    Env,
    Listing,
    Query,
    Row,
    Work,
    listed,
    read_as,
    refused,
)
from dpdb.server.postgres.catalogue.scopes import Scope, Source
from dpdb.server.postgres.protocol import Refusal


@dataclass(frozen=True)
class Relation:
    """A table of FROM before it is joined."""

    source: Source
    rows: Callable[[Env], Sequence[Row]]
    is_lateral: bool = False
    """Whether its rows follow from those of the tables before it."""
    is_fixed: bool = False
    """Whether its rows are the same all through the statement."""
    is_empty: bool = False


class Relations:
    """Binds the tables of FROM."""

    def __init__(
        self,
        listings: Mapping[str, Listing],
        expressions: Expressions,
        query: Callable[[exp.Expr, Scope | None], Query],
        work: Work,
    ):
        """`query` binds a subquery."""
        self.shared: dict[str, Query] = {}
        """The queries of WITH, by name."""
        self._listings, self._expressions, self._query, self._work = (
            listings,
            expressions,
            query,
            work,
        )

    def bind(self, node: exp.Expr, scope: Scope) -> Relation:
        """A table of FROM; raises Refusal."""
        name, place = node.alias_or_name.lower(), scope.slot - scope.number + len(scope.sources)
        alias = node.args.get("alias")
        inside = node.this if isinstance(node, exp.Lateral | exp.Subquery) else node
        if isinstance(inside, exp.Table) and is_named(inside):
            known = inside.this.name.lower()
            shared = None if inside.db else self.shared.get(known)
            found = self._listings.get(known)
            if shared is not None:
                columns, rows, nothing = shared.columns, shared.rows, shared.is_empty
            elif found is not None:
                columns, nothing = found.columns, not found.rows
                told = found.rows
                rows = lambda _: told  # noqa: E731
            else:
                raise refused(f"the table {known[:63]}")
            return Relation(
                Source(name, renamed(columns, alias), place), rows, is_fixed=True, is_empty=nothing
            )
        if isinstance(inside, exp.Unnest) or (isinstance(inside, exp.Table) and inside.this):
            return self._made(inside, alias, scope, place)
        is_lateral = isinstance(node, exp.Lateral)
        query = self._query(inside, scope if is_lateral else scope.outer)
        source = Source(name, renamed(query.columns, alias), place)
        return Relation(source, query.rows, is_lateral=is_lateral, is_empty=query.is_empty)

    def _made(
        self, node: exp.Expr, alias: exp.TableAlias | None, scope: Scope, place: int
    ) -> Relation:
        """The members of an array, or the numbers of a series, as rows."""
        work, bind = self._work, self._expressions.bind
        name = "" if alias is None else alias.name.lower()
        match node:
            case exp.Unnest(expressions=[array]) | exp.Table(this=exp.Explode(this=array)):
                value, offset = bind(array, scope).value, node.args.get("offset")
                counted = bool(offset)
                called = offset.name if isinstance(offset, exp.Expr) else "ordinality"

                def rows(env: Env) -> list[Row]:
                    members = listed(value(env))
                    work.spend(len(members))
                    return [
                        (each, at) if counted else (each,) for at, each in enumerate(members, 1)
                    ]

                columns: Columns = ((name or "unnest", Kind.TEXT),)
                columns += ((called, Kind.INTEGER),) if counted else ()
            case exp.Table(this=exp.ExplodingGenerateSeries() | exp.GenerateSeries() as series):
                if series.args.get("step"):
                    raise refused(node)
                ends = [bind(series.args[end], scope) for end in ("start", "end")]

                def rows(env: Env) -> list[Row]:
                    first, last = (read_as(each.value(env), Kind.INTEGER) for each in ends)
                    if first is None or last is None:
                        return []
                    work.spend(max(last - first + 1, 0))
                    return [(number,) for number in range(first, last + 1)]

                columns = ((name or "generate_series", Kind.INTEGER),)
            case exp.Table(this=exp.Func() as function):
                told = bind(function, scope)
                columns = ((name or label(function), told.kind),)

                def rows(env: Env) -> list[Row]:
                    return [(told.value(env),)]

            case _:
                raise refused(node)
        source = Source(name or columns[0][0], renamed(columns, alias), place)
        return Relation(source, rows, is_lateral=True)


def is_named(table: exp.Table) -> bool:
    """Whether a table of FROM is one with a name, or one that a function of a schema makes."""
    own = bool(table.db) and isinstance(table.this, exp.Anonymous)
    return own or isinstance(table.this, exp.Identifier)


def renamed(columns: Columns, alias: exp.Expr | None) -> Columns:
    """The columns with the names that an alias gives them."""
    named = [] if alias is None else alias.args.get("columns") or ()
    given = [spelled(each if isinstance(each, exp.Identifier) else each.this) for each in named]
    if len(given) > len(columns) > 0:
        raise Refusal("42P10", "an alias names more columns than there are")
    names = [*given, *(name for name, _ in columns[len(given) :])]
    return tuple((name, kind) for name, (_, kind) in zip(names, columns, strict=False))
