"""Short forms of other systems, written out in tokens before sqlglot reads them.

`SUM(x, 0, 10)` is `SUM(CLAMP(x, 0, 10))`, `SAFE.LN(x)` is `LN(x)`, as no function of dpdb fails,
and `//` is one sign, the division of whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from dpdb.plan.expressions.functions import AGGREGATES
from dpdb.sql.syntax.literals import like

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET}
_OF_ONE = {name for name, each in AGGREGATES.items() if each.bounded and each.parameters == "x"}
"""The aggregates of one argument, behind which bounds may stand."""


def with_whole_divisions(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with each `//` as one token."""
    result: list[Token] = []
    for token in tokens:
        before = result[-1] if result else None
        if token.text == "/" and before and before.text == "/" and before.end + 1 == token.start:
            result[-1] = like(before, TokenType.DIV, "//")
        else:
            result.append(token)
    return result


def written_out(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without `SAFE.`, and with the bounds behind an aggregate's argument as CLAMP."""
    kept: list[Token] = []
    at = 0
    while at < len(tokens):
        if _is_safe(tokens, at):
            at += 2
        kept.append(tokens[at])
        at += 1
    inserted: dict[int, list[Token]] = {}
    for at, name in enumerate(kept[:-1]):
        if kept[at + 1].token_type is TokenType.L_PAREN and name.text.upper() in _OF_ONE:
            commas, end = _arguments(kept, at + 2)
            if commas == 2:
                clamp = like(name, TokenType.VAR, "CLAMP"), like(name, TokenType.L_PAREN, "(")
                inserted[at + 2] = [*clamp]
                inserted.setdefault(end, []).append(like(name, TokenType.R_PAREN, ")"))
    return [each for at, token in enumerate(kept) for each in (*inserted.get(at, ()), token)]


def _is_safe(tokens: Sequence[Token], at: int) -> bool:
    """Whether BigQuery's `SAFE.` stands here before the name of a function."""
    word, *others = tokens[at : at + 4]
    kinds = [other.token_type for other in others]
    called = kinds[:1] == [TokenType.DOT] and kinds[2:] == [TokenType.L_PAREN]
    return called and word.token_type is TokenType.VAR and word.text.upper() == "SAFE"


def _arguments(tokens: Sequence[Token], first: int) -> tuple[int, int]:
    """The number of commas between the arguments of a call, and the index of its `)`.

    A call with named arguments has none.
    """
    depth = commas = 0
    for at in range(first, len(tokens)):
        kind = tokens[at].token_type
        if kind in _CLOSING and depth == 0:
            return commas, at
        depth += (kind in _OPENING) - (kind in _CLOSING)
        commas += kind is TokenType.COMMA and depth == 0
        if kind is TokenType.FARROW and depth == 0:
            break
    return 0, len(tokens)
