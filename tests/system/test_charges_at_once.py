"""Charges from many threads at once: together no more than the budget."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from fractions import Fraction
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import pytest

from dpdb.errors import BudgetExceeded
from dpdb.ledger.protocol import Price
from dpdb.ledger.spending import MemoryLedger
from dpdb.policy.budget import Budget
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure

pytestmark = pytest.mark.usefixtures("in_memory")


class Meeting(MemoryLedger):
    """A ledger in which two charges meet before they are made, if nothing keeps them apart."""

    def __init__(self, budget: Budget, meeting: Barrier):
        super().__init__(budget)
        self._meeting = meeting

    def _after(self, *arguments: Any) -> Any:
        after = super()._after(*arguments)
        with suppress(BrokenBarrierError):
            self._meeting.wait(timeout=0.2)
        return after


def charged_at_once(change: Callable[[MemoryLedger], object]) -> int:
    """How many of two charges, of which the budget covers one, are accepted."""
    budget = Budget(Fraction(1), Fraction(0), 10)
    accepted: list[Price] = []
    kept = Meeting(budget, Barrier(2))
    change(kept)

    def charge() -> None:
        with suppress(BudgetExceeded):
            accepted.append(kept.charge(ComposedLoss.of(pure(Fraction(3, 4))), None))

    threads = [Thread(target=charge) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(accepted)


def test_two_charges_at_once_never_overspend() -> None:
    assert charged_at_once(lambda kept: None) == 1


def test_without_a_lock_they_would() -> None:
    assert charged_at_once(lambda kept: setattr(kept, "_lock", nullcontext())) == 2


def test_many_charges_at_once_add_up() -> None:
    budget = Budget(Fraction(1), Fraction(0), 1000)
    kept = MemoryLedger(budget)
    accepted: list[Price] = []

    def charge() -> None:
        for number in range(100):
            with suppress(BudgetExceeded):
                accepted.append(
                    kept.charge(ComposedLoss.of(pure(Fraction(1 + number % 7, 500))), None)
                )

    threads = [Thread(target=charge) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = sum((receipt.price.epsilon for receipt in accepted), Fraction(0))
    assert spent == 1 - kept.balance.epsilon_left
    assert spent == 1
    assert kept.balance.queries_left == 1000 - len(accepted)
