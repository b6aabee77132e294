"""Composition: the theorems' values, what they promise, and that budgets keep to it.

What they promise is held against exact worst cases: any ε-DP release reveals no more than a
randomized response (Kairouz, Oh, Viswanath 2015), and of those the loss is a walk
whose distribution can be written down, even if an adversary chooses its steps.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import dp_accounting
import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st

from dpdb.answers.answer import Answer
from dpdb.answers.record import ReleaseReport
from dpdb.errors import BudgetExceeded, InvalidOption
from dpdb.interfaces.cli.main import main
from dpdb.ledger.memory import MemoryLedger
from dpdb.policy.budget import Budget, Composition
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.reader import policy_for
from dpdb.privacy.accounting import accountants
from dpdb.privacy.accounting.accountants import (
    Accountant,
    Advanced,
    BudgetShare,
    Concentrated,
    accountant,
)
from dpdb.privacy.accounting.composition import (
    NO_LOSS,
    ComposedLoss,
    advanced,
    advanced_as_printed,
    concentrated,
    log_inverse,
    sequential,
)
from dpdb.privacy.accounting.loss import Loss, pure
from dpdb.privacy.mechanisms import Exponential, Gaussian, Laplace
from dpdb.privacy.noise.exponential import weights
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session
from tests.support.brute import tables_in_memory, world
from tests.support.noiseless import Noiseless

Floats = npt.NDArray[np.float64]
PURE, ADVANCED, ZCDP = Composition
ALPHA = 1e-6


def times(number: int, sums: ComposedLoss) -> ComposedLoss:
    return ComposedLoss(*(number * part for part in vars(sums).values()))


def alike(number: int, epsilon: Fraction) -> ComposedLoss:
    """So many ε-DP statements."""
    return times(number, ComposedLoss.of(pure(epsilon)))


def of(epsilons: Sequence[Fraction]) -> ComposedLoss:
    return sum((ComposedLoss.of(pure(epsilon)) for epsilon in epsilons), NO_LOSS)


def high(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


# ------------------------------------------------------------------------------ known values


def test_the_sum_of_the_seed() -> None:
    """ "6 Key Equations": 0.5 + 0.3 + 0.2 = 1."""
    assert sequential(of([Fraction("0.5"), Fraction("0.3"), Fraction("0.2")])) == 1


def test_the_advanced_formula_of_the_seed() -> None:
    """ "6 Key Equations": 4.8 + 1 = 5.8 for 100 queries of 0.1 and δ = 1e-5."""
    found = advanced_as_printed(0.1, 100, 1e-5)
    assert round(found, 1) == 5.8
    assert found == pytest.approx(math.sqrt(2 * 100 * 5 * math.log(10)) * 0.1 + 1, rel=1e-14)


CASES = [
    (epsilons, slack)
    for slack in (Fraction(1, 10**5), Fraction(1, 10**100), Fraction(99, 100))
    for epsilons in (
        [Fraction(1, 10)] * 100,
        [Fraction(1)],
        [Fraction(1, 10**9)] * 3,
        [Fraction(1, n) for n in range(1, 60)],
        [Fraction(20), Fraction(1, 10**6)],
    )
]


@pytest.mark.parametrize(("epsilons", "slack"), CASES)
def test_advanced_is_the_theorem_rounded_up(epsilons: list[Fraction], slack: Fraction) -> None:
    """√(2·ln(1/δ')·Σε²) + Σε·(e^ε - 1), with the exponent that the seed leaves out."""
    with mpmath.workdps(80):
        exact = [high(epsilon) for epsilon in epsilons]
        logarithm = mpmath.log(1 / high(slack))
        root = mpmath.sqrt(2 * logarithm * mpmath.fsum(e * e for e in exact))
        theorem = root + mpmath.fsum(e * mpmath.expm1(e) for e in exact)
        found = high(advanced(of(epsilons), slack))
        assert theorem <= found <= theorem + mpmath.mpf(10) ** -20 * max(1, theorem)
        assert logarithm <= high(log_inverse(slack)) <= logarithm + mpmath.mpf(10) ** -20


def test_the_printed_formula_is_a_little_too_small() -> None:
    theorem = advanced(alike(100, Fraction(1, 10)), Fraction(1, 10**5))
    missing = 100 * 0.1 * (math.expm1(0.1) - 0.1)
    assert float(theorem) - advanced_as_printed(0.1, 100, 1e-5) == pytest.approx(missing, rel=1e-9)


def test_what_is_spent_is_never_rounded_down() -> None:
    """However small, and however often: half of nothing is still something."""
    for epsilon in (Fraction(1, 10**18), Fraction(1, 3), Fraction(10**4), Fraction(10**7)):
        one = ComposedLoss.of(Loss(epsilon, Fraction(1, 7), epsilon**2 / 2, Fraction(1, 11)))
        assert one.epsilon == epsilon
        assert (one.delta, one.rho_delta) == (Fraction(1, 7), Fraction(1, 11))
        assert epsilon**2 <= one.squares <= epsilon**2 + Fraction(1, 2**120)
        assert epsilon**2 / 2 <= one.rho <= epsilon**2 / 2 + Fraction(1, 2**120)
        assert one.excess >= min(epsilon, 10**4) ** 2


def test_an_epsilon_beyond_all_budgets_is_beyond_all_theorems() -> None:
    """Its exponential would have millions of digits."""
    beyond = ComposedLoss.of(Loss(Fraction(5 * 10**7), rho=Fraction(5 * 10**7)))
    for composition in Composition:
        keeper = accountant(Budget(Fraction(10**4), Fraction(1, 2), 1, composition))
        assert not keeper.covers(beyond)


# ------------------------------------------------------------------------------ dp-accounting


@pytest.mark.parametrize(
    ("epsilon", "number", "slack"),
    [(0.1, 100, 1e-5), (0.01, 1000, 1e-6), (1.0, 30, 1e-3), (0.1, 10_000, 1e-9), (3.0, 2, 0.3)],
)
def test_no_theorem_is_below_the_best_there_is(epsilon: float, number: int, slack: float) -> None:
    """dp-accounting composes the worst of all ε-DP mechanisms exactly: its grid has ±ε on it."""
    one = privacy_loss_distribution.from_privacy_parameters(
        DifferentialPrivacyParameters(epsilon, 0.0), value_discretization_interval=epsilon
    )
    best = one.self_compose(number).get_epsilon_for_delta(slack)
    spent = alike(number, Fraction(epsilon))
    assert best < float(concentrated(spent, Fraction(slack)))
    assert best < float(advanced(spent, Fraction(slack)))
    assert best <= float(sequential(spent))


@pytest.mark.parametrize(
    ("sigma", "number", "slack"),
    [(1, 1, 1e-5), (10, 100, 1e-6), (5, 10, 1e-3), (100, 1000, 1e-9), (50, 5, 1e-6)],
)
def test_gaussian_noise_composes_as_in_dp_accounting(sigma: int, number: int, slack: float) -> None:
    """Never below the exact ε, 15 % above it at most; never above Rényi's by a list of orders."""
    one = Gaussian(1, Fraction(sigma**2), Fraction(0), Fraction(0)).loss
    found = float(concentrated(times(number, ComposedLoss.of(one)), Fraction(slack)))

    event = dp_accounting.GaussianDpEvent(sigma)
    renyi = RdpAccountant()
    renyi.compose(event, number)
    assert found <= renyi.get_epsilon(slack) * (1 + 1e-8) <= found * 1.05

    # Of k Gaussians the loss is that of one, with σ/√k.
    below = privacy_loss_distribution.from_gaussian_mechanism(
        sigma / math.sqrt(number), pessimistic_estimate=False, use_connect_dots=False
    ).get_epsilon_for_delta(slack)
    assert below <= found <= below * 1.15


# ------------------------------------------------------------------------------ exact worst cases


def walk(epsilon: Fraction, number: int) -> Iterator[tuple[mpmath.mpf, mpmath.mpf]]:
    """The loss of randomized responses, and its probability: a binomial."""
    e = high(epsilon)
    plus = 1 / (1 + mpmath.exp(-e))
    for minus in range(number + 1):
        chance = mpmath.binomial(number, minus) * plus ** (number - minus) * (1 - plus) ** minus
        yield e * (number - 2 * minus), chance


@pytest.mark.parametrize("slack", [Fraction(1, 10**n) for n in (1, 3, 6, 30, 100)], ids=float)
@pytest.mark.parametrize("epsilon", [Fraction(1, n) for n in (1000, 100, 10, 2, 1)], ids=float)
@pytest.mark.parametrize("number", [1, 2, 10, 100, 400])
def test_randomized_responses_stay_within_delta(
    number: int, epsilon: Fraction, slack: Fraction
) -> None:
    """δ(E) = E[(1 - e^(E - L))⁺]. Advanced composition also promises P(L > E) <= δ'."""
    spent = alike(number, epsilon)
    with mpmath.workdps(150):
        losses = list(walk(epsilon, number))
        over = high(advanced(spent, slack))
        assert mpmath.fsum(p for loss, p in losses if loss > over) <= high(slack)
        over = high(concentrated(spent, slack))
        delta = mpmath.fsum(-mpmath.expm1(over - loss) * p for loss, p in losses if loss > over)
        assert delta <= high(slack)


def gain(keeper: Accountant, step: Fraction, tail: bool) -> float:
    """The most that an adversary gets out of a budget who chooses between ε = step and 2·step.

    At each step, in the light of the losses before it, and while the budget covers it: exactly,
    by backward induction over how many of each there were. It stops when it likes, and gets the
    hockey-stick (1 - e^(E - L))⁺ of its loss L, or with `tail` a 1 where L > E.
    """
    single, double = (ComposedLoss.of(pure(step * size)) for size in (1, 2))
    plus = [1 / (1 + math.exp(-step * size)) for size in (1, 2)]
    edge: list[int] = []
    while keeper.covers(times(len(edge), single)):
        most = 0
        while keeper.covers(times(len(edge), single) + times(most + 1, double)):
            most += 1
        edge.append(most)
    reach = 3 + max(a + 2 * b for a, b in enumerate(edge))
    excess = float(step) * np.arange(-reach, reach + 1) - float(keeper.budget.epsilon)
    stop = (excess > 1e-9) * (1.0 if tail else -np.expm1(-np.maximum(excess, 0)))
    values: dict[tuple[int, int], Floats] = {}
    for a in reversed(range(len(edge))):
        for b in reversed(range(edge[a] + 1)):
            value = stop
            for size, after in ((1, (a + 1, b)), (2, (a, b + 1))):
                if after in values:
                    p, there = plus[size - 1], values[after]
                    mean = p * np.roll(there, -size) + (1 - p) * np.roll(there, size)
                    value = np.maximum(value, mean)
            values[a, b] = value
    return float(values[0, 0][reach])


FILTERS = [
    (Fraction(epsilon), Fraction(step), Fraction(delta))
    for epsilon, step, delta in (
        ("2", "0.1", "2e-3"), ("1", "0.05", "0.1"), ("3", "0.1", "0.1"), ("3", "0.5", "0.2"),
        ("0.5", "0.05", "2e-6"), ("1", "0.02", "1e-3"),
    )
]  # fmt: skip


@pytest.mark.parametrize(("epsilon", "step", "delta"), FILTERS)
@pytest.mark.parametrize("composition", Composition)
def test_no_choice_of_queries_gets_more_than_delta(
    composition: Composition, epsilon: Fraction, step: Fraction, delta: Fraction
) -> None:
    """Though each query is chosen, and the last is, in the light of the answers so far."""
    keeper = accountant(Budget(epsilon, delta, 10, composition))
    assert gain(keeper, step, tail=composition is not ZCDP) <= keeper.slack


def test_smaller_losses_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the 2 under the root; and with ρ = ε²/4."""

    def rootless(sums: ComposedLoss, slack: Fraction) -> Fraction:
        return Fraction(math.sqrt(log_inverse(slack) * sums.squares)) + sums.excess

    monkeypatch.setattr(accountants, "advanced", rootless)
    keepers = [Advanced(Budget(e, d, 10, ADVANCED)) for e, _, d in FILTERS]
    steps = [step for _, step, _ in FILTERS]
    assert any(gain(k, s, tail=True) > k.slack for k, s in zip(keepers, steps, strict=True))

    def halved(sums: ComposedLoss, slack: Fraction) -> Fraction:
        return concentrated(replace(sums, rho=sums.rho / 2), slack)

    rho = Concentrated.rho.fget
    assert rho is not None
    monkeypatch.setattr(accountants, "concentrated", halved)
    monkeypatch.setattr(Concentrated, "rho", property(lambda self: 2 * rho(self)))
    keepers_too = [Concentrated(Budget(e, d, 10, ZCDP)) for e, _, d in FILTERS]
    assert any(gain(k, s, tail=False) > k.slack for k, s in zip(keepers_too, steps, strict=True))


def tail(successes: int, trials: int, probability: float) -> float:
    """P(X >= successes) of a binomial X (Clopper and Pearson 1934)."""
    with mpmath.workdps(30):
        if not successes:
            return 1.0
        return float(mpmath.betainc(successes, trials - successes + 1, 0, probability, True))


def test_noise_as_it_is_drawn_stays_within_advanced_composition() -> None:
    """32 discrete Laplaces of sensitivity 3: how often does the loss exceed ε at δ' = 1/20?"""
    trials, number, epsilon, slack = 20_000, 32, Fraction(1, 5), Fraction(1, 20)
    mechanism = Laplace(3, epsilon)
    noise = SystemNoise(Random(5).randbytes).laplace(mechanism.scale, trials * number)
    losses = (np.abs(noise - 3) - np.abs(noise)).reshape(trials, number).sum(axis=1)
    within = float(advanced(alike(number, mechanism.loss.epsilon), slack) * mechanism.scale)

    def refuted(most: float) -> bool:
        return tail(int((losses > most).sum()), trials, float(slack)) < ALPHA

    assert not refuted(within)
    assert refuted(within / 2)


# ------------------------------------------------------------------------------ ρ of the mechanisms

ORDERS = np.array([1.001, 1.1, 1.5, 2, 3, 5, 10, 30, 100, 1000, 10_000])


def renyi(log_p: Floats, log_q: Floats) -> Floats:
    """D_α(P‖Q) for each of ORDERS, of distributions known by their logarithms."""
    terms = ORDERS[:, None] * log_p + (1 - ORDERS[:, None]) * log_q
    largest = terms.max(axis=1)
    return (largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1))) / (ORDERS - 1)


