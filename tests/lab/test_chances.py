"""Chances worked out: against every possible noise counted out, and against the papers' formulas."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpdb.lab.attacks import anonymity, chances
from dpdb.lab.attacks.chances import NoiseDistribution
from dpdb.lab.catalogue import find
from dpdb.lab.database import Protected
from dpdb.lab.trial import EPSILONS, Game, Known, curve, known_rate, run_once, run_trials, scales


def probability(x: int, scale: float) -> float:
    """P(x) of discrete Laplace noise, by its definition."""
    return math.exp(-abs(x) / scale) / sum(math.exp(-abs(y) / scale) for y in range(-400, 401))


def counted_out(noise: tuple[float, ...], right: Callable[..., float]) -> float:
    """The chance that a guess is right, over all values of so many independent noises."""
    reach = range(-round(24 * max(noise)), round(24 * max(noise)) + 1)
    laws = [{x: probability(x, scale) for x in reach} for scale in noise]
    return sum(
        math.prod(law[x] for law, x in zip(laws, values, strict=True)) * right(*values)
        for values in itertools.product(reach, repeat=len(noise))
    )


def test_a_sum_of_noise() -> None:
    noise = NoiseDistribution.of([0.7, 1.5])
    for x in (-3, 0, 4):
        expected = counted_out((0.7, 1.5), lambda a, b, x=x: a + b == x)
        assert noise.at(x) == pytest.approx(expected, abs=1e-9)
        expected = counted_out((0.7, 1.5), lambda a, b, x=x: a + b >= x)
        assert noise.at_least(x) == pytest.approx(expected, abs=1e-9)
    assert noise.at_least(0.5) == noise.at_least(1)
    assert NoiseDistribution.of([1.5, 1.5]).at(1) == pytest.approx(
        counted_out((1.5, 1.5), lambda a, b: a - b == 1), abs=1e-9
    )


def test_the_nearest_level() -> None:
    def right(a: int, b: int) -> float:
        return sum(min(max(secret + a - b, 0), 4) == secret for secret in range(5)) / 5

    expected = counted_out((0.8, 1.2), right)
    assert chances.of_nearest([0.8, 1.2], 5) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("distance", [1, 2, 5])
def test_the_side_of_half(distance: int) -> None:
    def right(x: int) -> float:
        return ((distance + x >= distance / 2) + (x < distance / 2)) / 2

    expected = counted_out((1.7,), right)
    assert chances.of_sign([1.7], distance) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("lead", [1, 3])
def test_the_largest_of_noisy_counts(lead: int) -> None:
    def right(*noise: int) -> float:
        found = 0
        for place in range(3):
            counts = [x + lead * (place == i) for i, x in enumerate(noise)]
            found += counts.index(max(counts)) == place
        return found / 3

    expected = counted_out((0.5, 0.5, 0.5), right)
    assert chances.of_largest(0.5, lead, 3) == pytest.approx(expected, abs=1e-6)


def test_draws_have_the_law() -> None:
    """The share of zeros and the mean size of 20,000 draws: four standard errors."""
    drawn = chances.draws(np.random.default_rng(1), 3.0, 20_000)
    zero, size = probability(0, 3.0), 1 / math.sinh(1 / 3)
    assert np.mean(drawn == 0) == pytest.approx(zero, abs=4 * math.sqrt(zero / 20_000))
    assert np.abs(drawn).mean() == pytest.approx(size, abs=4 * 3 / math.sqrt(20_000))
    assert abs(drawn.mean()) < 4 * math.sqrt(2) * 3 / math.sqrt(20_000)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("membership", lambda e: 1 / (1 + math.exp(-e))),
        ("group-keys", lambda e: 1 / (1 + math.exp(-e))),
        ("many-rows", lambda e: 1 - math.exp(-e / 2) / 2),
        ("other-owner", lambda e: 1 - math.exp(-e / 2) / 2),
        ("noise-scale", lambda e: 1 / 100),
    ],
)
def test_rates_that_can_be_written_down(name: str, formula: Callable[[float], float]) -> None:
    attack = find(name)
    shown = run_trials(attack, attack.defences(), None, 1)
    private = [rate for rate in shown.rates if type(rate.defence) is Protected]
    assert [rate.known for rate in private] == [Known.EXACT] * 3
    for rate in private:
        assert rate.defence.epsilon is not None
        assert rate.rate == pytest.approx(formula(rate.defence.epsilon), abs=1e-9)


def test_the_commonest_diagnosis_of_a_crowd() -> None:
    """All diagnoses of the governor's crowd, counted out; the governor is the first of them."""
    attack = find("linkage")
    crowd = sum(
        (p.sex, p.born.year // 10) == (anonymity.GOVERNOR.sex, anonymity.GOVERNOR.born.year // 10)
        for p in anonymity.PATIENT_LIST
    )
    assert attack.chance(attack.foils[0], ()) == anonymity.chance_of_the_commonest(crowd)
    all_ways = list(itertools.product(range(4), repeat=6))
    right = sum(max(range(4), key=way.count) == way[0] for way in all_ways)
    assert anonymity.chance_of_the_commonest(6) == pytest.approx(right / len(all_ways))


@pytest.mark.parametrize("name", ["maximum", "many-means", "general-tracker", "linkage"])
def test_scales_are_in_inverse_proportion_to_epsilon(name: str, tmp_path: Path) -> None:
    """So that one run tells the noise at every ε of the curve."""
    attack = find(name)
    noise = {
        epsilon: scales(
            run_once(
                Game(attack, attack.scenario, Protected(epsilon, attack.queries)), tmp_path, 1, 0
            )
        )
        for epsilon in (0.1, 2.0)
    }
    assert [float(Fraction(scale) / 20) for scale in noise[0.1]] == pytest.approx(noise[2.0])


def test_the_curve_rises_under_its_ceiling_as_the_error_falls() -> None:
    attack = find("homogeneity")
    points = curve(attack, run_trials(attack, attack.defences(), None, 1).showings, 1)
    assert [point.epsilon for point in points] == list(EPSILONS)
    rates, errors = [p.rate for p in points], [p.error or 0 for p in points]
    assert rates == sorted(rates)
    assert errors == sorted(errors, reverse=True)
    assert all(point.ceiling is not None and point.rate <= point.ceiling for point in points)
    known = known_rate(attack, Protected(1.0, 1), [2.0], 1)
    assert known is not None
    assert points[EPSILONS.index(1.0)].rate == known.rate


def test_a_counted_curve_is_below_its_theorem_within_its_intervals() -> None:
    """Many means have a model: each interval of the curve begins below the ceiling."""
    attack = find("many-means")
    points = curve(attack, run_trials(attack, attack.defences((1.0,)), None, 1).showings, 1)
    assert all(point.low < point.rate < point.high for point in points)
    assert all(point.low <= point.ceiling for point in points)
    assert any(point.rate > point.ceiling for point in points)
