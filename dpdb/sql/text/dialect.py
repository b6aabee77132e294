"""The SQL dialect of dpdb, for sqlglot to parse.

Short forms of other systems are written out in tokens before sqlglot reads them. `SUM(x, 0, 10)` is
`SUM(CLAMP(x, 0, 10))`, `x = ANY (SELECT …)` is `x IN (SELECT …)`, `SAFE.LN(x)` is `LN(x)`, as no
function of dpdb fails, and `//` is one sign, the division of whole numbers.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer as BaseTokenizer

from dpdb.errors import Place, SyntaxFault, TooLarge, Unsupported, did_you_mean
from dpdb.plan.expressions.functions import AGGREGATES
from dpdb.policy.names import quoted
from dpdb.sql.syntax.literals import DEPTHS, around_their_calls, like
from dpdb.sql.syntax.trees import UNREAD_NAMES
from dpdb.sql.text.splitting import CLAUSES, without_hints

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
    safe = {at for at, token in enumerate(tokens) if token.text.upper() == "SAFE"}
    safe = {at for at in safe if _is_before_call(tokens[at : at + 4])}
    kept = [t for at, t in enumerate(tokens) if at not in safe and at - 1 not in safe]
    for at, token in enumerate(kept):
        if token.text.upper() in ("ANY", "SOME"):
            _unwrap_array(kept, at + 2)
            if _is_in(kept[max(at - 1, 0) : at + 3]):
                kept[at - 1 : at + 1] = [like(token, TokenType.IN, "IN")]
    inserted: dict[int, list[Token]] = {}
    for at, name in enumerate(kept[:-1]):
        if kept[at + 1].token_type is TokenType.L_PAREN and name.text.upper() in _OF_ONE:
            commas, end = _arguments(kept, at + 2)
            if commas == 2:
                clamp = like(name, TokenType.VAR, "CLAMP"), like(name, TokenType.L_PAREN, "(")
                inserted[at + 2] = [*clamp]
                inserted.setdefault(end, []).append(like(name, TokenType.R_PAREN, ")"))
    if not inserted:
        return kept
    return [each for at, token in enumerate(kept) for each in (*inserted.get(at, ()), token)]


def _is_before_call(tokens: Sequence[Token]) -> bool:
    """Whether the first is BigQuery's `SAFE` before `.`, the name of a function and `(`."""
    kinds = [token.token_type for token in tokens]
    return kinds[:2] == [TokenType.VAR, TokenType.DOT] and kinds[3:] == [TokenType.L_PAREN]


def _is_in(tokens: Sequence[Token]) -> bool:
    """Whether `= ANY (` stands here before a SELECT or values, as IN would."""
    kinds = [token.token_type for token in tokens]
    arrays = (TokenType.L_BRACKET, TokenType.ARRAY)
    return (
        kinds[:1] == [TokenType.EQ]
        and kinds[2:3] == [TokenType.L_PAREN]
        and (kinds[3:4] != [] and kinds[3] not in arrays)
    )


def _unwrap_array(tokens: list[Token], first: int) -> None:
    """Make `(1, 2)` of `(ARRAY[1, 2])`, where no SELECT and no other array is in it."""
    kinds = [token.token_type for token in tokens[first:]]
    opening = kinds.index(TokenType.L_BRACKET) if TokenType.L_BRACKET in kinds[:2] else -1
    if opening < 0 or kinds[:opening] not in ([], [TokenType.ARRAY]):
        return
    inside = kinds[opening + 1 :]
    end = inside.index(TokenType.R_BRACKET) if TokenType.R_BRACKET in inside else 0
    plain = not {TokenType.SELECT, TokenType.L_BRACKET} & {*inside[:end]}
    if end and plain and inside[end + 1 : end + 2] == [TokenType.R_PAREN]:
        del tokens[first + opening + 1 + end]
        del tokens[first : first + opening + 1]


def _arguments(tokens: Sequence[Token], first: int) -> tuple[int, int]:
    """The number of commas between the arguments of a call, and the index of its `)`.

    A call with named arguments has none.
    """
    depth = commas = 0
    for at in range(first, len(tokens)):
        kind = tokens[at].token_type
        if DEPTHS.get(kind) == -1 and depth == 0:
            return commas, at
        depth += DEPTHS.get(kind, 0)
        commas += kind is TokenType.COMMA and depth == 0
        if kind is TokenType.FARROW and depth == 0:
            break
    return 0, len(tokens)


# sqlglot writes warnings to stderr about text that it half understands. The binder refuses such
# text, with its place.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


class Dpdb(Dialect):
    """Standard SQL with the names of the statistical functions of [EGS]."""

    class Tokenizer(BaseTokenizer):
        """The default lexical rules: `'` for strings, `"` and backticks for names, no backslashes.

        No word makes one opaque command of the text after it.
        """

        COMMANDS: ClassVar[set[TokenType]] = set()
        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ['"', "`"]

    # No subclass of it: sqlglot as compiled by mypyc (`sqlglot[c]`) has parsers without subclasses.
    parser_class = Parser  # type: ignore[assignment]


