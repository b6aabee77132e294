"""The words of the dialect: their colours while they are typed, and the context of the cursor.

Importing the parser for the words would delay the prompt. Tests compare them with the words that
the parser allows. From the context of the cursor completion knows what may follow.
"""

from __future__ import annotations

import re
from itertools import pairwise, takewhile
from typing import Any, ClassVar

from prompt_toolkit.styles import Style
from pygments.lexer import RegexLexer, words
from pygments.token import (
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
)

from dpdb.plan.expressions.functions import AGGREGATES, FUNCTIONS
from dpdb.policy.catalog import Policy, Table
from dpdb.records import dataclass

NAMED_ARGUMENTS = {
    "contribution_bounds_per_row": ("=> (low, high)", "each row is clamped, as by CLAMP"),
    "contribution_bounds_per_group": ("=> (low, high)", "what a unit adds in a group is clamped"),
}
"""The text behind the name of each named argument of aggregates, and the meaning."""

KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "OFFSET", "AS", "AND",
    "OR", "NOT", "IN", "IS", "NULL", "LIKE", "ILIKE", "ESCAPE", "BETWEEN", "CASE", "WHEN", "THEN",
    "ELSE", "END", "DISTINCT", "FILTER", "WITHIN", "ASC", "DESC", "NULLS", "FIRST", "LAST", "TRUE",
    "FALSE", "EXPLAIN", "SHOW", "ALL", "BUDGET", "HISTORY", "TABLES", "DESCRIBE", "SET", "WITH",
    "DIFFERENTIAL_PRIVACY", "OPTIONS", "DATE", "TIMESTAMP", "ANONYMIZATION", "CLAMPED",
    "CONTRIBUTION_BOUNDS_PER_ROW", "CONTRIBUTION_BOUNDS_PER_GROUP", "OVER", "PARTITION", "ROWS",
    "PRECEDING", "FOLLOWING", "UNBOUNDED", "CURRENT", "ROW", "QUALIFY", "WINDOW", "UNION",
    "ROLLUP", "CUBE", "GROUPING", "SETS", "JOIN", "INNER", "FULL", "CROSS", "ON", "USING", "EXISTS",
)  # fmt: skip
STARTS = {
    "SELECT": "query a table",
    "WITH": "name a table for one query",
    "EXPLAIN SELECT": "its noise and its cost, free",
    "SHOW BUDGET": "what is spent and left",
    "SHOW TABLES": "what can be asked about",
    "SHOW ALL": "the settings",
    "DESCRIBE": "a table's columns",
    "SET": "what each query may spend, and whether repeats are free",
}
"""The words that begin a statement, and what each statement is for."""


class DpdbLexer(RegexLexer):
    """The lexical rules of sql/text/dialect.py and sql/text/splitting.py."""

    name = "dpdb"
    flags = re.IGNORECASE
    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"^\.\w*", Name.Decorator),
            (r"\s+", Text),
            (r"--[^\n]*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (r"'(?:[^']|'')*'", String.Single),
            (r'"(?:[^"]|"")*"', Name.Variable),
            (r"['\"].*", Error),
            (words((*AGGREGATES, *FUNCTIONS), suffix=r"(?=\s*\()"), Name.Function),
            (words(KEYWORDS, prefix=r"\b", suffix=r"\b"), Keyword),
            (r"\d+(?:\.\d*)?(?:e[+-]?\d+)?", Number),
            (r"\w+", Name),
            (r"[-+*/%<>=!|]+", Operator),
            (r".", Punctuation),
        ],
        "comment": [
            (r"/\*", Comment.Multiline, "#push"),
            (r"\*/", Comment.Multiline, "#pop"),
            (r"[^*/]+|.", Comment.Multiline),
        ],
    }


STYLE = Style.from_dict(
    {
        "pygments.keyword": "ansiblue bold",
        "pygments.name.function": "ansicyan",
        "pygments.name.decorator": "ansimagenta",
        "pygments.literal.string": "ansigreen",
        "pygments.literal.number": "ansiyellow",
        "pygments.comment": "italic ansibrightblack",
        "pygments.error": "ansired",
        "pygments.operator": "",
        "refused": "bg:ansired ansiwhite noreverse",
        "trial": "ansimagenta bold",
        "auto-suggestion": "ansibrightblack",
    }
)


