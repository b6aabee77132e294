"""The binary digits of exp(-γ), for comparisons that must be exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction


def exp_digits(gamma: Fraction, bits: int) -> int:
    """floor(2^bits · exp(-gamma)), exactly, for a gamma >= 0.

    The partial sums of Σ (-γ)^n/n!, with b^n·n! for denominator where γ = a/b, have
    N(n) = n·b·N(n-1) + (-a)^n above the line. Past n = γ the terms shrink and the sums lie on
    alternate sides of exp(-γ), which is irrational unless γ = 0 (Lambert 1761), so once two
    neighbours agree on the digits those are the digits of exp(-γ). For γ >= bits all are 0.
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
