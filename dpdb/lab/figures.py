"""Figures as data, which the renderers draw."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.records import dataclass


@dataclass(frozen=True)
class ChartLine:
    """A line of a chart."""

    label: str
    points: Sequence[tuple[float, float]]
    colour: str | None = None
    """Its name in the palette; None for the next one."""


@dataclass(frozen=True)
class Lines:
    """Values over a common axis, with a level to compare them with."""

    title: str
    across: str
    """Quantity on the horizontal axis."""
    series: Sequence[ChartLine]
    level: float | None = None
    level_label: str = ""
    up: str = ""
    """Quantity on the vertical axis."""
    logarithmic: bool = False
    """Whether equal steps up are equal factors; all values are above 0 then."""

    @property
    def description(self) -> str:
        """The chart in words: where each line begins and ends."""
        lines = [
            f"{s.label}: from {_point(s.points[0])} to {_point(s.points[-1])}" for s in self.series
        ]
        if self.level is not None:
            lines.append(f"{self.level_label}: {self.level:.4g}")
        return f"{self.up or 'values'} by {self.across}. " + "; ".join(lines)

    @property
    def width(self) -> tuple[float, float]:
        """The least and the greatest value across."""
        values = [x for series in self.series for x, _ in series.points]
        return min(values), max(values)

    @property
    def height(self) -> tuple[float, float]:
        """The least and the greatest value up, the level's among them."""
        values = [y for series in self.series for _, y in series.points]
        if self.level is not None:
            values.append(self.level)
        return min(values), max(values)


@dataclass(frozen=True)
class TileRow:
    """A strip of cells, each of one of the kinds in the legend, by index."""

    label: str
    cells: Sequence[int]


@dataclass(frozen=True)
class Tiles:
    """Strips of cells, one below the other, for example a cell for each person."""

    title: str
    legend: Sequence[str]
    rows: Sequence[TileRow]

    @property
    def description(self) -> str:
        """The chart in words: how many cells of each kind each strip has."""
        return "; ".join(
            f"{row.label}: "
            + ", ".join(f"{row.cells.count(k)} {name}" for k, name in enumerate(self.legend))
            for row in self.rows
        )

    def columns(self, most: int) -> int:
        """Number of cells of a strip that stand side by side, the others below them.

        Whole tens, so that a hundred people make a block that can be counted.
        """
        columns = min(most, max(len(row.cells) for row in self.rows))
        return columns // 10 * 10 if columns >= 10 else columns


Figure = Lines | Tiles


_ROUNDING = 1e-9
"""The most by which the rounding of doubles lifts a rate that is worked out over its ceiling."""


@dataclass(frozen=True)
class Bar:
    """The rate at which an attack succeeds against a defence, with its 95 % interval."""

    defence: str
    colour: str
    """Its name in the palette, the same in all charts."""
    rate: float
    low: float
    high: float
    ceiling: float | None
    """The highest rate that the defence's ε allows; None if it claims none."""

    @property
    def broken(self) -> bool:
        """Whether the defence claims an ε that this rate belies."""
        return self.ceiling is not None and self.low > self.ceiling + _ROUNDING


@dataclass(frozen=True)
class Bars:
    """Rates below each other, with a level to compare them with."""

    title: str
    bars: Sequence[Bar]
    level: float | None = None

    @property
    def description(self) -> str:
        """The chart in words: each rate with its interval and ceiling."""
        return "; ".join(
            f"{bar.defence}: {bar.rate:.1%}, interval {bar.low:.1%} to {bar.high:.1%}"
            + ("" if bar.ceiling is None else f", ceiling {bar.ceiling:.1%}")
            for bar in self.bars
        )


Chart = Figure | Bars
"""Charts that matplotlib draws; in the terminal a report has bars of its own."""


def _point(point: tuple[float, float]) -> str:
    return f"{point[1]:.4g} at {point[0]:.4g}"
