"""What every table of an answer shows: a header, rows, and each cell as text."""

from __future__ import annotations

from dpdb.answers.formats.cell_text import NULL, cell_text
from dpdb.answers.formats.escape import printable
from dpdb.answers.formats.json_lines import number
from dpdb.answers.record import AnswerRecord, Cell

ONLY_NOISE = "only noise"


def sheet(answer: AnswerRecord) -> tuple[list[str], list[tuple[Cell, ...]]]:
    """What a statement shows: its rows, or for EXPLAIN what would be drawn."""
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
            drawn.column,
            drawn.aggregate,
            drawn.mechanism,
            number(drawn.sensitivity),
            float(drawn.epsilon),
            number(drawn.scale),
            drawn.margin,
            None if drawn.margin is None else drawn.margin * 10,
        )
        for drawn in answer.releases
    ]
    return header, rows


def text_sheet(answer: AnswerRecord) -> tuple[list[str], list[list[str]]]:
    """Header and cells as text, safe to print."""
    header, rows = sheet(answer)
    ranges = answer.intervals or tuple((None,) * len(header) for _ in rows)
    cells = [
        [cell_text(cell, interval) for cell, interval in zip(row, intervals, strict=True)]
        for row, intervals in zip(rows, ranges, strict=True)
    ]
    for row, flags in zip(cells, answer.only_noise, strict=False):
        row[:] = [f"{cell} ({ONLY_NOISE})" if flag else cell
                  for cell, flag in zip(row, flags, strict=True)]  # fmt: skip
    return [printable(name) for name in header], cells


def numeric_columns(header: list[str], rows: list[list[str]]) -> list[bool]:
    """Which columns hold numbers alone, and so are aligned to the right; none without rows."""
    return [bool(rows) and all(_numeric(row[i]) for row in rows) for i in range(len(header))]


def _numeric(cell: str) -> bool:
    return cell == NULL or cell[:1].isdigit() or (cell[:1] == "-" and cell[1:2].isdigit())
