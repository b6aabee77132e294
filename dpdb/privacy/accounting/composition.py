"""The composition of statements: three theorems that bound the loss of a session by sums.

An analyst chooses each statement, and how much it may spend, after seeing the answers before it.
All three theorems hold for such adaptive choices, as privacy filters ([RRUV16] section 4, [WRRW23]
Theorems 1 and 2).
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache, reduce
from operator import add

from dpdb.privacy.accounting.loss import Loss, plus
from dpdb.privacy.accounting.zcdp import concentrated_epsilon
from dpdb.records import dataclass

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

    @property
    def parts(self) -> tuple[Fraction, ...]:
        """All sums, in the order of the fields."""
        return (
            self.epsilon, self.delta, self.squares, self.excess, self.rho, self.rho_delta,
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
        return all(a <= b for a, b in zip(self.parts, other.parts, strict=True))


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
