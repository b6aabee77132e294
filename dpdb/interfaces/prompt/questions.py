"""Questions: for a file where none was given, and for the parts of a query, for `.ask`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from prompt_toolkit.completion import (
    CompleteEvent,
    Completer,
    Completion,
    PathCompleter,
    WordCompleter,
)
from prompt_toolkit.document import Document

from dpdb.answers.answer import Answer
from dpdb.errors import DpdbError, InvalidOption, UnknownName, did_you_mean, printable
from dpdb.interfaces.console.habits import command_of
from dpdb.interfaces.console.terminal import Ask, tell, tell_error
from dpdb.interfaces.prompt.completion import ShellCompleter, declaration
from dpdb.interfaces.prompt.status import price_text
from dpdb.policy.budget import LARGEST_QUERIES, valid_epsilon
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.csv.packing import Packing
from dpdb.policy.names import written
from dpdb.policy.numbers import decimal, exact_number
from dpdb.policy.storage import SUFFIXES

Explained = Callable[[str], Answer | DpdbError]
"""The answer of EXPLAIN to a SELECT, or the error in the SELECT."""
T = TypeVar("T")
SUMMARIES = ("count", "sum", "mean", "min", "max", "median", "variance", "sd")
"""The paper's seven summary functions, and the median."""
_IN_SQL = {"avg": "mean", "stddev": "sd", "var": "variance"}
"""Names that SQL has for the paper's."""


_SUFFIXES = (".csv", ".tsv", ".toml", *SUFFIXES, *(each.value for each in Packing))
"""The endings of the files that the prompt offers."""


def _ask_until(ask: Ask, question: str, read: Callable[[str], T], completer: Completer | None) -> T:
    """The first reply that `read` accepts; before that, errors are printed."""
    while True:
        try:
            return read(ask(question, completer).strip())
        except DpdbError as error:
            tell_error("", error)


def ask_file(ask: Ask, read: Callable[[Path], T]) -> T:
    """The result of `read` for the data file or policy whose path is given."""
    paths = PathCompleter(expanduser=True, file_filter=_is_readable)
    return _ask_until(ask, "database csv: ", lambda name: read(Path(name).expanduser()), paths)


def _is_readable(path: str) -> bool:
    return Path(path).is_dir() or Path(path).suffix.lower() in _SUFFIXES


def ask_protected(ask: Ask) -> bool:
    """Whether to use differential privacy, which only teaching mode leaves open."""

    def read(reply: str) -> bool:
        if reply.casefold() not in ("y", "yes", "n", "no"):
            raise InvalidOption("y or n is needed")
        return reply.casefold() in ("y", "yes")

    return _ask_until(ask, "use dp (y/n): ", read, None)


def ask_epsilon(ask: Ask, default: Fraction) -> Fraction:
    """The session's total ε."""

    def read(reply: str) -> Fraction:
        return valid_epsilon(_number(reply) if reply else default)

    return _ask_until(ask, f"epsilon [{decimal(default)}]: ", read, None)


def ask_queries(ask: Ask, default: int) -> int:
    """The number of queries that the session may ask."""

    def read(reply: str) -> int:
        if not reply:
            return default
        if not (reply.isascii() and reply.isdigit() and 1 <= int(reply) <= LARGEST_QUERIES):
            raise InvalidOption("the query limit is a whole number, at least 1")
        return int(reply)

    return _ask_until(ask, f"query limit [{default}]: ", read, None)


