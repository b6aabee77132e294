"""What the most cunning analyst gets out of a budget: a small game, solved exactly.

Each statement is chosen in the light of the answers before it, while the budget covers it, and the
analyst stops when it likes. The gain is the δ at the budget's ε: the greatest E[(1 - e^(ε - L))⁺]
of the privacy loss L, by backward induction over what has been asked so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest

from dpdb.policy.budget import Budget, Composition
from dpdb.privacy.accounting import accountants
from dpdb.privacy.accounting.accountants import Accountant, Concentrated, accountant
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss, concentrated
from dpdb.privacy.accounting.loss import Loss, pure
from tests.support.budgets import ZCDP, Floats, times

Asked = tuple[int, ...]
"""How often each statement was asked."""


@dataclass(frozen=True)
class Statement:
    """A randomized response whose loss is ± `size` steps, but for a `leak` that tells all."""

    charge: ComposedLoss
    size: int = 0
    leak: float = 0.0


def response(step: Fraction, size: int) -> Statement:
    """ε-DP for ε = `size` steps, and charged for as that."""
    return Statement(ComposedLoss.of(pure(step * size)), size)


def hidden(step: Fraction) -> Statement:
    """The same for one step, charged for as (0, δ)-DP, which it is for δ = tanh(ε/2)."""
    delta = Fraction(math.tanh(step / 2)) + Fraction(1, 10**12)
    return Statement(ComposedLoss.of(Loss(Fraction(0), delta, step**2 / 2)), 1)


def leak(delta: Fraction) -> Statement:
    """Tells all with probability δ, and nothing otherwise."""
    return Statement(ComposedLoss.of(Loss(delta=delta, rho_delta=delta)), leak=float(delta))


def spent(statements: Sequence[Statement], asked: Asked) -> ComposedLoss:
    charges = (times(n, each.charge) for n, each in zip(asked, statements, strict=True))
    return reduce(add, charges, NO_LOSS)


def after(asked: Asked) -> Iterable[Asked]:
    """What has been asked after one statement more."""
    return (tuple(n + (i == j) for j, n in enumerate(asked)) for i in range(len(asked)))


def covered(keeper: Accountant, statements: Sequence[Statement], most: int) -> set[Asked]:
    """All that can have been asked, in at most so many statements."""
    found = reached = {(0,) * len(statements)}
    while reached:
        more = {new for asked in reached for new in after(asked) if sum(new) <= most} - found
        reached = {asked for asked in more if keeper.covers(spent(statements, asked))}
        found = found | reached
    return found


def gain(keeper: Accountant, step: Fraction, statements: Sequence[Statement], most: int) -> float:
    """The δ at the budget's ε of the analyst who makes the most of it."""
    states = covered(keeper, statements, most)
    reach = 3 + max(sum(n * s.size for n, s in zip(a, statements, strict=True)) for a in states)
    excess = float(step) * np.arange(-reach, reach + 1) - float(keeper.budget.epsilon)
    stop = -np.expm1(-np.maximum(excess - 1e-9, 0))
    values: dict[Asked, Floats] = {}
    for asked in sorted(states, key=sum, reverse=True):
        value = stop
        for statement, new in zip(statements, after(asked), strict=True):
            if new in values:
                there, size = values[new], statement.size
                p = 1 / (1 + math.exp(-step * size))
                mean = p * np.roll(there, -size) + (1 - p) * np.roll(there, size)
                value = np.maximum(value, statement.leak + (1 - statement.leak) * mean)
        values[asked] = value
    return float(values[(0,) * len(statements)][reach])


BUDGETS = [
    (Fraction(epsilon), Fraction(step), Fraction(delta))
    for epsilon, step, delta in (
        ("2", "0.1", "2e-3"), ("1", "0.05", "0.1"), ("1", "0.25", "0.1"), ("3", "0.5", "0.2"),
    )
]  # fmt: skip
ROUNDING = 1 + 1e-9
MANY = 10**6


@pytest.mark.parametrize(("epsilon", "step", "delta"), BUDGETS)
@pytest.mark.parametrize("composition", [Composition.PURE, Composition.ZCDP])
def test_no_choice_of_queries_gets_more_than_delta(
    composition: Composition, epsilon: Fraction, step: Fraction, delta: Fraction
) -> None:
    """Each is one step or two; under zCDP either the sum of ε or ρ pays, whichever lasts longer."""
    keeper = accountant(Budget(epsilon, delta, 10, composition))
    statements = [response(step, 1), response(step, 2)]
    assert gain(keeper, step, statements, MANY) <= keeper.slack * ROUNDING


