"""The largest groups, chosen one after the other: the law, the loss, and the rule."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

import pytest

from dpdb.privacy.mechanisms.selections.peeling import Peeling, is_of_use
from dpdb.privacy.noise.exponential import select_largest
from tests.support.audited import noise
from tests.support.fits import fit

ONE = Fraction(1)
Scores = tuple[int, ...]


def law(scores: Scores, mechanism: Peeling) -> dict[tuple[int, ...], float]:
    """The probability of each set of chosen groups: over all orders in which they can be chosen."""
    rate = float(mechanism.epsilon) / (1 if mechanism.one_sided else 2)
    found: dict[tuple[int, ...], float] = {}
    for order in permutations(range(len(scores)), mechanism.number):
        left, chance = {*range(len(scores))}, 1.0
        for chosen in order:
            whole = sum(math.exp(rate * scores[index]) for index in left)
            chance *= math.exp(rate * scores[chosen]) / whole
            left.remove(chosen)
        key = tuple(sorted(order))
        found[key] = found.get(key, 0) + chance
    return found


def lost(one: Scores, other: Scores, mechanism: Peeling) -> float:
    first, second = law(one, mechanism), law(other, mechanism)
    return max(abs(math.log(first[key] / second[key])) for key in first)


@pytest.mark.parametrize("one_sided", [True, False], ids=["add-remove", "replace"])
@pytest.mark.parametrize(("groups", "number"), [(3, 1), (3, 2), (4, 2), (5, 3)])
def test_one_unit_loses_no_more_than_is_charged(groups: int, number: int, one_sided: bool) -> None:
    """Numbers of units from 0 to 2, of which a unit changes any; and far apart, nearly all of it."""
    mechanism = Peeling(ONE, number, groups, one_sided)
    changes = [*product((0, 1) if one_sided else (-1, 0, 1), repeat=groups)]
    losses = [
        lost(scores, tuple(map(sum, zip(scores, change, strict=True))), mechanism)
        for scores in combinations_of(groups)
        for change in changes
    ]
    assert max(losses) <= mechanism.loss.epsilon + 1e-9
    # The groups that are chosen grow, among many that do not, or that shrink.
    many = Peeling(ONE, 1, 9, one_sided)
    rest = 0 if one_sided else -1
    assert lost((0,) * 9, (1, *[rest] * 8), many) >= 0.8 * many.loss.epsilon


def combinations_of(groups: int) -> list[Scores]:
    return [*product(range(2), repeat=groups)][:: 1 if groups < 5 else 5]


def test_a_rate_that_forgets_replacement_loses_more() -> None:
    """Some groups grow as others shrink."""
    wrong = Peeling(ONE, 2, 6)
    assert lost((1, 1, 1, 1, 1, 1), (2, 2, 0, 0, 0, 0), wrong) > wrong.loss.epsilon


def test_draws_fit_the_law() -> None:
    """Pearson's χ² over all pairs of five groups at α = 0.001."""
    mechanism, scores, source = Peeling(Fraction(1, 2), 2, 5), (9, 7, 7, 4, 0), noise(7)
    draws = Counter(tuple(select_largest(scores, mechanism, source)) for _ in range(20_000))
    pairs = [*combinations(range(5), 2)]
    exact = law(scores, mechanism)
    drawn = [at for at, pair in enumerate(pairs) for _ in range(draws[pair])]
    assert fit(drawn, {at: exact[pair] for at, pair in enumerate(pairs)}) > 1e-3


def test_the_loss_is_that_of_all_choices() -> None:
    mechanism = Peeling(Fraction(1, 10), 7, 100)
    assert mechanism.loss.epsilon == Fraction(7, 10)
    assert mechanism.loss.rho == Fraction(7, 800)
    assert mechanism.loss.delta == 0


def test_the_rule_takes_the_smaller_standard_deviation() -> None:
    assert [is_of_use(number, 50, concentrated=False) for number in (1, 27, 28)] == [
        True, True, False]  # fmt: skip
    assert [is_of_use(number, 50, concentrated=True) for number in (1, 61, 62)] == [
        True, True, False]  # fmt: skip
    assert not is_of_use(1, 1, concentrated=False)
