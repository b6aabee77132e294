"""An answer as a chart of dots with error bars, in figures that a template writes as SVG.

Places across are in percent of the plot, so that a chart fits a phone with letters of full size,
and no element has a style of its own, which the Content-Security-Policy would not apply.
"""

from __future__ import annotations

import math

from dpdb.answers.formats.notebooks import label, over_keys, series_of
from dpdb.answers.formats.scales import marked, roomy
from dpdb.answers.formats.sheet import cell_text
from dpdb.answers.record import AnswerRecord
from dpdb.errors import printable
from dpdb.records import dataclass

MOST_ROWS = 50
MOST_CHARTS = 4
_ROW = 26
"""The height of a row, in units of a letter's sixteenth."""


@dataclass(frozen=True)
class Tick:
    """A round number below the plot."""

    x: float
    text: str


@dataclass(frozen=True)
class Dot:
    """A row of the chart; `x` is None for a NULL."""

    label: str
    text: str
    y: int
    x: float | None
    low: float
    high: float


@dataclass(frozen=True)
class DotChart:
    """A noisy column of an answer over its keys."""

    title: str
    keys: str
    """The names of the keys; empty for a single row without any."""
    dots: tuple[Dot, ...]
    ticks: tuple[Tick, ...]
    hidden: int
    """The number of rows that are in the table alone."""

    @property
    def height(self) -> int:
        """The height of the plot."""
        return len(self.dots) * _ROW

    @property
    def description(self) -> str:
        """The chart in words, for who cannot see it; the table has all numbers."""
        shown = [dot for dot in self.dots if dot.x is not None]
        if len(shown) < 2:
            return "; ".join(f"{dot.label} {dot.text}".strip() for dot in shown)
        least, most = (pick(shown, key=lambda dot: dot.x or 0) for pick in (min, max))
        return (
            f"{len(shown)} values, from {least.text} for {least.label}"
            f" to {most.text} for {most.label}"
        )


def charts(answer: AnswerRecord) -> tuple[DotChart, ...]:
    """A chart for each of the first noisy columns; none for an answer without numbers."""
    if answer.explain or not answer.rows:
        return ()
    keys, shown = over_keys(answer)
    try:
        drawn = [_chart(answer, keys, place) for place in shown[:MOST_CHARTS]]
    except OverflowError:  # a whole number beyond those that have a place on a chart
        return ()
    return tuple(chart for chart in drawn if chart is not None)


def _chart(answer: AnswerRecord, keys: list[int], place: int) -> DotChart | None:
    name, *columns = series_of(answer, place)
    rows = list(
        zip(*columns, answer.cells[place].cells, answer.cells[place].intervals, strict=True)
    )
    spans = [(v - less, v + more) for v, less, more, *_ in rows[:MOST_ROWS] if math.isfinite(v)]
    if not spans:
        return None
    across = roomy((min(low for low, _ in spans), max(high for _, high in spans)), 0, 100)
    dots = [
        Dot(
            label(answer, keys, row),
            cell_text(cell, interval),
            row * _ROW + _ROW // 2,
            *(map(across, (v, v - less, v + more)) if math.isfinite(v) else (None, 0.0, 0.0)),
        )
        for row, (v, less, more, cell, interval) in enumerate(rows[:MOST_ROWS])
    ]
    return DotChart(
        title=name,
        keys=printable(" · ".join(answer.columns[key] for key in keys)),
        dots=tuple(dots),
        ticks=tuple(Tick(across(tick), marked(tick)) for tick in across.ticks),
        hidden=len(rows) - len(dots),
    )
