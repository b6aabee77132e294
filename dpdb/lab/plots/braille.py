"""Curves as dots of Braille characters: two dots across and four down in each character."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

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
    """How far from the dot other curves pass above or below, up to enough; then its height."""
    x, y = dot
    return min([_APART, *(abs(other - y) for other in others.get(x // ACROSS, ()))]), -y, x
