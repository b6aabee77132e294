"""GROUP BY, GROUPING SETS and DISTINCT: the keys of a query."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product

from sqlglot import exp

from dpdb.errors import TooLarge, UnknownName, Unsupported
from dpdb.plan.expressions.expressions import Expr, Literal, Slot, columns_of, slots
from dpdb.plan.logical.derived import Derived, Released, UnionAll
from dpdb.plan.logical.query import Function, Output, Query
from dpdb.policy.catalog import Kind
from dpdb.sql.aggregates.aggregates import has_aggregate
from dpdb.sql.scopes.scopes import MAX_OUTPUTS, RowExpressions
from dpdb.sql.scopes.views import Scope
from dpdb.sql.syntax.trees import only, place, with_operands

MAX_LEVELS = 32
"""The most levels of a statement."""

Nodes = tuple[exp.Expr, ...]
Level = tuple[int, ...]
"""The indices of the keys that a level groups by."""
Groupings = Sequence[tuple[int, ...]]
"""The arguments of each call of GROUPING, as indices of keys."""


def grouping_sets(group: exp.Group, text: str) -> tuple[Nodes, ...]:
    """The keys of each level, the finest first; a plain GROUP BY has one level."""
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
    """The sets of keys that a term of GROUP BY stands for."""
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
    """The prefixes of the terms, from all terms down to none."""
    return [_joined(terms[:end]) for end in range(len(terms), -1, -1)]


def _subsets(terms: Sequence[exp.Expr]) -> list[Nodes]:
    """All sets of terms, the largest first; a list that is too long if there are too many."""
    if 2 ** len(terms) > MAX_LEVELS:
        return [()] * (MAX_LEVELS + 1)
    sizes = range(len(terms), -1, -1)
    return [_joined(chosen) for size in sizes for chosen in combinations(terms, size)]


def _joined(terms: Sequence[exp.Expr]) -> Nodes:
    return tuple(node for term in terms for node in _members(term))


def _members(node: exp.Expr) -> Nodes:
    """The keys of a term: both of (a, b)."""
    if isinstance(node, exp.Tuple):
        return tuple(node.expressions)
    return (node,)


def by_levels(query: Query, levels: Sequence[tuple[Expr, ...]], groupings: Groupings) -> Derived:
    """The answers of a query that groups by several sets of its keys."""
    indices = [tuple(map(query.keys.index, level)) for level in levels]
    if _adds_up(query, set(indices)):
        indices = [tuple(sorted(level)) for level in indices]
        query = replace(query, cube=query.keys)
    return UnionAll(tuple(Released(_at(query, level, groupings)) for level in indices))


def _adds_up(query: Query, levels: Collection[Level]) -> bool:
    """Whether a value of one level is the sum of those of a finer one, for all aggregates.

    Each row must be in one cell of every level: in that of NULL, where a key has none of its
    values. A cap on groups keeps other rows in each level, and so does a subquery that is drawn for
    each.
    """
    linear = (Function.COUNT, Function.SUM, Function.AVG)
    return (
        len(levels) > 1
        and bool(query.aggregates)
        and not (query.table.public or query.subqueries or query.table.groups_per_unit)
        and not query.found_places
        and all(each.function in linear for each in query.aggregates)
        and not query.has_single_values
    )


def _at(query: Query, level: Level, groupings: Groupings) -> Query:
    """The query at a level of grouping, with NULL for the other keys."""

    def at(expression: Expr) -> Expr:
        match expression:
            case Slot(role="key", index=index, kind=kind) if index not in level:
                return Literal(None, kind)
            case Slot(role="key", index=index):
                return replace(expression, index=level.index(index))
            case Slot(role="grouping", index=index):
                # A bit for each argument, 1 if the level does not group by it.
                bits = enumerate(reversed(groupings[index]))
                return Literal(sum(2**at for at, key in bits if key not in level), Kind.INTEGER)
        return with_operands(expression, at)

    return replace(
        query,
        keys=tuple(query.keys[index] for index in level),
        outputs=tuple(replace(each, expression=at(each.expression)) for each in query.outputs),
        having=None if query.having is None else at(query.having),
    )


def levels(tree: exp.Select, scope: Scope, rows: RowExpressions) -> tuple[tuple[Expr, ...], ...]:
    """The different keys of each level; without subtotals there is one level."""
    group = tree.args.get("group")
    if group is None:
        return ((),)
    if group.args.get("all"):
        only(group, rows.text, "all")
        return (_every_key(tree, rows),)
    check_number(group.expressions, "keys", rows.text)
    sets = grouping_sets(group, rows.text)
    nodes = {id(node): node for level in sets for node in level}
    keys = {at: _key(node, tree, scope, rows) for at, node in nodes.items()}
    return tuple(tuple(dict.fromkeys(keys[id(node)] for node in level)) for level in sets)


def _every_key(tree: exp.Select, rows: RowExpressions) -> tuple[Expr, ...]:
    """The keys of GROUP BY ALL: the items of the SELECT list without aggregates and constants."""
    check_number(tree.expressions, "keys", rows.text)
    plain = [item for item in tree.expressions if not has_aggregate(item)]
    keys = [rows.expression(item.unalias()) for item in plain]
    return tuple(dict.fromkeys(key for key in keys if columns_of(key) or slots(key, "column")))


def _key(node: exp.Expr, tree: exp.Select, scope: Scope, rows: RowExpressions) -> Expr:
    """A key of GROUP BY."""
    chosen, items = node.unnest(), tree.expressions
    at = position(chosen, len(items), rows.text)
    if at is not None:
        chosen = items[at]
    elif isinstance(chosen, exp.Column) and not scope.has(chosen.name):
        name = chosen.name.casefold()
        chosen = next((item for item in items if item.alias.casefold() == name), chosen)
    key = rows.expression(chosen.unalias())
    if not (columns_of(key) or slots(key, "column")):
        raise Unsupported(
            "GROUP BY takes columns and expressions of columns", place=place(node, rows.text)
        )
    return key


def position(node: exp.Expr, columns: int, text: str) -> int | None:
    """The index of the column that a position such as `2` names; None if the node is no number."""
    if not (isinstance(node, exp.Literal) and not node.args.get("is_string")):
        return None
    number = str(node.this)
    short = number.isascii() and number.isdigit() and len(number) < 10
    if not (short and 1 <= int(number) <= columns):
        raise UnknownName(
            f"no column {number} in the answer",
            hint=f"its columns are 1 to {columns}",
            place=place(node, text),
        )
    return int(number) - 1


def ordering_terms(order: exp.Order, columns: int, aliases: Collection[str]) -> list[exp.Expr]:
    """The terms of ORDER BY: for ALL, each of the columns in turn."""
    match order.expressions:
        case [exp.Ordered(this=exp.Column(this=exp.Identifier(this=str(name)) as word)) as term]:
            if name.upper() == "ALL" and not word.args.get("quoted") and "all" not in aliases:
                direction = {key: term.args.get(key) for key in ("desc", "nulls_first")}
                positions = [exp.Literal.number(at + 1) for at in range(columns)]
                return [exp.Ordered(this=each, **direction) for each in positions]
    return list(order.expressions)


def check_number(items: list[exp.Expr], what: str, text: str) -> None:
    """Refuse a list that is too long."""
    if len(items) > MAX_OUTPUTS:
        raise TooLarge(
            f"{len(items)} {what}, {MAX_OUTPUTS} are allowed", place=place(items[0], text)
        )


def distinct_keys(tree: exp.Select, rows: RowExpressions) -> tuple[Expr, ...]:
    """The keys of a SELECT DISTINCT without GROUP BY: its items but for constants.

    A SELECT DISTINCT of aggregates has one row, and no keys.
    """
    distinct = tree.args.get("distinct")
    if distinct is None or any(map(has_aggregate, tree.expressions)):
        return ()
    only(distinct, rows.text)
    return tuple(dict.fromkeys(key for key in _items(tree, rows) if columns_of(key)))


def check_distinct(tree: exp.Select, keys: Sequence[Expr], outputs: Sequence[Output]) -> None:
    """Refuse a DISTINCT that would make one row of several groups of a GROUP BY."""
    listed = {output.expression for output in outputs}
    every = {Slot("key", index, key.kind) for index, key in enumerate(keys)}
    if tree.args.get("distinct") is not None and not every <= listed:
        raise Unsupported(
            "DISTINCT would make one row of several groups",
            hint="leave it out, or list all columns of GROUP BY",
        )


def _items(tree: exp.Select, rows: RowExpressions) -> Iterator[Expr]:
    for item in tree.expressions:
        node = item.unalias()
        starred = node.this if isinstance(node, exp.Column) else node
        if isinstance(starred, exp.Star):
            raise Unsupported(
                "SELECT * is not supported",
                hint="single rows are never shown; try SELECT COUNT(*) FROM t",
                place=place(item, rows.text),
            )
        yield rows.expression(node)