def ask_query(answered: Ask, policy: Policy, explained: Explained) -> str | None:
    """The SELECT that the replies make; None if it is not to be run. `.quit` raises EOFError."""

    def ask(question: str, completer: Completer | None) -> str:
        reply = answered(question, completer)
        if not reply.strip()[:1].isalnum() and command_of(reply, typed=True) == (".quit", ""):
            raise EOFError
        return reply

    tell("A few questions build a query. Ctrl-C leaves them, and nothing is spent.")
    table = policy.tables[0]
    if len(policy.tables) > 1:
        names = {table.name: f"{len(table.columns)} columns" for table in policy.tables}
        table = _ask_until(ask, "table: ", lambda name: _table(policy, name), _words(names))
    about = {column.name: declaration(column) for column in table.columns}
    column = _ask_until(ask, "summarize field: ", lambda n: _column(table, n), _words(about))
    fitting = _fitting(column)
    summary = _ask_until(ask, "summary function: ", lambda name: _one_of(fitting, name),
                        _words(dict.fromkeys(fitting, "")))  # fmt: skip
    argument = written(column.name)
    if summary != "count" and column.bounds is None:
        low, least = _ask_until(ask, "smallest it can be: ", _bound, None)
        high, _ = _ask_until(ask, "largest it can be: ", lambda reply: _bound(reply, least), None)
        argument = f"CLAMP({argument}, {low}, {high})"
    call = f"{summary.upper()}({argument})"
    start = f"SELECT {call} FROM {written(table.name)}"  # noqa: S608 (it is for our own SQL)
    _planned(explained, start, "")
    text = _ask_until(ask, "where: ", lambda condition: _planned(explained, start, condition),
                     _Condition(policy, start))  # fmt: skip
    tell(printable(f"{text};"))
    price = explained(text)
    assert isinstance(price, Answer)
    agreed = ask(f"It{price_text(price)}. Run it? [Y/n] ", None).strip().casefold()
    return text if agreed in ("", "y", "yes") else None


def _fitting(column: Column) -> Sequence[str]:
    """The names of the functions that have a meaning for the column."""
    if column.guessed or column.kind in (Kind.INTEGER, Kind.NUMBER):
        return SUMMARIES
    dated = column.kind.temporal and column.bounds is not None
    return ("count", "mean", "min", "max", "median") if dated else ("count",)


def _words(meanings: dict[str, str]) -> Completer:
    return WordCompleter(list(meanings), meta_dict=dict(meanings), ignore_case=True, sentence=True)


def _table(policy: Policy, name: str) -> Table:
    table = policy.table(name)
    if table is None:
        raise _unknown("table", name, [table.name for table in policy.tables])
    return table


def _column(table: Table, name: str) -> Column:
    column = table.column(name)
    if column is None:
        raise _unknown("field", name, [column.name for column in table.columns])
    return column


def _one_of(known: Sequence[str], name: str) -> str:
    name = _IN_SQL.get(name.lower(), name.lower())
    if name not in known:
        raise _unknown("function", name, known)
    return name


def _unknown(what: str, name: str, known: Sequence[str]) -> UnknownName:
    hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
    return UnknownName(f"no {what} {name}" if name else f"which {what}?", hint=hint)


def _number(reply: str) -> Fraction:
    value = exact_number(reply)
    if value is None:
        raise InvalidOption("a number is needed")
    return value


def _bound(reply: str, least: Fraction | None = None) -> tuple[str, Fraction]:
    """A bound as it was written, and its value."""
    value = _number(reply)
    if least is not None and value < least:
        raise InvalidOption(f"the largest is not below {decimal(least)}")
    return reply.lstrip("+"), value


def _planned(explained: Explained, start: str, condition: str) -> str:
    """The whole statement; an error if it could not be answered."""
    text = start if condition in ("", "True", "true") else f"{start} WHERE {condition}"
    quote = explained(text)
    if isinstance(quote, DpdbError):
        raise UnknownName(quote.message, hint=quote.hint)
    return text


class _Condition(Completer):
    """Completes a condition as if the statement before it had been typed, too."""

    def __init__(self, policy: Policy, start: str):
        self._start = f"{start} WHERE "
        self._completer = ShellCompleter(policy, {})

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        whole = Document(self._start + document.text, len(self._start) + document.cursor_position)
        return self._completer.get_completions(whole, event)
