"""The tokens of a statement: limits that keep sqlglot's work small, and labels of columns.

A label is the expression as written, in one spelling.
"""

from __future__ import annotations

import re
from itertools import dropwhile, pairwise

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from dpdb.errors import SyntaxFault, TooLarge, Unsupported
from dpdb.policy.names import quoted, quoted_text
from dpdb.sql.syntax.literals import DEPTHS
from dpdb.sql.syntax.trees import place, place_at
from dpdb.sql.text.dialect import select_start, tokenize
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
    check_characters(text)
    try:
        tokens = tokenize(text)
    except TokenError:
        start = unclosed(text)
        where = None if start is None else place_at(start, text)
        message = "a string, name or comment is not closed, or not text"
        hint = "a quote within a text is written twice: 'it''s'"
        raise SyntaxFault(message, hint=hint, place=where) from None
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


def check_characters(text: str) -> None:
    """Refuse a statement that is too long, or holds half a character."""
    if len(text) > MAX_LENGTH:
        raise TooLarge(f"a statement of {len(text)} characters, {MAX_LENGTH} are allowed")
    if half := _HALF.search(text):
        place = place_at(half.start(), text)
        raise SyntaxFault("half of a surrogate pair is no character", place=place)


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


_NO_SPACE_BEFORE = {
    TokenType.R_PAREN, TokenType.COMMA, TokenType.DOT, TokenType.DCOLON, TokenType.R_BRACKET,
}  # fmt: skip
_NO_SPACE_AFTER = {TokenType.L_PAREN, TokenType.DOT, TokenType.DCOLON, TokenType.L_BRACKET}
_AFTER_ITEMS = {
    TokenType.FROM, TokenType.UNION, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING,
    TokenType.QUALIFY, TokenType.WINDOW, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.FETCH,
    TokenType.OFFSET,
}  # fmt: skip
"""The tokens behind a SELECT list; in `FROM t SELECT x` there is no FROM."""
_KEYWORDS_BEFORE_PAREN = {"IN", "AND", "OR", "NOT", "FILTER", "GROUP", "WHEN", "THEN", "ELSE",
                          "BETWEEN", "LIKE", "CASE", "WHERE", "OVER"}  # fmt: skip


def labels(tokens: list[Token]) -> list[str]:
    """A label for each item from the first SELECT to the end of its list."""
    items: list[list[Token]] = [[]]
    depth = 0
    # After SELECT may follow DISTINCT, and TOP with a number.
    first = 2 if [token.token_type for token in tokens[1:2]] == [TokenType.DISTINCT] else 1
    types = [token.token_type for token in tokens[first : first + 2]]
    first += 2 if types == [TokenType.TOP, TokenType.NUMBER] else 0
    for token in tokens[first:]:
        kind = token.token_type
        depth += DEPTHS.get(kind, 0)
        if depth < 0 or (depth == 0 and kind in _AFTER_ITEMS):
            break
        if depth == 0 and kind is TokenType.COMMA:
            items.append([])
        else:
            items[-1].append(token)
    if len(items) > 1 and not items[-1]:
        items.pop()  # A comma may stand behind the last item.
    return [written(item) for item in items]


def written(tokens: list[Token]) -> str:
    """The tokens as text: keywords and functions in upper case, the others as written."""
    text = ""
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if index and _spaced(tokens, index):
            text += " "
        text += _spelling(token, following)
    return text


def _spelling(token: Token, following: Token | None) -> str:
    match token.token_type:
        case TokenType.STRING:
            return quoted_text(token.text)
        case TokenType.IDENTIFIER:
            return quoted(token.text)
        case TokenType.VAR if following is None or following.token_type is not TokenType.L_PAREN:
            return token.text
    return token.text.upper()


def _spaced(tokens: list[Token], index: int) -> bool:
    """Whether there is a space before the token at `index`."""
    before, token = tokens[index - 1], tokens[index]
    if token.token_type in _NO_SPACE_BEFORE or before.token_type in _NO_SPACE_AFTER:
        return False
    if token.token_type is TokenType.L_BRACKET:
        # `x[` takes an element of x; `, [` begins a list.
        return before.token_type is TokenType.COMMA
    if token.token_type is TokenType.L_PAREN:
        operator = not before.text[-1:].isalnum() and before.text[-1:] not in '_"'
        return operator or before.text.upper() in _KEYWORDS_BEFORE_PAREN
    # A sign belongs to its number, unless it stands between two operands.
    if before.token_type is TokenType.DASH:
        return index >= 2 and tokens[index - 2].token_type not in (
            _NO_SPACE_AFTER | {TokenType.COMMA, TokenType.STAR, TokenType.SLASH}
        )
    return True


def labels_of(tree: exp.Select, tokens: list[Token], text: str) -> list[str]:
    """The items of a SELECT list as written; refused if one is missing."""
    first = select_start(tree)
    source = tree.args.get("from_") or next(iter(tree.expressions), tree)
    if first is None:
        if isinstance(source, exp.From):
            return [each.sql() for each in tree.expressions]  # FROM t is SELECT * FROM t.
        if all(isinstance(each, exp.Alias) for each in tree.expressions):
            return [each.alias for each in tree.expressions]  # Constants in FROM.
        hint = "(SELECT COUNT(*) FROM t)"
        raise Unsupported("a subquery begins with SELECT", hint=hint, place=place(source, text))
    names = {name.meta.get("start") for name in tree.find_all(exp.Identifier)}
    rest = dropwhile(lambda token: token.start != first, tokens)
    behind = [_named(token) if token.start in names else token for token in rest]
    written = labels(behind)
    if not all(written) or len(written) != len(tree.expressions):
        raise SyntaxFault(
            "an expression is missing between SELECT and FROM", place=place_at(first, text)
        )
    return written


def _named(token: Token) -> Token:
    """The token of a name, also if the name is a keyword, such as the column `date`."""
    if token.token_type is TokenType.IDENTIFIER:
        return token
    return Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end)


def column_names(tree: exp.Select, written: list[str]) -> list[str]:
    """The labels as names for the SELECT around this one: t.x is called x there."""
    return [
        item.name if isinstance(item, exp.Column) and not isinstance(item.this, exp.Star) else label
        for item, label in zip(tree.expressions, written, strict=True)
    ]
