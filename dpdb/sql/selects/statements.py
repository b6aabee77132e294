"""Statements: SELECT, EXPLAIN SELECT, SHOW, DESCRIBE and SET, read from their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from fractions import Fraction
from itertools import takewhile

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dpdb.errors import InvalidOption, Place, SyntaxFault, UnknownName, Unsupported, did_you_mean
from dpdb.plan.logical.query import NO_OPTIONS, Options, Query
from dpdb.plan.relations.relations import NO_FACTS, Facts
from dpdb.plan.unit_work import check_time
from dpdb.policy.catalog import Policy
from dpdb.policy.numbers import decimal
from dpdb.records import dataclass
from dpdb.sql.selects.binder import NO_TABLES, bind
from dpdb.sql.selects.short_statements import summary, written_out
from dpdb.sql.syntax.literals import number
from dpdb.sql.syntax.option_names import SETTINGS, TEACHING
from dpdb.sql.syntax.options import Terms, WrittenOption, read_options
from dpdb.sql.syntax.trees import UNPIVOT, place_at
from dpdb.sql.text.dialect import select_start, select_tree
from dpdb.sql.text.parameters import Values
from dpdb.sql.text.placeholders import Placeholders
from dpdb.sql.text.splitting import BEGINNINGS
from dpdb.sql.text.tokens import read_tokens


@dataclass(frozen=True)
class Select:
    """A query to answer, or with `explain` to plan and price."""

    query: Query
    explain: bool = False
    text: str = ""
    """The statement with its parameters' values, as answers and ledgers show it."""
    note: str = ""
    """The first note of its EXPLAIN."""
    name: str = ""
    """The temporary table that its answer is from now on."""


class Show(StrEnum):
    """The things that SHOW lists."""

    BUDGET = "BUDGET"
    HISTORY = "HISTORY"
    TABLES = "TABLES"
    SETTINGS = "ALL"


@dataclass(frozen=True)
class Describe:
    """DESCRIBE table."""

    table: str
    place: Place


@dataclass(frozen=True)
class Assign:
    """SET name = value."""

    name: str
    value: str | Fraction
    place: Place


Listed = Show | Describe
"""The statements that list budget, history, tables, settings or columns; no row is read."""
Statement = Select | Listed | Assign


def statement(
    text: str,
    policy: Policy,
    facts: Facts = NO_FACTS,
    values: Values = (),
    *,
    today: int | None = None,
    temporary: Mapping[str, Query] = NO_TABLES,
) -> Statement:
    """The statement that `text` writes, without its `;`, with the values of its parameters.

    `today` is the day of the statement in UTC, which CURRENT_DATE says, as days from 1970-01-01.
    """
    tokens = read_tokens(text)
    placeholders = Placeholders(text, tokens, values)
    words = _Words(text, placeholders.parsed, placeholders, today, temporary)
    leading, note = words.leading, ""
    skip = int(leading[:1] == ["EXPLAIN"])
    if leading[:2] == ["EXPLAIN", "SUMMARIZE"]:
        note = f"SUMMARIZE asks {summary(words.tokens[1:], text, policy)}"
    words.tokens[skip:] = written_out(words.tokens[skip:], text, policy)
    if leading[:3] == ["CREATE", "OR", "REPLACE"]:
        del words.tokens[1:3]
    match words.leading:
        case ["EXPLAIN", *_]:
            query = _select(policy, facts, words, skip=1)
            return Select(query, explain=True, text=placeholders.text, note=note)
        case ["SELECT" | "WITH" | "FROM", *_]:
            query = _select(policy, facts, words, skip=0)
            return Select(query, text=placeholders.text)
        case ["CREATE", "TEMP" | "TEMPORARY", "TABLE" | "VIEW", _, "AS", *_]:
            query = _select(policy, facts, words, skip=5)
            return Select(query, text=placeholders.text, name=_new_name(words, policy))
        case _ if placeholders:
            raise Unsupported("only a SELECT takes values", place=placeholders.place)
        case ["SHOW", ("BUDGET" | "HISTORY" | "TABLES" | "ALL") as listed]:
            return Show(listed)
        case ["SHOW", *_]:
            raise UnknownName(
                "SHOW knows BUDGET, HISTORY, TABLES and ALL",
                hint=_SHOWN.get(*words.leading[1:2] or [""])
                or "DESCRIBE table shows its columns, SHOW ALL the settings",
                place=words.place(0),
            )
        case ["DESCRIBE" | "DESC", *_] if len(words.tokens) == 2:
            return Describe(words.tokens[1].text, words.place(1))
        case ["SET", *_]:
            return _assignment(words)
    raise Unsupported(
        "only SELECT, EXPLAIN SELECT, SHOW, DESCRIBE table and SET are answered",
        hint=words.instead(),
        place=words.place(0),
    )


