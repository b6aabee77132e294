"""Window functions over the noisy rows of an answer, which are public."""

from __future__ import annotations

from sqlglot import exp

from dpdb.errors import TypeMismatch, UnknownName, Unsupported
from dpdb.plan.expressions.expressions import Expr, Literal, Slot, slots
from dpdb.plan.logical.derived import Window, WindowFrame
from dpdb.plan.logical.query import Ordering
from dpdb.policy.catalog import Kind
from dpdb.sql.scalars import types
from dpdb.sql.scalars.expression_binder import ExpressionBinder
from dpdb.sql.syntax.trees import node_name, only, place

RANKS: dict[type[exp.Expr], tuple[str, Kind]] = {
    exp.RowNumber: ("row_number", Kind.INTEGER),
    exp.Rank: ("rank", Kind.INTEGER),
    exp.DenseRank: ("dense_rank", Kind.INTEGER),
    exp.PercentRank: ("percent_rank", Kind.NUMBER),
    exp.CumeDist: ("cume_dist", Kind.NUMBER),
}
VALUES: dict[type[exp.Expr], str] = {
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
    exp.NthValue: "nth_value",
}
AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
NAMES = [
    "ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD",
    "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE", "COUNT", "SUM", "AVG", "MIN", "MAX",
    "RATIO_TO_REPORT",
]  # fmt: skip
"""The functions that take OVER."""
MAX_WINDOWS = 50
MAX_DISTANCE = 100_000
"""The most rows that a frame, LAG or LEAD reaches back or ahead."""


def window(node: exp.Window, inside: ExpressionBinder, windows: list[Window]) -> Slot:
    """The slot of a window function in `windows`; `inside` binds its arguments."""
    text = inside.text
    only(node, text, "this", "partition_by", "order", "spec", "over")
    partition = tuple(inside.expression(part) for part in node.args.get("partition_by") or ())
    order = tuple(_orderings(node.args.get("order"), inside))
    called, where = node.this, None
    if isinstance(called, exp.Filter):
        only(called, text, "this", "expression")
        where, called = inside.condition(called.expression.this), called.this
    function, arguments, kind = _call(called, inside)
    if where is not None and type(called) not in AGGREGATES:
        raise Unsupported("FILTER goes with an aggregate", place=inside.place(node))
    frame = _frame(node.args.get("spec"), inside)
    each = Window(function, arguments, kind, partition, order, frame, where)
    if any(slots(part, "window") for part in each.parts):
        raise Unsupported("a window cannot be inside another", place=inside.place(node))
    if each not in windows:
        if len(windows) == MAX_WINDOWS:
            raise Unsupported(f"more than {MAX_WINDOWS} windows", place=inside.place(node))
        windows.append(each)
    return Slot("window", windows.index(each), kind)


def _orderings(order: exp.Expr | None, inside: ExpressionBinder) -> list[Ordering]:
    """The terms of the ORDER BY of a window."""
    if order is None:
        return []
    only(order, inside.text, "expressions")
    result = []
    for term in order.expressions:
        only(term, inside.text, "this", "desc", "nulls_first")
        descending, first = bool(term.args.get("desc")), bool(term.args.get("nulls_first"))
        result.append(Ordering(inside.expression(term.this), descending, first))
    return result


def _call(node: exp.Expr, inside: ExpressionBinder) -> tuple[str, tuple[Expr, ...], Kind]:
    """The name, the arguments and the type of a window function."""
    if type(node) in RANKS:
        only(node, inside.text)
        name, kind = RANKS[type(node)]
        return name, (), kind
    if isinstance(node, exp.Ntile):
        only(node, inside.text, "this")
        return "ntile", (_whole(node.this, inside, least=1),), Kind.INTEGER
    if isinstance(node, exp.Lag | exp.Lead):
        return _neighbour(node, inside)
    if type(node) in VALUES:
        only(node, inside.text, "this", "offset")
        value = inside.expression(node.this)
        nth = (_whole(node.args["offset"], inside, least=1),) if node.args.get("offset") else ()
        return VALUES[type(node)], (value, *nth), value.kind
    if type(node) in AGGREGATES:
        return _aggregate(node, inside)
    raise Unsupported(
        f"{node_name(node)} is no window function here",
        hint=f"window functions are {', '.join(NAMES)}",
        place=inside.place(node),
    )


