"""Literals and named arguments.

`SUM(x, name => value)` is given to sqlglot as `=>(SUM(x), name => value)`, and so is
`SUM(x CLAMPED BETWEEN low AND high)`, with `low AND high` as the value. ZetaSQL's older
`SUM(x WITH REPORT(FORMAT = "json"))` is read as `SUM(x, report_format => 'json')`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from dpdb.errors import InvalidOption, Place, TooLarge, TypeMismatch
from dpdb.plan.expressions.expressions import Literal
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import exact_number
from dpdb.sql.syntax.trees import only, place

CLAMPED = "CLAMPED BETWEEN"
"""The name of the argument that CLAMPED BETWEEN becomes."""
_CALL = "=>"
"""The name of the call around an aggregate with named arguments; nobody can type it."""
_ENDS = {
    TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN,
    TokenType.END, TokenType.STAR, *Parser.TYPE_TOKENS,
}  # fmt: skip
"""Tokens before CLAMPED BETWEEN; none of them can stand before a column called `clamped`."""


def has_named_arguments(node: exp.Expr) -> bool:
    """Whether `node` is an aggregate with named arguments: they follow it in `expressions`."""
    return isinstance(node, exp.Anonymous) and node.this == _CALL


def around_their_calls(tokens: list[Token]) -> list[Token]:
    """The tokens with each call `f(x, name => v)` as `=>(f(x), name => v)`."""
    if not any(map(_is_for_names, tokens)):
        return tokens
    tokens = _with_formats(tokens)
    result: list[Token] = []
    starts: list[int | None] = []
    for index, token in enumerate(tokens):
        named, clamped = _is_before_name(tokens, index), _is_clamped(tokens, index)
        if (named or clamped) and starts and (start := starts[-1]) is not None:
            starts[-1] = None
            name = result[start]
            result[start:start] = [like(name, TokenType.VAR, _CALL), like(name, *_OPENING)]
            result.append(like(token, TokenType.R_PAREN, ")"))
            if clamped:
                result.append(like(token, TokenType.COMMA, ","))
                result.append(like(token, TokenType.VAR, CLAMPED))
                continue
        if token.token_type is TokenType.L_PAREN:
            is_call = bool(result) and result[-1].token_type is TokenType.VAR
            starts.append(len(result) - 1 if is_call else None)
        elif token.token_type is TokenType.R_PAREN and starts:
            starts.pop()
        behind = bool(result) and result[-1].text == CLAMPED
        result.append(like(token, TokenType.FARROW, "=>") if behind else token)
    return result


_OPENING = (TokenType.L_PAREN, "(")


def _is_for_names(token: Token) -> bool:
    """Whether the token may stand between an aggregate and its named arguments."""
    return token.token_type is TokenType.FARROW or token.text.upper() in ("CLAMPED", "REPORT")


def _with_formats(tokens: list[Token]) -> list[Token]:
    """The tokens with `WITH REPORT(FORMAT = …)` as the named argument `report_format`."""
    result: list[Token] = []
    index = 0
    while index < len(tokens):
        words = [token.text.upper() for token in tokens[index : index + 7]]
        if words[:5] == ["WITH", "REPORT", "(", "FORMAT", "="] and words[6:] == [")"]:
            first, given = tokens[index], tokens[index + 5]
            result += [
                like(first, TokenType.COMMA, ","),
                like(first, TokenType.VAR, "report_format"),
                like(first, TokenType.FARROW, "=>"),
                like(given, TokenType.STRING, given.text),
            ]
            index += 7
        else:
            result.append(tokens[index])
            index += 1
    return result


def _is_before_name(tokens: list[Token], index: int) -> bool:
    """Whether the token is the comma before `name =>`."""
    kinds = [token.token_type for token in tokens[index : index + 3]]
    return kinds == [TokenType.COMMA, TokenType.VAR, TokenType.FARROW]


def _is_clamped(tokens: list[Token], index: int) -> bool:
    """Whether the token is the first word of CLAMPED BETWEEN."""
    if tokens[index].text.upper() != "CLAMPED" or index == 0:
        return False
    following = tokens[index + 1 : index + 2]
    between = [token.token_type for token in following] == [TokenType.BETWEEN]
    return between and tokens[index - 1].token_type in _ENDS


def like(token: Token, kind: TokenType, text: str) -> Token:
    """A token of another kind at the place of this one."""
    return Token(kind, text, token.line, token.col, token.start, token.end, [])


DEPTHS = {TokenType.L_PAREN: 1, TokenType.L_BRACKET: 1,
          TokenType.R_PAREN: -1, TokenType.R_BRACKET: -1}  # fmt: skip
"""The change of depth at a parenthesis or bracket."""


def between_commas(tokens: Sequence[Token]) -> list[list[Token]]:
    """The tokens between commas outside brackets and parentheses."""
    pieces: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += DEPTHS.get(token.token_type, 0)
        if token.token_type is TokenType.COMMA and not depth:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


MAX_NUMBER = Fraction(10) ** 300
MAX_DIGITS = 400
"""The most characters of a number: longer numbers make exact arithmetic slow."""


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
    """The number of a literal, perhaps with a sign; None for any other node."""
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
    raise InvalidOption("a number is needed here", hint="such as 0.1 or 1e-6", place=where)


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
