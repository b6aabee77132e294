"""Periods: a budget that is renewed after some days, and what all its periods add up to."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.errors import BudgetExceeded, LedgerError
from dpdb.ledger import custodian
from dpdb.ledger.book import state
from dpdb.ledger.book.book import Book
from dpdb.ledger.book.entries import Decision
from dpdb.ledger.book.server_book import ServerBook
from dpdb.ledger.book.state import renew_where_over, spent_in_all
from dpdb.ledger.lasting import LastingLedger
from dpdb.policy.budget import Budget, Composition
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import accountant
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.privacy.accounting.loss import pure
from tests.support.lasting import at, policy_in, verify

HALF = ComposedLoss.of(pure(Fraction(1, 2)))
SMALL = ComposedLoss.of(pure(Fraction(1, 10)))
DAY = 86_400
pytestmark = pytest.mark.usefixtures("form")


class Clock:
    """The clock of the ledger's machine, which a test sets."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "time", made)
    monkeypatch.setattr(ServerBook, "now", lambda _: int(made.now))
    return made


def opened(folder: Path, budget: Budget | None = None, **lasting: object) -> Policy:
    policy = policy_in(
        folder, budget or Budget(Fraction(1), Fraction(0), 100), period=30, **lasting
    )
    custodian.open_budget(policy, "custodian", "00" * 32, {})
    return policy


def spend(ledger: LastingLedger) -> None:
    """All of a period."""
    for value in (1, 1):
        ledger.charge(HALF, at(value))
    with pytest.raises(BudgetExceeded):
        ledger.charge(HALF, at(1))


def renewals(ledger: LastingLedger) -> int:
    events = (sealed.entry.event for sealed in verify(ledger.book))
    return sum(isinstance(event, Decision) and event.action == state.RENEW for event in events)


def test_a_budget_is_renewed_when_its_period_is_over(folder: Path, clock: Clock) -> None:
    """For sessions that began before, too, and no second earlier."""
    ledger = LastingLedger.open(opened(folder))
    spend(ledger)
    clock.now += 30 * DAY - 1
    with pytest.raises(BudgetExceeded):
        ledger.charge(HALF, at(1))
    clock.now += 1
    assert ledger.balance.epsilon_left == 1
    spend(ledger)
    assert renewals(ledger) == 1


def test_the_next_period_begins_with_the_first_question_after_it(
    folder: Path, clock: Clock
) -> None:
    """Periods in which nobody asks are not saved up."""
    ledger = LastingLedger.open(opened(folder))
    clock.now += 100 * DAY
    spend(ledger)
    clock.now += 29 * DAY
    with pytest.raises(BudgetExceeded):
        ledger.charge(HALF, at(1))
    assert renewals(ledger) == 1


def test_limits_of_the_whole_and_of_analysts_are_of_each_period(folder: Path, clock: Clock) -> None:
    policy = opened(folder, queries_in_all=1, analysts=(("alice", Fraction(1, 2)),))
    ledger = LastingLedger.open(policy, "alice")
    for _ in range(3):
        ledger.charge(HALF, None)
        for queries in (1, 0):
            with pytest.raises(BudgetExceeded):
                ledger.charge(HALF, None, queries)
        clock.now += 30 * DAY
    assert renewals(ledger) == 2


def test_filters_are_not_compared_with_those_of_another_period(folder: Path, clock: Clock) -> None:
    ledger = LastingLedger.open(opened(folder))
    ledger.charge(HALF, at(1))
    assert ledger.price(HALF, at(2)).epsilon == 0
    clock.now += 30 * DAY
    assert ledger.charge(HALF, at(2)).price.epsilon == Fraction(1, 2)
    assert ledger.charge(HALF, at(3)).price.epsilon == 0
    assert LastingLedger.open(ledger.policy).balance.epsilon_left == Fraction(1, 2)
    verify(ledger.book)


def test_a_clock_that_is_set_back_renews_nothing(folder: Path, clock: Clock) -> None:
    """Nor does one that is set forth and back again, but for the period that it has begun."""
    ledger = LastingLedger.open(opened(folder))
    spend(ledger)
    for days in (-1, -30, -300):
        clock.now += days * DAY
        assert ledger.balance.epsilon_left == 0
        clock.now -= days * DAY
    clock.now += 30 * DAY
    spend(ledger)
    for days in (-30, 30, -1, 1, 29):
        clock.now += days * DAY
        with pytest.raises((BudgetExceeded, LedgerError)):
            ledger.charge(HALF, at(1))
    assert renewals(ledger) == 1


def test_two_sessions_renew_once(
    folder: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one renews and spends after this one has seen that the period is over."""
    policy = opened(folder)
    ledger, other = LastingLedger.open(policy), LastingLedger.open(policy)
    clock.now += 30 * DAY
    append = Book.append

    def slowly(book: Book, make):
        if book is ledger.book and other.book.last().entry.number == 0:
            spend(other)
        return append(book, make)

    monkeypatch.setattr(Book, "append", slowly)
    renew_where_over(ledger.book, "alice")
    assert ledger.balance.epsilon_left == 0
    assert renewals(ledger) == 1


def test_a_renewal_that_was_not_due_is_noticed(
    folder: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = LastingLedger.open(opened(folder))
    spend(ledger)
    clock.now += 29 * DAY
    with monkeypatch.context() as patched:
        patched.setattr(state, "is_due", lambda *_: True)
        renew_where_over(ledger.book, "alice")
    with pytest.raises(LedgerError, match="not what those before it lead to"):
        verify(ledger.book)


@pytest.mark.parametrize("composition", list(Composition))
def test_what_is_spent_in_all_periods(folder: Path, clock: Clock, composition: Composition) -> None:
    """The losses of all periods, converted by one theorem as if they were one session's."""
    delta = Fraction(0) if composition is Composition.PURE else Fraction(1, 10**6)
    policy = opened(folder, Budget(Fraction(8), delta, 200, composition))
    ledger = LastingLedger.open(policy)
    spent, loss = Fraction(0), NO_LOSS
    for period in range(3):
        for _ in range(40 * period):
            ledger.charge(SMALL, None)
            loss = (loss + SMALL).shortened()
        spent += 8 - ledger.balance.epsilon_left
        clock.now += 30 * DAY
    keeper = accountant(ledger.policy.budget)
    in_all = keeper.epsilon(loss)
    assert spent_in_all(ledger.book.walk()) == (in_all, keeper.slack)
    assert loss.rho == 120 * SMALL.rho
    if composition is Composition.PURE:
        assert in_all == spent == 12
    else:
        assert in_all < spent < 12  # roots are added up no more
    custodian.accept(ledger.book, policy, "custodian", "other people", {}, fresh=True)
    assert spent_in_all(ledger.book.walk()) == (0, 0)


def test_without_a_period_there_is_no_renewal(folder: Path, clock: Clock) -> None:
    policy = policy_in(folder, Budget(Fraction(1), Fraction(0), 100))
    custodian.open_budget(policy, "custodian", "00" * 32, {})
    ledger = LastingLedger.open(policy)
    spend(ledger)
    clock.now += 10_000 * DAY
    with pytest.raises(BudgetExceeded):
        ledger.charge(HALF, at(1))
    shorter = replace(policy, lasting=replace(policy.lasting, period=1))  # type: ignore[type-var]
    with pytest.raises(LedgerError, match="period is not declared there, 1 here"):
        LastingLedger.open(shorter)
