"""The formulas on utility, held against the digits that the papers print."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.errors import InvalidOption
from dpdb.lab.figures import ChartLine
from dpdb.lab.studies import accuracy
from dpdb.lab.studies.accuracy import (
    Differential,
    minimum_true_answer,
    noise_quantile,
    relative_error,
)

CENT, TENTH, ONE = Fraction(1, 100), Fraction(1, 10), Fraction(1)
POSITIVE = st.fractions(Fraction(1, 1000), 1000, max_denominator=1000)
PROBABILITIES = st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000)
QUERIES = st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=6)


def diff(queries: list[tuple[Fraction, Fraction]], epsilon: Fraction) -> Differential:
    """From pairs of a sensitivity and an index."""
    sensitivities, index = zip(*queries, strict=True)
    return Differential(sensitivities, index, epsilon)


@pytest.mark.parametrize(("probability", "noise"), [("0.5", 69), ("0.3", 120), ("0.1", 230)])
def test_noise_of_a_count(probability: str, noise: int) -> None:
    """Section 3 and example 1, at ε = 0.01."""
    scale = Differential.uniform([ONE], CENT).alpha
    assert scale == 100
    assert round(noise_quantile(scale, Fraction(probability))) == noise


def test_example_1() -> None:
    """The paper divides the rounded noise; unrounded it is 1000 ln 10."""
    assert minimum_true_answer(Fraction(100), TENTH, TENTH) == pytest.approx(1000 * math.log(10))
    assert round(noise_quantile(Fraction(100), TENTH)) / TENTH == 2300


def test_example_2() -> None:
    both = Differential.uniform([ONE, ONE], CENT)
    assert both.scales == (200, 200)
    noise = noise_quantile(both.scales[0], TENTH)
    assert math.floor(noise) == 460
    assert round(relative_error(noise, Fraction(3_000)), 2) == 0.15
    assert round(relative_error(noise, Fraction(30_000)), 3) == 0.015
    assert not both.satisfies(0, Fraction(3_000), TENTH, TENTH)
    assert both.satisfies(1, Fraction(30_000), TENTH, TENTH)


def test_example_3() -> None:
    both = Differential((ONE, ONE), (ONE, Fraction(10)), CENT)
    assert both.alpha == 110
    assert both.scales == (110, 1100)
    noises = [noise_quantile(scale, TENTH) for scale in both.scales]
    assert [round(noise, 1) for noise in noises] == [253.3, 2532.8]
    answers = [minimum_true_answer(scale, TENTH, TENTH) for scale in both.scales]
    assert [round(answer) for answer in answers] == [2533, 25328]
    assert both.satisfies(0, Fraction(3_000), TENTH, TENTH)
    assert both.satisfies(1, Fraction(30_000), TENTH, TENTH)


@pytest.mark.parametrize("probability", ["0.9", "0.5", "0.01"])
def test_the_quantile_against_the_density(probability: str) -> None:
    """Twice the area of (1/2λ) e^(-x/λ) from z to 40 λ, by the midpoint rule (eq. 1 and 3)."""
    scale = 7.0
    start = noise_quantile(Fraction(7), Fraction(probability))
    step = (40 * scale - start) / 100_000
    middles = (start + (i + 0.5) * step for i in range(100_000))
    area = 2 * sum(math.exp(-x / scale) / (2 * scale) * step for x in middles)
    assert area == pytest.approx(float(probability), rel=1e-6)


@settings(max_examples=15)
@given(QUERIES, POSITIVE)
def test_the_parts_add_up_to_epsilon(
    queries: list[tuple[Fraction, Fraction]], epsilon: Fraction
) -> None:
    mechanism = diff(queries, epsilon)
    assert sum(mechanism.epsilons) == epsilon
    for (sensitivity, index), scale in zip(queries, mechanism.scales, strict=True):
        assert scale / index == mechanism.scales[0] / queries[0][1]
        assert scale >= sensitivity / epsilon


@settings(max_examples=15)
@given(st.lists(POSITIVE, min_size=1, max_size=6), POSITIVE, POSITIVE)
def test_an_index_of_equal_numbers_is_one_scale_for_all(
    sensitivities: list[Fraction], same: Fraction, epsilon: Fraction
) -> None:
    """λ = ΣΔ/ε, whatever number the index repeats (section 5)."""
    expected = (sum(sensitivities) / epsilon,) * len(sensitivities)
    assert Differential.uniform(sensitivities, epsilon).scales == expected
    repeated = Differential(tuple(sensitivities), (same,) * len(sensitivities), epsilon)
    assert repeated.scales == expected


@settings(max_examples=15)
@given(QUERIES, POSITIVE, PROBABILITIES, PROBABILITIES)
def test_the_condition_agrees_with_the_minimum(
    queries: list[tuple[Fraction, Fraction]],
    epsilon: Fraction,
    probability: Fraction,
    threshold: Fraction,
) -> None:
    """Equation 9 holds just above equation 10's answer, and not just below it."""
    mechanism = diff(queries, epsilon)
    for query, scale in enumerate(mechanism.scales):
        least = Fraction(minimum_true_answer(scale, probability, threshold))
        above, below = least * (1 + CENT**4), least * (1 - CENT**4)
        assert mechanism.satisfies(query, above, probability, threshold)
        assert not mechanism.satisfies(query, below, probability, threshold)
        noise = noise_quantile(scale, probability)
        assert relative_error(noise, above) < threshold < relative_error(noise, below)


