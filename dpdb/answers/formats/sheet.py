"""What every table of an answer shows: a header, columns, and each cell as text."""

from __future__ import annotations

from dpdb.answers.formats.cell_text import NULL, cell_text
from dpdb.answers.formats.escape import printable
from dpdb.answers.formats.json_lines import number
from dpdb.answers.record import AnswerRecord, Cell, CellColumn, columns_of

ONLY_NOISE = "only noise"


def sheet(answer: AnswerRecord) -> tuple[list[str], tuple[CellColumn, ...]]:
    """What a statement shows: its columns, or for EXPLAIN what would be drawn."""
    if not answer.explain:
        return list(answer.columns), answer.cells
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
    return header, columns_of(rows, len(header))


def text_sheet(answer: AnswerRecord) -> tuple[list[str], list[list[str]]]:
    """Header and columns as text, safe to print."""
    header, columns = sheet(answer)
    return [printable(name) for name in header], [_texts(column) for column in columns]


def _texts(column: CellColumn) -> list[str]:
    pairs = zip(column.cells, column.intervals, strict=True)
    texts = [cell_text(cell, interval) for cell, interval in pairs]
    if column.only_noise is None:
        return texts
    flagged = zip(texts, column.only_noise, strict=True)
    return [f"{text} ({ONLY_NOISE})" if flag else text for text, flag in flagged]


def is_numeric(texts: list[str]) -> bool:
    """Whether a column holds numbers alone, and so is aligned to the right; not without rows."""
    return bool(texts) and all(map(_numeric, texts))


def _numeric(cell: str) -> bool:
    return cell == NULL or cell[:1].isdigit() or (cell[:1] == "-" and cell[1:2].isdigit())
