"""Pictures as data; how they are drawn is the renderers' affair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Series:
    """One line of a chart."""

    label: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Lines:
    """Values over a common axis, with a level to compare them with."""

    title: str
    across: str
    """What the horizontal axis measures."""
    series: Sequence[Series]
    level: float | None = None
    level_label: str = ""
    up: str = ""
    """What the vertical axis measures."""

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
    """Strips of cells below each other: who was found out, which numbers are possible."""

    title: str
    legend: Sequence[str]
    rows: Sequence[TileRow]

    def columns(self, most: int) -> int:
        """How many cells of a strip stand side by side, the others below them.

        Whole tens, so that a hundred people make a block that can be counted.
        """
        columns = min(most, max(len(row.cells) for row in self.rows))
        return columns // 10 * 10 if columns >= 10 else columns


Figure = Lines | Tiles