def normalised(logs: Floats) -> Floats:
    return logs - np.log(np.exp(logs - logs.max()).sum()) - logs.max()


def assert_concentrated(loss: Loss, divergences: Floats) -> None:
    assert (divergences <= float(loss.rho) * ORDERS * (1 + 1e-9) + 1e-12).all()


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(7)])
@pytest.mark.parametrize("sensitivity", [1, 2, 7])
def test_laplace_noise_is_half_epsilon_squared_concentrated(
    sensitivity: int, epsilon: Fraction
) -> None:
    mechanism = Laplace(sensitivity, epsilon)
    reach = 10 + math.ceil(60 * mechanism.scale)
    x = np.arange(-reach, reach + 1)
    for shift in range(1, sensitivity + 1):
        here, there = (-abs(x - at) / float(mechanism.scale) for at in (0, shift))
        found = renyi(normalised(here), normalised(there))
        assert_concentrated(mechanism.loss, found)
    if epsilon < 1 and sensitivity == 1:
        # A randomized response is as bad as any, and ε²/2 the least for small ones.
        assert found[3] >= 0.95 * float(mechanism.loss.rho) * ORDERS[3]


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(7)])
def test_selection_is_an_eighth_of_epsilon_squared_concentrated(epsilon: Fraction) -> None:
    """All scores of up to three candidates, and all they can become, by the weights as drawn."""
    mechanism = Exponential(Fraction(1), epsilon)
    closest = 0.0
    for number in (2, 3):
        scores = np.array(list(product(range(3), repeat=number)))
        changes = np.array(list(product((-1, 0, 1), repeat=number)))
        for score, change in product(scores, changes):
            logs = [
                normalised(np.log(np.array(weights(s.max() - s, mechanism.rate), dtype=float)))
                for s in (score, score + change)
            ]
            found = renyi(*logs)
            assert_concentrated(mechanism.loss, found)
            closest = max(closest, found[3] / (float(mechanism.loss.rho) * ORDERS[3]))
    if epsilon < 1:
        assert closest >= 0.95


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(7, 3), Fraction(100)], ids=float)
@pytest.mark.parametrize("shifts", [(1,), (5,), (1, 1), (3, -2)])
def test_gaussian_noise_is_concentrated(shifts: tuple[int, ...], variance: Fraction) -> None:
    """Noise on several cells is independent: what they reveal adds up."""
    squared = sum(shift**2 for shift in shifts)
    mechanism = Gaussian(squared, variance, Fraction(0), Fraction(0))
    # At order α the terms lie around α·shift, which must be within reach.
    orders = slice(0, 8)
    reach = 40 * max(map(abs, shifts)) + math.ceil(40 * mechanism.scale)
    x = np.arange(-reach, reach + 1)
    found = sum(
        renyi(*(normalised(-((x - at) ** 2) / (2 * float(variance))) for at in (0, shift)))[orders]
        for shift in shifts
    )
    rho = float(mechanism.loss.rho)
    assert (found <= rho * ORDERS[orders] * (1 + 1e-9)).all()
    # For whole orders it is an equality.
    assert found[3:] == pytest.approx(rho * ORDERS[3:8], rel=1e-9)


