"""Aggregates that return a list, and the refusal of aggregates that are not answered.

`QUANTILE_CONT(x, [0.25, 0.75])` stands for two columns of the answer, each with an interval of its
own, and so do BigQuery's APPROX_QUANTILES and DuckDB's HISTOGRAM with the ends of its bins stand
for several. One element of a list can be asked for in brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from sqlglot import exp

from dpdb.errors import TooLarge, TypeMismatch, Unsupported
from dpdb.policy.numbers import decimal
from dpdb.records import dataclass
from dpdb.sql.syntax.literals import has_named_arguments, written_number
from dpdb.sql.syntax.trees import only, place, written_name

PERCENTILES = (exp.PercentileCont, exp.PercentileDisc)
"""PERCENTILE_CONT and PERCENTILE_DISC mean the same: the answer is a point of the grid."""
NAMED_QUANTILES = ("QUANTILE_DISC", "APPROX_PERCENTILE")
"""The names of quantiles that sqlglot does not know."""
MAX_ELEMENTS = 200
"""The most elements of a list: an answer has as many columns at most."""
_DECIMALS = 6
"""The number of decimals of the fractions of APPROX_QUANTILES."""


@dataclass(frozen=True)
class Element:
    """An element of a list, or a column of the answer."""

    name: str
    """The element's index or bin, shown in brackets after the list's name; or a column's name."""
    call: exp.Expr
    """The expression; for an element, its aggregate."""


def columns(item: exp.Expr, label: str, text: str) -> list[Element]:
    """The columns that an item of the SELECT list stands for: one, or one for each element.

    The columns are named by the item's alias, or else by its `label`.
    """
    if isinstance(item, exp.Alias):
        only(item, text, "this", "alias")
    name, listed = item.alias or label, _elements(item.unalias(), text)
    if listed is None:
        return [Element(name, item.unalias())]
    return [Element(f"{name}[{each.name}]", each.call) for each in listed]


def _elements(node: exp.Expr, text: str) -> list[Element] | None:
    """The elements of the list that an aggregate returns; None for an aggregate without a list."""
    match node:
        case exp.Paren() | exp.IgnoreNulls():
            return _elements(node.this, text)
        case exp.Filter():
            return _each(_elements(node.this, text), lambda call: _with(node, this=call))
        case exp.WithinGroup(this=exp.Expr() as call) if _is_list(call.this, call):
            only(call, text, "this")
            return [
                Element(name, _with(node, this=_with(call, this=fraction)))
                for name, fraction in _constants(call.this, text)
            ]
        case exp.ApproxQuantiles():
            only(node, text, "this", "expression")
            return _boundaries(node, text)
        case exp.PercentileCont() | exp.PercentileDisc() if _is_list(node.expression, node):
            constants = _constants(node.expression, text)
            return [Element(name, _with(node, expression=each)) for name, each in constants]
        case exp.ApproxQuantile(args={"quantile": exp.Array() as several}):
            constants = _constants(several, text)
            return [Element(name, _with(node, quantile=each)) for name, each in constants]
        case exp.Anonymous() if has_named_arguments(node):
            inner, *named = node.expressions
            return _each(
                _elements(inner, text), lambda call: _with(node, expressions=[call, *named])
            )
        case exp.Anonymous(expressions=[argument, exp.Array() as several]):
            return _of_named(node, argument, several, text)
    return None


