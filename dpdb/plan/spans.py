"""Spans: sets of the values of one column, as unions of intervals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

Point = float | str
"""A value as the engine compares it: a text, or a double (for booleans, too, and all times)."""


@dataclass(frozen=True)
class Span:
    """A set of points: a union of intervals that include their lower and exclude their upper ends.

    `turns` ascend, no two are equal, and each is the first point at which membership changes.
    `below` says whether the points below all turns are in the set.
    """

    below: bool
    turns: tuple[Point, ...] = ()

    def __contains__(self, point: Point) -> bool:
        return self.below is (bisect_right(self.turns, point) % 2 == 0)

    def meets(self, other: Span) -> bool:
        """Whether some point is in both sets.

        The points in both form intervals, each of which begins where an interval of one of the sets
        does. So few points are looked at where the sets have much in common.
        """
        below = self.below and other.below
        return below or self._begins_within(other) or other._begins_within(self)

    def _begins_within(self, other: Span) -> bool:
        """Whether an interval of this set begins at a point of the other."""
        for turn in self.turns[self.below :: 2]:
            if other.below is (bisect_right(other.turns, turn) % 2 == 0):
                return True
        return False

    @property
    def complement(self) -> Span:
        """The set of all other points."""
        return Span(not self.below, self.turns)


EVERY_POINT = Span(below=True)
"""The set of all points."""

NO_POINT = Span(below=False)
"""The empty set."""


def overlap(spans: Sequence[Span], needed: int) -> Span:
    """The set of points in at least `needed` of the spans, with as few turns as possible."""
    changes: dict[Point, int] = {}
    for span in spans:
        change = -1 if span.below else 1
        for turn in span.turns:
            changes[turn] = changes.get(turn, 0) + change
            change = -change
    held = sum(span.below for span in spans)
    inside = below = held >= needed
    turns = []
    for turn in sorted(changes):
        held += changes[turn]
        if (held >= needed) is not inside:
            inside = not inside
            turns.append(turn)
    return Span(below, tuple(turns))