# ------------------------------------------------------------------------------ the accountants

BUDGETS = [
    Budget(Fraction(epsilon), Fraction(delta), queries)
    for epsilon, delta, queries in (
        ("1", "1e-6", 1), ("1", "1e-6", 10), ("1", "1e-6", 100), ("7/3", "0.3", 7),
        ("0.1", "1e-100", 10**6), ("1e-9", "1e-6", 1000), ("1e-9", "1e-100", 10**9),
        ("10000", "1e-6", 10), ("10000", "1e-100", 10**9), ("1", "0.999", 10**9),
    )
]  # fmt: skip


def names(budget: Budget) -> str:
    return f"{float(budget.epsilon)}-{float(budget.delta)}-{budget.queries}"


@pytest.fixture(params=Composition)
def composition(request: pytest.FixtureRequest) -> Composition:
    return Composition(request.param)


@pytest.mark.parametrize("budget", BUDGETS, ids=names)
def test_what_every_accountant_keeps_to(budget: Budget, composition: Composition) -> None:
    keeper = accountant(replace(budget, composition=composition))
    queries, share = budget.queries, keeper.share
    assert keeper.covers(NO_LOSS)
    assert keeper.epsilon(NO_LOSS) == 0
    assert keeper.slack + keeper.delta == budget.delta

    own = ComposedLoss.of(Loss(share.epsilon, share.delta, share.epsilon**2 / 2, share.delta))
    spent = times(queries, own)
    assert keeper.covers(spent)
    assert keeper.epsilon(spent) <= budget.epsilon
    assert keeper.delta_spent(spent) == keeper.delta
    assert 0 < share.epsilon <= budget.epsilon
    if composition is ADVANCED:
        assert share.epsilon >= budget.epsilon / queries
    if share.epsilon < budget.epsilon:
        # It is the largest, to its ninth digit.
        assert not keeper.covers(alike(queries, share.epsilon * (1 + Fraction(2, 10**8))))
        if queries < 10**7:
            assert not keeper.covers(alike(queries + 1, share.epsilon))
    if keeper.delta:
        assert not keeper.covers(times(queries + 1, own))