def element(node: exp.Bracket, text: str) -> exp.Expr | None:
    """The aggregate of one element of a list, as in `APPROX_QUANTILES(x, 4)[OFFSET(1)]`.

    A plain number counts from 1, as in DuckDB, but from 0 after BigQuery's APPROX_QUANTILES.
    """
    listed = _elements(node.this, text)
    if listed is None:
        return None
    only(node, text, "this", "expressions")
    index, first = node.expressions[0], 1
    if node.find(exp.ApproxQuantiles):
        first = 0
    if isinstance(index, exp.Anonymous) and len(index.expressions) == 1:
        counted_from = {"OFFSET": 0, "SAFE_OFFSET": 0, "ORDINAL": 1, "SAFE_ORDINAL": 1}
        first = counted_from.get(str(index.this).upper(), first)
        index = index.expressions[0]
    at = int(index.name) - first if _is_whole(index) and len(node.expressions) == 1 else -1
    if not 0 <= at < len(listed):
        last = len(listed) - 1 + first
        raise TypeMismatch(
            f"an element of this list has a number from {first} to {last}", place=place(node, text)
        )
    return listed[at].call


def _is_whole(node: exp.Expr) -> bool:
    number = isinstance(node, exp.Literal) and not node.is_string
    return number and node.name.isdecimal() and len(node.name) < 9


def _is_list(node: object, call: exp.Expr) -> bool:
    return isinstance(call, PERCENTILES) and isinstance(node, exp.Array)


def _with(node: exp.Expr, **parts: object) -> exp.Expr:
    """The node with some of its parts replaced."""
    changed = node.copy()
    for name, part in parts.items():
        changed.set(name, part)
    return changed


def _each(
    listed: list[Element] | None, around: Callable[[exp.Expr], exp.Expr]
) -> list[Element] | None:
    return None if listed is None else [Element(each.name, around(each.call)) for each in listed]


def _constants(several: exp.Array, text: str) -> list[tuple[str, exp.Expr]]:
    """The numbers of a list, each with its text."""
    only(several, text, "expressions")
    _check_number(len(several.expressions), several, text)
    if None in map(written_number, several.expressions):
        raise TypeMismatch("a list of numbers is needed here", place=place(several, text))
    return [(each.sql(), each) for each in several.expressions]


def _check_number(number: int, node: exp.Expr, text: str) -> None:
    if number > MAX_ELEMENTS:
        raise TooLarge(f"more than {MAX_ELEMENTS} elements of a list", place=place(node, text))
    if not number:
        raise TypeMismatch("the list is empty", place=place(node, text))


def _boundaries(node: exp.ApproxQuantiles, text: str) -> list[Element]:
    """The least and the greatest value, and the quantiles that divide the rows into n parts."""
    number = node.expression
    if isinstance(node.this, exp.Distinct):
        raise Unsupported("DISTINCT is not supported in quantiles", place=place(node, text))
    if number is None or not _is_whole(number) or not int(number.name):
        raise TypeMismatch(
            "APPROX_QUANTILES takes a number of parts: APPROX_QUANTILES(x, 4)",
            place=place(node, text),
        )
    parts = int(number.name)
    _check_number(parts + 1, node, text)
    inner = [
        exp.PercentileCont(
            this=node.this.copy(),
            expression=exp.Literal.number(decimal(Fraction(at, parts), _DECIMALS)),
        )
        for at in range(1, parts)
    ]
    ends = exp.Min(this=node.this.copy()), exp.Max(this=node.this.copy())
    calls = [ends[0], *inner, ends[1]]
    return [Element(str(at), call) for at, call in enumerate(calls)]


def _of_named(
    node: exp.Anonymous, argument: exp.Expr, several: exp.Array, text: str
) -> list[Element] | None:
    """The lists of functions that sqlglot does not know."""
    called = str(node.this).upper()
    if called in NAMED_QUANTILES:
        return [
            Element(name, _with(node, expressions=[argument.copy(), each]))
            for name, each in _constants(several, text)
        ]
    if called == "HISTOGRAM":
        return _bins(argument, _constants(several, text), several, text)
    return None


