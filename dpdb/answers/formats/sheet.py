"""What every table of an answer shows: a header, columns, and each cell as text."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.answers.formats.cell_text import NULL, cell_text, end_text
from dpdb.answers.formats.escape import printable
from dpdb.answers.formats.json_lines import number
from dpdb.answers.record import AnswerRecord, Cell, CellColumn, Origin, columns_of

ONLY_NOISE = "only noise"
ENDS = ("_low", "_high")
"""What the columns of an interval's ends are called after the name of its column."""


def sheet(
    answer: AnswerRecord, *, intervals: bool = False
) -> tuple[list[str], Sequence[CellColumn]]:
    """What a statement shows: its columns, or for EXPLAIN what would be drawn.

    With `intervals`, the ends of each column's intervals stand in two columns after it. Keys and
    constants have none. Whether a column has any follows from the query and the policy.
    """
    if answer.explain:
        return _explained(answer)
    if not (intervals and answer.origins):
        return list(answer.columns), answer.cells
    header, columns = [], []
    for name, column, origin in zip(answer.columns, answer.cells, answer.origins, strict=True):
        ends = [] if origin is Origin.KEY else _ends(column, exact=origin is Origin.EXACT)
        header += [name, *(f"{name}{end}" for end in ENDS if ends)]
        columns += [column, *ends]
    return header, columns


def _ends(column: CellColumn, *, exact: bool) -> list[CellColumn]:
    """The ends of a column's intervals; those of an exact cell are the cell itself."""
    ends = (column.cells, column.cells) if exact else column.ends
    if ends is None:
        ends = ((None,) * len(column.cells),) * 2
    return [CellColumn(cells, measure=column) for cells in ends]


def _explained(answer: AnswerRecord) -> tuple[list[str], Sequence[CellColumn]]:
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
    return [printable(name) for name in header], [_texts(column) for column in columns]


def _texts(column: CellColumn) -> list[str]:
    if (measure := column.measure) is not None:
        triples = zip(column.cells, measure.cells, measure.intervals, strict=True)
        return [end_text(*triple) for triple in triples]
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
    return cell in (NULL, "") or cell[:1].isdigit() or (cell[:1] == "-" and cell[1:2].isdigit())
