"""The content of an answer's tables: a header, columns, and each cell as text."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from dpdb.answers.formats.json_lines import number
from dpdb.answers.record import (
    AnswerRecord,
    Cell,
    CellColumn,
    CellInterval,
    Origin,
    columns_of,
    guessed_kind,
)
from dpdb.errors import printable
from dpdb.policy.catalog import Kind
from dpdb.policy.timestamps import DAY, HOUR, MINUTE, SECOND, read_timestamp

ONLY_NOISE = "only noise"
ENDS = ("_low", "_high")
"""The endings of the names of columns for the ends of intervals."""


def sheet(
    answer: AnswerRecord, *, intervals: bool = False
) -> tuple[list[str], tuple[CellColumn, ...]]:
    """The header and columns of an answer, or for EXPLAIN those of the releases.

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


def sheet_kinds(
    answer: AnswerRecord, shown: Iterable[CellColumn], *, intervals: bool
) -> list[Kind]:
    """The kinds of the columns that `sheet` has `shown`, from the query where one is answered."""
    if answer.explain:
        return [guessed_kind(column.cells) for column in shown]
    measured = _measured(answer, intervals=intervals)
    return [
        kind
        for kind, (_, _, origin) in zip(answer.types, measured, strict=True)
        for _ in range(3 if origin else 1)
    ]


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
    header = ["column", "aggregate", "mechanism", "sensitivity", "epsilon", "scale", "± 95 %",
              "reliable from"]  # fmt: skip
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


def is_numeric(texts: Sequence[str]) -> bool:
    """Whether a column holds numbers alone, and so is aligned to the right; not without rows."""
    return bool(texts) and all(
        cell in (NULL, "") or cell.removeprefix("-")[:1].isdigit() for cell in texts
    )


NULL = "NULL"


def cell_text(cell: Cell, interval: CellInterval) -> str:
    """A cell that is safe to print, with `±` and only those digits that noise leaves a meaning.

    Where an interval has one end, it stands in parentheses.
    """
    match cell:
        case None:
            return NULL
        case bool():
            return str(cell).lower()
        case str():
            return _of_time(cell, interval) or printable(cell) + _one_end(interval)
    reach = margin(cell, interval)
    if reach is None:
        return _number(cell) + _one_end(interval)
    if isinstance(cell, int) or not reach:
        return f"{_number(cell)} ± {reach:.0f}"
    digits = _digits(reach)
    return f"{cell:.{digits}f} ± {reach:.{digits}f}"


def end_text(end: Cell, cell: Cell, interval: CellInterval) -> str:
    """An end of a cell's interval, with as many digits as the cell; empty where there is none."""
    match end, cell:
        case None, _:
            return ""
        case ((int() | float()), float()) if reach := margin(cell, interval):
            return f"{end:.{_digits(reach)}f}"
        case str(), str() if len(cell) > _DATE and (reach_of_time := _reach(cell, interval)):
            return _without_decimals(end, reach_of_time)
    return cell_text(end, None)


def _of_time(cell: str, interval: CellInterval) -> str:
    """A noisy date or timestamp with its margin in a unit of time; empty for other texts."""
    match interval:
        case str(low), str(high) if len(cell) == _DATE:
            start, day, end = map(datetime.date.fromisoformat, (low, cell, high))
            return f"{cell} ± {max(end - day, day - start).days} days"
    reach = _reach(cell, interval)
    return "" if reach is None else f"{_without_decimals(cell, reach)} ± {duration(reach)}"


_DATE, _WHOLE_SECONDS = len("YYYY-MM-DD"), len("YYYY-MM-DD HH:MM:SS")


def _reach(cell: str, interval: CellInterval) -> int | None:
    """The microseconds from a noisy timestamp to the farther end of its interval."""
    match interval:
        case str(low), str(high):
            start, moment, end = (read_timestamp(text) for text in (low, cell, high))
            assert start is not None
            assert moment is not None
            assert end is not None
            return max(end - moment, moment - start)
    return None


def _without_decimals(text: str, reach: int) -> str:
    """A timestamp with only those decimals of a second that noise leaves a meaning."""
    return text[:_WHOLE_SECONDS] if reach >= SECOND else text


def duration(reach: int) -> str:
    """A margin of time in the largest unit of which it has two or more, rounded up."""
    units = {"days": DAY, "hours": HOUR, "minutes": MINUTE}
    for unit, length in units.items():
        if reach >= 2 * length:
            return f"{-(-reach // length)} {unit}"
    return f"{-(-reach // SECOND)} seconds" if reach >= SECOND else f"{reach / SECOND:.2g} seconds"


def _one_end(interval: CellInterval) -> str:
    """` (≥ low)` or ` (≤ high)` for an interval with one end; empty for others."""
    match interval:
        case (None, None):
            return ""
        case (low, None):
            return f" (≥ {cell_text(low, None)})"
        case (None, high):
            return f" (≤ {cell_text(high, None)})"
    return ""


def margin(cell: float, interval: CellInterval) -> float | None:
    """The distance from the value to the farther end of its interval; None without one."""
    if interval is None:
        return None
    low, high = interval
    if not (isinstance(low, int | float) and isinstance(high, int | float)):
        return None
    return max(high - cell, cell - low)


def _digits(reach: float) -> int:
    """The number of decimals to show: down to the margin's second digit; noise hides the rest."""
    return min(max(0, 1 - math.floor(math.log10(reach))), 9)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.10g}"


def figure(value: Fraction) -> str:
    """A public number rounded for reading."""
    if value.denominator == 1 or abs(value) >= 1000:
        return str(round(value))
    return f"{float(value):.4g}"
