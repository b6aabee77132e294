"""The accuracy of a noisy answer: the size of the noise, and the least answer worth asking for.

After [STW], with the numbers of its equations.
Noise follows the Laplace distribution. Budgets and scales are exact fractions; results with a
logarithm in them are doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from statistics import NormalDist

from dpdb.errors import InvalidOption
from dpdb.lab.figures import ChartLine, Lines
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


EPSILONS = (Fraction("0.01"), Fraction("0.05"), Fraction("0.1"))
PROBABILITIES = (Fraction("0.1"), Fraction("0.3"), Fraction("0.5"))
"""The curves of figures 1 and 2: the paper has three of each, and prints no data."""

_PERCENTS = [Fraction(percent, 100) for percent in range(1, 100)]
_SMALL = [Fraction(x, 1000) for x in range(10, 201, 2)]
"""Values of ε, or of a relative error, where the minimum true answer changes much."""


def noise_by_probability(sensitivity: Fraction, epsilons: Sequence[Fraction]) -> Lines:
    """Figure 1: z against pr, a curve for each ε (eq. 4)."""
    return Lines(
        f"Noise against probability, Δ = {float(sensitivity):g}",
        "pr, how often noise is at least so large",
        [
            _curve("ε", epsilon, _PERCENTS, partial(noise_quantile, _scale(sensitivity, epsilon)))
            for epsilon in epsilons
        ],
        up="z, the noise",
    )


def answer_by_epsilon(
    sensitivity: Fraction, probabilities: Sequence[Fraction], threshold: Fraction
) -> Lines:
    """Figure 2: the minimum true answer against ε, a curve for each pr (eq. 6)."""

    def answer(epsilon: Fraction, pr: Fraction) -> float:
        return minimum_true_answer(_scale(sensitivity, epsilon), pr, threshold)

    return Lines(
        f"Minimum true answer against ε, relative error {float(threshold):g}, "
        f"Δ = {float(sensitivity):g}",
        "ε",
        [_curve("pr", pr, _SMALL, partial(answer, pr=pr)) for pr in probabilities],
        up="minimum true answer",
    )


def answer_by_relative_error(
    sensitivity: Fraction, probabilities: Sequence[Fraction], epsilon: Fraction
) -> Lines:
    """Figure 2 with the relative error across, at one ε (eq. 6)."""
    scale = _scale(sensitivity, epsilon)
    return Lines(
        f"Minimum true answer against relative error, ε = {float(epsilon):g}, "
        f"Δ = {float(sensitivity):g}",
        "relative error",
        [_curve("pr", pr, _SMALL, partial(minimum_true_answer, scale, pr)) for pr in probabilities],
        up="minimum true answer",
    )


def _curve(
    name: str, value: Fraction, across: Sequence[Fraction], height: Callable[[Fraction], float]
) -> ChartLine:
    points = [(float(x), height(x)) for x in across]
    return ChartLine(f"{name} = {float(value):g}", points)


def noise_densities(sensitivity: Fraction, epsilons: Sequence[Fraction]) -> Lines:
    """Densities of the noise at each ε: Laplace(0, Δ/ε) ([Hu] equation 7.6)."""
    scales = [float(_scale(sensitivity, epsilon)) for epsilon in epsilons]
    curves = {
        f"ε = {float(epsilon):g}: Laplace(0, {scale:g})": partial(_laplace_density, 0, scale)
        for epsilon, scale in zip(epsilons, scales, strict=True)
    }
    title = f"Density of the noise, Δ = {float(sensitivity):g}"
    return _densities(title, "noise", 5 * max(scales), curves)


def laplace_densities() -> Lines:
    """Hu's figure 7.1: four Laplace distributions."""
    distributions = ((0, 0.1), (0, 0.5), (0, 1), (-5, 1))
    curves = {f"Laplace({mean}, {s})": partial(_laplace_density, mean, s)
              for mean, s in distributions}  # fmt: skip
    return _densities("Densities of four Laplace distributions", "x", 10, curves)


def laplace_and_normal() -> Lines:
    """Hu's figure 7.2: a Laplace and a normal distribution, both of mean 0 and variance 1."""
    curves: dict[str, Callable[[float], float]] = {
        "Laplace(0, sqrt(1/2))": partial(_laplace_density, 0, math.sqrt(1 / 2)),
        "Normal(0, 1)": NormalDist().pdf,
    }
    title = "A Laplace and a normal distribution of mean 0 and variance 1"
    return _densities(title, "x", 10, curves)


def _densities(
    title: str, across: str, reach: float, curves: Mapping[str, Callable[[float], float]]
) -> Lines:
    """Densities from -reach to reach; 0 and ±reach/2, where they have peaks, are points."""
    places = [reach * step / 200 for step in range(-200, 201)]
    lines = [ChartLine(label, [(x, curve(x)) for x in places]) for label, curve in curves.items()]
    return Lines(title, across, lines, up="density")


def _laplace_density(mean: float, scale: float, x: float) -> float:
    """e^(-|x - μ| / s) / 2s ([Hu] equation 7.4)."""
    return math.exp(-abs(x - mean) / scale) / (2 * scale)


def _scale(sensitivity: Fraction, epsilon: Fraction) -> Fraction:
    return Differential.uniform([sensitivity], epsilon).alpha
