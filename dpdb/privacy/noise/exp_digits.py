"""The binary digits of exp(-γ), for comparisons with exp(-γ) that must be exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction


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