def _new_name(words: _Words, policy: Policy) -> str:
    """The name of a temporary table, which no table of the policy has."""
    name = words.tokens[3].text
    if policy.table(name) is not None:
        raise Unsupported(
            f"{name} is a table of the policy", hint="give it another name", place=words.place(3)
        )
    return name


_SHOWN = {
    **dict.fromkeys(
        ("DATABASES", "SCHEMAS"),
        "SHOW TABLES lists the tables; `dpdb FILE FILE` opens several files",
    ),
    **dict.fromkeys(("COLUMNS", "FIELDS", "CREATE"), "DESCRIBE table shows its columns"),
}
"""Hints for what SHOW lists in other systems."""
_ONLY_READ = "the tables are only read; nothing is written, and so nothing is committed"
_INSTEAD = {
    "DESCRIBE": "SHOW TABLES lists the tables, and EXPLAIN SELECT … says what an answer would cost",
    "PRAGMA": "DESCRIBE table shows its columns, SHOW ALL the settings",
    "TABLE": "single rows are never shown; try SELECT COUNT(*) FROM t",
    "VALUES": "without FROM a SELECT computes with subqueries: (SELECT COUNT(*) FROM t) / 2",
    "CREATE": "CREATE TEMP TABLE v AS SELECT … names an answer for the session, and WITH v AS"
    " (SELECT …) SELECT … a table for one statement",
    "PIVOT": "PIVOT t ON y USING SUM(x) GROUP BY z",
    "UNPIVOT": UNPIVOT,
    "COPY": ".mode csv and .once FILE write the next answer to a file",
    "ATTACH": "dpdb FILE FILE starts with several files",
    "USE": "dpdb FILE FILE starts with several files; their tables need no other name",
    **dict.fromkeys(
        ("INSERT", "UPDATE", "DELETE", "DROP", "ALTER", "TRUNCATE", "BEGIN", "COMMIT", "ROLLBACK"),
        _ONLY_READ,
    ),
}
"""Hints for the statements of other systems."""


@dataclass(frozen=True)
class _Words:
    """A statement's tokens."""

    text: str
    tokens: list[Token]
    placeholders: Placeholders | None = None
    today: int | None = None
    temporary: Mapping[str, Query] = field(default_factory=dict)

    @property
    def leading(self) -> list[str]:
        """The first five tokens in upper case; fewer if the statement is shorter."""
        return [token.text.upper() for token in self.tokens[:5]]

    def instead(self) -> str | None:
        """A hint for a statement that begins with an unknown word."""
        [word] = self.leading[:1] or [""]
        if word in _INSTEAD:
            return _INSTEAD[word]
        # A word that has a meaning in SQL is not mistyped.
        mistyped = bool(word) and self.tokens[0].token_type is TokenType.VAR
        usual = "`dpdb help statements` lists what can be typed"
        return (did_you_mean(word, BEGINNINGS) if mistyped else None) or usual

    def place(self, index: int) -> Place:
        """The place of a token; past the last token, the end of the statement."""
        if index < len(self.tokens):
            return place_at(self.tokens[index].start, self.text)
        return place_at(len(self.text), self.text)


def reads_a_table(text: str) -> bool:
    """Whether the text is a SELECT with a FROM, or the EXPLAIN of one, even of unknown tables.

    False for lines of a file that is no SQL, even if they begin with the word SELECT.
    """
    try:
        words = _Words(text, read_tokens(text))
        tokens, _, _ = _without_options(words, skip=int(words.leading[:1] == ["EXPLAIN"]))
        tree = select_tree(tokens, text)
    except Exception:
        return False
    begun = isinstance(tree, exp.Select) and select_start(tree) is not None
    return begun and tree.args.get("from_") is not None


