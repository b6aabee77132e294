"""Exact draws of the exponential mechanism, and of the bracket around a released quantile.

Weights are integers, so that a uniform integer below their sum selects with probabilities exactly
proportional to the weights. An integer weight has a relative error of at most 2^-44 from
exp(-rate·distance), and `SLACK` is more than four times as large. Exponents are clamped
at `FARTHEST`: clamping a score does not raise its sensitivity, and no weight becomes zero.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate
from operator import lshift, mul
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpdb.privacy.mechanisms.selections.bracket import Bracket
from dpdb.privacy.mechanisms.selections.exponential import FARTHEST, Exponential
from dpdb.privacy.mechanisms.selections.found_limit import DENOMINATOR, FoundLimit
from dpdb.privacy.mechanisms.selections.peeling import Peeling

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpdb.privacy.noise.protocols import Noise, SortedValues

_MANTISSA = 2**53
_SHIFT = 116
"""2^-116 < e^-80: every weight is a whole number of at least 45 bits after scaling."""
_BLOCK = 2**8
"""The most pieces of which weights are added up before one of them is chosen."""
_LOW_BITS = 27
"""The binary digits of the lower part of a factor: sums of a block's products fit 64 bits."""


class Weights(NamedTuple):
    """Whole numbers: each is a mantissa below 2^53, times two to a power."""

    mantissas: npt.NDArray[np.int64]
    powers: npt.NDArray[np.int32]

    def whole(self) -> list[int]:
        """The numbers, of any size."""
        return list(map(lshift, self.mantissas.tolist(), self.powers.tolist()))


