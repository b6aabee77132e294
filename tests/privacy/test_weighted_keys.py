"""Keys by their weights: the set that is shown, between all small neighbours, and the draws."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpdb.privacy.mechanisms.selections.weighted_keys import UNIT, WeightedKeys, _ranges
from dpdb.privacy.noise.thresholds import select_weighted_keys
from tests.support.audited import noise

Sets = dict[tuple[bool, ...], float]
"""The chance of each set of keys that is shown."""


def chance(weight: float, mechanism: WeightedKeys) -> float:
    """That a key of this weight is shown; none that nobody has is. Noise is nearly continuous."""
    sigma, threshold = float(mechanism.scale), mechanism.threshold / UNIT
    return float(norm.sf((threshold - weight) / sigma)) if weight else 0.0


def sets(weights: list[float], mechanism: WeightedKeys) -> Sets:
    chances = [chance(weight, mechanism) for weight in weights]
    return {
        shown: math.prod(p if is_shown else 1 - p
                         for p, is_shown in zip(chances, shown, strict=True))
        for shown in product((False, True), repeat=len(weights))
    }  # fmt: skip


def divergence(one: Sets, other: Sets, epsilon: Fraction) -> float:
    growth = math.exp(epsilon)
    return sum(max(0.0, one[shown] - growth * other[shown]) for shown in one)


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "1e-6"), ("1", "1e-2"), ("4", "1e-4")])
def test_one_unit_changes_what_is_shown_by_no_more_than_delta(
    groups: int, epsilon: str, delta: str
) -> None:
    """t keys, j of which nobody else has, and the others of any of twelve weights."""
    mechanism = WeightedKeys(Fraction(epsilon), Fraction(delta), groups)
    top = mechanism.threshold / UNIT
    others = [top + float(mechanism.scale) * step for step in np.linspace(-5, 6, 12)]
    most = 0.0
    for t in range(1, groups + 1):
        for j in range(t + 1):
            for held in product([each for each in others if each > 0], repeat=t - j):
                before = [*held, *[0.0] * j]
                after = [weight + 1 / math.sqrt(t) for weight in before]
                laws = sets(after, mechanism), sets(before, mechanism)
                most = max(most, *(divergence(*pair, Fraction(epsilon))
                                   for pair in (laws, laws[::-1])))  # fmt: skip
    assert 0.8 * float(delta) <= most <= float(delta)


def test_delta_in_halves_or_a_lower_threshold_would_be_caught() -> None:
    """A threshold that is a tenth of σ lower shows keys that one unit has too often."""
    mechanism = WeightedKeys(Fraction(1), Fraction(1, 10**6), 3)
    lower = mechanism.threshold / UNIT - float(mechanism.scale) / 10
    alone = norm.sf((lower - 1 / math.sqrt(3)) / float(mechanism.scale))
    assert 1 - (1 - alone) ** 3 > 1e-6


@pytest.mark.parametrize("groups", [1, 7, 33, 500])
def test_ranges_hold_every_number_of_keys_with_its_weight_and_class(groups: int) -> None:
    """For each t and j there is a weight as large, and a j as large, with a p as small."""
    most = [1 - place / 100 for place in range(65)]
    ranges = [(weight, dict(worst)) for weight, worst in _ranges(groups, most)]
    for t in {*range(1, min(groups, 60) + 1), groups // 2 or 1, groups}:
        for j in range(1, t + 1):
            least = most[math.ceil(64 * (t - j) / t)]
            assert any(
                weight >= 1 / math.sqrt(t) and any(k >= j and p <= least for k, p in worst.items())
                for weight, worst in ranges
            ), (t, j)


@pytest.mark.parametrize(
    ("epsilon", "groups", "least"),
    [("1", 1, 22), ("1", 5, 49), ("1", 10, 71), ("1", 50, 166), ("0.5", 12, 148)],
)
def test_keys_are_shown_from_so_many_units(epsilon: str, groups: int, least: int) -> None:
    """Within one of what continuous noise, without ranges of j and t, was worked out for."""
    assert WeightedKeys(Fraction(epsilon), Fraction(1, 10**6), groups).shown_from == least


def test_where_rho_is_paid_for_noise_is_less() -> None:
    """σ = 1/ε, and the chance to show one of a unit's own keys is δ at most."""
    mechanism = WeightedKeys(Fraction(1, 5), Fraction(1, 10**7), 50, concentrated=True)
    assert mechanism.scale == 5
    loss = mechanism.loss
    assert (loss.rho, loss.rho_delta) == (Fraction(1, 50), Fraction(1, 10**7))
    assert loss.own_delta > 0
    own = chance(1 / math.sqrt(50), mechanism)
    assert 0.8e-7 <= 1 - (1 - own) ** 50 <= 1e-7


def test_draws_are_shown_as_often_as_the_law_says() -> None:
    """Binomial tests at α = 10^-6 for keys about the threshold."""
    mechanism, size = WeightedKeys(Fraction(1), Fraction(1, 10**6), 5), 40_000
    for step in (-1.0, 0.0, 0.5):
        weight = mechanism.threshold + round(step * float(mechanism.scale) * UNIT)
        shown = len(select_weighted_keys(np.full(size, weight), mechanism, noise(5)))
        expected = chance(weight / UNIT, mechanism)
        ends = binom.cdf(shown, size, expected), binom.sf(shown - 1, size, expected)
        assert min(ends) > 1e-6
