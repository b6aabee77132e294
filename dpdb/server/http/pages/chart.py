"""An answer as charts of dots with error bars, in figures that a template writes as SVG.

Rows stand below each other. Many rows over a number or a date stand side by side, on its scale.
Places across are in percent of the plot, so that a chart fits a phone with letters of full size,
and no element has a style of its own, which the Content-Security-Policy would not apply.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from dpdb.answers.formats.notebooks import label, on_a_scale, over_keys, series_of
from dpdb.answers.formats.scales import marked, roomy, tight
from dpdb.answers.formats.sheet import cell_text
from dpdb.answers.record import AnswerRecord
from dpdb.errors import printable
from dpdb.policy.catalog import Kind
from dpdb.records import dataclass

MOST_ROWS, MOST_POINTS = 50, 1000
"""The rows of a chart, below each other and side by side; others are in the table alone."""
MOST_CHARTS = 4
_FEW = 25
"""The most rows that always stand below each other."""
_ROW, _HEIGHT, _MARGIN = 26, 220, 12
"""The heights of a row and of a plot with points side by side, and the room at its ends."""


@dataclass(frozen=True)
class Tick:
    """A round number, or a key, at its place beside the plot."""

    at: float
    text: str


@dataclass(frozen=True)
class Dot:
    """A row of the answer, at a place along the keys; `value` is the place of its number."""

    label: str
    text: str
    at: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class DotChart:
    """A noisy column of an answer over its keys."""

    title: str
    keys: str
    """The names of the keys; empty for a single row without any."""
    upright: bool
    """Whether numbers are up and keys across, rather than the other way round."""
    height: int
    dots: tuple[Dot, ...]
    """The rows whose number is not NULL."""
    labels: tuple[Tick, ...]
    """The keys that are written."""
    ticks: tuple[Tick, ...]
    hidden: int
    """The number of rows that are in the table alone."""

    @property
    def description(self) -> str:
        """The chart in words, for who cannot see it; the table has all numbers."""
        if len(self.dots) < 2:
            return "; ".join(f"{dot.label} {dot.text}".strip() for dot in self.dots)
        up = -1 if self.upright else 1
        least, most = (pick(self.dots, key=lambda dot: up * dot.value) for pick in (min, max))
        return (
            f"{len(self.dots)} values, from {least.text} for {least.label}"
            f" to {most.text} for {most.label}"
        )


def charts(answer: AnswerRecord) -> tuple[DotChart, ...]:
    """A chart for each of the first noisy columns; none for an answer without numbers."""
    if answer.explain or not answer.rows:
        return ()
    keys, shown = over_keys(answer)
    try:
        places = _on_a_scale(answer, keys)
        drawn = [_chart(answer, keys, place, places) for place in shown[:MOST_CHARTS]]
    except OverflowError:  # a whole number beyond those that have a place on a chart
        return ()
    return tuple(chart for chart in drawn if chart is not None)


def _on_a_scale(answer: AnswerRecord, keys: list[int]) -> list[float] | None:
    """The only key of many rows as numbers; None where rows stand below each other."""
    few = MOST_ROWS if keys and answer.kinds[keys[0]] is Kind.INTEGER else _FEW  # often a code
    found = on_a_scale(answer, keys) if len(answer.rows) > few else None
    return None if found is None else [_number(each) for each in found[:MOST_POINTS]]


def _number(key: Any) -> float:  # noqa: ANN401 (a typed cell)
    match key:
        case datetime():
            return (key - datetime.min).total_seconds()
        case date():
            return float(key.toordinal())
    return float(key)


def _chart(
    answer: AnswerRecord, keys: list[int], place: int, scale: Sequence[float] | None
) -> DotChart | None:
    name, *columns = series_of(answer, place)
    most = MOST_ROWS if scale is None else MOST_POINTS
    cells = list(zip(answer.cells[place].cells, answer.cells[place].intervals, strict=True))[:most]
    rows = [
        (row, *numbers)
        for row, numbers in enumerate(zip(*(each[:most] for each in columns), strict=True))
        if math.isfinite(numbers[0])
    ]
    if not rows:
        return None
    span = min(v - less for _, v, less, _ in rows), max(v + more for _, v, _, more in rows)
    labels = [label(answer, keys, row) for row in range(len(cells))]
    if scale is None:
        height = _ROW * len(cells)
        value, along = roomy(span, 0, 100), [row * _ROW + _ROW / 2 for row in range(len(cells))]
        named = list(range(len(cells)))
    else:
        height = _HEIGHT
        value = roomy(span, height - _MARGIN, _MARGIN)
        along = list(map(tight((min(scale), max(scale)), 0, 100), scale))
        named = sorted({0, len(cells) // 2, len(cells) - 1}, key=lambda row: along[row])
    dots = [
        Dot(labels[row], cell_text(*cells[row]), along[row], *map(value, (v, v - less, v + more)))
        for row, v, less, more in rows
    ]
    return DotChart(
        title=name,
        keys=printable(" · ".join(answer.columns[key] for key in keys)),
        upright=scale is not None,
        height=height,
        dots=tuple(dots),
        labels=tuple(Tick(along[row], labels[row]) for row in named),
        ticks=tuple(Tick(value(tick), marked(tick)) for tick in value.ticks),
        hidden=len(answer.rows) - len(cells),
    )
