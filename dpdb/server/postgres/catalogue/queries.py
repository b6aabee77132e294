"""Queries over the tables of the catalogue: select lists, groups, orders, unions, WITH."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from dpdb.policy.catalog import Kind
from dpdb.server.postgres.catalogue.expressions import Expressions
from dpdb.server.postgres.catalogue.functions import Names, label
from dpdb.server.postgres.catalogue.joins import flat, is_empty, joined, levels
from dpdb.server.postgres.catalogue.parts import (
    NULL,
    Bound,
    Columns,
    Env,
    Listing,
    Query,
    Row,
    Work,
    read_as,
    refused,
)
from dpdb.server.postgres.catalogue.relations import Relations, renamed
from dpdb.server.postgres.catalogue.scopes import Scope, order
from dpdb.server.postgres.protocol import Refusal
from dpdb.server.postgres.statements import ParameterKind

_PARTS = frozenset(
    ("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset",
     "distinct", "with_")
)  # fmt: skip
"""The parts of a SELECT that are answered."""
_Told = tuple[Row, Env]
"""A row of a result, and the rows that it is made of."""


class Queries:
    """Binds the queries of one statement."""

    def __init__(
        self,
        listings: Mapping[str, Listing],
        names: Names,
        kinds: Sequence[ParameterKind],
        values: Sequence[Any],
    ):
        """`kinds` and `values` are of the parameters."""
        self._work = Work()
        self._expressions = Expressions(names, kinds, values, self._work, self.bind)
        self._relations = Relations(listings, self._expressions, self.bind, self._work)
        self._whole: exp.Expr | None = None

    def whole(self, tree: exp.Expr) -> Query:
        """The query of a statement, which shows names in place of numbers; raises Refusal."""
        self._whole = tree
        return self.bind(tree, None)

    def bind(self, tree: exp.Expr, outer: Scope | None) -> Query:
        """The query, within others or on its own; raises Refusal."""
        match tree:
            case exp.Subquery() if not any(map(tree.args.get, ("order", "limit", "offset"))):
                return self.bind(tree.this, outer)
            case exp.SetOperation():
                return self._united(tree, outer)
            case exp.Select():
                return self._select(tree, outer)
            case exp.Values():
                return self._constants(tree, outer)
        raise refused(tree)

    def _united(self, tree: exp.SetOperation, outer: Scope | None) -> Query:
        self._share(tree)
        first, second = self.bind(tree.left, outer), self.bind(tree.right, outer)
        if len(first.columns) != len(second.columns):
            raise Refusal("42601", "each query of a union must have the same number of columns")
        columns = tuple(
            (name, kind if kind is other else Kind.TEXT)
            for (name, kind), (_, other) in zip(first.columns, second.columns, strict=True)
        )
        finish = self._finish(tree, columns, None)

        def rows(env: Env) -> list[Row]:
            left, right = first.rows(env), second.rows(env)
            self._work.spend(len(left) + len(right))
            others = frozenset(right)
            match tree:
                case exp.Union():
                    made = [*left, *right]
                case exp.Intersect():
                    made = [row for row in left if row in others]
                case _:
                    made = [row for row in left if row not in others]
            kept = dict.fromkeys(made) if tree.args.get("distinct") else made
            return finish([(row, env) for row in kept])

        return Query(columns, rows, first.is_empty and second.is_empty)

    def _constants(self, tree: exp.Values, outer: Scope | None) -> Query:
        scope = _inside(outer)
        tuples = [
            [self._expressions.bind(each, scope) for each in row.expressions]
            for row in tree.expressions
        ]
        if len({len(row) for row in tuples}) > 1:
            raise Refusal("42601", "VALUES lists must all be the same length")
        columns = tuple((f"column{at}", each.kind) for at, each in enumerate(tuples[0], 1))
        return Query(columns, lambda env: [tuple(e.value(env) for e in row) for row in tuples])

    def _share(self, tree: exp.Expr) -> None:
        """Know the queries of WITH, which see no query around them, and are answered once."""
        shared = tree.args.get("with_")
        if shared is None:
            return
        if shared.args.get("recursive"):
            raise refused("WITH RECURSIVE")
        for each in shared.expressions:
            query, kept = self.bind(each.this, None), list[Sequence[Row]]()

            def rows(
                _: Env, query: Query = query, kept: list[Sequence[Row]] = kept
            ) -> Sequence[Row]:
                if not kept:
                    kept.append(query.rows(()))
                return kept[0]

            columns = renamed(query.columns, each.args["alias"])
            self._relations.shared[each.alias.lower()] = Query(columns, rows, query.is_empty)

    def _select(self, tree: exp.Select, outer: Scope | None) -> Query:
        if unknown := [name for name, part in tree.args.items() if part and name not in _PARTS]:
            raise refused(f"{unknown[0]} of SELECT")
        self._share(tree)
        nodes, joins = flat(tree)
        scope = _inside(outer, len(nodes))
        relations = []
        for node in nodes:
            relations.append(self._relations.bind(node, scope))
            scope.sources.append(relations[-1].source)
        nothing = is_empty(relations, joins)
        where, group, having, distinct = map(
            tree.args.get, ("where", "group", "having", "distinct")
        )
        if distinct and distinct.args.get("on"):
            raise refused("DISTINCT ON")
        made = [] if nothing else levels(
            relations, joins, where and where.this, scope, self._expressions
        )  # fmt: skip
        folds = scope.folds = []
        nodes = list(self._items(tree, scope))
        items = [self._item(each, scope, nothing=nothing) for each in nodes]
        if tree is self._whole:
            items = [_named(each) for each in items]
        values, labels = [each.value for each in items], [label(each) for each in nodes]
        columns = tuple(zip(labels, (each.kind for each in items), strict=True))
        if nothing and (group or not folds):
            return Query(columns, lambda _: [], is_empty=True)
        keys = [
            self._group_key(each, items, labels, scope)
            for each in (group.expressions if group else ())
        ]
        test = self._expressions.truth(having.this, scope) if having else None
        finish = self._finish(tree, columns, scope)
        scope.folds = None
        is_grouped = bool(group or having or any(not fold.is_window for fold in folds))
        if is_grouped and any(fold.is_window for fold in folds):
            raise refused("a window over groups")
        work, cost = self._work, sum(sum(1 for _ in each.walk()) for each in nodes)

        def grouped(envs: Sequence[Env], around: Env) -> Iterator[Env]:
            groups: dict[Row, Sequence[Env]] = {} if group else {(): envs}
            for env in envs if group else ():
                groups.setdefault(tuple(value(env) for value in keys), []).append(env)  # type: ignore[attr-defined]
            blank = (*around, *((None,) * len(each.source.columns) for each in relations))
            for members in groups.values():
                each = (
                    *(members[0] if members else blank),
                    tuple(f.values(members) for f in folds),
                )
                if test is None or test(each) is True:
                    yield each

        def rows(env: Env) -> list[Row]:
            around = (*env, *((),) * (scope.slot - len(relations) - len(env)))
            envs: list[Env] = [] if nothing else joined(made, around, work)
            if is_grouped:
                envs = list(grouped(envs, around))
            else:
                columns = [fold.values(envs) for fold in folds]
                envs = [
                    (*each, tuple(column[at] for column in columns)) for at, each in enumerate(envs)
                ]
            work.spend(cost * len(envs))
            told = [(tuple(value(each) for value in values), each) for each in envs]
            if distinct:
                told = [*{row: (row, each) for row, each in reversed(told)}.values()][::-1]
            return finish(told)

        return Query(columns, rows)

    def _items(self, tree: exp.Select, scope: Scope) -> Iterator[exp.Expr]:
        """The expressions of the select list, with the columns in place of each star."""
        for each in tree.expressions:
            if not isinstance(each, exp.Star) and not (
                isinstance(each, exp.Column) and isinstance(each.this, exp.Star)
            ):
                yield each
                continue
            only = each.table.lower() if isinstance(each, exp.Column) else ""
            for source in scope.sources:
                if only in ("", source.name):
                    yield from (
                        exp.column(exp.to_identifier(name, quoted=True), source.name)
                        for name, _ in source.columns
                    )

    def _item(self, node: exp.Expr, scope: Scope, *, nothing: bool) -> Bound:
        """An expression of the select list; where there are no rows, one that is not known, too."""
        try:
            return self._expressions.bind(node, scope)
        except Refusal:
            if nothing:
                return NULL
            raise

    def _group_key(
        self, node: exp.Expr, items: Sequence[Bound], labels: Sequence[str], scope: Scope
    ) -> Callable[[Env], Any]:
        at = _position(node, labels)
        is_own = isinstance(node, exp.Column) and scope.column(
            node.table.lower(), node.name.lower()
        )
        return (
            self._expressions.bind(node, scope).value if at is None or is_own else items[at].value
        )

    def _finish(
        self, tree: exp.Expr, columns: Columns, scope: Scope | None
    ) -> Callable[[list[_Told]], list[Row]]:
        """The rows that ORDER BY, LIMIT and OFFSET leave."""
        ordering, labels = tree.args.get("order"), [name for name, _ in columns]
        keys = list[tuple[exp.Expr, Callable[[_Told], Any]]]()
        for each in ordering.expressions if ordering else ():
            at = _position(each.this, labels)
            if at is not None:
                keys.append((each, lambda told, at=at: told[0][at]))  # type: ignore[misc]
            elif scope is None:
                raise refused(each)
            else:
                value = self._expressions.bind(each.this, scope).value
                keys.append((each, lambda told, value=value: value(told[1])))  # type: ignore[misc]
        most, start = (self._number(tree.args.get(name)) for name in ("limit", "offset"))
        work = self._work

        def finish(told: list[_Told]) -> list[Row]:
            sorting = [(each, [value(row) for row in told]) for each, value in keys]
            rows = [told[at][0] for at in order(len(told), sorting, work)]
            first, size = start(()) or 0, most(())
            if first < 0 or (size or 0) < 0:
                raise Refusal("2201W", "LIMIT and OFFSET must not be negative")
            return rows[first:] if size is None else rows[first : first + size]

        return finish

    def _number(self, node: exp.Expr | None) -> Callable[[Env], int | None]:
        """The number of LIMIT, FETCH or OFFSET; None for none."""
        inside = None if node is None else node.args.get("count") or node.args.get("expression")
        if not isinstance(inside, exp.Expr):
            return lambda _: None
        value = self._expressions.bind(inside, _inside(None)).value
        return lambda env: read_as(value(env), Kind.INTEGER)


def _named(item: Bound) -> Bound:
    """An expression whose numbers are shown by their names."""
    told, value = item.shown, item.value
    if told is None:
        return item
    return Bound(Kind.TEXT, lambda env: None if (n := value(env)) is None else told(n))


def _inside(outer: Scope | None, number: int = 0) -> Scope:
    return Scope(0 if outer is None else outer.end, number, outer)


def _position(node: exp.Expr, labels: Sequence[str]) -> int | None:
    """The column of the result that ORDER BY or GROUP BY names, from 0."""
    if isinstance(node, exp.Literal) and not node.is_string:
        if not (node.name.isdecimal() and 0 < int(node.name[:9]) <= len(labels)):
            raise Refusal("42P10", f"position {node.name[:20]} is not in the select list")
        return int(node.name) - 1
    if isinstance(node, exp.Column) and not node.table and label(node) in labels:
        return labels.index(label(node))
    return None