def test_smaller_losses_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with ρ = ε²/4."""

    def halved(sums: ComposedLoss, slack: Fraction) -> Fraction:
        return concentrated(replace(sums, rho=sums.rho / 2), slack)

    rho = Concentrated.rho.fget
    assert rho is not None
    monkeypatch.setattr(accountants, "concentrated", halved)
    monkeypatch.setattr(Concentrated, "rho", property(lambda self: 2 * rho(self)))
    epsilon, step, delta = BUDGETS[2]
    keeper = Concentrated(Budget(epsilon, delta, 10, ZCDP))
    statements = [response(step, 1), response(step, 2)]
    assert gain(keeper, step, statements, MANY) > keeper.slack * ROUNDING


def test_a_sum_that_pays_beside_gaussian_noise_would_be_noticed() -> None:
    """As if a release that is (0, δ)-DP by noise of its own left the sum to pay."""
    epsilon, step, delta = MIXED[1]
    keeper = Concentrated(Budget(epsilon, delta, 10, ZCDP))
    statements = [response(step, 1), response(step, 2), hidden(step)]
    forgetful = [replace(s, charge=replace(s.charge, own_delta=Fraction(0))) for s in statements]
    found = [gain(keeper, step, each, FEW) for each in (statements, forgetful)]
    assert found[0] <= delta * ROUNDING < found[1]


MIXED = [
    (Fraction(epsilon), Fraction(step), Fraction(delta))
    for epsilon, step, delta in (("3", "0.5", "0.2"), ("1", "0.25", "0.1"))
]
FEW = 20


def mixed(step: Fraction, delta: Fraction) -> list[Statement]:
    """Some use no δ, some use one that counts for the sum of ε only, and some are not even zCDP."""
    return [response(step, 1), response(step, 2), hidden(step), leak(delta / 10)]


@pytest.mark.parametrize(("epsilon", "step", "delta"), MIXED)
def test_no_mixture_with_releases_that_use_a_delta_gets_more(
    epsilon: Fraction, step: Fraction, delta: Fraction
) -> None:
    keeper = accountant(Budget(epsilon, delta, 10, ZCDP))
    assert gain(keeper, step, mixed(step, delta), FEW) <= delta * ROUNDING


class SumAfterDelta(Concentrated):
    """Goes by the sum of ε although a release has used a δ."""

    def covers(self, sums: ComposedLoss) -> bool:
        within = sums.epsilon <= self.budget.epsilon or sums.rho <= self.rho
        return within and sums.rho_delta <= self.delta


@pytest.mark.parametrize(("epsilon", "step", "delta"), MIXED)
def test_the_sum_of_epsilon_after_a_delta_would_be_noticed(
    epsilon: Fraction, step: Fraction, delta: Fraction
) -> None:
    keeper = SumAfterDelta(Budget(epsilon, delta, 10, ZCDP))
    assert gain(keeper, step, mixed(step, delta), FEW) > delta * ROUNDING


class ApproximateSum(Concentrated):
    """The sums of ε and of δ alone, with the whole δ."""

    def covers(self, sums: ComposedLoss) -> bool:
        return sums.epsilon <= self.budget.epsilon and sums.delta <= self.budget.delta


class RhoAlone(Concentrated):
    """The sum of ρ alone, with the whole δ."""

    @property
    def slack(self) -> Fraction:
        return self.budget.delta

    def covers(self, sums: ComposedLoss) -> bool:
        return sums.rho <= self.rho and not sums.rho_delta


class Either(RhoAlone):
    """Whichever of the two lasts longer, each of which may fail with the whole δ."""

    def covers(self, sums: ComposedLoss) -> bool:
        return super().covers(sums) or ApproximateSum(self.budget).covers(sums)


@pytest.mark.parametrize(("epsilon", "step", "delta"), MIXED)
def test_two_theorems_that_may_both_fail_would_be_noticed(
    epsilon: Fraction, step: Fraction, delta: Fraction
) -> None:
    """Each by itself is sound. But who is unlucky in a session by ρ goes on to a leak by the sum."""
    budget, statements = Budget(epsilon, delta, 10, ZCDP), [
        response(step, 1), response(step, 2), leak(delta),
    ]  # fmt: skip
    for keeper in (ApproximateSum(budget), RhoAlone(budget)):
        assert gain(keeper, step, statements, MANY) <= delta * ROUNDING
    assert gain(Either(budget), step, statements, MANY) > delta * ROUNDING