def test_ten_tenths_are_the_whole() -> None:
    for epsilon in ("1", "0.1", "0.7", "1e-9", "10000", "1/3"):
        keeper = accountant(Budget(Fraction(epsilon)))
        spent = of([keeper.share.epsilon] * 10)
        assert keeper.epsilon(spent) == Fraction(epsilon)
        assert keeper.covers(spent)
        assert not keeper.covers(spent + ComposedLoss.of(pure(Fraction(1, 10**30))))


def test_a_share_by_the_theorems_formula() -> None:
    """100 queries of ε = 1, δ = 1e-6: the roots of what the theorems say, by bisection."""
    budget = Budget(Fraction(1), Fraction(1, 10**6), 100)

    def root(over: Callable[[float], bool]) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if over(middle) else (middle, high)
        return low

    def advanced_over(e: float) -> bool:
        return math.sqrt(200 * math.log(2e6)) * e + 100 * e * math.expm1(e) > 1

    def concentrated_over(e: float) -> bool:
        return least_delta(100 * e * e / 2, 1.0) > 5e-7

    for composition, over in ((ADVANCED, advanced_over), (ZCDP, concentrated_over)):
        share = accountant(replace(budget, composition=composition)).share
        assert float(share.epsilon) == pytest.approx(root(over), rel=2e-8)


