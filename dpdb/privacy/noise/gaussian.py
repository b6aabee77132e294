"""Which discrete Laplace candidates make a discrete Gaussian.

"CKS" is Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

LARGEST_VARIANCE = 2**110
_MARGIN = 2.0**-40  # how near a comparison in doubles is not trusted
_PRECISION = 2**128


def check_variance(variance: Fraction) -> None:
    """Refuse a variance outside (0, 2^110]: σ up to 2^55 has Laplace candidates in 64 bits."""
    if not 0 < variance <= LARGEST_VARIANCE:
        raise ValueError("the variance of the noise must be over 0 and at most 2^110")


def workable(variance: Fraction) -> Fraction:
    """The variance, rounded up to a multiple of 2^-128 if its denominator is larger than that.

    Rounding up is sound: all that follows from ρ = Δ²/(2σ²) only gets better (CKS Theorem 4).
    The δ of a single integer may rise with the variance (`gaussian.variance_for`), but so small a
    step is lost in its margin, and a variance that `variance_for` gave is not rounded at all.
    Of noise under 2^-128 nothing is lost: a draw other than 0 has probability exp(-2^127).
    """
    check_variance(variance)
    if variance.denominator <= _PRECISION:
        return variance
    return Fraction(math.ceil(variance * _PRECISION), _PRECISION)


def accept_gaussian(
    y: npt.NDArray[np.int64],
    words: npt.NDArray[np.uint64],
    variance: Fraction,
    below_exp: Callable[[int, Fraction], bool],
) -> npt.NDArray[np.bool_]:
    """Bernoulli(exp(-γ)) for each y, γ = (|y| - σ²/t)²/(2σ²) with t = floor(σ) + 1, as in CKS.

    A random real in [0, 1), of which a word has the first 64 binary digits, is compared with
    exp(-γ) in doubles; if they are nearer than 2^-40, `below_exp` decides, in integers, what the
    word begins. So a comparison in doubles must only be right to that margin. Let u = 2^-53
    and z = |y|/σ - σ/t, so that exp(-γ) = exp(-z²/2). Each quotient is off by at most 4u of
    itself (variance, root, conversion, division), their difference by u of itself; and as σ < t,
    |y|/σ <= |z| + 1. Hence z is off by at most 6u(|z| + 2), whatever cancels; exp(-z²/2), with
    slope |z|exp(-z²/2), is then off by at most 12u. Rounding z²/2, the word and the difference
    adds 3u. That is under 2^-49 in all, and leaves the exponential function thousands of units
    in its last place.
    """
    import numpy as np  # noqa: PLC0415 - loaded by the first draw

    t = ceiling(variance)
    sigma = math.sqrt(variance)
    z = np.abs(y) / sigma - sigma / t
    over = words * 2.0**-64 - np.exp(z * z / -2)
    kept: npt.NDArray[np.bool_] = over < 0
    for near in (np.abs(over) <= _MARGIN).nonzero()[0]:
        gamma = (abs(int(y[near])) - variance / t) ** 2 / (2 * variance)
        kept[near] = below_exp(int(words[near]), gamma)
    return kept


def ceiling(variance: Fraction) -> int:
    """t = floor(σ) + 1, the scale of the candidates."""
    return math.isqrt(math.floor(variance)) + 1
