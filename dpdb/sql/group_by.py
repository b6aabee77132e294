"""GROUP BY: its keys, by name, alias or position, for each level of groups."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from dpdb.errors import TooLarge, UnknownName, Unsupported
from dpdb.plan.expressions import Expr, columns_of, slots
from dpdb.sql.aggregates import has_aggregate
from dpdb.sql.grouping_sets import grouping_sets
from dpdb.sql.scopes import MAX_OUTPUTS, RowExpressions
from dpdb.sql.trees import only, place
from dpdb.sql.views import Scope


def levels(tree: exp.Select, scope: Scope, rows: RowExpressions) -> tuple[tuple[Expr, ...], ...]:
    """The keys of each level, each once; one level where there are no subtotals."""
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
    """The keys of GROUP BY ALL: what the SELECT list has without aggregates, but for constants."""
    check_number(tree.expressions, "keys", rows.text)
    plain = [item for item in tree.expressions if not has_aggregate(item)]
    keys = [rows.expression(item.this if isinstance(item, exp.Alias) else item) for item in plain]
    return tuple(dict.fromkeys(key for key in keys if columns_of(key) or slots(key, "column")))


def _key(node: exp.Expr, tree: exp.Select, scope: Scope, rows: RowExpressions) -> Expr:
    """One key of GROUP BY."""
    chosen, items = node.unnest(), tree.expressions
    at = position(chosen, len(items), rows.text)
    if at is not None:
        chosen = items[at]
    elif isinstance(chosen, exp.Column) and not scope.has(chosen.name):
        name = chosen.name.casefold()
        chosen = next((item for item in items if item.alias.casefold() == name), chosen)
    key = rows.expression(chosen.this if isinstance(chosen, exp.Alias) else chosen)
    if not (columns_of(key) or slots(key, "column")):
        raise Unsupported(
            "GROUP BY takes columns and expressions of columns", place=place(node, rows.text)
        )
    return key


def position(node: exp.Expr, columns: int, text: str) -> int | None:
    """The index of the column that a position stands for; None if the node is none."""
    if not (isinstance(node, exp.Literal) and not node.args.get("is_string")):
        return None
    number = str(node.this)
    short = number.isascii() and number.isdigit() and len(number) < 10
    if not (short and 1 <= int(number) <= columns):
        raise UnknownName(f"no column {number} in the answer", place=place(node, text))
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
