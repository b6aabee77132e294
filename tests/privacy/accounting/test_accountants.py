"""The accountants: what a budget covers, what a query gets, and that nothing is rounded down."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from operator import add

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.errors import BudgetExceeded
from dpdb.ledger.spending import MemoryLedger
from dpdb.policy.budget import Budget, Composition
from dpdb.privacy.accounting.accountants import BudgetShare, Concentrated, accountant
from dpdb.privacy.accounting.composition import (
    NO_LOSS,
    ComposedLoss,
    Theorem,
    advanced,
    concentrated,
)
from dpdb.privacy.accounting.loss import Loss, pure
from tests.support.budgets import ADVANCED, ZCDP, alike, least_delta, of, times


def names(budget: Budget) -> str:
    return f"{float(budget.epsilon)}-{float(budget.delta)}-{budget.queries}"


BUDGETS = [
    Budget(Fraction(epsilon), Fraction(delta), queries)
    for epsilon, delta, queries in (
        ("1", "1e-6", 1), ("1", "1e-6", 10), ("1", "1e-6", 100), ("7/3", "0.3", 7),
        ("0.1", "1e-100", 10**6), ("1e-9", "1e-6", 1000), ("1e-9", "1e-100", 10**9),
        ("10000", "1e-6", 10), ("10000", "1e-100", 10**9), ("1", "0.999", 10**9),
    )
]  # fmt: skip


@pytest.mark.parametrize("budget", BUDGETS, ids=names)
def test_what_every_accountant_keeps_to(budget: Budget, composition: Composition) -> None:
    keeper = accountant(replace(budget, composition=composition))
    queries = budget.queries
    assert keeper.covers(NO_LOSS)
    assert keeper.epsilon(NO_LOSS) == 0
    assert keeper.slack + keeper.delta == budget.delta
    largest = max(share.epsilon for share in keeper.shares)
    assert budget.epsilon / queries <= largest <= budget.epsilon
    assert keeper.shares[-1].delta == keeper.delta / queries

    for share in keeper.shares:
        own = ComposedLoss.of(Loss(share.epsilon, share.delta, share.epsilon**2 / 2, share.delta))
        spent = times(queries, own)
        assert keeper.covers(spent)
        assert keeper.epsilon(spent) <= budget.epsilon
        if share.delta:
            assert not keeper.covers(times(queries + 1, own))
    if largest < budget.epsilon:
        # It is the largest, to its ninth digit.
        assert not keeper.covers(alike(queries, largest * (1 + Fraction(2, 10**8))))
        if queries < 10**7:
            assert not keeper.covers(alike(queries + 1, largest))


def test_ten_tenths_are_the_whole() -> None:
    for epsilon in ("1", "0.1", "0.7", "1e-9", "10000", "1/3"):
        keeper = accountant(Budget(Fraction(epsilon)))
        spent = of([keeper.shares[0].epsilon] * 10)
        assert keeper.epsilon(spent) == Fraction(epsilon)
        assert keeper.covers(spent)
        assert not keeper.covers(spent + ComposedLoss.of(pure(Fraction(1, 10**30))))


def test_a_share_by_the_theorems_formula() -> None:
    """100 queries of ε = 1: zCDP has nine tenths of δ = 1e-6, and each an even part of ρ."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        over = least_delta(100 * middle * middle / 2, 1.0) > 9e-7
        low, high = (low, middle) if over else (middle, high)
    even, root = accountant(Budget(Fraction(1), Fraction(1, 10**6), 100, ZCDP)).shares
    assert float(root.epsilon) == pytest.approx(low, rel=2e-8)
    tenth = Fraction(1, 10**7)
    assert (even.epsilon, even.delta, even.concentrated) == (Fraction(1, 100), tenth / 100, False)


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
    if keeper.covers(first):
        assert keeper.covers(both) is (keeper.part_taken(ComposedLoss.of(last), first) <= 1)


def test_nothing_more_where_nothing_is_left() -> None:
    """ρ used up to the last: what is over by less than an ε shows is over, too."""
    budget = Budget(Fraction(1), Fraction(1, 10**6), 10, ZCDP)
    ledger = MemoryLedger(budget)
    keeper = accountant(budget)
    assert isinstance(keeper, Concentrated)
    ledger.charge(ComposedLoss.of(Loss(delta=Fraction(1, 10**9), rho=keeper.rho)), None)
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


def test_shares_add_up_by_the_theorem_that_they_are_of() -> None:
    three, four = (BudgetShare(Fraction(each), Fraction(1, 8)) for each in (3, 4))
    assert three + four == BudgetShare(Fraction(7), Fraction(1, 4))
    squared = replace(three, concentrated=True), replace(four, concentrated=True)
    assert add(*squared) == BudgetShare(Fraction(5), Fraction(1, 4), concentrated=True)
    with pytest.raises(ValueError, match="do not add up"):
        add(three, squared[1])


def test_no_part_is_nothing() -> None:
    """As unlike as two numbers of a noise index can be, squared."""
    share = BudgetShare(Fraction(1, 10**15), Fraction(0), concentrated=True)
    part = Fraction(1, 10**48)
    assert share.part(part).epsilon == pytest.approx(1e-39, rel=1e-9, abs=0)
    assert share.part(1 - part).epsilon < share.epsilon


def test_the_sum_of_epsilon_covers_what_rho_does_not_until_a_release_uses_a_delta() -> None:
    """10 tenths are ρ = 1/20, more than twice the ρ that there is."""
    keeper = accountant(Budget(Fraction(1), Fraction(1, 10**6), 10, ZCDP))
    assert isinstance(keeper, Concentrated)
    tenth, gaussian = (
        pure(Fraction(1, 10)),
        Loss(Fraction(1, 100), Fraction(1, 10**8), Fraction(1, 10**5)),
    )
    most = alike(10, Fraction(1, 10))
    assert most.rho > 2 * keeper.rho
    assert keeper.covers(most)
    assert (keeper.epsilon(most), keeper.theorem(most)) == (1, Theorem.SEQUENTIAL)
    half = alike(5, Fraction(1, 10))
    after = half + ComposedLoss.of(gaussian)
    assert keeper.epsilon(half) == Fraction(1, 2)
    assert keeper.epsilon(after) > 1
    assert keeper.theorem(after) is Theorem.CONCENTRATED
    assert not keeper.covers(after)
    assert keeper.part_taken(ComposedLoss.of(gaussian), half) > 1
    # Once a δ is used nothing but ρ pays, however small the ε.
    spent = ComposedLoss.of(gaussian)
    room = (keeper.rho - spent.rho) * 2 // tenth.epsilon**2
    assert 0 < room < 9
    assert keeper.covers(spent + alike(int(room), tenth.epsilon))
    assert not keeper.covers(spent + alike(int(room) + 1, tenth.epsilon))


@settings(max_examples=25)
@given(st.integers(1, 10**6), st.fractions(Fraction(1, 1000), 100), st.integers(3, 30))
def test_advanced_composition_would_cover_nothing_more(
    queries: int, epsilon: Fraction, digits: int
) -> None:
    """So a policy that names it gets zCDP, which never finds more loss in Laplace releases."""
    slack, spent = Fraction(1, 10**digits), alike(queries, epsilon / queries)
    assert concentrated(spent, slack) <= advanced(spent, slack)
    budget = Budget(epsilon, slack, queries)
    ways = [accountant(replace(budget, composition=way)) for way in (ADVANCED, ZCDP)]
    assert ways[0].shares == ways[1].shares
    assert ways[0].epsilon(spent) == ways[1].epsilon(spent)
