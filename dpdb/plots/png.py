"""Figures as PNG, by matplotlib where that is installed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from dpdb.errors import UsageError
from dpdb.plots.figures import Figure, Lines, Tiles
from dpdb.plots.style import LIGHT, SERIES, TILES

_MOST_TILES = 50


def save(figure: Figure, path: Path) -> None:
    """Write a figure to `path`."""
    match figure:
        case Lines():
            canvas = matplotlib_figure(8, 4.5)
            _lines(figure, canvas.add_subplot())
        case Tiles():
            canvas = matplotlib_figure(8, 1 + 0.18 * sum(_lengths(figure)))
            _tiles(figure, canvas.add_subplot())
    write(canvas, path)


def matplotlib_figure(width: float, height: float) -> Any:  # noqa: ANN401 (it may not be installed)
    """An empty figure of so many inches."""
    try:
        figure = import_module("matplotlib.figure").Figure
    except ImportError:
        raise UsageError(
            "a PNG needs matplotlib", hint='pip install "dpdb[plots]"; SVG and HTML need nothing'
        ) from None
    return figure(figsize=(width, height), layout="constrained")


def write(canvas: Any, path: Path) -> None:  # noqa: ANN401 (matplotlib's)
    """Save what was drawn."""
    try:
        canvas.savefig(path, format="png", dpi=150)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _lines(figure: Lines, axes: Any) -> None:  # noqa: ANN401
    for index, series in enumerate(figure.series):
        colour = LIGHT[SERIES[index % len(SERIES)]]
        across, up = zip(*series.points, strict=True)
        axes.plot(across, up, color=colour, label=series.label)
    if figure.level is not None:
        axes.axhline(figure.level, color="black", linestyle=":", label=figure.level_label)
    axes.set(title=figure.title, xlabel=figure.across, ylabel=figure.up)
    axes.legend()


def _tiles(figure: Tiles, axes: Any) -> None:  # noqa: ANN401
    columns = figure.columns(_MOST_TILES)
    places: dict[int, list[tuple[float, float]]] = {kind: [] for kind in range(len(figure.legend))}
    top, tops = 0.0, []
    for row, length in zip(figure.rows, _lengths(figure), strict=True):
        tops.append(top)
        for index, kind in enumerate(row.cells):
            places[kind].append((index % columns, top + index // columns))
        top += length
    for kind, found in places.items():
        across, down = zip(*found, strict=True) if found else ((), ())
        axes.scatter(across, down, marker="s", color=LIGHT[TILES[kind]], label=figure.legend[kind])
    axes.set_yticks(tops, [row.label for row in figure.rows])
    axes.set_xticks([])
    axes.set_aspect("equal")
    axes.set_ylim(top, -1)
    axes.set_title(figure.title)
    axes.figure.legend(loc="outside lower center", ncols=len(figure.legend))


def _lengths(figure: Tiles) -> list[float]:
    """How far down each strip reaches, in tiles, with a gap below it."""
    columns = figure.columns(_MOST_TILES)
    return [-(-len(row.cells) // columns) + 0.5 for row in figure.rows]
