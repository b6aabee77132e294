"""Anchors: files that tell an older copy of a ledger from the ledger."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from dpdb.errors import LedgerError, UsageError
from dpdb.ledger.book.database import Anchor
from dpdb.ledger.custodian import open_budget
from dpdb.ledger.lasting import LastingLedger
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure
from tests.support.lasting import policy_in

LOSS = ComposedLoss.of(pure(Fraction(1, 10)))


def seal(number: int) -> bytes:
    return bytes([number]) * 32


@pytest.fixture
def anchor(folder: Path) -> Anchor:
    made = Anchor(folder / "anchor")
    made.begin(0, seal(0))
    return made


def test_the_last_record_is_that_of_the_last_entry(anchor: Anchor) -> None:
    """Processes that write at once may add theirs out of order."""
    numbers = list(range(1, 50))
    Random(1).shuffle(numbers)
    for number in numbers:
        anchor.add(number, seal(number))
    assert anchor.last() == (49, seal(49))


@pytest.mark.parametrize("cut", [1, 2, 40, 67])
def test_a_record_that_was_cut_off_hides_no_other(anchor: Anchor, cut: int) -> None:
    anchor.add(1, seal(1))
    anchor.add(2, seal(2))
    anchor.path.write_bytes(anchor.path.read_bytes()[:-cut])
    assert anchor.last()[0] in (1, 2)
    anchor.add(3, seal(3))
    assert anchor.last() == (3, seal(3))


def test_it_is_begun_once(anchor: Anchor) -> None:
    with pytest.raises(LedgerError):
        anchor.begin(0, seal(9))
    assert anchor.last() == (0, seal(0))


@pytest.mark.parametrize("text", [b"", b"1 abc\n", b"\0" * 9])
def test_files_that_are_no_anchors(anchor: Anchor, text: bytes) -> None:
    anchor.path.write_bytes(text)
    with pytest.raises(LedgerError, match="no anchor"):
        anchor.last()


def test_nothing_is_granted_without_its_anchor(folder: Path) -> None:
    policy = policy_in(folder, anchor=folder / "anchor")
    open_budget(policy, "custodian", "00", {})
    ledger = LastingLedger.open(policy)
    (folder / "anchor").unlink()
    with pytest.raises(LedgerError, match="cannot use the anchor"):
        ledger.charge(LOSS, None)
    assert ledger.balance.epsilon_left == Fraction(9, 10)  # it stays paid


def test_an_anchor_of_another_ledger(folder: Path) -> None:
    policy, other = (policy_in(folder, anchor=folder / name) for name in ("one", "other"))
    for key, each in (("00", policy), ("11", other)):
        open_budget(each, "custodian", key, {})
    assert policy.lasting is not None
    crossed = replace(policy, lasting=replace(policy.lasting, anchor=folder / "other"))
    with pytest.raises(LedgerError, match="or another ledger"):
        LastingLedger.open(crossed)


def test_neither_a_ledger_nor_an_anchor_becomes_part_of_a_database(folder: Path) -> None:
    other = policy_in(folder)
    open_budget(other, "custodian", "00", {})
    assert other.lasting is not None
    companion = other.lasting.ledger.with_name(f"{other.lasting.ledger.name}-journal")
    for lasting in (
        replace(other.lasting, ledger=folder / "new", anchor=companion),
        replace(other.lasting, ledger=companion),
    ):
        with pytest.raises(UsageError, match="is read by dpdb"):
            open_budget(replace(other, lasting=lasting), "custodian", "00", {})
    assert [each.name for each in folder.iterdir()] == [other.lasting.ledger.name]
