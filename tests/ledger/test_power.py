"""Power that is cut at any moment leaves every charge that was granted."""

from __future__ import annotations

import ctypes.util
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from dpdb.ledger.lasting import LastingLedger
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure
from tests.support.lasting import at, verify
from tests.support.ledger_trials import opened_budget
from tests.support.power import Power, power

LITTLE = ComposedLoss.of(pure(Fraction(1, 1000)))
CHARGES = 4


@pytest.fixture
def cut_off() -> Iterator[Power]:
    if ctypes.util.find_library("sqlite3") is None:
        pytest.skip("SQLite is a part of Python here, and nothing comes between it and its files")
    with power() as noting:
        yield noting


class Trial:
    """Charges, and after each write of SQLite the number of them that a cut would leave."""

    def __init__(self, folder: Path, cut_off: Power, synchronous: str = "FULL"):
        policy = opened_budget(folder)
        assert policy.lasting is not None
        left = folder / "left"
        left.mkdir(mode=0o700)
        self.copy = replace(
            policy, lasting=replace(policy.lasting, ledger=left / policy.lasting.ledger.name)
        )
        self.cut_off, self.left, self.random = cut_off, left, Random(7)
        self.granted = 0
        self.checked = self.lost = 0
        self.cutting = False
        ledger = LastingLedger.open(policy)
        ledger.book._connection.execute(f"PRAGMA synchronous = {synchronous}")
        ledger.book._connection.execute("PRAGMA wal_autocheckpoint = 8")
        cut_off.on_write = self.cut
        for number in range(CHARGES):
            ledger.charge(LITTLE, at(number) if number % 2 else None)
            self.granted += 1
            self.cut()
        cut_off.on_write = lambda: None

    def cut(self) -> None:
        """Cut the power, twice: with nothing of what is pending on the disk, and with some."""
        if self.cutting:
            return
        self.cutting = True
        here = dict(self.cut_off.disks)
        for random in (None, self.random):
            for file in self.left.iterdir():
                file.unlink()
            self.cut_off.disks = {p: disk for p, disk in here.items() if p.parent != self.left}
            self.cut_off.cut(self.left, random)
            charged = len(verify(LastingLedger.open(self.copy).book)) - 1
            self.checked += 1
            self.lost += charged < self.granted
        self.cut_off.disks = here
        self.cutting = False


def test_a_cut_at_any_moment_leaves_all_that_was_granted(folder: Path, cut_off: Power) -> None:
    trial = Trial(folder, cut_off)
    assert trial.checked > 10 * CHARGES
    assert trial.lost == 0


def test_with_less_than_full_synchrony_charges_would_be_lost(folder: Path, cut_off: Power) -> None:
    assert Trial(folder, cut_off, "NORMAL").lost > 0