_TOKEN = re.compile(
    r"""
      (?P<skip> \s+ | --[^\n]*(?:\n|$) | /\*.*?(?:\*/|$) )
    | (?P<string> '(?:[^']|'')*' )
    | (?P<name> "(?:[^"]|"")*" | [^\W\d]\w* )
    | (?P<number> \d[\w.]* )
    | (?P<open> ['"].* )          # a quote that is not closed yet
    | (?P<sign> <=|>=|<>|!=|==|. )
    """,
    re.VERBOSE | re.DOTALL,
)
COMPARISONS = ("=", "==", "<>", "!=")
COMPARED = (*COMPARISONS, "<", "<=", ">", ">=", "BETWEEN", "LIKE", "IN")
CLAUSES = ("SELECT", "FROM", "WHERE", "BY", "HAVING", "LIMIT", "OFFSET", "OPTIONS", "SET",
           "DESCRIBE", "DESC", "SHOW", "EXPLAIN")  # fmt: skip

_BEFORE_TABLES = ("FROM", "AS", "MATERIALIZED")
"""The words before the parenthesis around a SELECT within FROM or WITH."""


@dataclass(frozen=True)
class Context:
    """The tokens before the cursor, the word at it, and the tables of the statement."""

    tokens: tuple[str, ...]
    """The tokens before the word at the cursor, as they are written."""
    word: str
    """The word that ends at the cursor, with its opening quote if it has one."""
    tables: tuple[Table, ...]
    """The tables that FROM and JOIN name, before or after the cursor; without FROM, all tables.

    After `orders.`, the table `orders` alone, which may be an alias.
    """
    keys: tuple[str, ...] = ()
    """The words of GROUP BY, before or after the cursor."""
    named: tuple[str, ...] = ()
    """The tables that WITH has named before the cursor, as they are written."""

    @property
    def previous(self) -> str:
        """The token before the word, in upper case."""
        return self.tokens[-1].upper() if self.tokens else ""

    @property
    def clause(self) -> str:
        """The keywords of the clause around the cursor, in upper case; empty before the first."""
        depth = 0
        for before, part in reversed(list(pairwise(("", *self.tokens)))):
            depth += _nesting(part)
            if depth <= 0 and part.upper() in CLAUSES:
                return f"{before} {part}".upper() if part.upper() == "BY" else part.upper()
        return ""

    @property
    def calls(self) -> tuple[str, ...]:
        """The functions around the cursor within its SELECT, in upper case, the innermost first.

        PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x) is another way to write QUANTILE_CONT(x, q).
        """
        names, depth = [], 0
        for before, part in reversed(list(pairwise(self.tokens))):
            depth += _nesting(part)
            if depth < 0:
                depth = 0
                name = "QUANTILE_CONT" if before.upper() == "GROUP" else before.upper()
                if name.isidentifier() and name not in KEYWORDS:
                    names.append(name)
            elif depth == 0 and part.upper() == "SELECT":
                break
        return tuple(names)

    @property
    def opens_table(self) -> bool:
        """Whether a SELECT within FROM or WITH begins at the cursor."""
        return self.previous == "(" and "".join(self.tokens[-2:-1]).upper() in _BEFORE_TABLES

    @property
    def names_table(self) -> bool:
        """Whether the name of a table stands at the cursor."""
        described = self.previous == "DESC" and len(self.tokens) == 1
        listed = self.previous == "," and self.clause == "FROM"
        return described or listed or self.previous in ("FROM", "JOIN", "DESCRIBE")

    @property
    def row_by_row(self) -> bool:
        """Whether the SELECT around the cursor stands within FROM or WITH."""
        depth = 0
        around = zip(("", *self.tokens), self.tokens, (*self.tokens[1:], ""), strict=False)
        for before, part, after in reversed(list(around)):
            depth += _nesting(part)
            if depth < 0:
                depth = 0
                if after.upper() == "SELECT":
                    return before.upper() in _BEFORE_TABLES
        return False

    @property
    def in_condition(self) -> bool:
        """Whether a condition, or a CASE, stands between the cursor and the call around it."""
        if self.tokens[-2:-1] and self.tokens[-2].upper() == "IF":
            return True
        depth = 0
        for part in reversed(self.tokens):
            depth += _nesting(part)
            if depth < 0:
                return False
            if depth == 0 and part.upper() in (*COMPARED, "CASE", "WHEN", "WHERE"):
                return True
        return False

    @property
    def compared(self) -> str | None:
        """The name before `=` or `IN (`, where the cursor is at a constant; otherwise None."""
        tokens = list(self.tokens)
        if tokens and tokens[-1] in COMPARISONS:
            return tokens[-2] if len(tokens) > 1 else None
        while tokens and tokens[-1] not in ("(", ")") and tokens[-1].upper() not in CLAUSES:
            tokens.pop()
        if len(tokens) > 2 and tokens[-1] == "(" and tokens[-2].upper() == "IN":
            return tokens[-4 if tokens[-3].upper() == "NOT" else -3]
        return None


