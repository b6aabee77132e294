"""Short forms, written out: SEMI and ANTI JOIN, HISTOGRAM, APPROX_TOP_COUNT.

`SELECT APPROX_TOP_COUNT(x, 3) FROM t` is `SELECT x AS value, COUNT(*) AS count FROM t GROUP BY x
ORDER BY count DESC LIMIT 3`, so that the values are chosen by the noisy counts. A HISTOGRAM has
all values but NULL, as in DuckDB.
"""

from __future__ import annotations

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.records import dataclass
from dpdb.sql.syntax.trees import only, place

_KINDS = ("SEMI", "ANTI")


def write_out_semi_joins(tree: exp.Select, text: str) -> None:
    """Move the semi joins of a SELECT, and its anti joins, from FROM into WHERE."""
    joins = tree.args.get("joins") or []
    semi_joins = [join for join in joins if join.kind in _KINDS and join.side in ("", "LEFT")]
    # A RIGHT or FULL JOIN may keep rows without a left side, which WHERE would leave out.
    if not semi_joins or any(join.side in ("RIGHT", "FULL") for join in joins):
        return
    tree.set("joins", [join for join in joins if not any(join is each for each in semi_joins)])
    left = tree.args["from_"].this.alias_or_name
    tree.where(*(_lookup(join, left, text) for join in semi_joins), copy=False)


def _lookup(join: exp.Join, left: str, text: str) -> exp.Expr:
    """EXISTS for a semi join, NOT EXISTS for an anti join."""
    only(join, text, "this", "side", "kind", "on", "using")
    condition = exp.Where(this=_condition(join, left, text))
    rows = exp.Select(
        expressions=[exp.Literal.number(1)], from_=exp.From(this=join.this), where=condition
    )
    exists = exp.Exists(this=rows)
    return exists if join.kind == "SEMI" else exp.Not(this=exists)


def _condition(join: exp.Join, left: str, text: str) -> exp.Expr:
    """The condition of a join; within EXISTS an unqualified name would be the inner table's."""
    right = join.this.alias_or_name
    on = join.args.get("on")
    conditions = [_equal(name, left, right) for name in join.args.get("using") or []]
    conditions = conditions if on is None else [on]
    bare = [column for column in on.find_all(exp.Column) if not column.table] if on else []
    if bare or not conditions or not (left and right):
        raise Unsupported(
            f"{join.kind} JOIN needs ON, with every column named by its table, or USING",
            hint="ON a.x = b.y; or WHERE [NOT] EXISTS (SELECT 1 FROM b WHERE b.y = a.x)",
            place=place(bare[0] if bare else join, text),
        )
    return exp.and_(*conditions, copy=False)


def _equal(name: exp.Identifier, left: str, right: str) -> exp.Expr:
    one, other = (exp.column(name.copy(), exp.to_identifier(t, quoted=True)) for t in (left, right))
    return exp.EQ(this=one, expression=other)


_CLAUSES = ("group", "having", "qualify", "order", "limit", "offset", "distinct")


@dataclass(frozen=True)
class _Top:
    """The `number` values with the greatest measures, or all values."""

    value: exp.Expr
    measure: exp.Expr
    name: str
    """The name of the measure."""
    number: exp.Expr | None


def with_groups(tree: exp.Select, written: list[str], text: str) -> list[str]:
    """Write out APPROX_TOP_COUNT and the like as GROUP BY; the labels of the columns.

    Any other SELECT stays as it is, with the labels as `written`.
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
        tree.where(present, copy=False)
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
