"""Figures in characters, to be read without colours.

Plotext draws such charts, too, but tells curves apart by colour alone, covers a part of them
with its legend, puts ticks at numbers that are not round, and takes longer to import than numpy.
Here each curve has a letter on it, and axes are labelled below and beside the chart.
"""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from string import ascii_lowercase

from dpdb.answers.formats.scales import Axis, marked, roomy, tight
from dpdb.errors import printable
from dpdb.lab.figures import Figure, Lines, Tiles

ACROSS, DOWN = 2, 4
"""The dots in a character, across and down."""

Cell = tuple[int, int]
"""A character's column and row, from the left and from the top; dots are counted likewise."""

_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_BLANK = 0x2800
_APART = 3 * DOWN
"""Dots between two curves that are enough to tell which one a letter marks."""


def trace(points: Sequence[tuple[float, float]]) -> set[Cell]:
    """The dots on the way from each point to the next."""
    dots = {(round(x), round(y)) for x, y in points}
    for (x, y), (to_x, to_y) in pairwise(points):
        steps = max(math.ceil(abs(to_x - x)), math.ceil(abs(to_y - y)))
        for step in range(1, steps):
            share = step / steps
            dots.add((round(x + (to_x - x) * share), round(y + (to_y - y) * share)))
    return dots


def characters(curves: Sequence[set[Cell]]) -> dict[Cell, str]:
    """All curves' dots, by the cell they are in."""
    codes: dict[Cell, int] = {}
    for x, y in set().union(*curves):
        cell = _cell((x, y))
        codes[cell] = codes.get(cell, _BLANK) | _BITS[x % ACROSS][y % DOWN]
    return {cell: chr(code) for cell, code in codes.items()}


def spots(curves: Sequence[set[Cell]]) -> list[Cell]:
    """A cell for each curve's letter: on the curve, away from the others, high up."""
    chosen: list[Cell] = []
    for index, own in enumerate(curves):
        others: dict[int, list[int]] = {}
        for x, y in set().union(*curves[:index], *curves[index + 1 :]):
            others.setdefault(x // ACROSS, []).append(y)
        free = {dot for dot in own if _cell(dot) not in chosen} or own
        chosen.append(_cell(max(free, key=partial(_merit, others))))
    return chosen


def _cell(dot: Cell) -> Cell:
    return dot[0] // ACROSS, dot[1] // DOWN


def _merit(others: dict[int, list[int]], dot: Cell) -> tuple[int, int, int]:
    """The dot's distance to other curves above or below, up to enough; then its height."""
    x, y = dot
    return min([_APART, *(abs(other - y) for other in others.get(x // ACROSS, ()))]), -y, x


WIDTH = 92
"""The width of a figure, and of a page, where there is no window or a wider one."""
NARROWEST = 40
"""The least width that a figure needs."""
ROWS = 16
_SHADES = "█░▒·"


def page_width() -> int:
    """The width that fits the window."""
    return min(WIDTH, max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns))


def figure_text(figure: Figure, width: int = WIDTH) -> str:
    """A figure at most `width` characters wide, without its title."""
    match figure:
        case Lines():
            return _lines(figure, width)
        case Tiles():
            return _tiles(figure, width)


def _lines(figure: Lines, width: int) -> str:
    """Curves of dots between two axes; each has a letter on it, explained below."""
    level = figure.level
    figure = _powers(figure) if figure.logarithmic else figure
    up = roomy(figure.height, ROWS * DOWN - 1, 0)
    labels = {
        round(up(y)) // DOWN: marked(10**y if figure.logarithmic else y)
        for y in up.ticks
        if not figure.logarithmic or y == round(y)
    }
    margin = 2 + max(map(len, labels.values()))
    across = tight(figure.width, 0, (width - margin - 2) * ACROSS - 1)
    lines = [f"  {printable(figure.up)}"] if figure.up else []
    for row, content in enumerate(_plot(figure, across, up)):
        label = labels.get(row, "")
        lines.append(f"{label:>{margin}} {'┤' if label else '│'}{content}".rstrip())
    lines += [" " * (margin + 1) + line for line in _floor(across)]
    lines.append(f"{printable(figure.across):^{width}}".rstrip())
    lines += [f"  {_letter(i)}  {printable(s.label)}" for i, s in enumerate(figure.series)]
    if level is not None:
        lines.append(f"  ┄  {printable(figure.level_label)}: {level:.4g}")
    return "\n".join(lines)


def _powers(figure: Lines) -> Lines:
    """The figure with values, up, as powers of ten."""
    series = [replace(s, points=[(x, math.log10(y)) for x, y in s.points]) for s in figure.series]
    return replace(
        figure, series=series, level=None if figure.level is None else math.log10(figure.level)
    )


def _plot(figure: Lines, across: Axis, up: Axis) -> list[str]:
    """The rows between the axes."""
    curves = [trace([(across(x), up(y)) for x, y in series.points]) for series in figure.series]
    cells = characters(curves)
    cells |= {cell: _letter(index) for index, cell in enumerate(spots(curves))}
    level = None if figure.level is None else round(up(figure.level)) // DOWN
    columns = (round(across.end) + 1) // ACROSS
    return [
        "".join(cells.get((column, row), "┄" if row == level else " ") for column in range(columns))
        for row in range(ROWS)
    ]


def _letter(index: int) -> str:
    return ascii_lowercase[index % len(ascii_lowercase)]


def _floor(across: Axis) -> tuple[str, str]:
    """The horizontal axis, and its numbers as far as there is room for them."""
    columns = (round(across.end) + 1) // ACROSS
    axis, numbers = ["─"] * columns, ""
    for x in across.ticks:
        place, label = round(across(x)) // ACROSS, marked(x)
        axis[place] = "┬"
        # Numbers stand on a line that begins a column further left, below the corner.
        start = min(max(place + 1 - len(label) // 2, 0), columns + 1 - len(label))
        if start > len(numbers) or not numbers:
            numbers = f"{numbers:<{start}}{label}"
    return "└" + "".join(axis), numbers


def _tiles(figure: Tiles, width: int) -> str:
    margin = max(len(row.label) for row in figure.rows)
    lines = []
    for row in figure.rows:
        cells = "".join(_SHADES[kind] for kind in row.cells)
        pieces = textwrap.wrap(cells, width - margin - 4, drop_whitespace=False) or [""]
        lines.append(f"  {row.label:<{margin}}  {pieces[0]}")
        lines += [f"  {'':<{margin}}  {piece}" for piece in pieces[1:]]
    legend = "   ".join(f"{_SHADES[i]} {text}" for i, text in enumerate(figure.legend))
    return "\n".join([*lines, f"  {legend}"])