@pytest.mark.parametrize(
    ("sensitivities", "index", "epsilon"),
    [
        ([0], [1], 1),
        ([-1], [1], 1),
        ([1], [0], 1),
        ([1, 1], [1, -2], 1),
        ([1], [1], 0),
        ([1], [1, 1], 1),
        ([1, 1], [1], 1),
        ([], [], 1),
        ([Fraction(10**51)], [1], 1),
    ],
)
def test_what_is_no_mechanism(sensitivities: list[int], index: list[int], epsilon: int) -> None:
    with pytest.raises(InvalidOption):
        Differential(
            tuple(map(Fraction, sensitivities)), tuple(map(Fraction, index)), Fraction(epsilon)
        )


@pytest.mark.parametrize("probability", [0, 1, -1, Fraction(3, 2)])
def test_what_is_no_probability(probability: Fraction) -> None:
    with pytest.raises(InvalidOption, match="probability"):
        noise_quantile(ONE, Fraction(probability))
    with pytest.raises(InvalidOption, match="probability"):
        minimum_true_answer(ONE, Fraction(probability), TENTH)
    with pytest.raises(InvalidOption, match="probability"):
        Differential.uniform([ONE], ONE).satisfies(0, ONE, Fraction(probability), TENTH)


def test_other_numbers_out_of_range() -> None:
    with pytest.raises(InvalidOption, match="a scale"):
        noise_quantile(Fraction(0), TENTH)
    with pytest.raises(InvalidOption, match="an answer"):
        relative_error(1.0, Fraction(0))
    with pytest.raises(InvalidOption, match="a relative error"):
        minimum_true_answer(ONE, TENTH, Fraction(0))


def at(series: ChartLine, x: float) -> float:
    """The height of a curve at a place that is one of its points."""
    (found,) = (y for place, y in series.points if place == pytest.approx(x))
    return found


def test_figure_1() -> None:
    figure = accuracy.noise_by_probability(ONE, accuracy.EPSILONS)
    first, second, third = figure.series
    assert (round(at(first, 0.5)), round(at(first, 0.3))) == (69, 120)
    # Five and ten times the ε, a fifth and a tenth of the noise.
    assert at(first, 0.5) == pytest.approx(5 * at(second, 0.5))
    assert at(first, 0.5) == pytest.approx(10 * at(third, 0.5))


def test_figure_2_and_its_variant() -> None:
    """The variant is figure 2 with re for ε, ε being 0.1 as re was (section 4)."""
    probabilities = accuracy.PROBABILITIES
    figure = accuracy.answer_by_epsilon(ONE, probabilities, TENTH)
    variant = accuracy.answer_by_relative_error(ONE, probabilities, TENTH)
    assert at(figure.series[0], 0.01) == pytest.approx(1000 * math.log(10))
    assert at(figure.series[0], 0.1) == pytest.approx(100 * math.log(10))
    for one, other in zip(figure.series, variant.series, strict=True):
        assert [y for _, y in one.points] == pytest.approx([y for _, y in other.points])


def moments(series: ChartLine) -> tuple[float, float, float]:
    """Area, mean and variance under a curve, by the trapezoidal rule."""
    totals = [0.0, 0.0, 0.0]
    for (a, at_a), (b, at_b) in zip(series.points, series.points[1:], strict=False):
        for power in range(3):
            totals[power] += (b - a) * (at_a * a**power + at_b * b**power) / 2
    area, first, second = totals
    return area, first / area, second / area - (first / area) ** 2


def test_figure_7_1() -> None:
    """Each is highest at its mean, with 1/2s, and has variance 2s²."""
    figure = accuracy.laplace_densities()
    for series, (mean, s) in zip(figure.series, [(0, 0.1), (0, 0.5), (0, 1), (-5, 1)], strict=True):
        assert series.label == f"Laplace({mean}, {s})"
        assert max(series.points, key=lambda point: point[1])[0] == mean
        assert at(series, mean) == pytest.approx(1 / (2 * s))
        assert at(series, mean + 0.5) == pytest.approx(math.exp(-0.5 / s) / (2 * s))


def test_figure_7_2() -> None:
    """Both have mean 0 and variance 1; Laplace is more peaked, and its tails are fatter.

    With steps h = 0.05 the trapezoidal rule is off by h²/6 of the density's kink, below 0.001.
    """
    laplace, normal = accuracy.laplace_and_normal().series
    for series in (laplace, normal):
        area, mean, variance = moments(series)
        assert area == pytest.approx(1, abs=2e-3)
        assert mean == pytest.approx(0, abs=1e-9)
        assert variance == pytest.approx(1, abs=2e-3)
    assert at(normal, 0) == pytest.approx(1 / math.sqrt(2 * math.pi))
    assert at(laplace, 0) == pytest.approx(1 / math.sqrt(2))
    assert at(laplace, 4) > at(normal, 4)


def test_densities_of_the_noise() -> None:
    """Noise falls with ε: the scale is Δ/ε (Hu, eq. 7.6)."""
    figure = accuracy.noise_densities(Fraction(2), [TENTH, ONE])
    assert [series.label for series in figure.series] == [
        "ε = 0.1: Laplace(0, 20)",
        "ε = 1: Laplace(0, 2)",
    ]
    assert [at(series, 0) for series in figure.series] == pytest.approx([1 / 40, 1 / 4])
