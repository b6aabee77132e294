"""What a release, or a statement, can reveal about one privacy unit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

_ZERO = Fraction(0)


@dataclass(frozen=True)
class Loss:
    """A guarantee in the two measures that composition theorems add up.

    (epsilon, delta)-differential privacy (Dwork and Roth 2014, Definition 2.4), and
    rho_delta-approximate rho-zCDP (Bun and Steinke 2016, Definitions 1.1 and 8.1).
    """

    epsilon: Fraction = _ZERO
    delta: Fraction = _ZERO
    rho: Fraction = _ZERO
    rho_delta: Fraction = _ZERO

    def __add__(self, other: Loss) -> Loss:
        """Both on the same rows: all four add up (Dwork and Roth, Theorem 3.16; Bun and
        Steinke, Lemma 1.7)."""
        return Loss(
            self.epsilon + other.epsilon,
            self.delta + other.delta,
            self.rho + other.rho,
            self.rho_delta + other.rho_delta,
        )


def pure(epsilon: Fraction) -> Loss:
    """Of an ε-DP release: it is ½ε²-zCDP (Bun and Steinke 2016, Proposition 1.4)."""
    return Loss(epsilon, rho=epsilon**2 / 2)
