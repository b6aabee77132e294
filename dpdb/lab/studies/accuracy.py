"""The accuracy of a noisy answer: the size of the noise, and the least answer worth asking for.

After [STW], with the numbers of its equations.
Noise follows the Laplace distribution. Budgets and scales are exact fractions; results with a
logarithm in them are doubles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dpdb.errors import InvalidOption
from dpdb.policy.budget import LARGEST_QUERIES, SMALLEST_DELTA, valid_epsilon
from dpdb.privacy.accounting.composition import (
    ComposedLoss,
    advanced,
    advanced_as_printed,
    concentrated,
    sequential,
)
from dpdb.privacy.accounting.loss import pure
from dpdb.records import dataclass

LARGEST = Fraction(10**50)
"""Numbers must be at most this, and at least its inverse, so that no result overflows."""


@dataclass(frozen=True)
class Differential:
    """DIFF (section 6): queries on one database, their noise in proportion to an index.

    With an index of equal numbers this is the usual mechanism of one scale for all, λ = ΣΔ/ε
    (sections 2 and 5), and with one query λ = Δ/ε. Sensitivities and the index's numbers are
    positive, one for each query; others raise `InvalidOption`, here and in the functions below.
    """

    sensitivities: tuple[Fraction, ...]
    index: tuple[Fraction, ...]
    epsilon: Fraction

    def __post_init__(self) -> None:
        valid_epsilon(self.epsilon)
        if not 1 <= len(self.sensitivities) == len(self.index):
            raise InvalidOption("the noise index needs one number for each query")
        for sensitivity in self.sensitivities:
            _positive("a sensitivity", sensitivity)
        for number in self.index:
            _positive("a noise index", number)

    @classmethod
    def uniform(cls, sensitivities: Sequence[Fraction], epsilon: Fraction) -> Differential:
        """The same scale for every query."""
        return cls(tuple(sensitivities), (Fraction(1),) * len(sensitivities), epsilon)

    @property
    def weight(self) -> Fraction:
        """Σ Δ_i / γ_i."""
        pairs = zip(self.sensitivities, self.index, strict=True)
        return sum((delta / gamma for delta, gamma in pairs), start=Fraction(0))

    @property
    def alpha(self) -> Fraction:
        """α = (1/ε) Σ Δ_i / γ_i (eq. 8)."""
        return self.weight / self.epsilon

    @property
    def scales(self) -> tuple[Fraction, ...]:
        """λ_i = α γ_i (eq. 7)."""
        return tuple(self.alpha * gamma for gamma in self.index)

    @property
    def epsilons(self) -> tuple[Fraction, ...]:
        """ε_i = Δ_i / λ_i (section 6); they add up to ε."""
        pairs = zip(self.sensitivities, self.scales, strict=True)
        return tuple(delta / scale for delta, scale in pairs)

    def satisfies(
        self, query: int, answer: Fraction, probability: Fraction, threshold: Fraction
    ) -> bool:
        """Whether this query's relative error is within the threshold 1 - pr of the time (eq. 9).

        Σ Δ_j/γ_j ≤ -(re_i/γ_i) · ε q_i(D) / ln(pr), times the positive -ln(pr).
        """
        _positive("an answer", answer)
        _positive("a relative error", threshold)
        allowed = threshold / self.index[query] * self.epsilon * answer
        return self.weight * _surprisal(probability) <= allowed


def noise_quantile(scale: Fraction, probability: Fraction) -> float:
    """The size z that noise of scale λ reaches with a probability: -λ ln(pr) (eq. 4).

    Pr(|noise| ≥ z) = pr. In the unit of the scale, which is above 0; for 0 < pr < 1.
    """
    if scale <= 0:
        raise InvalidOption("a scale must be above 0")
    return float(scale) * _surprisal(probability)


def relative_error(noise: float, answer: Fraction) -> float:
    """The noise as a share of the true answer: |z| / q(D) (eq. 2 and 5)."""
    _positive("an answer", answer)
    return abs(noise) / float(answer)


def minimum_true_answer(scale: Fraction, probability: Fraction, threshold: Fraction) -> float:
    """MTA: the least true answer with a relative error within the threshold 1 - pr of the time.

    -λ ln(pr) / re, which is eq. 6 for λ = Δ/ε and eq. 10 for DIFF's λ_i.
    """
    _positive("a relative error", threshold)
    return noise_quantile(scale, probability) / float(threshold)


def _surprisal(probability: Fraction) -> float:
    """-ln(pr)."""
    if not 1 / LARGEST <= probability < 1:
        raise InvalidOption("a probability must be above 0 and below 1")
    return math.log(1 / probability)


def _positive(name: str, value: Fraction) -> None:
    if not 1 / LARGEST <= value <= LARGEST:
        raise InvalidOption(f"{name} must be above 0, from 1e-50 to 1e50")


@dataclass(frozen=True)
class ComposedEpsilon:
    """The ε of `queries` queries by each theorem; all but `sequential` hold at δ = `delta`."""

    queries: int
    delta: float
    sequential: float
    advanced: float
    advanced_as_printed: float
    """Advanced composition with k·ε² in place of k·ε·(e^ε - 1): often printed, but no bound."""
    concentrated: float


def check_delta(delta: Fraction) -> None:
    """Refuse a δ that is too small to compute with, or 1 as a double."""
    if delta < SMALLEST_DELTA or float(delta) >= 1:
        raise InvalidOption("delta must be above 0, from 1e-100, and below 1")


def composed_epsilon(epsilon: Fraction, queries: int, delta: Fraction) -> ComposedEpsilon:
    """The composed ε of `queries` Laplace releases of `epsilon` each."""
    if not 1 <= queries <= LARGEST_QUERIES:
        raise InvalidOption("queries is a whole number, at least 1")
    check_delta(delta)
    sums = ComposedLoss(*(queries * part for part in ComposedLoss.of(pure(epsilon)).parts))
    return ComposedEpsilon(
        queries,
        float(delta),
        float(sequential(sums)),
        float(advanced(sums, delta)),
        advanced_as_printed(float(epsilon), queries, float(delta)),
        float(concentrated(sums, delta)),
    )
