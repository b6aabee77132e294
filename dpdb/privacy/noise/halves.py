"""Exact draws of several quantiles by recursive halves.

Weights are integers, as in `noise.exponential`. The mean of the weights of a value's cuts is
rounded to a relative 2^-60, which SLACK has room for.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.privacy.mechanisms.selections.halves import Halves, Node
from dpdb.privacy.noise.exponential import choose, ranked_pieces, select_value, weights

if TYPE_CHECKING:
    from fractions import Fraction

    from dpdb.privacy.noise.protocols import Noise, SortedValues

_MEAN_BITS = 20
"""Binary digits that means of weights have beyond those of weights, which are 45 at least."""


def select_quantiles(
    values: SortedValues, grid: tuple[int, int], halves: Halves, noise: Noise
) -> list[int]:
    """A grid point for each of the fractions, of sorted `values`; the points rise."""
    chosen = dict(_below(values, grid, halves, halves.root, noise))
    return [chosen[place] for place in range(len(chosen))]


def _below(
    values: SortedValues, grid: tuple[int, int], halves: Halves, node: Node, noise: Noise
) -> list[tuple[int, int]]:
    """The points that a node and those below it select, each with its place."""
    mechanism = halves.selection(node)
    if not node.children:
        return [(node.place, select_value(values, grid, node.fraction, mechanism, noise))]
    point, cut = select_cut(values, grid, node.fraction, mechanism, noise)
    quantiles = [(node.place, point)]
    if node.lower is not None:
        quantiles += _below(values[:cut], (grid[0], point), halves, node.lower, noise)
    if node.upper is not None:
        quantiles += _below(values[cut:], (point, grid[1]), halves, node.upper, noise)
    return quantiles


def select_cut(
    values: SortedValues,
    grid: tuple[int, int],
    fraction: Fraction,
    mechanism: Exponential,
    noise: Noise,
) -> tuple[int, int]:
    """A grid point selected as the `fraction`-quantile, and the number of values put below it."""
    starts, lengths, each = cut_pieces(values, grid, fraction, mechanism)
    piece = choose([w * n for w, n in zip(each, lengths, strict=True)], noise)
    point = starts[piece] + noise.below(lengths[piece])
    below = int(values.searchsorted(point, side="left"))
    upto = int(values.searchsorted(point, side="right"))
    first, own, last = _cut_weights(below, upto, len(values), fraction, mechanism)
    chosen = choose([first[1], *own, last[1]], noise)
    if chosen == 0:
        return point, below + noise.below(first[0])
    if chosen > len(own):
        return point, upto - noise.below(last[0])
    return point, below + first[0] + chosen - 1


def cut_pieces(
    values: SortedValues, grid: tuple[int, int], fraction: Fraction, mechanism: Exponential
) -> tuple[list[int], list[int], list[int]]:
    """The pieces as in `exponential.pieces`; the weight of a value is the mean over its cuts."""
    ranked = ranked_pieces(values, grid, fraction, mechanism)
    number, reach = len(values), mechanism.reach
    # All cuts farther away than those from `start` to `stop` have the same weight.
    middle = fraction.numerator * number // fraction.denominator
    start, stop = max(0, middle - reach), min(number, middle + reach + 1)
    near = _weights_of(start, stop, number, fraction, mechanism)
    sums, far = [0, *accumulate(near)], _farthest(mechanism)
    each = []
    for low, high in zip(ranked.lowest.tolist(), ranked.highest.tolist(), strict=True):
        a, b = min(max(low, start), stop + 1), min(max(high + 1, start), stop + 1)
        total = sums[b - start] - sums[a - start] + (high + 1 - low - (b - a)) * far
        each.append((total << _MEAN_BITS) // (high + 1 - low))
    return ranked.starts.tolist(), ranked.lengths.tolist(), each


def _cut_weights(
    below: int, upto: int, number: int, fraction: Fraction, mechanism: Exponential
) -> tuple[tuple[int, int], list[int], tuple[int, int]]:
    """The weights of the cuts from `below` to `upto`: those near the target one by one.

    Of the others, before and after these, their number and the sum of their weights.
    """
    middle = fraction.numerator * number // fraction.denominator
    start = min(max(below, middle - mechanism.reach), upto + 1)
    stop = max(min(upto, middle + mechanism.reach + 1), start - 1)
    own = _weights_of(start, stop, number, fraction, mechanism)
    far = _farthest(mechanism)
    return (start - below, (start - below) * far), own, (upto - stop, (upto - stop) * far)


def _weights_of(
    start: int, stop: int, number: int, fraction: Fraction, mechanism: Exponential
) -> list[int]:
    """The weights of the cuts from `start` to `stop`, by their distance from the target."""
    scale, target = fraction.denominator, fraction.numerator * number
    cuts = scale * np.arange(start, stop + 1, dtype=np.int64)
    return weights(np.abs(cuts - target), mechanism.rate / scale)


def _farthest(mechanism: Exponential) -> int:
    """The weight of what is too far from the target to have one of its own."""
    return weights(np.array([mechanism.reach], dtype=np.int64), mechanism.rate)[0]
