"""Constants in a query's text: values, the numbers of options, and LIKE patterns."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dpdb.errors import InvalidOption, Place, TooLarge, TypeMismatch
from dpdb.plan.expressions import Literal
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import exact_number
from dpdb.sql.trees import only, place

MAX_NUMBER = Fraction(10) ** 300
MAX_DIGITS = 400
"""How many characters a number may have: longer ones make exact arithmetic slow."""


def literal(node: exp.Literal | exp.Boolean | exp.Null, text: str) -> Literal:
    """The constant that a node of the tree of `text` stands for."""
    match node:
        case exp.Null():
            return Literal(None, Kind.TEXT)
        case exp.Boolean():
            return Literal(bool(node.this), Kind.BOOLEAN)
    only(node, text, "this", "is_string")
    if node.args.get("is_string"):
        return Literal(str(node.this), Kind.TEXT)
    return _number_literal(node, text)


def _number_literal(node: exp.Expr, text: str) -> Literal:
    """The exact number that a node writes."""
    digits = str(node.this)
    value = exact_number(digits) if len(digits) <= MAX_DIGITS else None
    if value is None:
        raise TypeMismatch("this number cannot be read", place=place(node, text))
    if abs(value) > MAX_NUMBER:
        raise TooLarge("this number is too large", place=place(node, text))
    if value.denominator == 1 and "." not in digits and "e" not in digits.lower():
        return Literal(int(value), Kind.INTEGER)
    return Literal(value, Kind.NUMBER)


def written_number(node: exp.Expr | None) -> Fraction | None:
    """The number that a node of a tree writes, perhaps with a sign; None where it is none."""
    match node:
        case exp.Neg(this=exp.Literal() as inner):
            value = written_number(inner)
            return None if value is None else -value
        case exp.Literal() if not node.is_string and len(node.name) <= MAX_DIGITS:
            return exact_number(node.name)
    return None


def number(tokens: list[Token], where: Place | None) -> Fraction:
    """The exact number of an option or setting that `tokens` write, perhaps with a sign."""
    kinds = [token.token_type for token in tokens]
    if kinds[-1:] == [TokenType.NUMBER] and _BEFORE_DIGITS.issuperset(kinds[:-1]):
        value = exact_number("".join(token.text for token in tokens))
        if value is not None:
            return value
    raise InvalidOption("a number is needed here", place=where)


_BEFORE_DIGITS = {TokenType.DASH, TokenType.PLUS, TokenType.DOT}


def like_pattern(written: str, escape: str) -> tuple[str | None, ...]:
    """The parts of a LIKE pattern: literal text, None for `%`, the empty string for `_`."""
    parts: list[str | None] = []
    literal = ""
    characters = iter(written)
    for character in characters:
        if character == escape:
            literal += next(characters, "")
        elif character in "%_":
            parts += [literal] if literal else []
            literal = ""
            if character == "_" or not parts or parts[-1] is not None:
                parts.append(None if character == "%" else "")
        else:
            literal += character
    return (*parts, literal) if literal else tuple(parts)
