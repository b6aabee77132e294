"""SELECT DISTINCT: a GROUP BY of what it lists, without aggregates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.plan.expressions import Expr, Slot, columns_of
from dpdb.plan.query import Output
from dpdb.sql.aggregates import has_aggregate
from dpdb.sql.scopes import RowExpressions
from dpdb.sql.trees import only, place


def distinct_keys(tree: exp.Select, rows: RowExpressions) -> tuple[Expr, ...]:
    """The keys of a SELECT DISTINCT without GROUP BY: what it lists, but for constants.

    With aggregates it has one row, and no keys.
    """
    distinct = tree.args.get("distinct")
    if distinct is None or any(map(has_aggregate, tree.expressions)):
        return ()
    only(distinct, rows.text)
    return tuple(dict.fromkeys(key for key in _items(tree, rows) if columns_of(key)))


def check_distinct(tree: exp.Select, keys: Sequence[Expr], outputs: Sequence[Output]) -> None:
    """Refuse DISTINCT where it would make one row of several groups of a GROUP BY."""
    listed = {output.expression for output in outputs}
    every = {Slot("key", index, key.kind) for index, key in enumerate(keys)}
    if tree.args.get("distinct") is not None and not every <= listed:
        raise Unsupported(
            "DISTINCT would make one row of several groups",
            hint="leave it out, or list all keys of GROUP BY",
        )


def _items(tree: exp.Select, rows: RowExpressions) -> Iterator[Expr]:
    for item in tree.expressions:
        node = item.this if isinstance(item, exp.Alias) else item
        starred = node.this if isinstance(node, exp.Column) else node
        if isinstance(starred, exp.Star):
            raise Unsupported(
                "SELECT * is not supported",
                hint="single rows are never shown; try SELECT COUNT(*)",
                place=place(item, rows.text),
            )
        yield rows.expression(node)
