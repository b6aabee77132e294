"""Answers as text: a pure function of the answer, for each format."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
from collections.abc import Callable
from typing import Any

from dpdb.answer import Answer, Cell, Drawn, Range
from dpdb.errors import BudgetExceeded, DpdbError
from dpdb.policy import decimal
from dpdb.shell.escape import printable, spreadsheet

NULL = "NULL"


def as_json(answer: Answer) -> str:
    """One object on one line."""
    balance, cost = answer.balance, answer.cost
    budget = balance.budget
    fields: dict[str, Any] = {
        "statement": answer.statement,
        "columns": answer.columns,
        "rows": answer.rows,
    }
    if answer.query:
        fields |= {
            "intervals": answer.intervals,
            "releases": [_drawn(drawn) for drawn in answer.releases],
            "cost": {
                "epsilon": float(cost.epsilon),
                "delta": float(cost.delta),
                "queries": cost.queries,
            },
        }
    fields["budget"] = {
        "epsilon": float(budget.epsilon),
        "epsilon_left": float(balance.epsilon_left),
        "delta": float(budget.delta),
        "delta_left": float(balance.delta_left),
        "queries": budget.queries,
        "queries_left": balance.queries_left,
    }
    if answer.query:
        fields |= {"private": answer.private, "repeat": answer.repeat}
    if answer.explain:
        fields["explain"] = True
    if answer.revealed:
        fields["reveal"] = [
            {"column": shown.column, "stat": shown.stat, "b": shown.scale}
            for shown in answer.revealed
        ]
    return _dumped(fields)


def error_as_json(statement: str, error: DpdbError) -> str:
    """An error as one object on one line."""
    fields: dict[str, Any] = {"kind": error.kind, "message": error.message, "hint": error.hint}
    if error.place:
        fields |= {"line": error.place.line, "column": error.place.column}
    return _dumped({"statement": statement, "error": fields})


def _dumped(fields: dict[str, Any]) -> str:
    # What JSON leaves alone and terminals act on: DEL and the C1 controls.
    text = json.dumps(fields, ensure_ascii=False, allow_nan=False)
    return "".join(_utf16(c) if _unsafe(c) else c for c in text)


def _utf16(character: str) -> str:
    """A character as JSON writes it, beyond U+FFFF as a surrogate pair."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def _unsafe(character: str) -> bool:
    return printable(character) != character


def _drawn(drawn: Drawn) -> dict[str, Any]:
    return {
        "column": drawn.column,
        "aggregate": drawn.aggregate,
        "mechanism": drawn.mechanism,
        "sensitivity": float(drawn.sensitivity),
        "scale": float(drawn.scale),
        "epsilon": float(drawn.epsilon),
        "delta": float(drawn.delta),
    }


def as_csv(answer: Answer) -> str:
    """Comma-separated values, with a header."""
    buffer = io.StringIO()
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
    """A table with `±` beside each noisy number, and what it cost."""
    header, rows = _page(answer)
    return _tabulated(header, rows, "presto") + footer(answer)


def as_markdown(answer: Answer) -> str:
    """A Markdown table."""
    header, rows = _page(answer)
    return _tabulated(_quoted(header), [_quoted(row) for row in rows], "github")


def _quoted(cells: list[str]) -> list[str]:
    """Cells in which no `|` ends the cell."""
    return [cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells]


def as_vertical(answer: Answer) -> str:
    """A line for each cell, for rows too wide for the screen."""
    header, rows = _page(answer)
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
    """What a statement shows: its rows, or for EXPLAIN what would be drawn."""
    if not answer.explain:
        return list(answer.columns), list(answer.rows)
    header = ["column", "aggregate", "mechanism", "sensitivity", "epsilon", "scale", "± 95 %"]
    rows: list[tuple[Cell, ...]] = [
        (
            drawn.column,
            drawn.aggregate,
            drawn.mechanism,
            float(drawn.sensitivity),
            float(drawn.epsilon),
            float(drawn.scale),
            drawn.margin,
        )
        for drawn in answer.releases
    ]
    return header, rows


def _page(answer: Answer) -> tuple[list[str], list[list[str]]]:
    """Header and cells as text, safe to print."""
    header, rows = _sheet(answer)
    ranges = answer.intervals or tuple((None,) * len(header) for _ in rows)
    cells = [
        [cell_text(cell, interval) for cell, interval in zip(row, intervals, strict=True)]
        for row, intervals in zip(rows, ranges, strict=True)
    ]
    return [printable(name) for name in header], cells


def cell_text(cell: Cell, interval: Range) -> str:
    """A cell safe to print, with `±` and no more digits than the noise leaves meaning."""
    match cell:
        case None:
            return NULL
        case bool():
            return str(cell).lower()
        case str():
            return printable(cell) + _days(cell, interval)
    margin = _margin(cell, interval)
    if margin is None:
        return _number(cell)
    digits = 0 if isinstance(cell, int) else _digits(margin)
    return f"{cell:.{digits}f} ± {margin:.{digits}f}"


def _days(cell: str, interval: Range) -> str:
    """The margin of a noisy date."""
    match interval:
        case str(), str():
            low, day, high = map(datetime.date.fromisoformat, (interval[0], cell, interval[1]))
            return f" ± {max(high - day, day - low).days} days"
    return ""


def _margin(cell: float, interval: Range) -> float | None:
    """How far the interval reaches from the value, on the longer side."""
    if interval is None:
        return None
    low, high = interval
    if not (isinstance(low, int | float) and isinstance(high, int | float)):
        return None
    return max(high - cell, cell - low)


def _digits(margin: float) -> int:
    """Decimals down to the second digit of the margin: the noise hides the rest."""
    if margin <= 0:
        return 0
    return min(max(0, 1 - math.floor(math.log10(margin))), 9)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.10g}"


def footer(answer: Answer) -> str:
    """What was paid and what is left, in one line."""
    if not answer.query:
        return ""
    cost, balance = answer.cost, answer.balance
    spent = f"ε {decimal(cost.epsilon)}"
    if answer.explain:
        paid = f"would cost {spent}" if cost.queries else "would cost nothing: answered before"
    else:
        paid = "repeated: free" if answer.repeat else f"spent {spent}"
    left = (
        f"left: ε {decimal(balance.epsilon_left)} of {decimal(balance.budget.epsilon)}, "
        f"{balance.queries_left} of {balance.budget.queries} queries"
    )
    teaching = "" if answer.private else " · not private: teaching mode"
    return f"{_revealed(answer)}\n{paid} · {left}{teaching}"


def _revealed(answer: Answer) -> str:
    """The exact statistics and noise scales, as Evans et al. print them."""
    return "".join(
        f"\n# stat={_whole(shown.stat)} b={_whole(shown.scale)}" for shown in answer.revealed
    )


def _whole(value: float) -> str:
    """Whole numbers, rounded half away from zero; small ones to two decimals."""
    if abs(value) < 100 and value != round(value):
        return f"{value:.2f}"
    return str(int(math.copysign(math.floor(abs(value) + 0.5), value)))


def _columns(text: str) -> int:
    """How wide a text is on a terminal."""
    from wcwidth import wcswidth  # noqa: PLC0415 (json and csv do without)

    return wcswidth(text)


def error_text(statement: str, error: DpdbError) -> str:
    """`error: …`, the line of the statement with a caret, and a hint."""
    parts = [f"error: {printable(error.message)}"]
    lines = statement.split("\n")
    # What a budget does not cover is not wrong in any one place.
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