def _select(policy: Policy, facts: Facts, words: _Words, skip: int) -> Query:
    """The query after `skip` tokens."""
    tokens, options, terms = _without_options(words, skip)
    placeholders, today = words.placeholders, words.today
    query = bind(
        tokens, words.text, policy, options, terms,
        facts=facts, placeholders=placeholders, today=today, temporary=words.temporary,
    )  # fmt: skip
    check_time(query, words.place(skip))
    return query


def _without_options(words: _Words, skip: int) -> tuple[list[Token], Options, Terms]:
    """The tokens of the SELECT after `skip` tokens, without OPTIONS, and the options."""
    tokens = words.tokens[skip:]
    outermost = _outermost_select(tokens)
    if outermost is None:
        before = words.tokens[0].text.upper()
        hint = None if before == "WITH" else "EXPLAIN SELECT … says what an answer would cost"
        raise Unsupported(f"{before} is followed by SELECT", hint=hint, place=words.place(skip))
    options, terms = NO_OPTIONS, dict[int | None, tuple[WrittenOption, ...]]()
    kept: list[Token] = []
    at = 0
    while at < len(tokens):
        token, first = tokens[at], at + 4
        kept.append(token)
        at += 1
        if token.token_type is not TokenType.SELECT:
            continue
        following = [each.text.upper() for each in tokens[at:first]]
        if following[:2] not in _CLAUSES:
            continue
        if following[2:] != ["OPTIONS"]:
            at += 2
            continue
        inside = list(takewhile(lambda t: t.token_type is not TokenType.R_PAREN, tokens[first:]))
        at = first + len(inside) + 1
        if not inside or inside[0].token_type is not TokenType.L_PAREN or at > len(tokens):
            raise SyntaxFault("OPTIONS takes (name = value, …)", place=words.place(skip + first))
        if inside[1:]:
            given, terms[token.start] = read_options(words.text, inside[1:])
            where = place_at(tokens[first - 1].start, words.text)
            options = _together(options, given, where)
    return kept, options, terms


def _together(before: Options, given: Options, where: Place) -> Options:
    """The options of a statement with two SELECTs, only one of which may have any."""
    if NO_OPTIONS in (before, given):
        return given if before == NO_OPTIONS else before
    both = [each.epsilon for each in (before, given) if each.epsilon is not None]
    share = f"epsilon = {decimal(sum(both, Fraction(0)))}" if both else "each option"
    raise InvalidOption(
        "two SELECTs of a statement have OPTIONS",
        hint=f"{share} in the OPTIONS of one holds for the statement; its SELECTs share it",
        place=where,
    )


_CLAUSES = [["WITH", word] for word in ("DIFFERENTIAL_PRIVACY", "ANONYMIZATION")]
"""The words behind SELECT, with or without OPTIONS; the second is BigQuery's older form."""


def _outermost_select(tokens: list[Token]) -> int | None:
    """The index of the SELECT that begins the query, perhaps after WITH and its tables."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0 and token.token_type is TokenType.SELECT:
            return index
        if index == 0 and token.token_type not in (TokenType.WITH, TokenType.FROM):
            break
    return 0 if tokens and tokens[0].token_type is TokenType.FROM else None


def _assignment(words: _Words) -> Assign:
    """SET name = value, where the value is a word or a number."""
    tokens = words.tokens
    if len(tokens) < 4 or tokens[2].token_type is not TokenType.EQ:
        raise SyntaxFault("write SET name = value", place=words.place(min(2, len(tokens))))
    name = tokens[1].text.lower()
    if name not in SETTINGS and name not in TEACHING:
        hint = did_you_mean(name, SETTINGS) or f"settings are {', '.join(SETTINGS)}"
        raise UnknownName(f"no setting {name}", hint=hint, place=words.place(1))
    where, last = words.place(3), tokens[3]
    if len(tokens) == 4 and last.token_type is not TokenType.NUMBER:
        return Assign(name, last.text.lower(), where)
    return Assign(name, number(tokens[3:], where), where)
