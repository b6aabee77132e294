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


Figure = Lines | Tiles
