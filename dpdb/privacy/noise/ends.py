"""Exact draws of the ends of a column's values, and of caps on what units add.

`ends`, `caps` and `found_room` of `mechanisms.selections` have the laws and their proofs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, assert_never

import numpy as np

from dpdb.privacy.mechanisms.selections import caps
from dpdb.privacy.mechanisms.selections.caps import FoundCaps
from dpdb.privacy.mechanisms.selections.ends import POWER, FoundEnds, rungs
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.privacy.mechanisms.selections.found_room import APART, PARTS, FoundRoom
from dpdb.privacy.mechanisms.selections.found_room import POWER as OF_ROOMS
from dpdb.privacy.noise.exponential import (
    Weights,
    binary_weights,
    choose,
    choose_piece,
    ranked_pieces,
    weights,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from dpdb.privacy.mechanisms.mechanism import BoundsSelection
    from dpdb.privacy.noise.protocols import Noise, SortedValues

_FARTHEST = 240
"""The largest exponent of an end: (2/2^54)^6 > e^-222, so that the farthest rung can win."""
_BITS = 330
"""2^-330 < (2/2^54)^6: the base of every rung is a whole number after scaling."""
_DIGITS = 26
"""The binary digits of bounds, the larger of which has no others."""
_NEAREST = 0, 1
"""The centre and the scale of caps: all rungs beyond 2 have less weight."""
_FARTHER = 4, 16, 64
"""An end is moved out by a rung for each of these times the scale that it is beyond."""


def select_bounds(
    values: SortedValues, grid: tuple[int, int], mechanism: BoundsSelection, noise: Noise
) -> tuple[int, int]:
    """A lower and an upper bound on the `grid`, of values or of what units add.

    The `values` are sorted, or the filled sums of a ladder of rooms.
    """
    match mechanism:
        case FoundEnds():
            return select_ends(values, grid, mechanism, noise)
        case FoundCaps():
            return select_caps(values, grid, mechanism, noise)
        case FoundRoom():
            chosen = choose(room_weights(np.asarray(values).tolist(), mechanism), noise)
            return 0, mechanism.rungs[min(chosen + 1, len(mechanism.rungs) - 1)]
        case other:
            assert_never(other)


def select_ends(
    values: SortedValues, grid: tuple[int, int], mechanism: FoundEnds, noise: Noise
) -> tuple[int, int]:
    """A lower and an upper bound on the `grid` (lowest, highest), for sorted `values` on it."""
    low, high = grid
    centring, scaling, ending = mechanism.selections
    starts, lengths, each = centre_pieces(values, grid, centring)
    piece = choose_piece(each, lengths, noise)
    centre = int(starts[piece]) + noise.below(int(lengths[piece]))
    centre = min(max(centre, low), high)
    steps = rungs(high - low)
    scale = steps[choose(scale_weights(values, centre, steps, scaling), noise)]
    up, down = (choose(each, noise) for each in end_weights(values, (centre, scale), steps, ending))
    upper = centre + steps[_moved_out(up, scale, steps)]
    lower = centre - steps[_moved_out(down, scale, steps)]
    return _apart(lower, upper, grid)


def _apart(lower: int, upper: int, grid: tuple[int, int]) -> tuple[int, int]:
    """Bounds on the grid that are far enough apart to differ in the first eight digits.

    So they differ, too, on the coarser grid of a sum, which `grid_step` has ten digits for.
    """
    unit = 1 << max(0, max(abs(lower), abs(upper)).bit_length() - _DIGITS)
    upper = min(-(-upper // unit) * unit, grid[1])
    return max(min(lower // unit * unit, upper - 2 * unit), grid[0]), upper


def select_caps(
    values: SortedValues, grid: tuple[int, int], mechanism: FoundCaps, noise: Noise
) -> tuple[int, int]:
    """The least and the greatest of the `grid` that a unit may add, for sorted numbers of units."""
    low, high = grid
    (selecting,) = mechanism.selections
    steps = rungs(max(high, -low, 1))
    if mechanism.of_averages:
        cap = steps[choose(average_weights(values, steps, selecting), noise)]
        return max(-cap, low), min(cap, high)
    above, below = end_weights(values, _NEAREST, steps, selecting)
    up, down = choose(above, noise), choose(below, noise)
    # A cap that was selected is moved out by a rung.
    lower, upper = (steps[min(each + 1, len(steps) - 1)] for each in (down, up))
    return max(-lower, low), min(upper, high)


def room_weights(sums: Sequence[int], mechanism: FoundRoom) -> list[int]:
    """The weight of each rung of a ladder of rooms, of which these are the filled sums.

    Rungs but the last are powers of two, so that scores are whole numbers of parts of one.
    """
    rungs, last = mechanism.rungs, len(mechanism.rungs) - 1
    widest = rungs[last - 1]
    more = [sums[min(at + APART, last)] - own for at, own in enumerate(sums[:-1])]
    scores = [own * (widest // rung) for own, rung in zip(more, rungs, strict=False)]
    rate = mechanism.selection.rate / (PARTS * widest * mechanism.largest)
    each = weights(np.array([*map(float, scores), 0.0]), rate)
    return [(own << _BITS) // rung**OF_ROOMS for own, rung in zip(each, rungs, strict=True)]


def average_weights(
    values: SortedValues, steps: tuple[int, ...], mechanism: Exponential
) -> list[int]:
    """The weight of each rung as the cap of averages."""
    base = [(1 << _BITS) // rung**caps.OF_AVERAGES for rung in steps]
    each = scale_weights(values, 0, steps, mechanism)
    return [own * weight for own, weight in zip(base, each, strict=True)]


def centre_pieces(
    values: SortedValues, grid: tuple[int, int], mechanism: Exponential
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Weights]:
    """The grid cut where score or octave changes: starts, lengths, and the weight of a point.

    The grid is made wider to whole octaves, which have as many points as a power of two.
    """
    octaves = _octaves(*grid)
    ranked = ranked_pieces(values, (octaves[0], octaves[-1] - 1), Fraction(1, 2), mechanism)
    cuts = np.union1d(ranked.starts, octaves)
    starts, lengths = cuts[:-1], np.diff(cuts)
    of = ranked.starts.searchsorted(starts, side="right") - 1
    ranks = len(values)  # n/2 and distances from it are counted in halves
    apart = np.maximum(2 * ranked.lowest[of] - ranks, ranks - 2 * ranked.highest[of])
    each = binary_weights(np.maximum(0, apart), mechanism.rate / 2)
    octave = octaves.searchsorted(starts, side="right") - 1
    sizes = np.log2(np.diff(octaves)).astype(np.int32)[octave]
    return starts, lengths, Weights(each.mantissas, each.powers + sizes.max() - sizes)


def _octaves(low: int, high: int) -> npt.NDArray[np.int64]:
    """The first points of 0 and of the octaves ±(2^(k-1), 2^k] of a grid, and the end of all."""
    powers = 1 << np.arange(max(abs(low), abs(high), 1).bit_length() + 1, dtype=np.int64)
    firsts = np.concatenate((-powers[::-1], [0, 1], powers + 1))
    first, last = firsts.searchsorted((low, high), side="right")
    return np.asarray(firsts[first - 1 : last + 1], dtype=np.int64)


def scale_weights(
    values: SortedValues, centre: int, steps: tuple[int, ...], mechanism: Exponential
) -> list[int]:
    """The weight of each rung as the median of the distances, which are rounded up to rungs."""
    reach = np.array(steps, dtype=np.int64)
    upto = values.searchsorted(centre + reach, side="right")
    upto = upto - values.searchsorted(centre - reach, side="left")
    below = np.concatenate(([0], upto[:-1]))
    apart = np.maximum(2 * below - len(values), len(values) - 2 * upto)
    return weights(np.maximum(0, apart), mechanism.rate / 2)


def end_weights(
    values: SortedValues, about: tuple[int, int], steps: tuple[int, ...], mechanism: Exponential
) -> tuple[list[int], list[int]]:
    """The weights of each rung above the centre, and of each below; `about` has it and the scale.

    The weight falls from twice the scale on.
    """
    centre, scale = about
    reach = np.array(steps, dtype=np.int64)
    above = len(values) - values.searchsorted(centre + reach, side="right")
    below = values.searchsorted(centre - reach, side="left")
    base = [(min(2 * scale, rung) ** POWER << _BITS) // rung**POWER for rung in steps]

    def weighed(beyond: npt.NDArray[np.int64]) -> list[int]:
        falling = weights(beyond, mechanism.rate, _FARTHEST)
        return [own * weight for own, weight in zip(base, falling, strict=True)]

    return weighed(above), weighed(below)


def _moved_out(place: int, scale: int, steps: tuple[int, ...]) -> int:
    """The index of the rung that is taken for a selected one: farther out in a heavy tail."""
    more = sum(steps[place] > times * scale for times in _FARTHER)
    return min(place + more, len(steps) - 1)
