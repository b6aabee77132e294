"""Exact comparisons of random reals with exp(-γ), and the binary digits of exp(-γ)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    import numpy as np
    import numpy.typing as npt

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
