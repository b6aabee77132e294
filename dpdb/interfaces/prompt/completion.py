"""Completion: names from the policy and the dialect, never from rows; columns in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from dpdb import manual
from dpdb.answers.suggested_bounds import named_by
from dpdb.errors import printable
from dpdb.interfaces.console.entries import open_text
from dpdb.interfaces.console.settings import SETTINGS
from dpdb.interfaces.prompt.words import NAMED_ARGUMENTS, STARTS, Context, context
from dpdb.plan.expressions.functions import AGGREGATES, FUNCTIONS, Function, Takes
from dpdb.plan.ranges.group_keys import has_key_values
from dpdb.policy.catalog import Column, Kind, Policy, Value
from dpdb.policy.names import quoted_text, written
from dpdb.policy.numbers import decimal
from dpdb.policy.timestamps import iso_text
from dpdb.sql.syntax import option_names as names

Candidate = tuple[str, str, str]
"""The text to insert, the text to show for it, and its meaning."""

AFTER = {
    "SELECT": ("FROM", "AS", "FILTER (WHERE "),
    "FROM": ("WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT"),
    "WHERE": ("AND", "OR", "IN (", "BETWEEN", "LIKE", "IS NULL", "IS NOT NULL", "NOT",
              "GROUP BY", "ORDER BY", "LIMIT"),
    "GROUP BY": ("HAVING", "ORDER BY", "LIMIT"),
    "ORDER BY": ("DESC", "ASC", "LIMIT"),
    "HAVING": ("AND", "OR", "ORDER BY", "LIMIT"),
    "LIMIT": ("OFFSET",),
}  # fmt: skip
"""The words that can follow an operand, in each clause."""
JOINING = ("JOIN", "LEFT JOIN", "ON", "USING (")
"""The words that can follow in FROM where there are several tables."""
EXPECTING = ("SELECT", "WHERE", "AND", "OR", "NOT", "BY", "HAVING", "WHEN", "THEN", "ELSE",
             "BETWEEN", "DISTINCT", "CASE", "ON", "(", ",", "+", "-", "*", "/", "%",
             "=", "==", "<>", "!=", "<", "<=", ">", ">=")  # fmt: skip
"""The words and signs after which an operand is expected."""
FOLLOWING = {"GROUP": ("BY",), "ORDER": ("BY",), "IS": ("NULL", "NOT NULL", "TRUE", "FALSE"),
             "EXPLAIN": ("SELECT",), "SHOW": ("BUDGET", "HISTORY", "TABLES", "ALL")}  # fmt: skip
_FILE_COMMANDS = (".read", ".plan", ".output", ".once")
"""The commands that a file is named after."""


class ShellCompleter(Completer):
    """Dot commands and their arguments, and SQL."""

    def __init__(self, policy: Policy, commands: Mapping[str, str], *, teach: bool = False):
        self._policy = policy
        self._commands = commands
        self._settings = {**names.SETTINGS, **names.TEACHING} if teach else names.SETTINGS
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        before = open_text(document.text_before_cursor)
        if not (before.strip() or event.completion_requested):
            return
        if before.lstrip().startswith("."):
            yield from self._command(before.lstrip(), event)
            return
        here = context(before + document.text_after_cursor, before, self._policy)
        yield from _matching(here.word, self._sql(here))

    def _command(self, line: str, event: CompleteEvent) -> Iterable[Completion]:
        name, space, argument = line.partition(" ")
        if not space:
            yield from _matching(name, [(n, n, meaning) for n, meaning in self._commands.items()])
        elif name in self._commands and name in _FILE_COMMANDS:
            yield from self._paths.get_completions(Document(argument), event)
        elif name == ".schema":
            yield from _matching(argument, self._tables())
        elif name == ".help":
            yield from _matching(
                argument, [(t, t, "") for t in dict.fromkeys(_help_topics(self._commands))]
            )
        elif name[1:] in SETTINGS:
            yield from _matching(argument, [(v, v, "") for v in SETTINGS[name[1:]].values])

    def _sql(self, here: Context) -> Iterator[Candidate]:
        """The candidates at the cursor, not yet narrowed to the word begun there."""
        previous, clause = here.previous, here.clause
        values = list(self._values(here))
        if not here.tokens:
            yield from ((word, word, meaning) for word, meaning in STARTS.items())
        elif here.names_table:
            yield from ((name, printable(name), "named by WITH") for name in here.named)
            yield from self._tables()
        elif clause in ("SET", "OPTIONS"):
            if previous in ("SET", "(", ","):
                known = self._settings if clause == "SET" else names.OPTIONS | names.TERMS
                yield from ((f"{n} = ", n, meaning) for n, meaning in known.items())
        elif following := ("SELECT",) if here.opens_table else FOLLOWING.get(previous):
            yield from ((word, word, "") for word in following)
        elif previous == ".":
            yield from self._columns(here)
        elif values:
            yield from values
        elif clause == "GROUP BY":
            if previous in ("BY", ","):
                yield from self._columns(here)
            else:
                yield from ((word, word, "") for word in AFTER[clause])
        elif previous in EXPECTING:
            yield from self._operands(here, previous, clause)
        else:
            joining = JOINING if clause == "FROM" and len(self._policy.tables) > 1 else ()
            yield from ((word, word, "") for word in (*joining, *AFTER.get(clause, ())))

    def _tables(self) -> Iterator[Candidate]:
        for table in self._policy.tables:
            meaning = f"{'public, ' if table.public else ''}{len(table.columns)} columns"
            yield written(table.name), printable(table.name), meaning

    def _columns(self, here: Context) -> Iterator[Candidate]:
        columns = [(table, column) for table in here.tables for column in table.columns]
        fitting = [pair for pair in columns if _fits(pair[1], here)]
        for table, column in fitting or columns * (here.previous == "."):
            named = ", ".join(map(printable, named_by(table, column)))
            yield written(column.name), printable(column.name), named or declaration(column)

    def _operands(self, here: Context, previous: str, clause: str) -> Iterator[Candidate]:
        yield from self._columns(here)
        if _on_answer(here):
            yield from _calls(AGGREGATES)
        yield from _calls(FUNCTIONS)
        if previous == "," and here.calls and here.calls[0] in AGGREGATES:
            for name, (value, meaning) in NAMED_ARGUMENTS.items():
                yield f"{name} => (", f"{name} {value}", meaning
        if previous == "SELECT" and here.row_by_row:
            yield "*", "*", "all columns"
        elif previous == "SELECT":
            options = "WITH DIFFERENTIAL_PRIVACY OPTIONS("
            yield options, f"{options}…)", "what this query may spend"
        if previous == "(" and here.tokens[-2:-1] and here.tokens[-2].upper() == "COUNT":
            yield from (("*", "*", "rows"), ("DISTINCT", "DISTINCT", "different values"))
        if previous in ("WHERE", "AND", "OR"):
            yield "NOT", "NOT", ""

    def _values(self, here: Context) -> Iterator[Candidate]:
        """The declared values of the column in a comparison, where a constant is expected."""
        column = self._column(here, here.compared)
        if column is None:
            return
        values = column.values or ((True, False) if column.kind is Kind.BOOLEAN else ())
        for value in values:
            shown = value_text(value, column.kind)
            yield constant(value, column.kind), shown, f"declared for {printable(column.name)}"

    def _column(self, here: Context, name: str | None) -> Column | None:
        columns = (table.column((name or "").strip('"')) for table in here.tables)
        return next((column for column in columns if column is not None), None)


def _on_answer(here: Context) -> bool:
    """Whether an expression at the cursor is over the answer, and so takes aggregates and keys."""
    over = here.clause in ("SELECT", "HAVING", "ORDER BY")
    return over and not here.row_by_row and not any(name in AGGREGATES for name in here.calls)


def _fits(column: Column, here: Context) -> bool:
    """Whether the column will be accepted at the cursor."""
    if here.clause == "GROUP BY":
        return has_key_values(column)
    if _on_answer(here):
        named = {word.strip('"').casefold() for word in here.keys}
        return column.name.casefold() in named if named else has_key_values(column)
    return here.in_condition or is_accepted(column, here.calls)


def _help_topics(commands: Iterable[str]) -> Iterator[str]:
    """The topics of `.help` that one word names."""
    yield from (*manual.topics(), *commands)
    yield from (name for name in manual.named() if name.isidentifier() and len(name) > 1)


def _calls(functions: Mapping[str, Function]) -> Iterator[Candidate]:
    for name, each in functions.items():
        yield f"{name}(", each.signature(name), each.meaning if name == each.name else each.name


def _matching(word: str, candidates: Iterable[Candidate]) -> Iterator[Completion]:
    """The candidates that begin with `word`; keywords follow it in small letters."""
    folded = word.casefold()
    for text, shown, meaning in candidates:
        if text.casefold() != folded and text.casefold().startswith((folded, f'"{folded}')):
            small = word.islower() and text.isupper() and not text.startswith(("'", '"'))
            yield Completion(
                text.lower() if small else text,
                start_position=-len(word),
                display=shown,
                display_meta=meaning,
            )


NO_BOUNDS = "no bounds"


def declaration(column: Column) -> str:
    """Bounds, number of values, or type; `no bounds` marks what cannot be summed yet."""
    if column.values is not None:
        return f"{len(column.values)} values"
    if column.bounds is not None:
        low, high = (value_text(bound, column.kind) for bound in column.bounds)
        return f"{low} to {high}"
    return NO_BOUNDS if column.guessed or column.kind.ordinal else str(column.kind)


def value_text(value: Value, kind: Kind) -> str:
    """A declared value as people read it."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return printable(value)
        case _ if kind.temporal:
            return iso_text(int(value), kind)
        case int():
            return str(value)
    return decimal(value)