def _aggregate(node: exp.Expr, inside: ExpressionBinder) -> tuple[str, tuple[Expr, ...], Kind]:
    """COUNT, SUM, AVG, MIN or MAX as a window function."""
    only(node, inside.text, "this", "big_int")
    name, argument = AGGREGATES[type(node)], node.this
    if isinstance(argument, exp.Distinct):
        raise Unsupported("DISTINCT is not supported in a window", place=inside.place(node))
    if isinstance(argument, exp.Star) and name == "count":
        return name, (), Kind.INTEGER
    value = inside.expression(argument)
    if name == "count":
        return name, (value,), Kind.INTEGER
    value = types.numeric(value, inside.place(node), dates=name != "sum")
    averaged = value.kind if value.kind.temporal else Kind.NUMBER
    return name, (value,), averaged if name == "avg" else value.kind


def _neighbour(
    node: exp.Lag | exp.Lead, inside: ExpressionBinder
) -> tuple[str, tuple[Expr, ...], Kind]:
    """LAG or LEAD with its default, NULL unless written, and its distance, 1 unless written."""
    only(node, inside.text, "this", "offset", "default")
    value, distance, default = node.this, node.args.get("offset"), node.args.get("default")
    here = inside.expression(value)
    fitted, kind = [here, Literal(None, here.kind)], here.kind
    if default is not None:
        fitted, kind = types.unify([here, inside.expression(default)], inside.place(node))
    step = Literal(1, Kind.INTEGER) if distance is None else _whole(distance, inside)
    return "lag" if isinstance(node, exp.Lag) else "lead", (*fitted, step), kind


def _whole(node: exp.Expr, inside: ExpressionBinder, least: int = 0) -> Literal:
    """A constant whole number."""
    value = inside.expression(node)
    number = value.value if isinstance(value, Literal) else None
    if type(number) is int and least <= number <= MAX_DISTANCE:
        return Literal(number, Kind.INTEGER)
    raise TypeMismatch(
        f"a whole number from {least} to {MAX_DISTANCE} is needed here", place=inside.place(node)
    )


def _frame(spec: exp.Expr | None, inside: ExpressionBinder) -> WindowFrame | None:
    """The frame of ROWS BETWEEN … AND …; None for the usual frame."""
    if spec is None:
        return None
    only(spec, inside.text, "kind", "start", "start_side", "end", "end_side")
    args = spec.args
    start, end = args.get("start"), args.get("end") or "CURRENT ROW"
    sides = args.get("start_side"), args.get("end_side")
    if start == "UNBOUNDED" and sides[0] == "PRECEDING":
        if end == "UNBOUNDED" and sides[1] == "FOLLOWING":
            return WindowFrame(None, None)
        if end == "CURRENT ROW" and args.get("kind") == "RANGE":
            return None
    if args.get("kind") != "ROWS":
        raise Unsupported(
            "a window has its usual frame, or ROWS BETWEEN … AND …",
            hint="the usual one goes up to the current row and those equal to it in ORDER BY",
            place=inside.place(spec),
        )
    return WindowFrame(
        _frame_end(start, sides[0], "PRECEDING", spec, inside),
        _frame_end(end, sides[1], "FOLLOWING", spec, inside),
    )


def _frame_end(
    end: object, side: object, outwards: str, spec: exp.Expr, inside: ExpressionBinder
) -> int | None:
    """An end of a frame as a number of rows after the current one; None for UNBOUNDED."""
    if end == "CURRENT ROW":
        return 0
    if end == "UNBOUNDED" and side == outwards:
        return None
    if not isinstance(end, exp.Expr):
        raise Unsupported("no row is within this frame", place=inside.place(spec))
    distance = _whole(end, inside).value
    assert isinstance(distance, int)
    return -distance if side == "PRECEDING" else distance


def name_windows(tree: exp.Select, text: str) -> None:
    """Replace each name of the WINDOW clause by its definition."""
    clause = tree.args.get("windows") or []
    named = {each.this.name.casefold(): each for each in clause}
    tree.set("windows", None)
    for node in list(tree.find_all(exp.Window)) if named else ():
        alias = node.args.get("alias")
        if alias is None or node.parent_select is not tree:
            continue
        if alias.name.casefold() not in named:
            hint = f"WINDOW {alias.name} AS (ORDER BY COUNT(*)) names one"
            raise UnknownName(f"no window {alias.name}", hint=hint, place=place(alias, text))
        meant = named[alias.name.casefold()]
        only(meant, text, "this", "partition_by", "order", "spec")
        node.set("alias", None)
        for part in ("partition_by", "order", "spec"):
            node.set(part, meant.args.get(part))
