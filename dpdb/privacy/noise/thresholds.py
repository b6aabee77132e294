"""Exact draws of noisy thresholds: the walk over a grid, and keys that are found in the data.

All comparisons are of integers, and all noise of a walk is drawn before any count is looked at, so
the time of a draw does not depend on where the walk stops. The cut noise of keys is discrete
Laplace noise on the condition that it is at most k, and so it is drawn by leaving out what is
larger. That has exactly the stated law.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpdb.privacy.mechanisms.selections.threshold import Threshold
from dpdb.privacy.mechanisms.selections.walk import Walk
from dpdb.privacy.mechanisms.selections.weighted_keys import WeightedKeys
from dpdb.privacy.noise.system import draw_exactly, geometric

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpdb.privacy.noise.protocols import Noise, SortedValues


_BLOCK = 2**18
"""The most looks that are drawn at once, over as many cells as that allows."""


def stops(
    cells: Sequence[SortedValues], rungs: Sequence[int], walk: Walk, noise: Noise
) -> npt.NDArray[np.int64]:
    """For each cell's sorted values the index of the rung at which its walk stops.

    The rungs rise for a walk to the greatest value, and fall for one to the least. A source of
    noise may round the scales of a walk up, which costs no privacy: the proof of the walk needs
    only that P(k) <= exp(1/scale)·P(k + 1).
    """
    ladder = np.array(rungs, dtype=np.int64)
    each = max(1, _BLOCK // len(rungs))
    parts = [
        _stops(cells[start : start + each], ladder, walk, noise)
        for start in range(0, len(cells), each)
    ]
    return np.concatenate(parts)


def _stops(
    cells: Sequence[SortedValues], ladder: npt.NDArray[np.int64], walk: Walk, noise: Noise
) -> npt.NDArray[np.int64]:
    threshold = geometric(walk.threshold_scale, len(cells), noise) - walk.threshold
    looks = geometric(walk.look_scale, len(cells) * len(ladder), noise)
    left = np.stack([_rows_beyond(ladder, values) for values in cells])
    stopped = looks.reshape(left.shape) >= left + threshold[:, np.newaxis]
    stopped[:, -1] = True
    return np.asarray(stopped.argmax(axis=1))


def _rows_beyond(ladder: npt.NDArray[np.int64], values: SortedValues) -> npt.NDArray[np.int64]:
    """For each rung the number of sorted values that are beyond it."""
    if ladder[0] > ladder[-1]:
        return np.asarray(values.searchsorted(ladder, side="left"))
    return np.asarray(len(values) - values.searchsorted(ladder, side="right"))


_PADDED = 2**12
"""Noise is drawn for a whole multiple of so many keys, so that one key more or less,
which may be hidden, seldom changes how long that takes.
"""


def select_keys(
    units: npt.NDArray[np.int64], mechanism: Threshold, noise: Noise
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]:
    """The places of the keys that are shown, and the noisy number of units of each of them.

    `units` has the number of units of each key that rows have. A key with fewer than `least_units`
    counts as one that nobody has, and the other numbers are less by as many: so they still differ
    by at most one between neighbours ([DVGM22]).
    """
    above = np.maximum(units - (mechanism.least_units - 1), 0)
    drawn = cut_laplace(mechanism, -(-len(units) // _PADDED) * _PADDED, noise)
    noisy = above + drawn[: len(units)]
    shown = np.flatnonzero((noisy > mechanism.cut) & (above > 0))
    return shown, noisy[shown] + (mechanism.least_units - 1)


def select_weighted_keys(
    weights: npt.NDArray[np.int64], mechanism: WeightedKeys, noise: Noise
) -> npt.NDArray[np.intp]:
    """The places of the keys that are shown, of those that rows have."""
    drawn = noise.gaussian(mechanism.variance, -(-len(weights) // _PADDED) * _PADDED)
    return np.flatnonzero(weights + drawn[: len(weights)] > mechanism.threshold)


def cut_laplace(mechanism: Threshold, size: int, noise: Noise) -> npt.NDArray[np.int64]:
    """`size` independent draws with P(x) ∝ exp(-|x|/scale) for |x| <= cut."""

    def block(candidates: int) -> npt.NDArray[np.int64]:
        drawn = noise.laplace(mechanism.scale, candidates)
        return drawn[np.abs(drawn) <= mechanism.cut]

    return draw_exactly(size, 1.01, block)
