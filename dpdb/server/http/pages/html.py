"""The HTML of the pages: what templates show of an answer, a price, a budget and a history.

Templates escape every value; texts are made printable here, where a format has not done so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from dpdb.answers.formats.explain_tree import outline
from dpdb.answers.formats.footer import LEFT_OF_ALL, cautions, footer, price_text
from dpdb.answers.formats.render import first_rows
from dpdb.answers.formats.sheet import is_numeric, text_sheet
from dpdb.answers.formats.summaries import margins
from dpdb.answers.record import AnswerRecord, Line
from dpdb.answers.suggested_bounds import column_row
from dpdb.errors import BudgetExceeded, DpdbError, InvalidOption, MissingBounds, TooLarge, printable
from dpdb.ledger.protocol import FREE, Balance
from dpdb.plan.relations.shared_rows import of_units
from dpdb.policy.catalog import Column, Table
from dpdb.policy.names import written
from dpdb.policy.numbers import decimal
from dpdb.records import dataclass
from dpdb.server.http.pages.chart import DotChart, charts
from dpdb.server.http.pages.help import with_links

MOST_ROWS = 500
"""The rows of an answer that a page shows; the CSV has all."""
_TREE = 96
"""The characters in which lines of EXPLAIN's tree are folded."""
_DIGITS = 6
_WORD = re.compile(r"\w+|\S+")
_FREE = ("SHOW", "SET", "DESCRIBE", "DESC", "EXPLAIN")
"""The first words of statements that never cost anything."""
_CLIPPED = 160
"""The characters of a statement in the history."""


@dataclass(frozen=True)
class AnswerView:
    """An answer as a page shows it."""

    statement: str
    caption: str
    header: Sequence[tuple[str, bool]]
    """The names of the columns, and whether each holds numbers."""
    keyed: bool
    """Whether the first column names the rows."""
    rows: Sequence[Sequence[str]]
    lines: Sequence[str]
    cautions: Sequence[str]
    charts: Sequence[DotChart]
    outline: Sequence[tuple[str, str]]
    """EXPLAIN's first lines, or those of SHOW BUDGET; empty for a table."""
    tree: str
    csv: str
    """The address of the CSV; empty where there is none."""


@dataclass(frozen=True)
class ErrorView:
    """An error as a page shows it: the message, and the marked word in its line."""

    message: str
    hint: str
    before: str = ""
    marked: str = ""
    after: str = ""


@dataclass(frozen=True)
class PriceView:
    """The price of a statement, and the ± that is known beforehand."""

    text: str = ""
    margins: Sequence[tuple[str, str]] = ()
    outline: Sequence[tuple[str, str]] = ()
    """EXPLAIN's first lines."""
    short: bool = False
    """Whether the price is more than is left."""
    error: ErrorView | None = None
    grave: bool = False
    """Whether the error is of a statement that is whole, rather than one being typed."""


@dataclass(frozen=True)
class BudgetView:
    """The rest of the budget, in words and as a share."""

    left: str
    total: str
    percent: str
    share: str
    queries: str
    remark: str


@dataclass(frozen=True)
class HistoryView:
    """A line of the history."""

    id: str
    statement: str
    came: str
    cost: str
    repeat: bool


@dataclass(frozen=True)
class NameView:
    """A name to insert: as people read it, as SQL has it, and what is declared of it."""

    name: str
    written: str
    about: str


@dataclass(frozen=True)
class TableView:
    """A table and its columns."""

    table: NameView
    columns: Sequence[NameView]


def answer_view(answer: AnswerRecord, csv: str = "") -> AnswerView:
    """An answer as a page shows it."""
    header, columns = text_sheet(answer)
    rows = list(zip(*columns, strict=True))
    told, tree = answer.summary, tuple[Line, ...]()
    if answer.explain:
        plan = outline(answer)
        told, tree = plan.summary, plan.tree
    noisy = any(column.accuracy is not None for column in answer.cells)
    many = f"{len(rows):,} rows" if len(rows) != 1 else "1 row"
    hidden = f", of which {MOST_ROWS} are shown here, and all in the CSV"
    return AnswerView(
        statement=printable(answer.statement),
        caption=f"{many}{hidden if len(rows) > MOST_ROWS else ''}{'; ± at 95 %' * noisy}",
        header=list(zip(header, map(is_numeric, columns), strict=True)),
        keyed=len(header) > 1,
        rows=rows[:MOST_ROWS],
        lines=[] if answer.explain else footer(answer).splitlines()[1:],
        cautions=cautions(answer),
        charts=charts(answer),
        outline=[(printable(name), text) for name, text in told],
        tree="\n".join(part for line in tree for part in line.folded(_TREE)),
        csv=csv if answer.query and not answer.explain else "",
    )


