"""Exact comparisons of random reals with chances, and the acceptance of Gaussian candidates."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dpdb.privacy.noise.protocols import Noise

_MARGIN = 2.0**-40  # comparisons in doubles of numbers this near are repeated in integers


def are_below_exp(
    words: npt.NDArray[np.uint64],
    gammas: npt.NDArray[np.float64],
    gamma_at: Callable[[int], Fraction],
    below_exp: Callable[[int, Fraction], bool],
) -> npt.NDArray[np.bool_]:
    """Bernoulli(exp(-γ)) for each γ: whether a random real in [0, 1) is below exp(-γ).

    Each word holds the first 64 binary digits of a real, which is compared with exp(-γ) in doubles.
    If the two are nearer than 2^-40, `below_exp` compares them exactly, in integers, with the exact
    γ that `gamma_at` gives. So `gammas` must only be so accurate that exp(-γ) is off by far less
    than 2^-40.
    """
    import numpy as np  # noqa: PLC0415 - loaded by the first draw

    over = words * 2.0**-64 - np.exp(-gammas)
    below: npt.NDArray[np.bool_] = over < 0
    for near in (np.abs(over) <= _MARGIN).nonzero()[0]:
        below[near] = below_exp(int(words[near]), gamma_at(int(near)))
    return below


def exp_digits(gamma: Fraction, bits: int) -> int:
    """floor(2^bits · exp(-gamma)), exactly, for a gamma >= 0.

    For γ = a/b, the partial sum Σ (-γ)^k/k! up to k = n has the denominator b^n·n! and the
    numerator N(n) = n·b·N(n-1) + (-a)^n. From n = γ on the terms shrink and the partial sums lie on
    alternate sides of exp(-γ), which is irrational unless γ = 0 ([Lam61]). So once two successive
    sums agree on the digits, these are the digits of exp(-γ). For γ >= bits all digits are 0.
    """
    if gamma and gamma >= bits:
        return 0
    a, b = gamma.numerator, gamma.denominator
    n, power, above, below, before, digits = 0, 1, 1, 1, -1, 1 << bits
    while n <= gamma or digits != before:
        n += 1
        power *= -a
        above = n * b * above + power
        below *= n * b
        before, digits = digits, (above << bits) // below
    return digits


def exp_bounds(gamma: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds of exp(-gamma), for a gamma >= 0, that agree on about so many binary digits.

    They are powers of bounds of exp(-gamma/n) for the least n >= gamma, so that their time grows
    with gamma as that of products of 2·gamma digits: exp_digits has gamma terms that long.
    """
    parts = max(math.ceil(gamma), 1)
    own, bits = digits + parts.bit_length() + 2, digits + 2 * parts + 2
    known = exp_digits(gamma / parts, own)

    def powered(base: int, rounded: Callable[[int], int]) -> Fraction:
        power = 1 << bits
        for bit in f"{parts:b}":
            power = rounded(power * power)
            power = rounded(power * base) if bit == "1" else power
        return Fraction(power, 1 << bits)

    low, high = (each << (bits - own) for each in (known, known + 1))
    return powered(low, lambda x: x >> bits), powered(high, lambda x: -(-x >> bits))


ChanceBounds = Callable[[int], tuple[Fraction, Fraction]]
"""A chance, from below and from above, by this number of binary digits of what it follows from."""
_WORD = 64


def coins(bounds: ChanceBounds, size: int, noise: Noise) -> npt.NDArray[np.bool_]:
    """Independent coins that are true with this chance, exactly.

    A random real is compared with the bounds, with as many digits of both as it takes.
    """
    import numpy as np  # noqa: PLC0415 - loaded by the first draw

    words = uniform_words(size, noise)
    low, high = (end * 2**_WORD for end in bounds(4 * _WORD))
    least, most = math.floor(low), min(max(math.ceil(high) - 1, 0), 2**_WORD - 1)
    true: npt.NDArray[np.bool_] = words < np.uint64(least)
    for near in ((words >= np.uint64(least)) & (words <= np.uint64(most))).nonzero()[0]:
        true[near] = _coin(bounds, int(words[near]), noise)
    return true


def _coin(bounds: ChanceBounds, word: int, noise: Noise) -> bool:
    """Whether a real that begins with the 64 digits of `word` is below the chance."""
    bits = _WORD
    while True:
        low, high = bounds(4 * bits)
        if word + 1 <= low * 2**bits:
            return True
        if word >= high * 2**bits:
            return False
        word, bits = word << _WORD | noise.below(2**_WORD), bits + _WORD


def uniform_words(size: int, noise: Noise) -> npt.NDArray[np.uint64]:
    """Independent uniform words of 64 bits."""
    import numpy as np  # noqa: PLC0415 - loaded by the first draw

    whole = noise.below(2 ** (_WORD * size)) if size else 0
    return np.frombuffer(whole.to_bytes(_WORD // 8 * size, "little"), dtype="<u8")


LARGEST_VARIANCE = 2**110
_PRECISION = 2**128  # the largest denominator of a variance that is drawn


def check_variance(variance: Fraction) -> None:
    """Raise ValueError for a variance outside (0, 2^110].

    For σ up to 2^55 the Laplace candidates fit 64 bits.
    """
    if not 0 < variance <= LARGEST_VARIANCE:
        raise ValueError("the variance of the noise must be over 0 and at most 2^110")


def workable(variance: Fraction) -> Fraction:
    """The variance, rounded up to a multiple of 2^-128 if its denominator is larger than 2^128.

    Rounding up is sound: ρ = Δ²/(2σ²) becomes smaller ([CKS20] Theorem 4). The δ of a single
    integer may rise with the variance (see `gaussian_calibration.variance_for`), but such a small
    step is within the margin of its bound, and the variances of `variance_for` are not rounded.
    A variance under 2^-128 needs no precision: a draw differs from 0 with probability exp(-2^127).
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
    """Bernoulli(exp(-γ)) for each y, with γ = (|y| - σ²/t)²/(2σ²) and t = floor(σ) + 1 ([CKS20]).

    Each word holds the first 64 binary digits of a random real, which is compared with exp(-γ): see
    `are_below_exp`. In doubles this comparison must be accurate to 2^-40.

    Let u = 2^-53 and z = |y|/σ - σ/t, so that exp(-γ) = exp(-z²/2). Each quotient has a relative
    error of at most 4u (variance, root, conversion, division) and their difference one of u. Since
    σ < t, |y|/σ <= |z| + 1. Hence the error of z is at most 6u(|z| + 2), also under cancellation,
    and the error of exp(-z²/2), whose slope is |z|exp(-z²/2), is at most 12u. Rounding z²/2, the
    word and the difference adds 3u. This is under 2^-49 in all, which leaves thousands of units in
    the last place for the exponential function itself.
    """
    import numpy as np  # noqa: PLC0415 - loaded by the first draw

    t = ceiling(variance)
    sigma = math.sqrt(variance)
    z = np.abs(y) / sigma - sigma / t
    return are_below_exp(
        words, z * z / 2, lambda i: (abs(int(y[i])) - variance / t) ** 2 / (2 * variance), below_exp
    )


def ceiling(variance: Fraction) -> int:
    """The scale t = floor(σ) + 1 of the Laplace candidates."""
    return math.isqrt(math.floor(variance)) + 1