_OTHER_NAMES = {
    "MEAN": "AVG",
    "SD": "STDDEV",
    "STD": "STDDEV",
    "VAR": "VARIANCE",
    "SKEW": "SKEWNESS",
    "QUANTILE_CONT": "PERCENTILE_CONT",
    "QUANTILE": "PERCENTILE_CONT",
    "ANON_COUNT": "COUNT",
    "ANON_SUM": "SUM",
    "ANON_AVG": "AVG",
    "ANON_VAR_POP": "VAR_POP",
    "ANON_STDDEV_POP": "STDDEV_POP",
    "ANON_PERCENTILE_CONT": "PERCENTILE_CONT",
    "COVAR": "COVAR_POP",
    "COVARPOP": "COVAR_POP",
    "COVARSAMP": "COVAR_SAMP",
    "VARPOP": "VAR_POP",
    "VARSAMP": "VAR_SAMP",
    "STDDEVPOP": "STDDEV_POP",
    "STDDEVSAMP": "STDDEV_SAMP",
    "STRING_SPLIT": "SPLIT",
    "STR_SPLIT": "SPLIT",
    "ANON_QUANTILES": "APPROX_QUANTILES",
    **UNREAD_NAMES,
}
"""Further names for aggregates, with the names by which sqlglot knows them.

Functions get names that it does not know: it would read some arguments in another order, and
others as something else.
"""

_DIALECT = Dpdb()


def tokenize(text: str) -> list[Token]:
    """The tokens of a text; an optimiser's hint is a comment, and `//` one sign."""
    tokens = _DIALECT.tokenize(without_hints(text))
    return with_whole_divisions(tokens) if "//" in text else tokens


def select_tree(tokens: list[Token], text: str) -> exp.Select | exp.SetOperation:
    """sqlglot's tree for these tokens of `text`, a single SELECT; raises StatementError."""
    try:
        trees = parse(tokens, text)
    except ParseError as error:
        raise _syntax_fault(error) from None
    except RecursionError:
        raise TooLarge("the statement is nested too deeply") from None
    except Exception:
        raise SyntaxFault("this is not valid SQL") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Select | exp.SetOperation):
        raise Unsupported("only a single SELECT is answered")
    return trees[0]


def _syntax_fault(error: ParseError) -> SyntaxFault:
    """sqlglot's complaint as ours: the word it stumbled over and its place."""
    details = error.errors[0] if error.errors else {}
    word = str(details.get("highlight") or "")
    line, end = details.get("line"), details.get("col")
    where = Place(line, max(1, end - len(word) + 1)) if line and end is not None else None
    if not word:
        return SyntaxFault("this is not valid SQL: it ends too soon", place=where)
    hint = _unquoted(details) or _STUMBLED.get(word.upper()) or _meant(word, details)
    usual = "`dpdb help select` lists the clauses"
    return SyntaxFault(f"this is not valid SQL near '{word}'", hint=hint or usual, place=where)


_STUMBLED = {
    "~": "REGEXP_LIKE(s, 'pattern') matches a regular expression",
    "!": "NOT REGEXP_LIKE(s, 'pattern') is true where a regular expression does not match",
    "SELECT": "a statement ends with ;",
    "\\": "a statement ends with ;, and .mode vertical has a line for each column",
    "?": "? stands for a whole value: for DATE '2020-01-01' it is given a date",
}
"""Hints for words that the parser stumbles over."""


def _unquoted(details: dict[str, Any]) -> str | None:
    """A hint to quote the table's name that begins here, if it needs quotes, as us-employment."""
    parts = ("start_context", "highlight", "end_context")
    before, word, after = (str(details.get(part) or "") for part in parts)
    begun = re.search(r"\b(?:FROM|JOIN)\s+([\w-]*)$", before, re.IGNORECASE)
    after = re.match(r"[\w-]*", after)[0]  # type: ignore[index]
    name = f"{begun[1]}{word}{after}" if begun else ""
    plain = not re.fullmatch(r"[\w-]+", name) or name.isidentifier()
    return None if plain else f"put the name in quotes: {quoted(name)}"


def _meant(word: str, details: dict[str, Any]) -> str | None:
    """A hint at the clause that a mistyped word meant: the word itself, or the alias before it."""
    read = re.findall(r"\w+", details.get("start_context") or "")
    for written in (word, *read[-1:]):
        if written.upper() not in CLAUSES and (hint := did_you_mean(written, CLAUSES)):
            return hint
    return None


def parse(tokens: list[Token], text: str) -> list[exp.Expr | None]:
    """sqlglot's trees for these tokens of `text`.

    TOP is a keyword only where SELECT stands before it and a number behind: it may name a column.
    """
    for select, word, number in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if (
            select.token_type is TokenType.SELECT
            and number.token_type is TokenType.NUMBER
            and word.text.upper() == "TOP"
        ):
            word.token_type = TokenType.TOP
    readable = around_their_calls(written_out(tokens))
    before, following = [None, *readable[:-1]], [*readable[1:], None]
    return _DIALECT.parser().parse(list(map(_translated, before, readable, following)), text)


def _translated(before: Token | None, token: Token, following: Token | None) -> Token:
    """The token, with sqlglot's name if it is another name of a function.

    A SELECT has its place as its only comment, as sqlglot keeps no other place of it.
    """
    if token.token_type is TokenType.SELECT or token.comments:
        token = _renamed(token, token.text)
    if following is None or following.token_type is not TokenType.L_PAREN:
        return token
    named = before is not None and before.token_type in (TokenType.WITH, TokenType.ALIAS)
    if token.token_type is not TokenType.VAR or named:
        return token  # It names a table with columns: WITH year(a) AS (…).
    name = _OTHER_NAMES.get(token.text.upper())
    return token if name is None else _renamed(token, name)


def _renamed(token: Token, name: str) -> Token:
    """A token with another text, and without the comments beside it."""
    comments = [str(token.start)] if token.token_type is TokenType.SELECT else []
    return Token(token.token_type, name, token.line, token.col, token.start, token.end, comments)


def select_start(tree: exp.Select) -> int | None:
    """The place of the word SELECT in the text; None where it is left out."""
    return int(tree.comments[-1]) if tree.comments else None