def _bins(
    argument: exp.Expr, ends: Sequence[tuple[str, exp.Expr]], several: exp.Array, text: str
) -> list[Element]:
    """The counts of values up to the first end, from each end to the next, and above the last.

    A bin holds its upper end, as in DuckDB.
    """
    numbers = [written_number(end) or Fraction(0) for _, end in ends]
    if any(low >= high for low, high in pairwise(numbers)):
        raise TypeMismatch("the ends of the bins must rise", place=place(several, text))
    name = argument.sql() if isinstance(argument, exp.Column) else "x"

    def up_to(end: exp.Expr) -> exp.Expr:
        return exp.LTE(this=argument.copy(), expression=end.copy())

    def above(end: exp.Expr) -> exp.Expr:
        return exp.GT(this=argument.copy(), expression=end.copy())

    first, last = ends[0], ends[-1]
    bins = [Element(f"{name} <= {first[0]}", up_to(first[1]))]
    for low, high in pairwise(ends):
        both = exp.And(this=above(low[1]), expression=up_to(high[1]))
        bins.append(Element(f"{low[0]} < {name} <= {high[0]}", both))
    bins.append(Element(f"{name} > {last[0]}", above(last[1])))
    return [Element(each.name, exp.CountIf(this=each.call)) for each in bins]


REFUSED_NAMES = ("HISTOGRAM", "APPROX_TOP_COUNT", "EVERY")
"""The aggregates whose names sqlglot does not know."""
_LISTS = (
    exp.ApproxQuantiles, exp.ApproxTopK, exp.ApproxTopSum, exp.ArrayAgg, exp.GroupConcat,
)  # fmt: skip
"""The aggregates known to sqlglot that return a list."""
_DECIDED_BY_ONE = (exp.LogicalOr, exp.LogicalAnd)


def refusal(node: exp.Expr, text: str) -> Unsupported | None:
    """The error for an aggregate that is refused; None for all others."""
    if isinstance(node, exp.Anonymous):
        name, arguments = str(node.this).upper(), node.expressions
        if name not in REFUSED_NAMES:
            return None
    elif isinstance(node, (*_LISTS, *_DECIDED_BY_ONE)):
        name, arguments = written_name(node, text), [node.this, node.expression]
    else:
        return None
    if name == "EVERY" or isinstance(node, _DECIDED_BY_ONE):
        condition = "b" if isinstance(node, exp.LogicalOr) else "NOT b"
        return Unsupported(
            f"{name} is not supported: one row can decide it",
            hint=f"COUNT_IF({condition}) counts the rows that would; AVG(b) is the part that is"
            " true",
            place=place(node, text),
        )
    column = _column(arguments[0] if arguments else None)
    counted = f"SELECT {column}, COUNT(*) AS n … GROUP BY {column}"
    match node:
        case exp.ApproxQuantiles():
            hint = (
                "by itself in the SELECT list it is a column for each element; one of them is "
                f"APPROX_QUANTILES({column}, 4)[OFFSET(1)]"
            )
        case exp.Anonymous() if name == "HISTOGRAM" and len(arguments) > 1:
            hint = f"with the ends of its bins: HISTOGRAM({column}, [10, 20, 30])"
        case exp.Anonymous() if name == "HISTOGRAM":
            hint = f"{counted}; or HISTOGRAM({column}, [10, 20, 30])"
        case exp.ApproxTopSum():
            measure = _column(node.expression)
            hint = (
                f"SELECT {column}, SUM({measure}) AS s … GROUP BY {column} ORDER BY s DESC LIMIT 10"
            )
        case _:
            written = next(iter(arguments[1:]), None)
            most = written.name if isinstance(written, exp.Literal) and written.is_number else "10"
            hint = f"{counted} ORDER BY n DESC LIMIT {most}"
    return Unsupported(f"{name} is not supported here", hint=hint, place=place(node, text))


def _column(argument: exp.Expr | None) -> str:
    """The name of the column that is an aggregate's argument; x for any other argument."""
    if isinstance(argument, exp.Distinct):
        argument = next(iter(argument.expressions), None)
    return argument.sql() if isinstance(argument, exp.Column) else "x"
