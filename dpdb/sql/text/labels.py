"""Labels for the columns of an answer: the expressions as written, in one spelling."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dpdb.errors import SyntaxFault, Unsupported
from dpdb.policy.names import quoted, quoted_text
from dpdb.sql.syntax.trees import place, place_at, start
from dpdb.sql.text.dialect import select_start

_NO_SPACE_BEFORE = {
    TokenType.R_PAREN, TokenType.COMMA, TokenType.DOT, TokenType.DCOLON, TokenType.R_BRACKET,
}  # fmt: skip
_NO_SPACE_AFTER = {TokenType.L_PAREN, TokenType.DOT, TokenType.DCOLON, TokenType.L_BRACKET}
_AFTER_ITEMS = {TokenType.FROM, TokenType.UNION}
_KEYWORDS_BEFORE_PAREN = {"IN", "AND", "OR", "NOT", "FILTER", "GROUP", "WHEN", "THEN", "ELSE",
                          "BETWEEN", "LIKE", "CASE", "WHERE", "OVER"}  # fmt: skip


def labels(tokens: list[Token]) -> list[str]:
    """A label for each item between the first SELECT and its FROM, or its end without one."""
    items: list[list[Token]] = [[]]
    depth = 0
    for token in tokens[_first_item(tokens) :]:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth < 0 or (depth == 0 and token.token_type in _AFTER_ITEMS):
            break
        if depth == 0 and token.token_type is TokenType.COMMA:
            items.append([])
        else:
            items[-1].append(token)
    return [_label(item) for item in items]


def _first_item(tokens: list[Token]) -> int:
    """The index after SELECT and what may follow it: DISTINCT, or TOP and a number for LIMIT."""
    first = 2 if [token.token_type for token in tokens[1:2]] == [TokenType.DISTINCT] else 1
    types = [token.token_type for token in tokens[first : first + 2]]
    return first + 2 if types == [TokenType.TOP, TokenType.NUMBER] else first


def _label(tokens: list[Token]) -> str:
    """The tokens as text: keywords and functions in upper case, the others as written."""
    text = ""
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        written = _spelling(token, following)
        if index and _spaced(tokens, index):
            text += " "
        text += written
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
    if first is None or 0 <= start(source) < first:
        raise Unsupported("a subquery begins with SELECT", place=place(source, text))
    written = labels([token for token in tokens if token.start >= first])
    if not all(written) or len(written) != len(tree.expressions):
        raise SyntaxFault(
            "an expression is missing between SELECT and FROM", place=place_at(first, text)
        )
    return written


def column_names(tree: exp.Select, written: list[str]) -> list[str]:
    """The labels as names for the SELECT around this one: t.x is called x there."""
    return [
        item.name if isinstance(item, exp.Column) and not isinstance(item.this, exp.Star) else label
        for item, label in zip(tree.expressions, written, strict=True)
    ]
