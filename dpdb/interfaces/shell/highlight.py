"""Colours for SQL and dot commands while they are typed."""

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

from dpdb.interfaces.shell.vocabulary import KEYWORDS
from dpdb.plan.expressions.functions import AGGREGATES, FUNCTIONS


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
        "auto-suggestion": "ansibrightblack",
    }
)