losses = st.builds(
    Loss,
    st.fractions(0, 3),
    st.fractions(0, Fraction(1, 10**4)),
    st.fractions(0, 3),
    st.fractions(0, Fraction(1, 10**4)),
)


@given(
    st.lists(losses, max_size=5),
    losses,
    st.sampled_from(Composition),
    st.fractions(Fraction(1, 100), 10),
    st.fractions(Fraction(1, 10**9), Fraction(1, 2)),
)
def test_more_costs_more(
    before: list[Loss], last: Loss, composition: Composition, epsilon: Fraction, delta: Fraction
) -> None:
    keeper = accountant(Budget(epsilon, delta, 10, composition))
    first = sum(map(ComposedLoss.of, before), NO_LOSS)
    both = first + ComposedLoss.of(last)
    assert keeper.epsilon(first) <= keeper.epsilon(both)
    assert keeper.delta_spent(first) <= keeper.delta_spent(both)
    for spent in (first, both):
        within = keeper.epsilon(spent) <= epsilon and keeper.delta_spent(spent) <= keeper.delta
        assert keeper.covers(spent) is within
    assert not keeper.covers(both) or keeper.covers(first)


def test_nothing_more_where_nothing_is_left() -> None:
    """ρ used up to the last: what is over by less than an ε shows is over, too."""
    budget = Budget(Fraction(1), Fraction(1, 10**6), 10, ZCDP)
    ledger = MemoryLedger(budget)
    keeper = accountant(budget)
    assert isinstance(keeper, Concentrated)
    ledger.charge(ComposedLoss.of(Loss(rho=keeper.rho)), None)
    assert ledger.balance.epsilon_left == 0
    with pytest.raises(BudgetExceeded, match="not enough epsilon"):
        ledger.charge(ComposedLoss.of(pure(Fraction(1, 10**9))), None)
    assert ledger.balance.queries_left == 9
    ledger.charge(ComposedLoss(), None)


@given(
    st.lists(st.fractions(Fraction(1, 10**6), 10**6), min_size=1, max_size=6),
    st.fractions(Fraction(1, 10**15), 10**4),
    st.booleans(),
)
def test_parts_of_a_share_add_up_to_it(
    sizes: list[Fraction], epsilon: Fraction, concentrated: bool
) -> None:
    whole = BudgetShare(epsilon, Fraction(1, 10**6), concentrated)
    parts = [whole.part(size / sum(sizes)) for size in sizes]
    power = 2 if concentrated else 1
    spent, available = sum(p.epsilon**power for p in parts), epsilon**power
    assert available * (1 - Fraction(1, 10**20)) <= spent <= available
    assert concentrated or spent == available
    assert sum(part.delta for part in parts) == whole.delta
    assert {part.concentrated for part in parts} == {concentrated}
    for part, size in zip(parts, sizes, strict=True):
        assert float(part.epsilon / epsilon) ** power == pytest.approx(
            float(size / sum(sizes)), rel=1e-9, abs=0
        )


