"""Answers as text. Each format is a pure function of the answer."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from dpdb.answers.answer import Answer, Cell
from dpdb.answers.formats.cell_text import NULL, cell_text
from dpdb.answers.formats.escape import printable, spreadsheet
from dpdb.answers.formats.footer import NOT_PRIVATE, footer
from dpdb.answers.formats.json_lines import as_json, number
from dpdb.errors import BudgetExceeded, DpdbError

ONLY_NOISE = "only noise"


def as_csv(answer: Answer) -> str:
    """Comma-separated values with a header; a comment above marks answers that are not private."""
    buffer = io.StringIO()
    if not answer.private:
        buffer.write(f"# {NOT_PRIVATE}\n")
    writer = csv.writer(buffer, lineterminator="\n")
    header, rows = _sheet(answer)
    writer.writerow([spreadsheet(printable(name)) for name in header])
    for row in rows:
        writer.writerow([_csv_cell(cell) for cell in row])
    return buffer.getvalue().rstrip("\n")


def _csv_cell(cell: Cell) -> Cell:
    if isinstance(cell, bool):
        return str(cell).lower()
    return spreadsheet(printable(cell)) if isinstance(cell, str) else cell


def as_table(answer: Answer) -> str:
    """A table with `±` beside each noisy number, and the footer below it."""
    header, rows = _header_and_cells(answer)
    return _tabulated(header, rows, "presto") + footer(answer)


def as_markdown(answer: Answer) -> str:
    """A Markdown table; a line below marks an answer that is not private."""
    header, rows = _header_and_cells(answer)
    table = _tabulated(_quoted(header), [_quoted(row) for row in rows], "github")
    return table if answer.private else f"{table}\n\n*{NOT_PRIVATE}*"


def _quoted(cells: list[str]) -> list[str]:
    """Cells in which no `|` ends the cell."""
    return [cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells]


def as_vertical(answer: Answer) -> str:
    """A line for each cell, for rows that are too wide for the screen."""
    header, rows = _header_and_cells(answer)
    width = max(map(_columns, header), default=0)
    names = [" " * (width - _columns(name)) + name for name in header]
    blocks = [
        "\n".join(f"{name} = {cell}" for name, cell in zip(names, row, strict=True)) for row in rows
    ]
    return "\n\n".join(blocks) + footer(answer)


FORMATS: dict[str, Callable[[Answer], str]] = {
    "table": as_table,
    "csv": as_csv,
    "json": as_json,
    "markdown": as_markdown,
    "vertical": as_vertical,
}


def _tabulated(header: list[str], rows: list[list[str]], style: str) -> str:
    from tabulate import tabulate  # noqa: PLC0415 (json and csv do without)

    numeric = [all(_numeric(row[i]) for row in rows) for i in range(len(header))]
    align = ["right" if number and rows else "left" for number in numeric]
    return tabulate(rows, header, tablefmt=style, disable_numparse=True, colalign=align)


def _numeric(cell: str) -> bool:
    return cell == NULL or cell[:1].isdigit() or (cell[:1] == "-" and cell[1:2].isdigit())


def _sheet(answer: Answer) -> tuple[list[str], list[tuple[Cell, ...]]]:
    """The header and the rows: those of the answer, or for EXPLAIN a row for each release."""
    if not answer.explain:
        return list(answer.columns), list(answer.rows)
    header = [
        "column",
        "aggregate",
        "mechanism",
        "sensitivity",
        "epsilon",
        "scale",
        "± 95 %",
        "MTA 10 %",
    ]
    rows: list[tuple[Cell, ...]] = [
        (
            report.column,
            report.aggregate,
            report.mechanism,
            number(report.sensitivity),
            float(report.epsilon),
            number(report.scale),
            report.margin,
            None if report.margin is None else report.margin * 10,
        )
        for report in answer.releases
    ]
    return header, rows


def _header_and_cells(answer: Answer) -> tuple[list[str], list[list[str]]]:
    """The header and the cells of each row as text that is safe to print."""
    header, rows = _sheet(answer)
    intervals = answer.intervals or tuple((None,) * len(header) for _ in rows)
    cells = [
        [cell_text(cell, interval) for cell, interval in zip(row, of_row, strict=True)]
        for row, of_row in zip(rows, intervals, strict=True)
    ]
    for row, flags in zip(cells, answer.only_noise, strict=False):
        row[:] = [f"{cell} ({ONLY_NOISE})" if flag else cell
                  for cell, flag in zip(row, flags, strict=True)]  # fmt: skip
    return [printable(name) for name in header], cells


def _columns(text: str) -> int:
    """The width of a text on a terminal, in columns."""
    from wcwidth import wcswidth  # noqa: PLC0415 (json and csv do without)

    return wcswidth(text)


def error_text(statement: str, error: DpdbError) -> str:
    """`error: …`, the line of the statement with a caret, and a hint."""
    parts = [f"error: {printable(error.message)}"]
    lines = statement.split("\n")
    # No one place of the statement is at fault where the budget is too small.
    wrong = not isinstance(error, BudgetExceeded)
    if wrong and error.place and error.place.line <= len(lines):
        parts += _pointed(lines[error.place.line - 1], error.place.column)
    if error.hint:
        parts.append(f"hint: {printable(error.hint)}")
    return "\n".join(parts)


def _pointed(line: str, column: int) -> list[str]:
    """The part of the line around the column, and a caret below it."""
    start = max(0, column - 50)
    shown = printable(line[start : start + 76])
    caret = _columns(printable(line[start : column - 1]))
    lead = "… " if start else ""
    return [f"  {lead}{shown}", " " * (2 + len(lead) + caret) + "^"]
