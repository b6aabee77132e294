"""The composition of statements: three theorems that bound the loss of a session by sums.

An analyst chooses each statement, and how much it may spend, after seeing the answers before it.
All three theorems hold for such adaptive choices, as privacy filters ([RRUV16] section 4, [WRRW23]
Theorems 1 and 2).

Conversions between zero-concentrated differential privacy ([BS16]) and (ε, δ) are rounded to the
safe side: ε and δ up, ρ down.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache, reduce
from operator import add

from dpdb.privacy.accounting.loss import Loss, plus
from dpdb.privacy.search import crossing
from dpdb.records import dataclass

_LEAST_EPSILON = Fraction(1, 10**30)
_LEAST_DELTA = Fraction(1, 10**300)
"""The least ε and δ for which the searches, which compute in doubles, are accurate."""


def concentrated_delta(rho: Fraction, epsilon: Fraction) -> float:
    """A δ such that every ρ-zCDP mechanism is (ε, δ)-DP, for ρ, ε >= 0.

    By [CKS20] Proposition 12, δ = inf over α > 1 of exp((α-1)(αρ - ε))/(α-1) · (1 - 1/α)^α. With
    s = α - 1 its logarithm is

        f(s) = s((1+s)ρ - ε) - s·ln(1 + 1/s) - ln(1 + s),

    which is convex: f'(s) = (1+2s)ρ - ε - ln(1 + 1/s) increases, and is positive past
    s = max(1, (ε+1)/2ρ). Every s gives a valid bound, so the search need not reach the minimum.
    Each term of f has a relative error well below 2^-50, and 2^-50 of the terms is added.
    """
    if rho < 0 or epsilon < 0:
        raise ValueError("rho and epsilon must not be negative")
    if not rho:
        return 0.0
    p, e = float(rho), float(epsilon)
    low, high = -690.0, math.log(max(1.0, (e + 1) / (2 * p)))  # bounds of ln(s)
    for _ in range(50):
        middle = (low + high) / 2
        s = math.exp(middle)
        rises = (1 + 2 * s) * p - e - math.log1p(1 / s) > 0
        low, high = (low, middle) if rises else (middle, high)
    s = math.exp(high)
    terms = (s * (1 + s) * p, -s * e, -s * math.log1p(1 / s), -math.log1p(s))
    bound = math.fsum(terms) + (math.fsum(map(abs, terms)) + 1) * 2.0**-50
    return max(math.exp(min(bound, 0.0)), sys.float_info.min)


@lru_cache(maxsize=256)
def concentrated_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """The smallest ε such that ρ-zCDP implies (ε, δ)-DP, rounded up to 30 bits."""
    check_domain(delta)
    if concentrated_delta(rho, Fraction(0)) <= delta:
        return Fraction(0)
    return crossing(lambda epsilon: concentrated_delta(rho, epsilon) <= delta)[1]


def concentrated_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ such that ρ-zCDP implies (ε, δ)-DP, rounded down to 30 bits."""
    check_domain(delta, epsilon)
    return crossing(lambda rho: concentrated_delta(rho, epsilon) > delta)[0]


def check_domain(delta: Fraction, epsilon: Fraction = _LEAST_EPSILON) -> None:
    """Refuse a δ outside [10^-300, 1) and an ε below 10^-30."""
    if not _LEAST_DELTA <= delta < 1:
        raise ValueError("delta must be at least 1e-300 and below 1")
    if epsilon < _LEAST_EPSILON:
        raise ValueError("epsilon must be at least 1e-30")


_ZERO = Fraction(0)
_GRAIN = 2**120
"""Irrational and long terms are rounded up to multiples of 1/_GRAIN before they are added."""
_LARGEST_EXPONENT = Fraction(1_000)
_UPWARDS = Context(prec=30, rounding=ROUND_CEILING, Emax=10**6, Emin=-(10**6))


class Theorem(StrEnum):
    """The theorems by which losses add up."""

    SEQUENTIAL = "sequential composition"
    ADVANCED = "advanced composition"
    CONCENTRATED = "zero-concentrated DP"