def binary_weights(
    distances: npt.NDArray[np.int64] | npt.NDArray[np.float64],
    rate: Fraction,
    farthest: int = FARTHEST,
) -> Weights:
    """Integer weights proportional to exp(-rate·distance), each to a relative error of 2^-44.

    Distances below 2^53 are exact. As doubles larger ones, `rate` and the product have a relative
    error of 2^-53 each, so an exponent of at most 80 has an error below 2^-45, and exp adds a few
    times 2^-53. Exponents are clamped at `farthest`; for 240 the error is below 2^-43.
    """
    exponents = np.minimum(distances * float(rate), farthest)
    mantissas, powers = np.frexp(np.exp(-exponents))
    return Weights((mantissas * _MANTISSA).astype(np.int64), powers + _SHIFT * farthest // FARTHEST)


def weights(
    distances: npt.NDArray[np.int64] | npt.NDArray[np.float64],
    rate: Fraction,
    farthest: int = FARTHEST,
) -> list[int]:
    """The integer weights of `binary_weights`, as Python's integers."""
    return binary_weights(distances, rate, farthest).whole()


def select_value(
    values: SortedValues,
    grid: tuple[int, int],
    fraction: Fraction,
    mechanism: Exponential,
    noise: Noise,
) -> int:
    """A grid point selected as the `fraction`-quantile of sorted `values`.

    Every point of the `grid` (lowest, highest) is a candidate, and its score is minus its distance
    in ranks from fraction·n (see `sensitivity.rank`). All points between two neighbouring values
    have the same score, so first the gap is drawn and then a point of it, uniformly ([Smi11]
    Algorithm 2).
    """
    starts, lengths, each = pieces(values, grid, fraction, mechanism)
    chosen = choose_piece(each, lengths, noise)
    return int(starts[chosen]) + noise.below(int(lengths[chosen]))


def select_index(scores: Sequence[int], mechanism: Exponential, noise: Noise) -> int:
    """The index of a score, selected as the largest; sums of weights may be beyond 64 bits."""
    top = max(scores)
    distances = np.array([float(top - score) for score in scores])
    return choose(weights(distances, mechanism.rate), noise)


def select_largest(scores: Sequence[int], mechanism: Peeling, noise: Noise) -> list[int]:
    """The indices of the scores that are chosen one after the other, in ascending order."""
    left, chosen = list(range(len(scores))), list[int]()
    for _ in range(mechanism.number):
        place = select_index([scores[index] for index in left], mechanism.choice, noise)
        chosen.append(left.pop(place))
    return sorted(chosen)


def select_limit(counts: npt.NDArray[np.int64], mechanism: FoundLimit, noise: Noise) -> int:
    """The limit one step above a selected one; counts[p] are of all groups, for its `passes`.

    Scores are whole numbers of 1/DENOMINATOR: of a limit that does not divide it no value is left.
    """
    known = dict(zip(mechanism.passes, counts.tolist(), strict=True))
    scores = [
        (known[min(2 * limit, mechanism.rows)] - known[limit]) * DENOMINATOR // limit
        for limit in mechanism.limits
    ]
    distances = np.array([float(score - min(scores)) for score in scores])
    rate = mechanism.selection.rate / DENOMINATOR
    chosen = choose(map(mul, mechanism.weights, weights(distances, rate)), noise)
    return mechanism.steps_up[chosen]


def choose(integer_weights: Iterable[int], noise: Noise) -> int:
    """An index, selected with probability exactly proportional to its weight."""
    totals = list(accumulate(integer_weights))
    return bisect_right(totals, noise.below(totals[-1]))


def choose_piece(each: Weights, lengths: npt.NDArray[np.int64], noise: Noise) -> int:
    """An index, selected with probability exactly proportional to its weight times its length.

    First a block of neighbours with the same power is selected, and then one of them. Within a
    block, products of the higher and lower parts of both factors are added up in 64 bits: of
    lengths up to 2^54 and of mantissas both parts are at most 2^27.
    """
    begins = np.arange(len(lengths)) % _BLOCK == 0
    begins[1:] |= each.powers[1:] != each.powers[:-1]
    first = begins.nonzero()[0]
    (high, low), (long, short) = _parts(each.mantissas), _parts(lengths)
    products = (high * long, high * short, low * long, low * short)
    sums = [np.add.reduceat(product, first).tolist() for product in products]
    powers = each.powers[first].tolist()
    totals = list(accumulate(map(_joined, *sums, powers)))
    drawn = noise.below(totals[-1])
    block = bisect_right(totals, drawn)
    inside = slice(first[block], first[block + 1] if block + 1 < len(first) else None)
    before = totals[block - 1] if block else 0
    own = map(
        mul, Weights(each.mantissas[inside], each.powers[inside]).whole(), lengths[inside].tolist()
    )
    return int(first[block]) + bisect_right(list(accumulate(own)), drawn - before)


def _parts(numbers: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The higher and the lower parts of numbers."""
    return numbers >> _LOW_BITS, numbers & (2**_LOW_BITS - 1)


def _joined(both_high: int, one: int, other: int, both_low: int, power: int) -> int:
    """A sum of products, from the sums of the products of their parts."""
    return ((((both_high << _LOW_BITS) + one + other) << _LOW_BITS) + both_low) << power


def pieces(
    values: SortedValues, grid: tuple[int, int], fraction: Fraction, mechanism: Exponential
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Weights]:
    """The pieces of the grid, by their starts and lengths, and the weight of each."""
    ranked = ranked_pieces(values, grid, fraction, mechanism)
    # Distances are counted in units of 1/denominator, to stay whole.
    scale, target = fraction.denominator, fraction.numerator * len(values)
    above, below = scale * ranked.lowest - target, target - scale * ranked.highest
    each = binary_weights(np.maximum(0, np.maximum(above, below)), mechanism.rate / scale)
    return ranked.starts, ranked.lengths, each


class Pieces(NamedTuple):
    """The grid cut into pieces, and how many values are below each, and below its end."""

    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    lowest: npt.NDArray[np.int64]
    highest: npt.NDArray[np.int64]


def ranked_pieces(
    values: SortedValues, grid: tuple[int, int], fraction: Fraction, mechanism: Exponential
) -> Pieces:
    """The grid, cut where the score changes.

    The pieces are gap, value, gap, value, …, gap. All values whose rank is farther from the target
    than FARTHEST/rate have the same weight, so only values within this window are pieces of their
    own. The grid to the left and to the right of the window is in the first and the last gap.
    """
    low, high = grid
    middle = fraction.numerator * len(values) // fraction.denominator
    around = slice(max(0, middle - mechanism.reach), middle + mechanism.reach + 1)
    window = np.asarray(values[around], dtype=np.int64)
    # Equal values stand side by side, and none is below the grid.
    points = window[np.diff(window, prepend=low - 1) > 0]
    below = values.searchsorted(points, side="left")
    upto = values.searchsorted(points, side="right")
    first = below[:1] if len(points) else np.zeros(1, dtype=np.int64)
    starts = np.concatenate(([low], _in_turn(points, points + 1)))
    ends = np.concatenate((_in_turn(points, points + 1), [high + 1]))
    lowest = np.concatenate((first, _in_turn(below, upto)))
    highest = np.concatenate((first, _in_turn(upto, upto)))
    return Pieces(starts, ends - starts, lowest, highest)


def _in_turn(left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Two arrays taken in turn: left[0], right[0], left[1], …"""
    return np.column_stack((left, right)).ravel()


def select_width(
    values: SortedValues, centre: int, fraction: Fraction, mechanism: Bracket, noise: Noise
) -> int:
    """The index of the half-width that is selected for the interval around `centre`."""
    return choose(width_weights(values, centre, fraction, mechanism), noise)


def width_weights(
    values: SortedValues, centre: int, fraction: Fraction, mechanism: Bracket
) -> list[int]:
    """The integer weight of each half-width, for sorted `values`.

    The same number of half-widths is weighed whatever the rows are. Slacks and distances are whole
    numbers of 1/d ranks for a fraction with the denominator d, and the weights are integers.
    """
    scale = fraction.denominator
    reach = np.array(mechanism.widths[:-1], dtype=np.int64)
    below = values.searchsorted(centre - reach, side="left")
    upto = values.searchsorted(centre + reach, side="right")
    middle = fraction.numerator * (len(values) - 1)
    slack = np.minimum(middle - scale * below, scale * (upto - 1) - middle)
    target = math.ceil(scale * mechanism.target)
    # Of the first half-width no slack is too large, and of the whole grid none is too small.
    above = np.concatenate(([0], slack - target))
    short = np.concatenate((target - slack, [0]))
    distances = np.maximum(0, np.maximum(above, short))
    return weights(distances, mechanism.rate / scale)
