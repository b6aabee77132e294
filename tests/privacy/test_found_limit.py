"""A limit that is found, and noise at it: the law, and the loss between neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest

from dpdb.engines.statistics.limited_distinct import taken
from dpdb.policy.budget import Neighbors
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.privacy.mechanisms.selections.found_limit import DENOMINATOR, LADDER, FoundLimit, parts
from dpdb.privacy.noise.exponential import select_limit
from tests.support.audited import noise
from tests.support.brute import ADD_REMOVE, REPLACE
from tests.support.fits import fit

List = tuple[int, ...]
Table = tuple[List, ...]
ONE = Fraction(1)


def found(rows: int, epsilon: Fraction, relation: Neighbors = ADD_REMOVE) -> FoundLimit:
    part, power = parts(epsilon)
    ends = 2 if relation is REPLACE else 1
    return FoundLimit(rows, part * epsilon, Laplace(1, (1 - part) * epsilon), ends, power)


@cache
def numbers_of(units: Table, passes: tuple[int, ...]) -> tuple[int, ...]:
    """D_p of units in this order, for each p."""
    ends = np.cumsum([len(own) for own in units]).tolist()
    values = np.array([value for own in units for value in own], dtype=np.int64)
    last = [each for each in taken(values, ends, 200) if each]
    return tuple(sum(each <= p for each in last) for p in passes)


def law(numbers: tuple[int, ...], mechanism: FoundLimit) -> dict[int, float]:
    """The probability of each limit, by the definition in the module's docstring."""
    known = dict(zip(mechanism.passes, numbers, strict=True))
    rate = float(mechanism.limit_epsilon) / (2 * mechanism.score_sensitivity)
    weights: dict[int, float] = {}
    for limit, above in zip(mechanism.limits, mechanism.steps_up, strict=True):
        score = (known[min(2 * limit, mechanism.rows)] - known[limit]) / limit
        weights[above] = weights.get(above, 0) + limit**-mechanism.power * math.exp(-rate * score)
    return {limit: weight / sum(weights.values()) for limit, weight in weights.items()}


def lost(one: tuple[int, ...], other: tuple[int, ...], mechanism: FoundLimit) -> float:
    """The largest log of a ratio of probabilities, over limits and noisy numbers."""
    first, second = law(one, mechanism), law(other, mechanism)
    return max(
        abs(math.log(first[limit] / second[limit]))
        + abs(one[place] - other[place]) / float(mechanism.noise(limit).scale)
        for limit in first
        for place in [mechanism.passes.index(limit)]
    )


def neighbours(relation: Neighbors) -> Iterator[tuple[Table, Table]]:
    """Tables of two units or three over four values, and what one unit makes of them."""
    lists = [own for size in (0, 1, 2, 4) for own in permutations(range(4), size)][::3]
    for others in product(lists, repeat=2):
        for place in range(3):
            for own, new in product(lists, lists if relation is REPLACE else [None]):
                before, after = others[:place], others[place:]
                rest = () if new is None else (new,)
                yield (*before, own, *after), (*before, *rest, *after)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE], ids=["add-remove", "replace"])
def test_the_loss_is_within_the_charge(relation: Neighbors) -> None:
    """Units of four values; and of many, where nearly all of the charge is used."""
    small = found(4, ONE, relation)
    pairs = {
        tuple(numbers_of(units, small.passes) for units in pair) for pair in neighbours(relation)
    }
    assert len(pairs) > 20
    assert max(lost(one, other, small) for one, other in pairs) <= 1 + 1e-9
    large, many, few = found(64, ONE, relation), tuple(range(64)), tuple(range(32))
    units = (tuple(range(100, 132)), few[:1])
    one, other, alone, nobody = (
        numbers_of(table, large.passes)
        for table in (
            (*units, many),
            units if relation is ADD_REMOVE else (*units, few),
            (many,),
            (),
        )
    )
    pairs_of_large = [(one, other), (alone, nobody)]
    losses = [lost(*pair, large) for pair in pairs_of_large]
    assert 0.8 <= max(losses) <= 1 + 1e-9


def test_a_rate_that_forgets_replacement_loses_more() -> None:
    """Of two tables with one unit replaced, which the rate for a unit that enters does not hide."""
    others = (4, 5, 6, 11), (10, 9), (6, 3, 4, 9, 8), (0, 7, 11, 3), (5, 10, 7, 6, 2)
    for relation, holds in [(REPLACE, True), (ADD_REMOVE, False)]:
        mechanism = found(16, 20 * ONE, relation)
        first, second = (
            law(numbers_of((*others[:2], own, *others[2:]), mechanism.passes), mechanism)
            for own in [(14, 3, 5), (7, 2, 17, 19, 12, 9)]
        )
        most = max(abs(math.log(first[limit] / second[limit])) for limit in first)
        assert (most <= mechanism.limit_epsilon) is holds


@pytest.mark.parametrize("rows", [16, 100, 5_000])
def test_draws_fit_the_law(rows: int) -> None:
    """Pearson's χ² at α = 0.001, for numbers that grow ever more slowly."""
    mechanism = found(rows, ONE)
    numbers = tuple(round(60 * (1 - math.exp(-p / 9))) for p in mechanism.passes)
    source, exact = noise(3), np.array(numbers)
    draws = [select_limit(exact, mechanism, source) for _ in range(20_000)]
    assert fit(draws, law(numbers, mechanism)) > 1e-3


def test_limits_reach_the_rows_of_a_unit_and_no_further() -> None:
    for rows in (12, 16, 17, 128, 150, 191, 192, 193, 10**6):
        mechanism = found(rows, ONE)
        assert mechanism.limits == tuple(sorted({*mechanism.limits}))
        assert max(mechanism.steps_up) == min(rows, LADDER[-1])
        assert max(mechanism.passes) == min(rows, 2 * LADDER[-2])
        for limit in mechanism.limits:
            assert DENOMINATOR % limit == 0 or limit == rows
        assert all(mechanism.weights)


def test_noise_grows_with_the_limit_and_costs_the_same() -> None:
    laplace = found(50, ONE)
    gaussian = FoundLimit(50, ONE, Gaussian(2, Fraction(9), ONE, Fraction(1, 10**6)))
    for mechanism in (laplace, gaussian):
        one, twelve = mechanism.noise(1), mechanism.noise(12)
        assert twelve.scale == 12 * one.scale
        assert twelve.loss == one.loss
        assert mechanism.loss == mechanism.selection.loss + one.loss
    assert laplace.loss.epsilon == 1
    assert gaussian.loss.rho == Fraction(1, 8) + Fraction(2, 18)
