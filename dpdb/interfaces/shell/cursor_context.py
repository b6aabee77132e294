"""Where in a statement the cursor is: what may stand there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from dpdb.interfaces.shell.vocabulary import KEYWORDS
from dpdb.policy.catalog import Policy, Table

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
CLAUSES = ("SELECT", "FROM", "WHERE", "BY", "HAVING", "LIMIT", "OFFSET", "OPTIONS", "SET",
           "DESCRIBE", "DESC", "SHOW", "EXPLAIN")  # fmt: skip


@dataclass(frozen=True)
class Context:
    """The statement up to the cursor."""

    tokens: tuple[str, ...]
    """What stands before the word at the cursor: names as written, keywords in capitals too."""
    word: str
    """The word that the cursor is at the end of; with its quote, where one is open."""
    tables: tuple[Table, ...]
    """What FROM names, wherever it stands in the statement; otherwise all there are."""

    @property
    def previous(self) -> str:
        """The token before the word, in capitals."""
        return self.tokens[-1].upper() if self.tokens else ""

    @property
    def clause(self) -> str:
        """The keyword that began the clause, in the parentheses that the cursor is in."""
        depth = 0
        for part in reversed(self.tokens):
            depth += _nesting(part)
            if depth <= 0 and part.upper() in CLAUSES:
                return part.upper()
        return ""

    @property
    def in_call(self) -> bool:
        """Whether the cursor is within the parentheses of a function that is called."""
        depth = 0
        for before, part in reversed(list(pairwise(self.tokens))):
            depth += _nesting(part)
            if depth < 0:
                return before.isidentifier() and before.upper() not in KEYWORDS
        return False

    @property
    def compared(self) -> str | None:
        """The name that a value is wanted for: before `=`, or before `IN (` and a list."""
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
    return Context(tuple(tokens), word, _tables(_tokens(text), policy))


def _tokens(text: str) -> list[str]:
    return [m.group() for m in _TOKEN.finditer(text) if m.lastgroup != "skip"]


def _nesting(part: str) -> int:
    """What a token does to the depth, read backwards."""
    return {")": 1, "(": -1}.get(part, 0)


def _is_begun(token: str) -> bool:
    """Whether what is typed next would belong to the token."""
    if token[0] in "'\"":
        return len(token) == 1 or token[-1] != token[0]
    return token[0].isalnum() or token[0] == "_"


def _tables(tokens: list[str], policy: Policy) -> tuple[Table, ...]:
    named = [
        policy.table(name.strip('"')) for word, name in pairwise(tokens) if word.upper() == "FROM"
    ]
    found = tuple(dict.fromkeys(table for table in named if table is not None))
    return found or policy.tables
