"""One cell of an answer as text."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction

from dpdb.answers.record import Cell, CellInterval
from dpdb.errors import printable
from dpdb.policy.timestamps import DAY, HOUR, MINUTE, SECOND, read_timestamp

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
    return "" if reach is None else f"{_without_decimals(cell, reach)} ± {_duration(reach)}"


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


def _duration(reach: int) -> str:
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
