"""What every table of an answer shows: a header, columns, and each cell as text."""

from __future__ import annotations

from collections.abc import Iterator

from dpdb.answers.formats.cell_text import NULL, cell_text, end_text
from dpdb.answers.formats.json_lines import number
from dpdb.answers.record import AnswerRecord, Cell, CellColumn, Origin, columns_of
from dpdb.errors import printable

ONLY_NOISE = "only noise"
ENDS = ("_low", "_high")
"""What the columns of an interval's ends are called after the name of its column."""


def sheet(
    answer: AnswerRecord, *, intervals: bool = False
) -> tuple[list[str], tuple[CellColumn, ...]]:
    """What a statement shows: its columns, or for EXPLAIN what would be drawn.

    With `intervals`, the ends of each column's intervals stand in two columns after it.
    """
    if answer.explain:
        return _explained(answer)
    header, columns = [], []
    for name, column, measured in _measured(answer, intervals=intervals):
        ends = _ends(column, measured) if measured else ()
        header += [name, *(name + end for end, _ in zip(ENDS, ends, strict=False))]
        columns += [column, *map(CellColumn, ends)]
    return header, tuple(columns)


def _measured(
    answer: AnswerRecord, *, intervals: bool
) -> Iterator[tuple[str, CellColumn, Origin | None]]:
    """The columns of an answer, each with its origin where the ends of its intervals are shown.

    Keys and constants have no ends. Whether a column has any follows from the query alone.
    """
    origins = answer.origins or (Origin.KEY,) * len(answer.columns)
    for name, column, origin in zip(answer.columns, answer.cells, origins, strict=True):
        yield name, column, origin if intervals and origin is not Origin.KEY else None


def _ends(column: CellColumn, origin: Origin) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
    """The ends of a column's intervals; those of an exact cell are the cell itself."""
    if origin is Origin.EXACT:
        return column.cells, column.cells
    nothing: tuple[Cell, ...] = (None,) * len(column.cells)
    return (nothing, nothing) if column.accuracy is None else column.accuracy.ends


def _explained(answer: AnswerRecord) -> tuple[list[str], tuple[CellColumn, ...]]:
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


def text_sheet(
    answer: AnswerRecord, *, intervals: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Header and columns as text, safe to print."""
    header, columns = sheet(answer, intervals=intervals)
    shown = [printable(name) for name in header]
    if answer.explain or not intervals:
        return shown, [_texts(column) for column in columns]
    texts = []
    for _, column, measured in _measured(answer, intervals=intervals):
        texts.append(_texts(column))
        if measured:
            texts += [_end_texts(column, end) for end in _ends(column, measured)]
    return shown, texts


def _texts(column: CellColumn) -> list[str]:
    pairs = zip(column.cells, column.intervals, strict=True)
    texts = [cell_text(cell, interval) for cell, interval in pairs]
    if column.only_noise is None:
        return texts
    flagged = zip(texts, column.only_noise, strict=True)
    return [f"{text} ({ONLY_NOISE})" if flag else text for text, flag in flagged]


def _end_texts(column: CellColumn, ends: tuple[Cell, ...]) -> list[str]:
    """The ends of intervals, with as many digits as their cells are shown with."""
    triples = zip(ends, column.cells, column.intervals, strict=True)
    return [end_text(end, cell, interval) for end, cell, interval in triples]


def is_numeric(texts: list[str]) -> bool:
    """Whether a column holds numbers alone, and so is aligned to the right; not without rows."""
    return bool(texts) and all(map(_numeric, texts))


def _numeric(cell: str) -> bool:
    return cell in (NULL, "") or cell[:1].isdigit() or (cell[:1] == "-" and cell[1:2].isdigit())