@dataclass(frozen=True)
class ComposedLoss:
    """The sums over statements on the same rows from which the theorems compute a loss."""

    epsilon: Fraction = _ZERO
    delta: Fraction = _ZERO
    squares: Fraction = _ZERO
    """Σ ε²."""
    excess: Fraction = _ZERO
    """An upper bound on Σ ε·(e^ε - 1).

    An ε above _LARGEST_EXPONENT has e^_LARGEST_EXPONENT for e^ε: its term exceeds every budget
    anyway, and is short enough to be written.
    """
    rho: Fraction = _ZERO
    rho_delta: Fraction = _ZERO
    own_delta: Fraction = _ZERO
    """Σ of the part of each δ that is not in its `rho_delta`, which is what Gaussian noise needs.

    It is a sum of its own, as the largest of several δ and of their `rho_delta` would hide it.
    """

    @property
    def parts(self) -> tuple[Fraction, ...]:
        """All sums, in the order of the fields."""
        return (
            self.epsilon, self.delta, self.squares, self.excess, self.rho, self.rho_delta,
            self.own_delta,
        )  # fmt: skip

    @classmethod
    @lru_cache(maxsize=1024)
    def of(cls, loss: Loss) -> ComposedLoss:
        """The sums of a single statement with this loss."""
        epsilon = loss.epsilon
        return cls(
            epsilon,
            loss.delta,
            _up(epsilon**2),
            _up(epsilon * (_exp(min(epsilon, _LARGEST_EXPONENT)) - 1)),
            _up(loss.rho),
            loss.rho_delta,
            loss.own_delta,
        )

    def __add__(self, other: ComposedLoss) -> ComposedLoss:
        """The sums of statements that see the same rows."""
        return ComposedLoss(*map(plus, self.parts, other.parts))

    def __sub__(self, other: ComposedLoss) -> ComposedLoss:
        both = zip(self.parts, other.parts, strict=True)
        return ComposedLoss(*(a - b if b else a for a, b in both))

    def beyond(self, other: ComposedLoss) -> ComposedLoss:
        """The loss that is missing in `other` so that it is at least this, in each part."""
        both = zip(self.parts, other.parts, strict=True)
        return ComposedLoss(*(max(a - b, _ZERO) for a, b in both))

    def shortened(self) -> ComposedLoss:
        """The same sums, each rounded up to a multiple of 1/_GRAIN if its denominator is larger.

        Sums of fractions would otherwise get longer with each statement. Short ones stay exact:
        ten tenths are one.
        """
        if all(part.denominator <= _GRAIN for part in self.parts):
            return self
        return ComposedLoss(*(p if p.denominator <= _GRAIN else _up(p) for p in self.parts))

    def is_at_most(self, other: ComposedLoss) -> bool:
        """Whether no theorem can find more loss here than in `other`: no part is larger."""
        parts, others = self.parts, other.parts
        return parts == others or all(a <= b for a, b in zip(parts, others, strict=True))


NO_LOSS = ComposedLoss()


def parallel(statements: Iterable[ComposedLoss], rows: int) -> ComposedLoss:
    """The sums of statements no two of which see the same row.

    `rows` is the number of rows in which neighbours differ: 1 for add-remove, 2 for replace.

    A row that is added or removed concerns one statement, so only the largest loss counts ([McS09]
    Theorem 4). A row that is replaced can leave the rows of one statement and enter those of
    another, so the two largest losses count.
    """
    return reduce(add, largest(statements, rows), NO_LOSS)


def largest(statements: Iterable[ComposedLoss], number: int) -> tuple[ComposedLoss, ...]:
    """The `number` largest losses; fewer where there are fewer statements.

    The largest terms are taken for each sum separately, which can only overestimate.
    """
    parts = zip(*(sums.parts for sums in statements), strict=True)
    ranked = zip(*(sorted(part, reverse=True)[:number] for part in parts), strict=True)
    return tuple(ComposedLoss(*terms) for terms in ranked)


def sequential(sums: ComposedLoss) -> Fraction:
    """The ε of statements on the same rows: their sum ([McS09] Theorem 3, [STW] Theorem 1)."""
    return sums.epsilon


def advanced(sums: ComposedLoss, slack: Fraction) -> Fraction:
    """The ε at δ = `slack` + Σδ: √(2·ln(1/slack)·Σε²) + Σε·(e^ε - 1), rounded up.

    [DRV10] Theorem III.3 ([DR14] Theorem 3.20), here for losses that differ; for k equal losses it
    is √(2k·ln(1/δ'))·ε + k·ε·(e^ε - 1).
    """
    if not sums.squares:
        return _ZERO
    root = _UPWARDS.sqrt(_decimal(2 * log_inverse(slack) * sums.squares))
    # Decimal rounds square roots to the nearest; one more unit in the last digit rounds up.
    return Fraction(_UPWARDS.next_plus(root)) + sums.excess


def advanced_as_printed(epsilon: float, queries: int, slack: float) -> float:
    """Advanced composition as [Six] prints it, with k·ε² instead of k·ε·(e^ε - 1).

    The result is too small, since e^ε - 1 > ε; it serves for comparison only.
    """
    return float((2 * queries * log_inverse(Fraction(slack))) ** 0.5 * epsilon) + (
        queries * epsilon**2
    )


def concentrated(sums: ComposedLoss, slack: Fraction) -> Fraction:
    """The ε at δ = `slack` + Σ rho_delta of statements that are Σρ-zCDP together.

    [BS16] Lemma 1.7, and the conversion of [CKS20] Proposition 12.
    """
    return concentrated_epsilon(sums.rho, slack) if sums.rho else _ZERO


def log_inverse(probability: Fraction) -> Fraction:
    """ln(1/p), rounded up, for 0 < p < 1."""
    inverse = _decimal(1 / probability)
    return Fraction(_UPWARDS.next_plus(_UPWARDS.ln(inverse)))


def _exp(value: Fraction) -> Fraction:
    """e^value, rounded up."""
    return Fraction(_UPWARDS.next_plus(_UPWARDS.exp(_decimal(value))))


def _decimal(value: Fraction) -> Decimal:
    """The value with 30 digits, rounded up."""
    return _UPWARDS.divide(Decimal(value.numerator), Decimal(value.denominator))


def _up(value: Fraction) -> Fraction:
    """The value, rounded up to a multiple of 1/_GRAIN."""
    return Fraction(-(-value.numerator * _GRAIN // value.denominator), _GRAIN)
