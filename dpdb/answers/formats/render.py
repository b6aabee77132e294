"""Answers as text. Each format is a pure function of the answer."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Protocol

from dpdb.answers.formats.footer import NOT_PRIVATE, TRIAL, footer, price_text, revealed
from dpdb.answers.formats.json_lines import as_json, error_as_json
from dpdb.answers.formats.sheet import is_numeric, sheet, text_sheet
from dpdb.answers.record import AnswerRecord, Cell
from dpdb.errors import DpdbError, display_width, printable
from dpdb.records import dataclass


def as_csv(answer: AnswerRecord, *, intervals: bool = False) -> str:
    """Comma-separated values, with a header; above it comments on answers that are not private."""
    buffer = io.StringIO()
    if not answer.private:
        buffer.write(f"# {NOT_PRIVATE}\n")
    buffer.writelines(f"{line}\n" for line in revealed(answer))
    writer = csv.writer(buffer, lineterminator="\n")
    header, columns = sheet(answer, intervals=intervals)
    rows = zip(*(map(_csv_cell, column.cells) for column in columns), strict=True)
    mark = ["trial"] if answer.trial else []
    writer.writerow([*mark, *(spreadsheet(printable(name)) for name in header)])
    writer.writerows([*(["true"] if mark else []), *row] for row in rows)
    return buffer.getvalue().rstrip("\n")


def _csv_cell(cell: Cell) -> Cell:
    if isinstance(cell, bool):
        return str(cell).lower()
    return spreadsheet(printable(cell)) if isinstance(cell, str) else cell


def as_list(answers: Sequence[AnswerRecord]) -> str:
    """A line for each answer: its statement, its first rows with `±`, and its cost."""
    rows = [
        (" ".join(printable(answer.statement).split()), first_rows(answer), price_text(answer))
        for answer in answers
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    listed = grid(("statement", "answer", "cost"), columns, BARS, [False] * 3)
    return marked(answers[0], listed) if answers else listed


_FIRST = 3
"""The rows of an answer in a list of answers."""


def first_rows(answer: AnswerRecord) -> str:
    """The first rows of an answer, each cell with its name unless it is alone."""
    if not answer.columns:
        return "not kept"
    header, columns = text_sheet(answer)
    rows = list(zip(*columns, strict=True))
    alone = len(header) == 1
    shown = [
        ", ".join(
            cell if alone else f"{name} {cell}" for name, cell in zip(header, row, strict=True)
        )
        for row in rows[:_FIRST]
    ]
    more = [f"… {len(rows) - _FIRST:,} more"] if len(rows) > _FIRST else []
    return "; ".join([*shown, *more]) or "no rows"


def as_markdown(answer: AnswerRecord, *, intervals: bool = False) -> str:
    """A Markdown table, and lines below if the answer is not private."""
    header, columns = text_sheet(answer, intervals=intervals)
    table = grid(
        [*map(markdown, header)], [[*map(markdown, column)] for column in columns], MARKDOWN
    )
    below = [*revealed(answer), *([] if answer.private else [NOT_PRIVATE])]
    text = "\n\n".join((table, *(f"*{line}*" for line in below)))
    return marked(answer, text, "*{}*", "\n\n")


def as_vertical(answer: AnswerRecord, *, intervals: bool = False) -> str:
    """A line for each cell, for rows too wide for the screen."""
    header, columns = text_sheet(answer, intervals=intervals)
    width = max(map(display_width, header), default=0)
    names = [" " * (width - display_width(name)) + name for name in header]
    blocks = [
        "\n".join(f"{name} = {cell}" for name, cell in zip(names, row, strict=True))
        for row in zip(*columns, strict=True)
    ]
    return marked(answer, "\n\n".join(blocks) + footer(answer))


def marked(answer: AnswerRecord, text: str, written: str = "-- {} --", apart: str = "\n") -> str:
    """The text of an answer; that of a trial has a line above and below that says so."""
    line = written.format(TRIAL)
    return apart.join((line, text, line)) if answer.trial else text


@dataclass(frozen=True)
class Borders:
    """The signs around the cells of a table; a line of three signs is its start, joint and end."""

    row: tuple[str, str, str]
    rule: tuple[str, str, str] | None
    """The signs of the line below the header, which is drawn with `dash`."""
    above: tuple[str, str, str] | None = None
    below: tuple[str, str, str] | None = None
    dash: str = "-"


BARS = Borders((" ", " | ", " "), ("-", "-+-", "-"))
MARKDOWN = Borders(("| ", " | ", " |"), ("|-", "-|-", "-|"))
BOX = Borders(
    ("│ ", " │ ", " │"), ("├─", "─┼─", "─┤"), ("┌─", "─┬─", "─┐"), ("└─", "─┴─", "─┘"), dash="─"
)
SPACES = Borders(("", "  ", ""), None)
RULED = Borders(("", "  ", ""), ("", "  ", ""))
_HEADER_ROOM = 2
"""The columns by which a table's column is at least wider than its header."""


