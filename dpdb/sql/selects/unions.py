"""UNION ALL: of the rows of tables, and of noisy answers."""

from __future__ import annotations

from sqlglot import exp

from dpdb.errors import TypeMismatch, Unsupported
from dpdb.plan.expressions.expressions import Cast, Expr, Literal, Slot, slots
from dpdb.plan.logical.derived import Derived, Released, Selection, UnionAll
from dpdb.plan.logical.query import Output, Query
from dpdb.policy.catalog import Kind
from dpdb.sql.from_clause import sources
from dpdb.sql.from_clause.row_unions import rows_of_all
from dpdb.sql.scopes.scopes import NoisyRowExpressions
from dpdb.sql.scopes.select_binder import SelectBinder
from dpdb.sql.scopes.views import Scope, View, derived_view
from dpdb.sql.syntax.trees import node_name, only, place


def _check_clauses(tree: exp.Union, binder: SelectBinder) -> None:
    """Refuse clauses that choose among the rows of all units, or merge rows of several."""
    where, unit = place(tree, binder.text), binder.policy.unit
    if tree.args.get("distinct"):
        raise Unsupported(
            f"UNION makes one row of equal rows of every {unit}",
            hint="use UNION ALL, and COUNT(DISTINCT x) in the outer SELECT",
            place=where,
        )
    if tree.args.get("limit") or tree.args.get("offset"):
        raise Unsupported(
            f"LIMIT inside a subquery chooses among the rows of every {unit}",
            hint="leave it to the outer SELECT",
            place=where,
        )
    if tree.args.get("order"):
        raise Unsupported(
            "the rows of a table have no order",
            hint="leave ORDER BY to the outer SELECT",
            place=where,
        )


def union(
    tree: exp.SetOperation, binder: SelectBinder, *, row_by_row: bool = False
) -> Derived | View:
    """The rows of the two sides of a UNION ALL; without ALL, each different row once.

    Both sides are answers, or with `row_by_row` both may be rows of tables.
    """
    where = place(tree, binder.text)
    if not isinstance(tree, exp.Union):
        word = "NOT IN" if isinstance(tree, exp.Except) else "IN"
        raise Unsupported(
            f"{node_name(tree)} is not supported",
            hint=f"COUNT(DISTINCT x) with WHERE x {word} (SELECT …) counts these values;"
            " UNION ALL puts rows together",
            place=where,
        )
    only(tree, binder.text, "this", "expression", "distinct", "order", "limit", "offset", "with_")
    binder.views = sources.with_views(tree, binder)
    nodes = tree.this, tree.expression
    bound = [binder.within().bound(node.unnest(), row_by_row=True) for node in nodes]
    views = [each for each in bound if isinstance(each, View)]
    if row_by_row and len(views) == len(bound):
        _check_clauses(tree, binder)
        return rows_of_all(tree, views, binder)
    sides = [_side(each, node, binder) for each, node in zip(bound, nodes, strict=True)]
    if len({len(side.columns) for side in sides}) > 1:
        raise TypeMismatch("the SELECTs of a UNION have the same number of columns", place=where)
    kinds = [_kind(sides, index, tree, binder) for index in range(len(sides[0].columns))]
    fitted = [_converted(side, kinds) for side in sides]
    members = ([*side.inputs] if isinstance(side, UnionAll) else [side] for side in fitted)
    joined = UnionAll(tuple(each for several in members for each in several))
    return _ordered(tree, joined, binder)


def _side(bound: Query | Derived | View, node: exp.Expr, binder: SelectBinder) -> Derived:
    """The derived table of one side of a UNION."""
    if isinstance(bound, View):
        raise Unsupported(
            "each SELECT of a UNION needs an aggregate such as COUNT(*)",
            hint="single rows are never shown",
            place=place(node, binder.text),
        )
    return Released(bound) if isinstance(bound, Query) else bound


def _kind(sides: list[Derived], index: int, tree: exp.Expr, binder: SelectBinder) -> Kind:
    """The type of a column, to which whole numbers and NULLs are converted."""
    kinds = {side.columns[index][1] for side in sides if not _is_null(side, index)}
    if kinds == {Kind.INTEGER, Kind.NUMBER}:
        return Kind.NUMBER
    if len(kinds) > 1:
        raise TypeMismatch(
            f"column {index + 1} of the UNION is {' and '.join(sorted(kinds))}, which do not mix",
            hint="CAST gives both sides the same type",
            place=place(tree, binder.text),
        )
    return kinds.pop() if kinds else sides[0].columns[index][1]


def _is_null(side: Derived, index: int) -> bool:
    """Whether a column is the constant NULL, which fits any type."""
    match side:
        case Released(query=Query(outputs=outputs)) | Selection(outputs=outputs):
            return outputs[index].expression == Literal(None, outputs[index].expression.kind)
    return False


def _converted(side: Derived, kinds: list[Kind]) -> Derived:
    """The side with columns of these types."""
    if [kind for _, kind in side.columns] == kinds:
        return side

    def fitted(index: int, own: Kind) -> Expr:
        if _is_null(side, index):
            return Literal(None, kinds[index])
        slot = Slot("column", index, own)
        return slot if own is kinds[index] else Cast(slot, kinds[index])

    columns = enumerate(side.columns)
    return Selection(side, tuple(Output(name, fitted(i, kind)) for i, (name, kind) in columns))


def _ordered(tree: exp.Union, rows: UnionAll, binder: SelectBinder) -> Derived:
    """The rows after DISTINCT, ORDER BY and LIMIT."""
    clauses = [tree.args.get(name) for name in ("distinct", "order", "limit", "offset")]
    if not any(clauses):
        return rows
    view = derived_view(rows)
    outputs = tuple(Output(name, column) for name, column in view.columns)
    answers = NoisyRowExpressions(binder, Scope(view, {}, binder, tree))
    order = tuple(binder.orderings(tree, answers, outputs))
    if any(slots(each.expression, "subquery") for each in order):
        raise Unsupported(
            "a subquery cannot order a UNION", place=place(tree.args["order"], binder.text)
        )
    distinct, _, limit, offset = clauses
    return Selection(
        rows,
        outputs,
        windows=tuple(answers.windows),
        distinct=bool(distinct),
        order=order,
        limit=binder.count(limit),
        offset=binder.count(offset) or 0,
    )
