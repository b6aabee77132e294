"""Values with their counts, as rows: HISTOGRAM, and the most frequent ones of APPROX_TOP_COUNT.

`SELECT APPROX_TOP_COUNT(x, 3) FROM t` is `SELECT x AS value, COUNT(*) AS count FROM t GROUP BY x
ORDER BY count DESC LIMIT 3`, so that the values are chosen by the noisy counts. A HISTOGRAM has
all values but NULL, as in DuckDB.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from dpdb.sql.trees import only

_CLAUSES = ("group", "having", "qualify", "order", "limit", "offset", "distinct")


@dataclass(frozen=True)
class _Top:
    """The values with the greatest measures: so many of them, or all."""

    value: exp.Expr
    measure: exp.Expr
    name: str
    """What the measure is called."""
    number: exp.Expr | None


def with_groups(tree: exp.Select, written: list[str], text: str) -> list[str]:
    """Make a SELECT of values and their counts one with groups; the labels of its columns.

    Any other SELECT stays as it is, with its labels as `written`.
    """
    items = tree.expressions
    top = _top(items[0].unalias(), text) if len(items) == 1 else None
    if top is None or any(tree.args.get(clause) for clause in _CLAUSES):
        return written
    prefix = f"{items[0].alias}." if items[0].alias else ""
    names = [f"{prefix}value", f"{prefix}{top.name}"]
    columns = zip((top.value, top.measure), names, strict=True)
    tree.set("expressions", [exp.alias_(part.copy(), name, quoted=True) for part, name in columns])
    tree.set("group", exp.Group(expressions=[top.value.copy()]))
    if top.number is None:
        present = exp.Not(this=exp.Is(this=top.value.copy(), expression=exp.Null()))
        where = tree.args.get("where")
        kept = exp.And(this=exp.Paren(this=where.this), expression=present) if where else present
        tree.set("where", exp.Where(this=kept))
        return names
    first = exp.Ordered(this=top.measure.copy(), desc=True)
    tree.set("order", exp.Order(expressions=[first]))
    tree.set("limit", exp.Limit(expression=top.number.copy()))
    return names


def _top(node: exp.Expr, text: str) -> _Top | None:
    count = exp.Count(this=exp.Star())
    match node:
        case exp.Anonymous(expressions=[value, number]) if (
            str(node.this).upper() == "APPROX_TOP_COUNT"
        ):
            return _Top(value, count, "count", number)
        case exp.Anonymous(expressions=[value]) if str(node.this).upper() == "HISTOGRAM":
            return _Top(value, count, "count", None)
        case exp.ApproxTopK():
            only(node, text, "this", "expression")
            number = node.expression or exp.Literal.number(1)
            return _Top(node.this, count, "count", number)
        case exp.ApproxTopSum():
            only(node, text, "this", "expression", "count")
            if node.expression is not None and node.args.get("count") is not None:
                return _Top(node.this, exp.Sum(this=node.expression), "sum", node.args["count"])
    return None
