"""Exact draws of the noise of a box, in integers.

Let r = exp(-ε/cQ), and let R′ be the sum of m + 1 draws of Geo(r) for m coordinates, so that
P(R′) ∝ C(R′ + m, m)·r^R′. Let R = R′ - s with s = max(0, maxᵢ ⌈Q/2Hᵢ⌉ - 1), and reject R < 0.
For i = 0 … m - 1 draw a whole number w below dᵢ = 2Hᵢ(R′ + 1 + i), reject where it is (2Fᵢ + 1)·Q
or more for Fᵢ = ⌊R·Hᵢ/Q⌋, and let zᵢ = ⌊w/Q⌋ - Fᵢ. As Q/2Hᵢ <= s + 1,

    (2Fᵢ + 1)·Q <= 2Hᵢ·(R + Q/2Hᵢ) <= 2Hᵢ·(R′ + 1) <= dᵢ

so that zᵢ is uniform among the 2Fᵢ + 1 whole numbers with |zᵢ| <= Fᵢ, and R is accepted with a
probability in proportion to Π(2Fᵢ + 1)/(R′ + 1 + i). Since Π(R′ + 1 + i) = m!·C(R′ + m, m), what is
left is P(R, z) ∝ r^R for all R >= ϱ(z), which is where |zᵢ| <= Fᵢ for all i. The sum over R is
geometric, and in proportion to r^ϱ(z), the law of `Box`.

A whole number below d is ⌊u·d⌋ of a uniform real u. Its first 128 binary digits tell it but with
probability 2^-64, and then more are drawn. The work is the same for each candidate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpdb.privacy.mechanisms.box import STEPS
from dpdb.privacy.noise.acceptance import uniform_words
from dpdb.privacy.noise.system import geometric

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpdb.privacy.mechanisms.box import Box
    from dpdb.privacy.noise.protocols import Noise

_WORD = 2**64
_MOST_CANDIDATES = 2**14


def draws(mechanism: Box, noise: Noise, size: int) -> npt.NDArray[np.int64]:
    """`size` independent draws of the vector, as rows."""
    drawn = np.empty((size, len(mechanism.halves)), dtype=np.int64)
    have = 0
    while have < size:
        candidates = min(2 * (size - have) + 64, _MOST_CANDIDATES)
        fresh = _accepted(mechanism, noise, candidates)[: size - have]
        drawn[have : have + len(fresh)] = fresh
        have += len(fresh)
    return drawn


def _accepted(mechanism: Box, noise: Noise, candidates: int) -> npt.NDArray[np.int64]:
    """The accepted draws among so many candidates."""
    halves = mechanism.halves
    shift = max(0, *(-(-STEPS // (2 * half)) - 1 for half in halves))
    stages = geometric(STEPS / mechanism.rate, (len(halves) + 1) * candidates, noise)
    proposed = stages.reshape(candidates, -1).sum(axis=1)
    reach = proposed - shift
    kept = reach >= 0
    drawn = np.empty((candidates, len(halves)), dtype=np.int64)
    whole, rest = np.divmod(np.maximum(reach, 0), STEPS)
    for at, half in enumerate(halves):
        farthest = whole * half + rest * half // STEPS
        below = 2 * half * (proposed.astype(object) + 1 + at)
        numbers = _below(below, noise)
        kept &= (numbers < (2 * farthest.astype(object) + 1) * STEPS).astype(np.bool_)
        drawn[:, at] = np.where(kept, numbers // STEPS - farthest, 0)
    return np.asarray(drawn[kept])


def _below(bounds: npt.NDArray[Any], noise: Noise) -> npt.NDArray[Any]:
    """A uniform whole number below each of the bounds, which are Python integers."""
    words = uniform_words(2 * bounds.size, noise).astype(object).reshape(2, -1)
    digits, ones = words[0] * _WORD + words[1], _WORD**2
    numbers = digits * bounds // ones
    for place in (((digits + 1) * bounds - 1) // ones != numbers).nonzero()[0]:
        number, bits = int(digits[place]), ones
        while (number + 1) * bounds[place] - 1 >= (number * bounds[place] // bits + 1) * bits:
            number, bits = number * _WORD + int(uniform_words(1, noise)[0]), bits * _WORD
        numbers[place] = number * bounds[place] // bits
    return np.asarray(numbers)
