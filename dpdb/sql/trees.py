"""Small helpers around sqlglot's trees: places in the text, allow-lists of arguments."""

from __future__ import annotations

from sqlglot import exp

from dpdb.errors import Place, SyntaxFault, TooLarge, Unsupported

MAX_DEPTH = 40
"""Nesting of operators; people write less, and recursion stays far from its limit."""
MAX_EXPRESSIONS = 10_000
"""Expressions in a statement, each counted as often as it is used."""


class Effort:
    """Counts the expressions that are read of a statement, and refuses too many.

    An alias, what is tested by BETWEEN and the operand of CASE are used several times. Within
    each other they would make of a short text an expression of any size.
    """

    def __init__(self) -> None:
        self.spent = 0

    def spend(self, number: int, node: exp.Expr, text: str) -> None:
        """Count `number` more, of what stands at `node`."""
        self.spent += number
        if self.spent > MAX_EXPRESSIONS:
            raise TooLarge(
                f"more than {MAX_EXPRESSIONS} expressions, each counted as often as it is used",
                place=place(node, text),
            )


def place(node: exp.Expr, text: str) -> Place | None:
    """Where the first part of `node` that sqlglot has a position for stands in `text`."""
    starts = [found.meta["start"] for found in node.walk() if "start" in found.meta]
    return place_at(min(starts), text) if starts else None


def place_at(offset: int, text: str) -> Place:
    """The line and column of a character of `text`."""
    before = text[:offset]
    return Place(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def only(node: exp.Expr, text: str, *allowed: str) -> None:
    """Refuse `node` if it carries any argument besides the `allowed` ones."""
    for name, value in node.args.items():
        if value and name not in allowed:
            what = f"{name.strip('_')} in {node.key.upper()}".replace("_", " ")
            raise Unsupported(f"{what} is not supported", place=place(node, text))


def check_depth(depth: int, node: exp.Expr, text: str) -> None:
    """Refuse nesting beyond `MAX_DEPTH`, and arguments that sqlglot lets be left out."""
    if not isinstance(node, exp.Expr):
        raise SyntaxFault("an expression is missing")
    if depth > MAX_DEPTH:
        raise TooLarge(f"expression nested deeper than {MAX_DEPTH} levels", place=place(node, text))


def node_name(node: exp.Expr) -> str:
    """What SQL calls the node."""
    names = node.sql_names() if isinstance(node, exp.Func) else []
    return names[0] if names else node.key.upper()
