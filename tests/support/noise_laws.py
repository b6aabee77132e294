"""The laws that noise is to follow, and how well draws follow them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from fractions import Fraction
from random import Random
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from dpdb.privacy.noise.system import SystemNoise

Draws = npt.NDArray[np.int64]
Law = Callable[[int], float]
ALPHA = 1e-6
AWKWARD = Fraction(10**30 + 1, 3 * 10**28)  # about 33.3, and too long for a machine word


def seeded(seed: int) -> SystemNoise:
    return SystemNoise(Random(seed).randbytes)


def words(*values: int) -> bytes:
    return np.array(values, dtype=np.uint64).tobytes()


def script(replies: Iterable[bytes]) -> Callable[[int], bytes]:
    """Entropy that gives these replies, each of which must have the length asked for."""
    remaining = iter(replies)

    def entropy(size: int) -> bytes:
        reply = next(remaining)
        assert len(reply) == size
        return reply

    return entropy


def cdf(scale: Fraction, x: int) -> float:
    """P(X <= x), summed from P(x) = (1-r)/(1+r) r^|x| with r = exp(-1/scale)."""
    below_or_over = math.exp(-float((-x if x < 0 else x + 1) / scale)) / (1 + math.exp(-1 / scale))
    return below_or_over if x < 0 else 1 - below_or_over


def gaussian(variance: Fraction) -> Law:
    """The distribution function of the discrete Gaussian, from P(x) ∝ exp(-x²/(2·variance)).

    Summed up to σ = 100. From there the normal probability up to x + 1/2 serves: the midpoint rule
    is off by the slope of the density over 24, exp(-1/2)/√(2π)/(24σ²) < 0.0101/σ² at most, of
    which 200,000 draws cannot see the 1e-6.
    """
    sigma = math.sqrt(variance)
    if sigma > 100:
        return lambda x: NormalDist(0, sigma).cdf(x + 0.5)
    reach = math.ceil(39 * sigma)
    terms = np.exp(np.arange(-reach, reach + 1) ** 2 / (-2 * float(variance)))
    sums = terms.cumsum() / terms.sum()
    return lambda x: float(sums[min(x + reach, 2 * reach)]) if x >= -reach else 0.0


def cells(law: Law, reach: float, size: int) -> list[int]:
    """Right ends of cells, near equal in weight, with 20 expected draws at least in each."""
    all_of_it = range(-math.ceil(reach), math.ceil(reach))
    ends: list[int] = []
    for q in (0.001, 0.01, *(i / 20 for i in range(1, 20)), 0.99, 0.999):
        end = all_of_it[bisect_left(all_of_it, q, key=law)]
        weight = law(end) - (law(ends[-1]) if ends else 0)
        if size * min(weight, 1 - law(end)) >= 20:
            ends.append(end)
    return ends[: len(ends) // 2 * 2]  # an even number of degrees of freedom


def weights(law: Law, ends: list[int]) -> Draws:
    return np.diff([0, *(law(end) for end in ends), 1])


def chi_square_p(observed: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """The tail of Pearson's statistic. For 2m degrees of freedom it is that of a Poisson sum:
    P(χ² > x) = exp(-x/2) Σ_{j<m} (x/2)^j / j!  (Abramowitz and Stegun 26.4.21)."""
    counts, shares = np.asarray(observed), np.asarray(probabilities)
    expected = counts.sum() * shares
    half = float(((counts - expected) ** 2 / expected).sum()) / 2
    m, odd = divmod(len(counts) - 1, 2)
    assert m > 0
    assert not odd
    log_half = math.log(max(half, 1e-300))
    return sum(math.exp(j * log_half - math.lgamma(j + 1) - half) for j in range(m))


def fit_of(draws: Draws, law: Law, reach: float) -> float:
    ends = cells(law, reach, draws.size)
    counts = np.bincount(np.searchsorted(ends, draws), minlength=len(ends) + 1)
    return chi_square_p(counts, weights(law, ends))
