"""The figures on utility of [STW] and of [Hu] chapter 7."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
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
