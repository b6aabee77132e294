"""SEMI JOIN and ANTI JOIN, written out as EXISTS and NOT EXISTS."""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.sql.trees import only, place

_KINDS = ("SEMI", "ANTI")


def write_out_semi_joins(tree: exp.Select, text: str) -> None:
    """Move the semi joins of a SELECT, and its anti joins, from FROM into WHERE."""
    joins = tree.args.get("joins") or []
    semi_joins = [join for join in joins if join.kind in _KINDS and join.side in ("", "LEFT")]
    # Other joins may keep rows without any on their left, and WHERE would leave these out.
    if not semi_joins or any(join.side in ("RIGHT", "FULL") for join in joins):
        return
    tree.set("joins", [join for join in joins if not any(join is each for each in semi_joins)])
    before, where = tree.args["from_"].this, tree.args.get("where")
    tests = [_lookup(join, before.alias_or_name, text) for join in semi_joins]
    conditions = [*([exp.Paren(this=where.this)] if where else []), *tests]
    tree.set("where", exp.Where(this=_all(conditions)))


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
    """The condition of a join; within EXISTS a name without its table would be the inner one's."""
    right = join.this.alias_or_name
    conditions: list[exp.Expr] = [
        _equal(name, left, right) for name in join.args.get("using") or []
    ]
    if (on := join.args.get("on")) is not None:
        conditions = [on]
    bare = [column for column in on.find_all(exp.Column) if not column.table] if on else []
    if bare or not conditions or not (left and right):
        raise Unsupported(
            f"{join.kind} JOIN needs ON, with every column named by its table, or USING",
            hint="ON a.x = b.y; or WHERE [NOT] EXISTS (SELECT 1 FROM b WHERE b.y = a.x)",
            place=place(bare[0] if bare else join, text),
        )
    return _all(conditions)


def _equal(name: exp.Identifier, left: str, right: str) -> exp.EQ:
    sides = [
        exp.Column(this=name.copy(), table=exp.to_identifier(table, quoted=True))
        for table in (left, right)
    ]
    return exp.EQ(this=sides[0], expression=sides[1])


def _all(conditions: list[exp.Expr]) -> exp.Expr:
    return reduce(lambda left, right: exp.And(this=left, expression=right), conditions)