def grid(
    header: Sequence[str],
    columns: Sequence[Sequence[str]],
    borders: Borders,
    right: Sequence[bool] | None = None,
) -> str:
    """A table; `right` says which columns are aligned to the right, by default those of numbers."""
    right = [is_numeric(column) for column in columns] if right is None else right
    widths = [
        max([display_width(name) + _HEADER_ROOM, *map(display_width, column)])
        for name, column in zip(header, columns, strict=True)
    ]

    def line(signs: tuple[str, str, str], cells: Iterable[str]) -> str:
        start, joint, end = signs
        return f"{start}{joint.join(cells)}{end}".rstrip()

    def row(cells: Iterable[str]) -> str:
        return line(borders.row, map(_padded, cells, widths, right))

    def rule(signs: tuple[str, str, str] | None) -> list[str]:
        return [] if signs is None else [line(signs, (borders.dash * width for width in widths))]

    rows = map(row, zip(*columns, strict=True))
    return "\n".join(
        [*rule(borders.above), row(header), *rule(borders.rule), *rows, *rule(borders.below)]
    )


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - display_width(text))
    return space + text if right else text + space


def as_table(answer: AnswerRecord, *, intervals: bool = False, borders: Borders = BARS) -> str:
    """A table with `±` beside each noisy number, and the price below."""
    header, columns = text_sheet(answer, intervals=intervals)
    return marked(answer, grid(header, columns, borders) + footer(answer))


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARKUP = re.compile(r"[\\|<&`\[]")


def spreadsheet(text: str) -> str:
    """`text` so that a spreadsheet shows it and does not compute it as a formula (CWE-1236)."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def markdown(text: str) -> str:
    """`text` as a cell of a Markdown table that it does not end, without tags, links and code."""
    return _MARKUP.sub(r"\\\g<0>", text)


def _json(answer: AnswerRecord, *, intervals: bool = False) -> str:
    """JSON, which has the intervals whether or not they are asked for."""
    return as_json(answer)


class Render(Protocol):
    """An answer as text; with `intervals`, their ends have columns of their own."""

    def __call__(self, answer: AnswerRecord, *, intervals: bool = False) -> str: ...


@dataclass(frozen=True)
class Format:
    """A format that writes answers as text."""

    render: Render
    fits_windows: bool = False
    """Whether people read the format: it has a footer, and is folded to fit a window."""
    spaced: bool = True
    """Whether a blank line is between two answers."""
    error: Callable[[str, DpdbError], str] | None = None
    """Writes a statement's error among the answers; None if errors go to stderr alone."""

    def __call__(self, answer: AnswerRecord, *, intervals: bool = False) -> str:
        screen = self.screen(answer)
        return self.render(answer, intervals=intervals) if screen is None else screen

    def screen(
        self, answer: AnswerRecord, given: Collection[str] = (), columns: int = 80
    ) -> str | None:
        """EXPLAIN and SHOW BUDGET in sentences, if the format is for people; else None.

        The table's columns in `given` have their bounds from the command line.
        """
        if not (self.fits_windows and (answer.explain or answer.summary)):
            return None
        from dpdb.answers.formats import explain_tree, summaries  # noqa: PLC0415 (rare)

        if answer.explain:
            return marked(answer, explain_tree.explain_screen(answer, given, columns))
        return marked(answer, "\n".join(summaries.named_lines(answer.summary, columns)))


FORMATS = {
    "table": Format(as_table, fits_windows=True),
    "csv": Format(as_csv),
    "json": Format(_json, spaced=False, error=error_as_json),
    "markdown": Format(as_markdown),
    "vertical": Format(as_vertical, fits_windows=True),
    "box": Format(partial(as_table, borders=BOX), fits_windows=True),
}
"""The formats by their names, which `--format`, `.mode` and completion take from here."""
