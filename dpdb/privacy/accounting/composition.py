"""What several statements together reveal: three theorems over the same sums.

A session's statements are chosen one after the other, each in the light of the answers before
it, and so is what each may spend. All three theorems hold then, too: as privacy filters (Rogers,
Roth, Ullman, Vadhan 2016, section 4; Whitehouse, Ramdas, Rogers, Wu 2023, Theorems 1 and 2).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from dpdb.policy.budget import LARGEST_EPSILON
from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.accounting.zcdp import concentrated_epsilon

_ZERO = Fraction(0)
_GRAIN = 2**120
"""Sums of squares are kept in units of 1/_GRAIN, rounded up."""
_UPWARDS = Context(prec=30, rounding=ROUND_CEILING, Emax=10**6, Emin=-(10**6))


@dataclass(frozen=True)
class ComposedLoss:
    """What the theorems need to know of the statements so far."""

    epsilon: Fraction = _ZERO
    delta: Fraction = _ZERO
    squares: Fraction = _ZERO
    """Σ ε²."""
    excess: Fraction = _ZERO
    """Σ ε·(e^ε - 1), or a little more. Of an ε over that of any budget, something over it, too."""
    rho: Fraction = _ZERO
    rho_delta: Fraction = _ZERO

    @property
    def parts(self) -> tuple[Fraction, ...]:
        """All of them, in order."""
        return (
            self.epsilon, self.delta, self.squares, self.excess, self.rho, self.rho_delta,
        )  # fmt: skip

    @classmethod
    @lru_cache(maxsize=1024)
    def of(cls, loss: Loss) -> ComposedLoss:
        """One statement's part in each sum."""
        epsilon = loss.epsilon
        return cls(
            epsilon,
            loss.delta,
            _up(epsilon**2),
            _up(epsilon * (_exp(min(epsilon, LARGEST_EPSILON)) - 1)),
            _up(loss.rho),
            loss.rho_delta,
        )

    def __add__(self, other: ComposedLoss) -> ComposedLoss:
        """Statements that see the same rows."""
        return ComposedLoss(*(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    def __sub__(self, other: ComposedLoss) -> ComposedLoss:
        return ComposedLoss(*(a - b for a, b in zip(self.parts, other.parts, strict=True)))

    def is_at_most(self, other: ComposedLoss) -> bool:
        """Whether no theorem can find more loss here than in `other`: no part is larger."""
        return all(a <= b for a, b in zip(self.parts, other.parts, strict=True))


NO_LOSS = ComposedLoss()


def parallel(statements: Iterable[ComposedLoss], rows: int) -> ComposedLoss:
    """Statements of which no two see the same row, where neighbours differ in so many rows.

    One row that is there or not concerns one statement: the largest loss counts (McSherry 2009,
    Theorem 4). A row that is replaced can leave one statement's rows and enter another's, and
    concerns two. Taken for each sum by itself, which can only be more.
    """
    parts = zip(*(sums.parts for sums in statements), strict=True)
    return ComposedLoss(*(sum(sorted(part, reverse=True)[:rows], _ZERO) for part in parts))


def sequential(sums: ComposedLoss) -> Fraction:
    """The ε of statements on the same rows: the sum of theirs.

    McSherry 2009, Theorem 3 (Shoaran, Thomo, Weber, Theorem 1).
    """
    return sums.epsilon


def advanced(sums: ComposedLoss, slack: Fraction) -> Fraction:
    """The ε at δ = `slack` + Σδ: √(2·ln(1/slack)·Σε²) + Σε·(e^ε - 1), rounded up.

    Dwork, Rothblum, Vadhan 2010, Theorem III.3 (Dwork and Roth 2014, Theorem 3.20), here for
    losses that differ; with k alike it is √(2k·ln(1/δ'))·ε + k·ε·(e^ε - 1).
    """
    if not sums.squares:
        return _ZERO
    root = _UPWARDS.sqrt(_decimal(2 * log_inverse(slack) * sums.squares))
    # A square root is rounded to the nearest: one unit in the last of 30 digits is for that.
    return Fraction(_UPWARDS.next_plus(root)) + sums.excess


def advanced_as_printed(epsilon: float, queries: int, slack: float) -> float:
    """Advanced composition with k·ε² for k·ε·(e^ε - 1), as "6 Key Equations" prints it.

    It is a little too small, since e^ε - 1 > ε: for comparison only.
    """
    return float((2 * queries * log_inverse(Fraction(slack))) ** 0.5 * epsilon) + (
        queries * epsilon**2
    )


def concentrated(sums: ComposedLoss, slack: Fraction) -> Fraction:
    """The ε at δ = `slack` + Σ rho_delta, of statements that are Σρ-zCDP together.

    Bun and Steinke 2016, Lemma 1.7, and the conversion of Canonne, Kamath, Steinke 2020.
    """
    return concentrated_epsilon(sums.rho, slack) if sums.rho else _ZERO


def log_inverse(probability: Fraction) -> Fraction:
    """ln(1/p), rounded up, for 0 < p < 1."""
    inverse = _decimal(1 / probability)
    return Fraction(_UPWARDS.next_plus(_UPWARDS.ln(inverse)))


def _exp(value: Fraction) -> Fraction:
    return Fraction(_UPWARDS.next_plus(_UPWARDS.exp(_decimal(value))))


def _decimal(value: Fraction) -> Decimal:
    return _UPWARDS.divide(Decimal(value.numerator), Decimal(value.denominator))


def _up(value: Fraction) -> Fraction:
    return Fraction(-(-value.numerator * _GRAIN // value.denominator), _GRAIN)