def constant(value: Value, kind: Kind) -> str:
    """A declared value as it is written in SQL."""
    text = value if isinstance(value, str) else value_text(value, kind)
    return quoted_text(text) if kind is Kind.TEXT or kind.temporal else text


_EITHER = {**FUNCTIONS, **AGGREGATES}


def is_accepted(column: Column, calls: Sequence[str]) -> bool:
    """Whether the column can stand in these calls, given by their names, the innermost first."""
    taken = [_EITHER[name].takes for name in calls if name in _EITHER]
    takes = next((each for each in taken if each is not Takes.CHOICE), Takes.ANY)
    if takes is Takes.KEY and taken[0] is not Takes.KEY:
        return False
    if not _is_of(column, takes):
        return False
    # An argument of CLAMP needs no bounds of its own.
    bounded = next((AGGREGATES[name].bounded for name in calls if name in AGGREGATES), False)
    clamped = "CLAMP" in calls or takes is Takes.KEY or column.kind is Kind.BOOLEAN
    return not bounded or clamped or column.bounds is not None


def _is_of(column: Column, takes: Takes) -> bool:
    """Whether a function takes the type of the column; an undeclared column has any type."""
    number = column.guessed or column.kind in (Kind.INTEGER, Kind.NUMBER)
    ordinal = column.guessed or column.kind.ordinal
    boolean = column.kind is Kind.BOOLEAN
    match takes:
        case Takes.NUMBER:
            return number
        case Takes.NUMBER_OR_BOOLEAN:
            return number or boolean
        case Takes.ORDINAL:
            return ordinal
        case Takes.ORDINAL_OR_BOOLEAN:
            return ordinal or boolean
        case Takes.TEXT:
            return column.kind is Kind.TEXT
        case Takes.DATE:
            return column.guessed or column.kind.temporal
        case Takes.TIMESTAMP:
            return column.guessed or column.kind is Kind.TIMESTAMP
        case Takes.KEY:
            return has_key_values(column)
        case Takes.NOTHING:
            return False
        case Takes.ANY | Takes.CHOICE:
            return True
        case _:
            assert_never(takes)
