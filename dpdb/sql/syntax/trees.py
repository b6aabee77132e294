"""sqlglot's trees: places, names, the arguments a node may have, and replacing parts of a tree."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from sqlglot import exp

from dpdb.errors import Place, SyntaxFault, TooLarge, Unsupported
from dpdb.plan.expressions.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    Expr,
    InList,
    IntervalEnd,
    IsNull,
    Like,
    Literal,
    Logic,
    Not,
    Slot,
    compare,
    logic,
)
from dpdb.plan.expressions.functions import FUNCTIONS

_CALL = re.compile(r"(\w+)\s*\(")
_CALL_BEFORE = re.compile(r"(\w+)\s*\(\s*(?:DISTINCT\s+)?$", re.IGNORECASE)
MAX_DEPTH = 40
"""The deepest nesting of operators: more than people write, far less than Python's recursion."""
MAX_EXPRESSIONS = 10_000
"""The most expressions of a statement, each counted as often as it is used."""
MAX_SUBQUERIES = 50
"""The most scalar subqueries of a statement, each counted as often as it is used."""
MAX_WILDCARDS = 500
"""Characters in all of a statement's LIKE patterns that have both % and _.

The time to match one of these grows with the pattern and with the text: one long cell among
short ones would show in the time of the answer.
"""

UNPIVOT = (
    "SELECT k, COUNT(*) FROM (SELECT 'x' AS k, x AS v FROM t UNION ALL (SELECT 'z', z FROM t)) AS u"
    " GROUP BY k"
)
"""The hint for UNPIVOT: one column of two."""
_INSTEAD = {
    "sample": "leave it out: the noise is the same, and the more rows count, the less it matters",
    "except": "name the columns that are meant",
    "into": "CREATE TEMP TABLE v AS SELECT … names an answer",
    "locks": "leave it out: the tables are only read",
    "hints": "leave it out: the tables are only read",
    "pivots": UNPIVOT,
    "limit_options": "LIMIT 10 is a number of rows",
    "with_ties": "LIMIT 10 is a number of rows",
    "percent": "LIMIT 10 is a number of rows",
    "on": "GROUP BY x makes one row of each group",
    "db": "t.x names a column by its table",
    "laterals": "FROM takes tables, SELECTs in parentheses and joins",
}
"""Hints for parts of statements that are not supported, by sqlglot's names of them."""
_USUAL = (
    "leave it out; `dpdb help select` lists the clauses, and `dpdb help functions` the functions"
)


def utc_day() -> int:
    """The day that it is in UTC, as days from 1970-01-01."""
    return int(time.time()) // 86_400


class Effort:
    """Counts the expressions that a statement has, and refuses too many.

    An alias, the operand of BETWEEN and the operand of CASE are each used several times. Nested
    in each other they would make an expression of any size from a short text.
    """

    def __init__(self, today: int | None = None) -> None:
        self.today = utc_day() if today is None else today
        """The day of the statement in UTC, as days from 1970-01-01."""
        self.selects: set[int | None] = set()
        """The places of the SELECTs that read no rows of units by themselves, as views do."""
        self.spent = 0
        self.wildcards = 0
        self.states = 0
        self.subqueries = 0

    def spend(self, number: int, node: exp.Expr, text: str) -> None:
        """Count `number` more expressions; the error for too many names the place of `node`."""
        self.spent += number
        if self.spent > MAX_EXPRESSIONS:
            raise TooLarge(
                f"more than {MAX_EXPRESSIONS} expressions, each counted as often as it is used",
                place=place(node, text),
            )

    def spend_subqueries(self, number: int, node: exp.Expr, text: str) -> None:
        """Count the scalar subqueries that a view brings with it, `number` of them."""
        self.subqueries += number
        if self.subqueries > MAX_SUBQUERIES:
            raise TooLarge(
                f"more than {MAX_SUBQUERIES} subqueries, each counted as often as it is used",
                place=place(node, text),
            )

    def spend_states(self, call: Expr, node: exp.Expr, text: str) -> None:
        """Count the states of a regular expression, if the call has one; refuse too many."""
        match call:
            case Call(name="regexp_contains", arguments=(_, Literal(value=str(pattern)))):
                from dpdb.plan.expressions.regular_expressions import MAX_STATES, searcher  # noqa: PLC0415 (few have any)

                self.states += searcher(pattern).states
                if self.states > MAX_STATES:
                    raise TooLarge(
                        f"regular expressions of more than {MAX_STATES} states in all",
                        hint="a repeated part counts as often as it may be repeated",
                        place=place(node, text),
                    )

    def spend_pattern(self, pattern: str, node: exp.Expr, text: str) -> None:
        """Count a LIKE pattern's characters if it has both wildcards; refuse too many of them."""
        if "%" in pattern and "_" in pattern:
            self.wildcards += len(pattern)
        if self.wildcards > MAX_WILDCARDS:
            raise TooLarge(
                f"patterns with both % and _ of more than {MAX_WILDCARDS} characters in all",
                place=place(node, text),
            )


