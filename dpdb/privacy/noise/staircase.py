"""Exact draws of discrete staircase noise.

Let k be of Geo(b) with P(k) = (1 - b)·b^k, and j in [0, Δ) with weights 1 below r and b from r on.
Then P(k·Δ + j) ∝ b^k·b^[j >= r], which is b^L(k·Δ + j). A sign is drawn beside, and minus zero is
rejected, or zero would come twice as often as it should. So x has the law of `Staircase`.

The part of j that is from r on has the probability p = b(Δ - r) / (r + b(Δ - r)), which is rational
in b: binary digits of b bound it, and a random real is compared with the bounds. Within its part j
is uniform. All is in integers, and b is exp(-1/s) for the same s that k is drawn with.

Numbers must fit 64 bits. Candidates with k >= 2^62/Δ are drawn again: for scales and Δ up to 2^50
that leaves out an event of probability below exp(-4000).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpdb.privacy.noise.acceptance import ChanceBounds, coins, exp_bounds, uniform_words
from dpdb.privacy.noise.system import draw_exactly, geometric

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpdb.privacy.mechanisms.staircase import Staircase
    from dpdb.privacy.noise.protocols import Noise

_LARGEST = 2**62


def draws(mechanism: Staircase, noise: Noise, size: int) -> npt.NDArray[np.int64]:
    """`size` independent draws of the staircase law."""
    wide, first = mechanism.sensitivity, mechanism.first

    def block(candidates: int) -> npt.NDArray[np.int64]:
        periods = geometric(mechanism.steps, candidates, noise)
        later = coins(_later(mechanism), candidates, noise)
        place = np.empty(candidates, dtype=np.int64)
        number = int(later.sum())
        place[~later] = _below(first, candidates - number, noise)
        place[later] = first + _below(wide - first, number, noise)
        minus = (uniform_words(candidates, noise) & np.uint64(1)).astype(np.bool_)
        kept = (periods < _LARGEST // wide) & ~(minus & (periods == 0) & (place == 0))
        drawn = periods[kept] * wide + place[kept]
        return np.asarray(np.where(minus[kept], -drawn, drawn))

    return draw_exactly(size, 2, block)


@lru_cache(maxsize=256)
def _later(mechanism: Staircase) -> ChanceBounds:
    """Bounds of p, which rises with b."""
    first, others = mechanism.first, mechanism.sensitivity - mechanism.first

    def bounds(digits: int) -> tuple[Fraction, Fraction]:
        low, high = (each * others for each in exp_bounds(1 / mechanism.steps, digits))
        return low / (first + low), high / (first + high)

    return lru_cache(bounds)


def _below(bound: int, size: int, noise: Noise) -> npt.NDArray[np.int64]:
    """`size` independent uniform integers in [0, bound): bits, drawn until below it."""
    if not size:
        return np.empty(0, dtype=np.int64)
    mask = np.uint64(2 ** (bound - 1).bit_length() - 1)

    def block(candidates: int) -> npt.NDArray[np.int64]:
        drawn = (uniform_words(candidates, noise) & mask).view(np.int64)
        return drawn[drawn < bound]

    return draw_exactly(size, 2, block)
