"""The words of the dialect, and the colours of SQL and dot commands while they are typed.

Importing the parser for the words would delay the prompt. Tests compare them with the words that
the parser allows.
"""

from __future__ import annotations

import re
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