def context(text: str, before: str, policy: Policy) -> Context:
    """The context at the end of `before`, the part of the statement `text` up to the cursor."""
    tokens = _tokens(before)
    begun = bool(tokens) and before.endswith(tokens[-1]) and _is_begun(tokens[-1])
    word = tokens.pop() if begun else ""
    if tokens[-1:] == ["-"] and "".join(tokens[-3:-2]).upper() in ("FROM", "JOIN"):
        word = f"{tokens[-2]}-{word}"  # such as us-employment
        del tokens[-2:]
    whole = _tokens(text)
    tables = _tables(whole, policy)
    if tokens[-1:] == ["."]:
        name = tokens[-2].strip('"') if tokens[1:] else ""
        aliased = _aliased(whole, policy).get(name.casefold()) or policy.table(name)
        tables = tables if aliased is None else (aliased,)
    return Context(tuple(tokens), word, tables, _keys(whole), _named(tokens))


def _tokens(text: str) -> list[str]:
    return [m.group() for m in _TOKEN.finditer(text) if m.lastgroup != "skip"]


def _keys(tokens: list[str]) -> tuple[str, ...]:
    """The words between GROUP BY and the next clause."""
    places = [i for i, pair in enumerate(pairwise(tokens)) if " ".join(pair).upper() == "GROUP BY"]
    after = tokens[places[-1] + 2 :] if places else []
    return tuple(takewhile(lambda word: word.upper() not in ("HAVING", "ORDER", "LIMIT"), after))


def _named(tokens: list[str]) -> tuple[str, ...]:
    """The names before `AS (…)` and before `(…) AS (…)`, where the parentheses are closed."""
    names: list[str] = []
    opened: list[tuple[str, bool]] = []
    subject = ""  # the name before the parentheses that were closed last
    words = [token for token in tokens if token.upper() != "MATERIALIZED"]
    for older, before, word in zip(["", "", *words], ["", *words], words, strict=False):
        if word == "(" and before.upper() == "AS":
            opened.append((subject if older == ")" else older, True))
        elif word == "(":
            opened.append((before, False))
        elif word == ")" and opened:
            subject, table = opened.pop()
            names += [subject] * table
    return tuple(dict.fromkeys(names))


def _nesting(part: str) -> int:
    """The change of depth at a token, when tokens are read backwards."""
    return {")": 1, "(": -1}.get(part, 0)


def _is_begun(token: str) -> bool:
    """Whether a letter typed next would belong to the token."""
    if token[0] in "'\"":
        return len(token) == 1 or token[-1] != token[0]
    return token[0].isalnum() or token[0] == "_"


def _aliased(tokens: list[str], policy: Policy) -> dict[str, Table]:
    """The tables of FROM and JOIN by their aliases, as in `orders o` and `orders AS o`."""
    words = [token for token in tokens if token.upper() != "AS"]
    return {
        alias.strip('"').casefold(): table
        for before, name, alias in zip(words, words[1:], words[2:], strict=False)
        if before.upper() in ("FROM", "JOIN", ",")
        and alias.upper() not in KEYWORDS
        and (table := policy.table(name.strip('"'))) is not None
    }


def _tables(tokens: list[str], policy: Policy) -> tuple[Table, ...]:
    named = [
        policy.table(name.strip('"'))
        for word, name in pairwise(tokens)
        if word.upper() in ("FROM", "JOIN")
    ]
    tables = tuple(dict.fromkeys(table for table in named if table is not None))
    return tables or policy.tables