def test_no_part_is_nothing() -> None:
    """As unlike as two numbers of a noise index can be, squared."""
    share = BudgetShare(Fraction(1, 10**15), Fraction(0), concentrated=True)
    part = Fraction(1, 10**48)
    assert share.part(part).epsilon == pytest.approx(1e-39, rel=1e-9, abs=0)
    assert share.part(1 - part).epsilon < share.epsilon


# ------------------------------------------------------------------------------ sessions

COLUMNS = (
    Column("g", Kind.TEXT, values=("a", "b")),
    Column("x", Kind.INTEGER, Fraction(0), Fraction(9)),
)
ROWS = [("a", "1"), ("b", "5"), ("a", "")]
QUERIES = [
    "SELECT COUNT(*) FROM t",
    "SELECT SUM(x), COUNT(*) FROM t",
    "SELECT MEDIAN(x) FROM t",
    "SELECT AVG(x), MAX(x) FROM t",
    "SELECT g, AVG(x), COUNT(*) FROM t GROUP BY g",
    "SELECT MODE(g) FROM t",
    "SELECT VAR_POP(x) FROM t",
    "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)",
]
SPECIAL = [
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian') COUNT(*) FROM t",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian') SUM(x), COUNT(x) FROM t",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian') g, AVG(x) FROM t GROUP BY g",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(sensitivity = 'smooth') MEDIAN(x) FROM t",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [1, 10]) SUM(x), COUNT(*) FROM t",
]


@pytest.fixture
def session(composition: Composition) -> Iterator[Callable[[Budget], Session]]:
    def begin(budget: Budget) -> Session:
        here = world(COLUMNS, budget=replace(budget, composition=composition))
        here.source.rows = ROWS
        return Session(here.policy, noise=Noiseless())

    with tables_in_memory():
        yield begin


def least_delta(rho: float, epsilon: float) -> float:
    """δ of what is ρ-zCDP, at the best of many orders (Canonne, Kamath, Steinke, Prop. 12)."""
    a = 1 + np.geomspace(1e-3, 1e6, 200_001)
    logs = (a - 1) * (a * rho - epsilon) - np.log(a - 1) + a * np.log1p(-1 / a)
    return float(np.exp(logs.min()))


def rho_of(drawn: ReleaseReport) -> float:
    match drawn.mechanism:
        case "laplace":
            assert drawn.sensitivity is not None
            assert drawn.scale is not None
            return float(drawn.sensitivity / drawn.scale) ** 2 / 2
        case "gaussian":
            assert drawn.sensitivity is not None
            assert drawn.scale is not None
            return float(drawn.sensitivity**2 / (2 * drawn.scale**2))
        case "exponential":
            return float(drawn.epsilon) ** 2 / 8
    assert drawn.mechanism == "smooth laplace"
    return float(drawn.epsilon) ** 2 / 2


def epsilon_within(answers: list[Answer], budget: Budget) -> bool:
    """Whether all that was drawn is (ε, δ)-DP, by the theorems as their papers have them."""
    drawn = [list(answer.releases) for answer in answers]
    epsilons = [float(sum(d.epsilon for d in releases)) for releases in drawn]
    epsilon, delta = float(budget.epsilon) * (1 + 1e-9), float(budget.delta) * (1 + 1e-9)
    deltas = sum(float(d.delta) for releases in drawn for d in releases)
    match budget.composition:
        case Composition.PURE:
            return sum(epsilons) <= epsilon and deltas <= delta
        case Composition.ADVANCED:
            squares = sum(e * e for e in epsilons)
            most = math.sqrt(2 * math.log(2 / budget.delta) * squares)
            most += sum(e * math.expm1(e) for e in epsilons)
            return min(most, sum(epsilons)) <= epsilon and deltas <= delta / 2
        case Composition.ZCDP:
            rho = sum(rho_of(d) for releases in drawn for d in releases)
            smooth = [d for releases in drawn for d in releases if d.mechanism == "smooth laplace"]
            approximate = sum(float(d.delta) for d in smooth)
            return least_delta(rho, epsilon) <= delta / 2 and approximate <= delta / 2


@pytest.mark.parametrize("queries", [13, 40])
def test_a_session_spends_what_its_theorem_allows(
    session: Callable[[Budget], Session], composition: Composition, queries: int
) -> None:
    budget = Budget(Fraction(1), Fraction(1, 10**6), queries, composition)
    here = session(budget)
    here.execute("SET repeats = 'fresh'")
    statements = [*QUERIES, *SPECIAL]
    answers = []
    for number in range(queries):
        sql = statements[number % len(statements)]
        explained = here.execute(f"EXPLAIN {sql}")
        answers.append(here.execute(sql))
        assert explained.cost == answers[-1].cost
        assert explained.releases == answers[-1].releases
        assert answers[-1].balance.queries_left == queries - number - 1
    assert epsilon_within(answers, budget)
    # All of it: with a query more of the same share it would be over.
    assert not epsilon_within([*answers, answers[0]], budget)
    with pytest.raises(BudgetExceeded, match="limit of"):
        here.execute(statements[0])
    spent = sum((answer.cost.epsilon for answer in answers), Fraction(0))
    assert here.balance.epsilon_left == 1 - spent >= 0