def error_view(statement: str, error: DpdbError) -> ErrorView:
    """An error as a page shows it."""
    before = marked = after = ""
    lines = statement.split("\n")
    if error.place is not None and 0 < error.place.line <= len(lines):
        line, column = lines[error.place.line - 1], error.place.column - 1
        found = _WORD.match(line, column)
        word = len(found[0]) if found else 0
        before, after = line[max(0, column - _CLIPPED) : column], line[column + word :][:_CLIPPED]
        marked = printable(line[column : column + word][:_CLIPPED]) or "…"
    return ErrorView(
        printable(error.message), printable(error.hint or ""), printable(before), marked,
        printable(after),
    )  # fmt: skip


def price_view(statement: str, quote: AnswerRecord | DpdbError) -> PriceView:
    """The price of a statement, and the ± of its first columns, or why it has none."""
    if isinstance(quote, DpdbError):
        if statement.partition(" ")[0].upper() in _FREE:
            return PriceView("costs nothing")
        grave = isinstance(quote, MissingBounds | TooLarge | InvalidOption | BudgetExceeded)
        return PriceView(error=error_view(statement, quote), grave=grave)
    cost, balance = quote.would_cost or quote.cost, quote.balance
    told = outline(quote).summary
    if cost == FREE:
        free = "costs nothing: asked before" if quote.repeat else "costs nothing"
        return PriceView(free, outline=told)
    short = not quote.trial and (
        cost.epsilon > balance.epsilon_left
        or cost.delta > balance.delta_left
        or cost.queries > balance.queries_left
    )
    known = [(printable(name), margin) for name, margin in margins(quote)[:3]]
    return PriceView(f"costs {price_text(quote)}", known, told, short)


def budget_view(balance: Balance) -> BudgetView:
    """The rest of a limit of one's own, or of the whole budget where that has less."""
    total = balance.budget.epsilon
    share = max(Fraction(0), min(Fraction(1), balance.epsilon_left / total))
    many = "1 query" if balance.queries_left == 1 else f"{balance.queries_left:,} queries"
    return BudgetView(
        left=decimal(balance.epsilon_left, _DIGITS),
        total=decimal(total),
        percent=f"{100 * float(share):.1f}",
        share=f"{100 * float(share):.0f} %",
        queries=f"{many} left",
        remark=LEFT_OF_ALL if balance.is_short_of_own else "",
    )


def history_view(id: str, answer: AnswerRecord) -> HistoryView:  # noqa: A002 (of the line)
    """A line of the history."""
    text = " ".join(printable(answer.statement).split())
    return HistoryView(
        id=id,
        statement=text if len(text) <= _CLIPPED else f"{text[:_CLIPPED]} …",
        came=first_rows(answer)[:_CLIPPED],
        cost=price_text(answer),
        repeat=answer.repeat,
    )


def table_view(table: Table) -> TableView:
    """A table at the side, with its names as SQL has them."""
    about = "public" if table.public else f"a person is a {table.unit_in_words}"
    if table.owners:
        about = f"a row is about {of_units(table.kinds)}"
    columns = [
        NameView(printable(column.name), written(column.name), _declared(table, column))
        for column in table.columns
    ]
    return TableView(NameView(printable(table.name), written(table.name), about), columns)


def _declared(table: Table, column: Column) -> str:
    """The type of a column, and its bounds or the number of its values."""
    _, kind, low, high, *_ = column_row(table, column)
    if column.values is not None:
        return f"{kind}, {len(column.values)} values"
    if low is None and high is None:
        return f"{kind}"
    ends = (f"{each:,}" if isinstance(each, int | float) else f"{each}" for each in (low, high))
    return printable(" … ".join(ends))


def rendered(name: str, **values: Any) -> str:  # noqa: ANN401 (what a template takes)
    """The template of this name, with every value escaped."""
    return _environment().get_template(f"{name}.html").render(values)


@cache
def _environment() -> Environment:
    made = environment("dpdb.server.http.pages")
    made.filters["with_links"] = with_links
    return made


def environment(package: str) -> Environment:
    """The templates of a package, which escape every value."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def static(name: str) -> bytes:
    """A file of the pages: the style, the script, the icon."""
    return files("dpdb.server.http.pages").joinpath("static", name).read_bytes()