def start(node: exp.Expr) -> int:
    """The offset in the text of the first part of `node` that has one; -1 if none has."""
    return min((part.meta["start"] for part in node.walk() if "start" in part.meta), default=-1)


def place(node: exp.Expr, text: str) -> Place | None:
    """The place of the first part of `node` that has a position; None if no part has one."""
    first = start(node)
    return None if first < 0 else place_at(first, text)


def place_at(offset: int, text: str) -> Place:
    """The line and column of a character of `text`."""
    before = text[:offset]
    return Place(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def only(node: exp.Expr, text: str, *allowed: str) -> None:
    """Refuse `node` if it carries any argument besides the `allowed` ones."""
    for name, value in node.args.items():
        if value and name not in allowed:
            what = f"{name.strip('_')} in {node.key.upper()}".replace("_", " ")
            hint = _INSTEAD.get(name, _USUAL)
            raise Unsupported(f"{what} is not supported", hint=hint, place=place(node, text))


def chain(node: exp.Expr, text: str) -> list[exp.Expr]:
    """The operands of a chain of one operator; sqlglot nests it, a level for each operator."""
    kind, operands = type(node), []
    while type(node) is kind:
        only(node, text, "this", "expression", "safe")
        operands.append(node.expression)
        node = node.this
    return [node, *reversed(operands)]


def check_depth(depth: int, node: exp.Expr, text: str) -> None:
    """Refuse nesting beyond `MAX_DEPTH`, and an argument that is missing."""
    if not isinstance(node, exp.Expr):
        raise SyntaxFault("an expression is missing")
    if depth > MAX_DEPTH:
        raise TooLarge(f"expression nested deeper than {MAX_DEPTH} levels", place=place(node, text))


def written_name(call: exp.Expr, text: str) -> str:
    """The name of a function as written in `text`; if its place is lost, sqlglot's name."""
    named = _CALL.match(text, start(call)) if "start" in call.meta else None
    # sqlglot loses the places of some calls: then look before the first argument.
    named = named or _CALL_BEFORE.search(text[: max(start(call), 0)])
    return node_name(call) if named is None else named[1].upper()


def node_name(node: exp.Expr) -> str:
    """The name of the node in SQL."""
    names = node.sql_names() if isinstance(node, exp.Func) else []
    return names[0] if names else node.key.upper()


def with_operands(expression: Expr, new: Callable[[Expr], Expr]) -> Expr:
    """The expression with each direct operand replaced by `new` of it."""
    match expression:
        case Literal() | ColumnRef() | Slot():
            return expression
        case Compare(operator=operator, left=left, right=right):
            return compare(operator, new(left), new(right))
        case Arithmetic(left=left, right=right):
            return replace(expression, left=new(left), right=new(right))
        case Logic(operator=operator, operands=operands):
            return logic(operator, [new(operand) for operand in operands])
        case Not() | IsNull() | InList() | Like() | Cast() | IntervalEnd():
            return replace(expression, operand=new(expression.operand))
        case Case(branches=branches, default=default):
            chosen = tuple((new(condition), new(value)) for condition, value in branches)
            return replace(expression, branches=chosen, default=new(default))
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(map(new, arguments)))
        case _:
            assert_never(expression)


def substituted(expression: Expr, new: Callable[[Slot | ColumnRef], Expr]) -> Expr:
    """The expression with each slot and each column replaced by `new` of it."""
    if isinstance(expression, Slot | ColumnRef):
        return new(expression)
    return with_operands(expression, lambda part: substituted(part, new))


UNREAD = "!"
"""The mark behind a function's name that sqlglot does not know, so that it reads no argument."""
_OF_SYNTAX = {"CAST", "TRY_CAST", "SAFE_CAST", "EXTRACT", "IF", "POSITION", "SUBSTRING", "TRIM"}
"""The functions with words between their arguments, which sqlglot reads."""
UNREAD_NAMES = {name: name + UNREAD for name in FUNCTIONS if name not in _OF_SYNTAX}
"""The names of the other functions, with the mark; no name that is typed has it."""
_NODES: dict[type[exp.Expr], str] = {
    exp.Date: "DATE", exp.Datetime: "DATETIME", exp.Left: "LEFT", exp.Replace: "REPLACE",
    exp.Right: "RIGHT", exp.StrPosition: "STRPOS", exp.Substring: "SUBSTR",
    exp.Timestamp: "TIMESTAMP", exp.Trim: "TRIM", exp.Trunc: "TRUNC",
}  # fmt: skip
"""Functions that sqlglot reads, as their names are words of SQL."""
_SIDES = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}


def written(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    """A call as `named` reads it."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def named(node: exp.Func) -> tuple[str, list[exp.Expr]]:
    """The name of a function in the table, and its arguments in their order there.

    The name is empty if the table does not have it.
    """
    if isinstance(node, exp.Anonymous):
        name = str(node.this).removesuffix(UNREAD).upper()
        return name if name in FUNCTIONS else "", node.expressions
    name = _NODES.get(type(node), "")
    name = _SIDES.get(str(node.args.get("position") or ""), name)
    parts = [node.args.get(part) for part in node.arg_types]
    return name, [part for part in parts if isinstance(part, exp.Expr)]
