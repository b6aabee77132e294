"""Trials of ledgers that the suite makes a few of and `make test-long` many.

Children are forked, open the ledger themselves, and end without running anything of pytest.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from dpdb.errors import BudgetExceeded, LedgerError
from dpdb.ledger import custodian
from dpdb.ledger.lasting import LastingLedger
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure
from tests.support.lasting import at, policy_in, verify

if TYPE_CHECKING:
    from tests.support.postgres import Server

# ------------------------------------------------------------------------------ processes


def forked(work: Callable[[], object]) -> int:
    """The number of a child that does the work; it ends with 0 if that raises nothing."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def opened_budget(folder: Path) -> Policy:
    """A policy whose budget, of ε = 1, is open; it has queries enough for any trial."""
    policy = policy_in(folder, Budget(Fraction(1), Fraction(0), 10**6))
    custodian.open_budget(policy, "custodian", "00" * 32, {})
    return policy


def granted_at_once(folder: Path, processes: int, limit: int) -> int:
    """How many charges, each of which is 1/`limit`, so many processes are granted together."""
    policy, told = opened_budget(folder), folder / "granted"
    loss = ComposedLoss.of(pure(Fraction(1, limit)))

    def spend() -> None:
        ledger = LastingLedger.open(policy)
        with told.open("ab", buffering=0) as file:
            while True:
                try:
                    ledger.charge(loss, None)
                except BudgetExceeded:
                    return
                file.write(b".")

    children = [forked(spend) for _ in range(processes)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * processes
    ledger = LastingLedger.open(policy)
    assert ledger.balance.epsilon_left == 0
    assert len(verify(ledger.book)) == limit + 1
    return len(told.read_bytes())


def survives_kills(folder: Path, kills: int, random: Random) -> int:
    """Kill a spending process at random moments; after each, charges cover what it was granted.

    Returns how many charges there were that the process did not live to hear of.
    """
    policy, told = opened_budget(folder), folder / "granted"
    told.touch()
    loss = ComposedLoss.of(pure(Fraction(1, 10**6)))

    def spend() -> None:
        ledger = LastingLedger.open(policy)
        with told.open("ab", buffering=0) as file:
            while True:
                where = at(random.randrange(10)) if random.random() < 0.5 else None
                ledger.charge(loss, where)
                file.write(b".")

    unheard = 0
    for _ in range(kills):
        child = forked(spend)
        time.sleep(random.uniform(0.002, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        charged = len(verify(LastingLedger.open(policy).book)) - 1
        granted = len(told.read_bytes())
        assert charged >= granted
        unheard = charged - granted
    return unheard


def survives_stops(folder: Path, server: Server, stops: int, random: Random) -> int:
    """Stop a server like a crash under three spending processes, one of which is killed, too.

    After each stop charges cover what was granted. Returns how many charges nobody heard of.
    """
    policy, told = opened_budget(folder), folder / "granted"
    told.touch()
    loss = ComposedLoss.of(pure(Fraction(1, 10**6)))

    def spend() -> None:
        ledger = LastingLedger.open(policy)
        with told.open("ab", buffering=0) as file:
            while True:
                try:
                    ledger.charge(loss, None)
                except LedgerError:
                    time.sleep(0.02)
                else:
                    file.write(b".")

    children = [forked(spend) for _ in range(3)]
    try:
        for _ in range(stops):
            granted = len(told.read_bytes())
            while len(told.read_bytes()) == granted:
                time.sleep(0.01)
            time.sleep(random.uniform(0, 0.2))
            killed = children.pop(0)
            os.kill(killed, signal.SIGKILL)
            os.waitpid(killed, 0)
            server.stop()
            granted = len(told.read_bytes())
            server.start()
            assert LastingLedger.open(policy).book.last().entry.number >= granted
            children.append(forked(spend))
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    unheard = len(verify(LastingLedger.open(policy).book)) - 1 - len(told.read_bytes())
    assert unheard >= 0
    return unheard


# ------------------------------------------------------------------------------ tampering


class Tampered:
    """A small ledger, of which single bytes are changed."""

    def __init__(self, folder: Path):
        self.policy = policy_in(folder)
        custodian.open_budget(self.policy, "custodian", "00" * 32, {"t": "ff"})
        assert self.policy.lasting is not None
        self.path = self.policy.lasting.ledger
        ledger = LastingLedger.open(self.policy, "alice")
        self.loss = ComposedLoss.of(pure(Fraction(1, 10)))
        ledger.charge(self.loss, at(1))
        ledger.charge(self.loss, at(2))
        custodian.grant(ledger.book, "custodian", "alice", Fraction(1, 2))
        ledger.charge(self.loss, None)
        ledger.book._connection.close()
        self.whole = self.path.read_bytes()
        self.entries = self._entries()

    def _entries(self) -> list[str]:
        return [sealed.entry.text for sealed in verify(self._opened().book)]

    def _opened(self) -> LastingLedger:
        return LastingLedger.open(self.policy, "alice")

    def is_noticed(self, place: int, change: int) -> bool:
        """Whether the byte at this place, exclusive-or `change`, makes the ledger be refused.

        Otherwise it must be harmless: all entries are as they were, and the next charge is taken.
        """
        for left in self.path.parent.glob(f"{self.path.name}-*"):
            left.unlink()
        changed = bytearray(self.whole)
        changed[place] ^= change
        self.path.write_bytes(changed)
        try:
            entries = self._entries()
            ledger = self._opened()
            assert ledger.balance.epsilon_left == Fraction(2, 10)
            ledger.charge(self.loss, at(3))
            after = self._entries()
        except LedgerError:
            return True
        assert entries == self.entries == after[:-1]
        return False

    @property
    def held(self) -> list[int]:
        """The places of bytes that hold something: what is empty is no part of the ledger."""
        return [place for place, byte in enumerate(self.whole) if byte]
