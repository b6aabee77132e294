"""Found keys under zCDP: the sums of ε and δ pay for them until Gaussian noise is drawn."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpdb.ledger.book.entries import _loss
from dpdb.plan.physical.mechanism_choice import key_selection
from dpdb.policy.budget import Budget
from dpdb.privacy.accounting.accountants import accountant
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss, parallel
from dpdb.privacy.accounting.loss import Loss, added, largest_loss
from tests.support.budgets import ZCDP

MILLIONTH = Fraction(1, 10**6)
KEYS = Loss(Fraction(1, 10), MILLIONTH / 100, Fraction(1, 200), MILLIONTH / 100)
GAUSSIAN = Loss(Fraction(3, 10), MILLIONTH / 20, Fraction(1, 1000))


def budget(queries: int, epsilon: int = 1) -> Budget:
    return Budget(Fraction(epsilon), MILLIONTH, queries, ZCDP)


@pytest.mark.parametrize(
    ("epsilon", "groups", "shown"),
    [(1, 1, {1: 17, 3: 48, 10: 156, 20: 310, 30: 391, 100: 739}),
     (1, 5, {1: 79, 3: 233, 10: 512, 100: 1_734}),
     (3, 1, {1: 7, 3: 18, 10: 57, 20: 112, 30: 152, 100: 286})],
)  # fmt: skip
def test_keys_are_shown_from_so_many_units(
    epsilon: int, groups: int, shown: dict[int, int]
) -> None:
    """By the better of both shares; one query was shown from 65, 151 and 26 units by ρ alone."""
    for queries, least in shown.items():
        shares = accountant(budget(queries, epsilon)).shares
        assert min(key_selection(groups, 1, each).shown_from for each in shares) == least


def test_the_sum_pays_until_gaussian_noise_is_drawn() -> None:
    """Then ρ must cover everything before, too: nine keys take .045 of its .018 or so."""
    keeper = accountant(budget(10))
    nine = sum([ComposedLoss.of(KEYS)] * 9, NO_LOSS)
    assert keeper.covers(nine + ComposedLoss.of(KEYS))
    assert keeper.epsilon(nine) == Fraction(9, 10)
    assert nine.own_delta == 0
    gaussian = ComposedLoss.of(GAUSSIAN)
    assert not keeper.covers(nine + gaussian)
    assert keeper.part_taken(gaussian, nine) > 1
    two = sum([ComposedLoss.of(KEYS)] * 2, NO_LOSS)
    assert keeper.covers(two + gaussian)
    # After Gaussian noise keys are paid for by ρ.
    assert not keeper.covers(gaussian + nine)


def test_the_reserved_delta_is_kept_by_the_sum_too() -> None:
    keeper = accountant(budget(10))
    dear = Loss(Fraction(1, 100), keeper.delta / 2, Fraction(1, 20_000), keeper.delta / 2)
    two = ComposedLoss.of(dear) + ComposedLoss.of(dear)
    assert keeper.covers(two)
    assert not keeper.covers(two + ComposedLoss.of(dear))


def test_gaussian_noise_does_not_hide_behind_keys_beside_it() -> None:
    """Neither over rows of other regions, nor under other filters, nor where keys are told."""
    keys, gaussian = (
        ComposedLoss.of(Loss(each.epsilon, MILLIONTH, each.rho, each.rho_delta and MILLIONTH))
        for each in (KEYS, GAUSSIAN)
    )
    assert keys.own_delta == 0
    beside = parallel([keys, gaussian], 1)
    assert (beside.delta - beside.rho_delta, beside.own_delta) == (0, MILLIONTH)
    assert gaussian.beyond(keys).own_delta == MILLIONTH
    assert not gaussian.is_at_most(keys)
    family = largest_loss([KEYS, GAUSSIAN, Loss(MILLIONTH, MILLIONTH, MILLIONTH, MILLIONTH)])
    assert family.own_delta >= GAUSSIAN.own_delta
    assert added([KEYS, GAUSSIAN]).own_delta == GAUSSIAN.own_delta


def test_delta_below_what_sums_are_rounded_to_is_still_there() -> None:
    tiny = Loss(MILLIONTH, Fraction(1, 10**100), MILLIONTH)
    assert (ComposedLoss.of(KEYS) + ComposedLoss.of(tiny)).shortened().own_delta > 0


def test_entries_of_earlier_versions_are_read_as_strictly_as_then() -> None:
    """They had six sums, and any δ ended what the sum of ε pays for."""
    loss = ComposedLoss.of(KEYS) + ComposedLoss.of(GAUSSIAN)
    kept = [str(part) for part in loss.parts]
    assert _loss(kept) == loss
    former = _loss(kept[:6])
    assert former.own_delta == former.delta == loss.delta
    assert former.parts[:6] == loss.parts[:6]
    keys = _loss([str(part) for part in ComposedLoss.of(KEYS).parts[:6]])
    keeper = accountant(budget(10))
    assert not keeper.covers(sum([keys] * 9, NO_LOSS))
