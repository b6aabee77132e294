"""The tokens of a statement, within limits that keep sqlglot's work small."""

from __future__ import annotations

import re
from itertools import pairwise

from sqlglot.errors import TokenError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from dpdb.errors import SyntaxFault, TooLarge
from dpdb.sql.syntax.trees import place_at
from dpdb.sql.text.dialect import tokenize
from dpdb.sql.text.splitting import unclosed

MAX_LENGTH = 100_000
MAX_TOKENS = 5_000
MAX_SELECTS = 50
MAX_NESTING = 20
"""The deepest nesting of parentheses, CASEs and prefix operators: sqlglot recurses on them."""
MAX_CHAIN = 250
"""The most tokens in a row without a comma, AND, OR or WHEN.

sqlglot nests each operator of such a chain one level deeper.
"""
MAX_TYPES = 8
"""The deepest nesting of parentheses after names of types: sqlglot reads each of them twice."""
MAX_WAITING = 8
"""The most joins of a statement that wait for their conditions.

sqlglot reads the text after such a join twice if no condition comes, also for nested joins.
"""
_HALF = re.compile(r"[\ud800-\udbff]")
"""The first half of a surrogate pair.

No file, terminal or policy has one; two halves would be written to a ledger as one character is.
"""


def read_tokens(text: str) -> list[Token]:
    """The tokens of a statement; `TooLarge` if it is over one of the limits."""
    if len(text) > MAX_LENGTH:
        raise TooLarge(f"a statement of {len(text)} characters, {MAX_LENGTH} are allowed")
    if half := _HALF.search(text):
        place = place_at(half.start(), text)
        raise SyntaxFault("half of a surrogate pair is no character", place=place)
    try:
        tokens = tokenize(text)
    except TokenError:
        start = unclosed(text)
        where = None if start is None else place_at(start, text)
        message = "a string, name or comment is not closed, or not text"
        raise SyntaxFault(message, place=where) from None
    if len(tokens) > MAX_TOKENS:
        raise TooLarge(f"a statement of {len(tokens)} tokens, {MAX_TOKENS} are allowed")
    kinds = [token.token_type for token in tokens]
    selects = kinds.count(TokenType.SELECT)
    if selects > MAX_SELECTS:
        raise TooLarge(f"a statement of {selects} SELECTs, {MAX_SELECTS} are allowed")
    # Most statements have too few signs to be nested too deeply, and too few words for a chain.
    if sum(map(_NESTING.__contains__, kinds)) > min(MAX_NESTING, MAX_TYPES):
        _check_nesting(tokens, text)
    if len(tokens) > MAX_CHAIN:
        _check_chains(tokens, text)
    if not _JOINS.isdisjoint(kinds):
        _check_joins(tokens, text)
    return tokens


_OPENING = {TokenType.L_PAREN, TokenType.CASE, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSING = {TokenType.R_PAREN, TokenType.END, TokenType.R_BRACKET, TokenType.R_BRACE}
_CASE, _TYPE = TokenType.CASE, TokenType.UNKNOWN
_PREFIX = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}
_NESTING = _OPENING | _PREFIX
_BETWEEN_CHAINS = {TokenType.COMMA, TokenType.AND, TokenType.OR, TokenType.WHEN}
_JOINS = {TokenType.JOIN, TokenType.STRAIGHT_JOIN}
_CONDITIONS = {TokenType.ON, TokenType.USING}
_BEFORE_NAMES = {TokenType.ALIAS, TokenType.DOT}
"""Tokens after which any word is a name."""
_BEFORE_VALUES = {
    *_BEFORE_NAMES, _CASE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.FROM,
    TokenType.DPIPE, *Parser.CONJUNCTION, *Parser.DISJUNCTION, *Parser.EQUALITY,
    *Parser.COMPARISON, *Parser.RANGE_PARSERS, *Parser.BITWISE, *Parser.TERM, *Parser.FACTOR,
    *Parser.UNARY_PARSERS,
}  # fmt: skip
"""Tokens after which a value must come."""


def _opens(kind: TokenType, before: TokenType | None) -> bool:
    """Whether a token begins a nested part."""
    return kind in _OPENING and not (kind is _CASE and before in _BEFORE_NAMES)


def _closes(kind: TokenType, before: TokenType | None, opening: TokenType) -> bool:
    """Whether a token ends the part that `opening` began; END may be a name."""
    if kind is TokenType.END:
        return opening is _CASE and before not in _BEFORE_VALUES
    return kind in _CLOSING


def _check_nesting(tokens: list[Token], text: str) -> None:
    """Refuse deep nesting."""
    around: list[TokenType] = []
    run = types = 0
    before = None
    for token in tokens:
        kind = token.token_type
        if _opens(kind, before):
            of_type = before in Parser.TYPE_TOKENS
            around.append(_TYPE if of_type else kind)
            types += of_type
        elif around and _closes(kind, before, around[-1]):
            types -= around.pop() is _TYPE
        run = run + 1 if kind in _PREFIX else 0
        if len(around) + run > MAX_NESTING:
            raise TooLarge(
                f"nested deeper than {MAX_NESTING} levels", place=place_at(token.start, text)
            )
        if types > MAX_TYPES:
            raise TooLarge(
                f"names of types are nested deeper than {MAX_TYPES} levels",
                place=place_at(token.start, text),
            )
        before = kind


def _check_chains(tokens: list[Token], text: str) -> None:
    """Refuse chains that sqlglot would make a very deep tree; parentheses begin a new chain."""
    around: list[tuple[TokenType, int]] = []
    length, before = 0, None
    for token in tokens:
        kind = token.token_type
        length = 0 if kind in _BETWEEN_CHAINS else length + 1
        if _opens(kind, before):
            around.append((kind, length))
            length = 0
        elif around and _closes(kind, before, around[-1][0]):
            _, length = around.pop()
        if length > MAX_CHAIN:
            raise TooLarge(
                f"more than {MAX_CHAIN} words and signs in one expression",
                hint="parentheses make parts of it",
                place=place_at(token.start, text),
            )
        before = kind


def _check_joins(tokens: list[Token], text: str) -> None:
    """Refuse joins that wait for conditions; one within parentheses is for a join within them."""
    total, around = 0, [0]
    for before, token in pairwise([None, *tokens]):
        assert token is not None
        kind, previous = token.token_type, before and before.token_type
        if kind in _JOINS and previous is not TokenType.CROSS:
            total, around[-1] = total + 1, around[-1] + 1
        elif kind in _CONDITIONS and previous not in _BEFORE_NAMES and around[-1]:
            total, around[-1] = total - 1, around[-1] - 1
        elif kind is TokenType.L_PAREN:
            around.append(0)
        elif kind is TokenType.R_PAREN and len(around) > 1:
            around.pop()
        if total > MAX_WAITING:
            raise TooLarge(
                f"more than {MAX_WAITING} joins wait for their ON",
                hint="write ON after each table that is joined",
                place=place_at(token.start, text),
            )
