"""The figures on utility of [STW] and of [Hu] chapter 7."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist

from dpdb.lab.plots.figures import ChartLine, Lines
from dpdb.lab.studies.accuracy import Differential, minimum_true_answer, noise_quantile

EPSILONS = (Fraction("0.01"), Fraction("0.05"), Fraction("0.1"))
PROBABILITIES = (Fraction("0.1"), Fraction("0.3"), Fraction("0.5"))
"""The curves of figures 1 and 2: the paper has three of each, and prints no data."""

_PERCENTS = [Fraction(percent, 100) for percent in range(1, 100)]
_SMALL = [Fraction(x, 1000) for x in range(10, 201, 2)]
"""Values of ε, or of a relative error, where the minimum true answer changes much."""


def noise_by_probability(sensitivity: Fraction, epsilons: Sequence[Fraction]) -> Lines:
    """Figure 1: z against pr, a curve for each ε (eq. 4)."""

    def curve(epsilon: Fraction) -> ChartLine:
        scale = _scale(sensitivity, epsilon)
        points = [(float(pr), noise_quantile(scale, pr)) for pr in _PERCENTS]
        return ChartLine(f"ε = {float(epsilon):g}", points)

    return Lines(
        f"Noise against probability, Δ = {float(sensitivity):g}",
        "pr, how often noise is at least so large",
        [curve(epsilon) for epsilon in epsilons],
        up="z, the noise",
    )


def answer_by_epsilon(
    sensitivity: Fraction, probabilities: Sequence[Fraction], threshold: Fraction
) -> Lines:
    """Figure 2: the minimum true answer against ε, a curve for each pr (eq. 6)."""

    def curve(pr: Fraction) -> ChartLine:
        points = [
            (float(epsilon), minimum_true_answer(_scale(sensitivity, epsilon), pr, threshold))
            for epsilon in _SMALL
        ]
        return ChartLine(f"pr = {float(pr):g}", points)

    return Lines(
        f"Minimum true answer against ε, relative error {float(threshold):g}, "
        f"Δ = {float(sensitivity):g}",
        "ε",
        [curve(pr) for pr in probabilities],
        up="minimum true answer",
    )


def answer_by_relative_error(
    sensitivity: Fraction, probabilities: Sequence[Fraction], epsilon: Fraction
) -> Lines:
    """Figure 2 with the relative error across, at one ε (eq. 6)."""
    scale = _scale(sensitivity, epsilon)

    def curve(pr: Fraction) -> ChartLine:
        points = [(float(re), minimum_true_answer(scale, pr, re)) for re in _SMALL]
        return ChartLine(f"pr = {float(pr):g}", points)

    return Lines(
        f"Minimum true answer against relative error, ε = {float(epsilon):g}, "
        f"Δ = {float(sensitivity):g}",
        "relative error",
        [curve(pr) for pr in probabilities],
        up="minimum true answer",
    )


def noise_densities(sensitivity: Fraction, epsilons: Sequence[Fraction]) -> Lines:
    """How likely each noise is at each ε: Laplace(0, Δ/ε) ([Hu] equation 7.6)."""
    scales = [_scale(sensitivity, epsilon) for epsilon in epsilons]
    across = _around_zero(5 * float(max(scales)))
    return Lines(
        f"Density of the noise, Δ = {float(sensitivity):g}",
        "noise",
        [
            ChartLine(
                f"ε = {float(epsilon):g}: Laplace(0, {float(scale):g})",
                [(x, _laplace_density(x, 0, float(scale))) for x in across],
            )
            for epsilon, scale in zip(epsilons, scales, strict=True)
        ],
        up="density",
    )


def laplace_densities() -> Lines:
    """Hu's figure 7.1: four Laplace distributions."""
    across = _around_zero(10)
    return Lines(
        "Densities of four Laplace distributions",
        "x",
        [
            ChartLine(f"Laplace({mean}, {s})", [(x, _laplace_density(x, mean, s)) for x in across])
            for mean, s in ((0, 0.1), (0, 0.5), (0, 1), (-5, 1))
        ],
        up="density",
    )


def laplace_and_normal() -> Lines:
    """Hu's figure 7.2: a Laplace and a normal distribution, both of mean 0 and variance 1."""
    across = _around_zero(10)
    s = math.sqrt(1 / 2)
    return Lines(
        "A Laplace and a normal distribution of mean 0 and variance 1",
        "x",
        [
            ChartLine("Laplace(0, sqrt(1/2))", [(x, _laplace_density(x, 0, s)) for x in across]),
            ChartLine("Normal(0, 1)", [(x, NormalDist().pdf(x)) for x in across]),
        ],
        up="density",
    )


def _laplace_density(x: float, mean: float, scale: float) -> float:
    """e^(-|x - μ| / s) / 2s ([Hu] equation 7.4)."""
    return math.exp(-abs(x - mean) / scale) / (2 * scale)


def _scale(sensitivity: Fraction, epsilon: Fraction) -> Fraction:
    return Differential.uniform([sensitivity], epsilon).alpha


def _around_zero(reach: float) -> list[float]:
    """Points with 0 and ±reach/2 among them, where densities have their peaks."""
    return [reach * step / 200 for step in range(-200, 201)]
