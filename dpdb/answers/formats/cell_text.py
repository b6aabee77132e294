"""One cell of an answer as text."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction

from dpdb.answers.formats.escape import printable
from dpdb.answers.record import Cell, CellInterval

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
            return printable(cell) + _days(cell, interval)
    reach = margin(cell, interval)
    if reach is None:
        return _number(cell) + _one_end(interval)
    digits = 0 if isinstance(cell, int) else _digits(reach)
    return f"{cell:.{digits}f} ± {reach:.{digits}f}"


def end_text(end: Cell, cell: Cell, interval: CellInterval) -> str:
    """An end of a cell's interval, with as many digits as the cell; empty where there is none."""
    match end, cell:
        case None, _:
            return ""
        case ((int() | float()), float()) if (reach := margin(cell, interval)) is not None:
            return f"{end:.{_digits(reach)}f}"
    return cell_text(end, None)


def _days(cell: str, interval: CellInterval) -> str:
    """` ± N days` for a noisy date; empty for other texts."""
    match interval:
        case str(), str():
            low, day, high = map(datetime.date.fromisoformat, (interval[0], cell, interval[1]))
            return f" ± {max(high - day, day - low).days} days"
    return _one_end(interval)


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
    if reach <= 0:
        return 0
    return min(max(0, 1 - math.floor(math.log10(reach))), 9)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.10g}"


def figure(value: Fraction) -> str:
    """A public number rounded for reading."""
    if value.denominator == 1 or abs(value) >= 1000:
        return str(round(value))
    return f"{float(value):.4g}"
