"""Exact draws for keys that are found in the data: which are shown, with how many units.

The cut noise is discrete Laplace noise on the condition that it is at most k, and so it is drawn by
leaving out what is larger. That has exactly the stated law.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpdb.privacy.mechanisms.threshold import Threshold
from dpdb.privacy.noise.system import draw_exactly

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpdb.privacy.noise.protocols import Noise

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


def cut_laplace(mechanism: Threshold, size: int, noise: Noise) -> npt.NDArray[np.int64]:
    """`size` independent draws with P(x) ∝ exp(-|x|/scale) for |x| <= cut."""

    def block(candidates: int) -> npt.NDArray[np.int64]:
        drawn = noise.laplace(mechanism.scale, candidates)
        return drawn[np.abs(drawn) <= mechanism.cut]

    return draw_exactly(size, 1.01, block)
