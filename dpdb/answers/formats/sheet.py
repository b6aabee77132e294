"""What every table of an answer shows: a header, rows, and each cell as text."""

from __future__ import annotations

from dpdb.answers.formats.cell_text import NULL, cell_text, end_text
from dpdb.answers.formats.escape import printable
from dpdb.answers.formats.json_lines import number
from dpdb.answers.record import AnswerRecord, Cell, Origin

ONLY_NOISE = "only noise"
ENDS = ("_low", "_high")
"""What the columns of an interval's ends are called after the name of its column."""


def sheet(
    answer: AnswerRecord, *, intervals: bool = False
) -> tuple[list[str], list[tuple[Cell, ...]]]:
    """What a statement shows: its rows, or for EXPLAIN what would be drawn.

    With `intervals`, the ends of each column's intervals stand in two columns after it.
    """
    if answer.explain:
        return _explained(answer)
    places = _places(answer, intervals=intervals)
    header = [f"{answer.columns[i]}{part}" for i, part in places]
    rows = [tuple(_part(answer, row, i, part) for i, part in places)
            for row in range(len(answer.rows))]  # fmt: skip
    return header, rows


def _explained(answer: AnswerRecord) -> tuple[list[str], list[tuple[Cell, ...]]]:
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


def _places(answer: AnswerRecord, *, intervals: bool) -> list[tuple[int, str]]:
    """What each column shows: a column of the answer, or an end of its intervals.

    Keys and constants have no ends. Whether a column has any follows from the query alone.
    """
    ends = ("", *ENDS)
    measured = [intervals and origin is not Origin.KEY for origin in answer.origins]
    measured = measured or [False] * len(answer.columns)
    return [(i, end) for i, has_ends in enumerate(measured) for end in (ends if has_ends else [""])]


def _part(answer: AnswerRecord, row: int, column: int, part: str) -> Cell:
    """A cell, or an end of its interval; that of an exact cell is the cell itself."""
    cell = answer.rows[row][column]
    if not part or answer.origins[column] is Origin.EXACT:
        return cell
    interval = answer.intervals[row][column]
    return None if interval is None else interval[ENDS.index(part)]


def text_sheet(
    answer: AnswerRecord, *, intervals: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Header and cells as text, safe to print."""
    header, rows = sheet(answer, intervals=intervals)
    shown = [printable(name) for name in header]
    if answer.explain or not answer.intervals:
        return shown, [[cell_text(cell, None) for cell in row] for row in rows]
    places = _places(answer, intervals=intervals)
    return shown, [
        [
            _text(answer, row, column, cell, part)
            for (column, part), cell in zip(places, cells, strict=True)
        ]
        for row, cells in enumerate(rows)
    ]


def _text(answer: AnswerRecord, row: int, column: int, cell: Cell, part: str) -> str:
    interval = answer.intervals[row][column]
    if part:
        return end_text(cell, answer.rows[row][column], interval)
    flagged = bool(answer.only_noise) and answer.only_noise[row][column]
    return cell_text(cell, interval) + (f" ({ONLY_NOISE})" if flagged else "")


def numeric_columns(header: list[str], rows: list[list[str]]) -> list[bool]:
    """Which columns hold numbers alone, and so are aligned to the right; none without rows."""
    return [bool(rows) and all(_numeric(row[i]) for row in rows) for i in range(len(header))]


def _numeric(cell: str) -> bool:
    return cell in (NULL, "") or cell[:1].isdigit() or (cell[:1] == "-" and cell[1:2].isdigit())