def test_shares_that_are_asked_for(
    session: Callable[[Budget], Session], composition: Composition
) -> None:
    """Ten of the share that ten would get, though a hundred are allowed: ε runs out first."""
    budget = Budget(Fraction(2), Fraction(1, 10**6), 100, composition)
    share = accountant(replace(budget, queries=10)).share.epsilon
    here = session(budget)
    here.execute(f"SET epsilon = {float(share)!r}")
    answers = [here.execute(f"SELECT COUNT(*) FROM t WHERE x + 0 > {n}") for n in range(10)]
    assert {drawn.epsilon for answer in answers for drawn in answer.releases} == {share}
    assert epsilon_within(answers, budget)
    with pytest.raises(BudgetExceeded, match=r"not enough epsilon: .* short by"):
        here.execute("SELECT COUNT(*) FROM t")
    assert here.execute(answers[3].statement).repeat
    assert here.balance.queries_left == 90


def test_delta_runs_out(session: Callable[[Budget], Session], composition: Composition) -> None:
    """Half of it is the theorem's; only what is not pure-DP at all needs any under zcdp."""
    budget = Budget(Fraction(1), Fraction(1, 10**6), 100, composition)
    here = session(budget)
    left = budget.delta if composition is PURE else budget.delta / 2
    assert here.balance.delta_left == left
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(sensitivity = 'smooth', delta = 3e-7)"
    for number in range(int(left / Fraction(3, 10**7))):
        assert here.execute(f"{asked} MEDIAN(x) FROM t WHERE x > {number}").cost.delta
    with pytest.raises(BudgetExceeded, match="not enough delta") as refused:
        here.execute(f"{asked} MIN(x) FROM t")
    assert "OPTIONS(delta" in str(refused.value.hint)
    gaussian = asked.replace("sensitivity = 'smooth'", "mechanism = 'gaussian'")
    if composition is ZCDP:
        assert here.execute(f"{gaussian} COUNT(*) FROM t").cost.delta == 0
    else:
        with pytest.raises(BudgetExceeded, match="not enough delta"):
            here.execute(f"{gaussian} COUNT(*) FROM t")


def test_show_budget_by_each_theorem(
    session: Callable[[Budget], Session], composition: Composition
) -> None:
    budget = Budget(Fraction(3), Fraction(1, 10**6), 20, composition)
    here = session(budget)
    answers = [here.execute(sql) for sql in QUERIES[:5]]
    rows = {row[0]: row[1:] for row in here.execute("SHOW BUDGET").rows}
    epsilons = [float(sum(d.epsilon for d in answer.releases)) for answer in answers]
    # The theorems' own part of δ is what the budget's has.
    slack = 5e-7
    root = math.sqrt(2 * math.log(1 / slack) * sum(e * e for e in epsilons))
    by_formula = root + sum(e * math.expm1(e) for e in epsilons)
    assert rows["epsilon by sequential composition"] == (None, pytest.approx(sum(epsilons)), None)
    assert rows["epsilon by advanced composition"][1] == pytest.approx(
        min(sum(epsilons), by_formula)
    )
    by_rho = rows["epsilon by zero-concentrated DP"][1]
    rho = sum(rho_of(d) for answer in answers for d in answer.releases)
    assert isinstance(by_rho, float)
    assert least_delta(rho, by_rho) == pytest.approx(slack, rel=1e-4)
    own = dict(zip(Composition, list(rows)[-3:], strict=True))[composition]
    assert rows["epsilon"][1] == rows[own][1]
    assert rows["queries"] == (20, 5, 15)
    total, spent, _ = rows["delta"]
    assert (total, spent) == (1e-6, pytest.approx(1e-6 - float(here.balance.delta_left)))
    assert rows["epsilon per query"][0] == float(accountant(budget).share.epsilon)


def test_without_delta_there_is_one_theorem() -> None:
    here = Session(world(COLUMNS, budget=Budget()).policy)
    rows = [row[0] for row in here.execute("SHOW BUDGET").rows]
    assert rows[4:] == ["epsilon by sequential composition"]


# ------------------------------------------------------------------------------ the way in

CSV = "x\n1\n2\n3\n"
POLICY = '{}[tables.t]\npath = "t.csv"\n[tables.t.columns]\nx = {{ type = "integer", bounds = [0, 9] }}\n'


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., Path]:
    def write(budget: str, name: str = "t") -> Path:
        (tmp_path / "t.csv").write_text(CSV)
        path = tmp_path / f"{name}.toml"
        path.write_text(POLICY.format(budget).replace("tables.t", f"tables.{name}"))
        return path

    return write


@pytest.mark.parametrize("composition", [ADVANCED, ZCDP])
@pytest.mark.parametrize("way", ["policy", "option"])
def test_a_hundred_queries_from_the_command_line(
    composition: Composition,
    way: str,
    files: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    budget = f'[budget]\ndelta = 1e-6\nqueries = 100\ncomposition = "{composition}"\n'
    options = ["--composition", str(composition), "--delta", "1e-6", "--queries", "100"]
    path = files(budget if way == "policy" else "")
    script = ";".join(f"SELECT SUM(x) FROM t WHERE x * {n} > 4" for n in range(101))
    code = main([str(path), *(options if way == "option" else []), "--json", "-c", script])
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert code == 3
    assert len(answers) == 101
    assert answers[-1]["error"]["kind"] == "BudgetExceeded"
    share = accountant(Budget(Fraction(1), Fraction(1, 10**6), 100, composition)).share
    assert {a["releases"][0]["epsilon"] for a in answers[:-1]} == {float(share.epsilon)}
    assert share.epsilon > Fraction(1, 100)
    last = answers[99]["budget"]
    assert last["composition"] == composition
    assert last["delta"] == 1e-6
    assert last["delta_left"] == 5e-7
    assert last["queries_left"] == 0
    assert 0 <= last["epsilon_left"] < 1e-6
    assert sum(a["cost"]["epsilon"] for a in answers[:-1]) == pytest.approx(1)


def test_theorems_that_need_a_delta(
    files: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for composition in ("advanced", "zcdp"):
        for budget in (
            f'[budget]\ncomposition = "{composition}"\n',
            f'[budget]\ndelta = 1e-101\ncomposition = "{composition}"\n',
        ):
            assert main([str(files(budget)), "-c", "SHOW BUDGET"]) == 2
            shown = capsys.readouterr().err
            assert f"composition = {composition} needs delta" in shown
            assert "hint: for instance delta = 1e-6" in shown
        assert main([str(files("")), "--composition", composition, "-c", "SHOW BUDGET"]) == 2
        assert "needs delta" in capsys.readouterr().err
    # What the policy lacks the command line may give.
    path = files('[budget]\ncomposition = "zcdp"\n')
    assert main([str(path), "--delta", "1e-6", "-c", "SHOW BUDGET"]) == 0
    assert main([str(path), "--composition", "pure", "-c", "SHOW BUDGET"]) == 0


def test_a_composition_that_is_none(
    files: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = files('[budget]\ndelta = 1e-6\ncomposition = "zdcp"\n')
    assert main([str(path), "-c", "SHOW BUDGET"]) == 2
    shown = capsys.readouterr().err
    assert "line 3" in shown
    assert '"pure", "advanced", "zcdp"' in shown
    with pytest.raises(SystemExit) as left:
        main([str(path), "--composition", "zdcp", "-c", "SHOW BUDGET"])
    assert left.value.code == 2


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ('composition = "advanced"', 'composition = "zcdp"', "budget"),
        ('composition = "pure"', 'composition = "zcdp"', "budget"),
        ("", '[privacy]\nnoise = "opendp"', "noise"),
    ],
)
def test_policies_that_differ(
    one: str,
    other: str,
    differ: str,
    files: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = [
        files(f"[budget]\ndelta = 1e-6\n{text}\n", name)
        for text, name in ((one, "t"), (other, "u"))
    ]
    assert main([*map(str, paths), "-c", "SHOW BUDGET"]) == 2
    assert f"differ in their {differ}" in capsys.readouterr().err


def test_a_theorem_says_nothing_of_more_delta_than_it_leaves(tmp_path: Path) -> None:
    """Each Gaussian answer takes a tenth of δ; half of it is what advanced composition needs."""
    (tmp_path / "t.csv").write_text("x\n1\n")
    policy = policy_for(tmp_path / "t.csv")
    here = Session(replace(policy, budget=Budget(Fraction(1), Fraction(1, 10**6), 10)))
    here.execute("SET mechanism = 'gaussian'")
    said = []
    for number in range(6):
        here.execute(f"SELECT COUNT(*) FROM t WHERE x * 2 > {number}")
        rows = {row[0]: row[2] for row in here.execute("SHOW BUDGET").rows}
        assert rows["epsilon by sequential composition"] == pytest.approx((number + 1) / 10)
        assert rows["epsilon by zero-concentrated DP"] is not None
        said.append(rows["epsilon by advanced composition"] is not None)
    assert said == [True] * 5 + [False]


@pytest.mark.parametrize("composition", [Composition.ADVANCED, Composition.ZCDP])
def test_no_session_begins_without_the_delta_its_theorem_needs(
    tmp_path: Path, composition: Composition
) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n")
    policy = policy_for(tmp_path / "t.csv")
    with pytest.raises(InvalidOption, match="needs delta"):
        Session(replace(policy, budget=replace(policy.budget, composition=composition)))
