"""Ledgers that move: to a server, back to a file, and what a crash on the way leaves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.errors import LedgerError, UsageError
from dpdb.ledger import custodian, moving
from dpdb.ledger.book.book import Book
from dpdb.ledger.lasting import LastingLedger
from dpdb.ledger.people import Accounts, new_user
from dpdb.policy.budget import Budget, LedgerServer
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure
from tests.support.lasting import at, ledgers_on, policy_in, verify
from tests.support.postgres import Server

LOSS = ComposedLoss.of(pure(Fraction(1, 10)))
KEY = "5a" * 32


@pytest.fixture
def places(folder: Path, server: Server) -> list[Path | LedgerServer]:
    """A file, a schema, a schema, a file: each way there is to move."""
    with ledgers_on(server):
        servers = [policy_in(folder).lasting for _ in range(2)]
    return [folder / "first", *(each.ledger for each in servers if each), folder / "last"]


def opened(folder: Path, place: Path | LedgerServer) -> Policy:
    made = policy_in(folder, Budget(Fraction(1), Fraction(0), 100), anchor=folder / "anchor")
    policy = moved(made, place)
    custodian.open_budget(policy, "custodian", KEY, {"key": "ff", "t": ""})
    return policy


def moved(policy: Policy, place: Path | LedgerServer) -> Policy:
    assert policy.lasting is not None
    return replace(policy, lasting=replace(policy.lasting, ledger=place))


def test_a_ledger_goes_on_wherever_it_is_moved(
    folder: Path, server: Server, places: list[Path | LedgerServer]
) -> None:
    policy = opened(folder, places[0])
    user, left = new_user("alice", None), Fraction(1, 2)
    custodian.add_user(custodian.book_of(policy), "custodian", user, left)
    for place in places[1:]:
        ledger = LastingLedger.open(policy, "alice")
        ledger.charge(LOSS, at(1))
        ledger.keep("scope", f"kept é at {left}")
        left -= Fraction(1, 10)
        before, kept = verify(ledger.book), ledger.kept("scope", 0)
        last, *counts = moving.move(policy, place, "custodian")
        assert counts == [len(kept), 1]
        with pytest.raises(LedgerError, match="was moved to"):
            ledger.charge(LOSS, None)
        with pytest.raises(LedgerError, match="was moved to"):
            LastingLedger.open(policy)
        policy = moved(policy, place)
        now = LastingLedger.open(policy, "alice")
        assert verify(now.book)[: len(before)] == before
        assert now.book.last() == last
        assert now.kept("scope", 0) == kept
        assert now.balance.epsilon_left == left
        assert policy.lasting is not None
        assert Accounts(policy.lasting).names == ("alice",)
    for place, way in ((places[0], "mv OLD NEW"), (places[1], "ALTER SCHEMA … RENAME")):
        with pytest.raises((LedgerError, UsageError), match=r"is (read by|a ledger)") as refused:
            moving.move(policy, place, "custodian")
        assert way in str(refused.value.hint)
    assert isinstance(places[1], LedgerServer)
    server.execute(f"ALTER SCHEMA {places[1].schema} RENAME TO {places[1].schema}_before")
    moving.move(policy, places[1], "custodian")
    LastingLedger.open(moved(policy, places[1]), "alice").charge(LOSS, at(1))


def test_a_backup_from_before_the_move_is_told_by_the_anchor(
    folder: Path, places: list[Path | LedgerServer]
) -> None:
    first, there = places[0], places[1]
    assert isinstance(first, Path)
    policy = opened(folder, first)
    backup = first.read_bytes()
    moving.move(policy, there, "custodian")
    for beside in (first, *folder.glob(f"{first.name}-*")):
        beside.unlink()
    first.touch(mode=0o600)
    first.write_bytes(backup)
    with pytest.raises(LedgerError, match=r"is older than .*anchor says"):
        LastingLedger.open(policy, "alice")
    LastingLedger.open(moved(policy, there), "alice").charge(LOSS, None)


@pytest.mark.usefixtures("form")
def test_nothing_is_done_with_a_ledger_that_was_moved(folder: Path) -> None:
    policy = policy_in(folder)
    custodian.open_budget(policy, "custodian", KEY, {})
    custodian.add_user(custodian.book_of(policy), "custodian", new_user("alice", None), None)
    moving.move(policy, folder / "there", "custodian")
    book = custodian.book_of(policy)
    for ask in (
        lambda: LastingLedger.open(policy, "alice"),
        lambda: custodian.grant(book, "custodian", "bob", Fraction(1, 2)),
        lambda: custodian.accept(book, policy, "custodian", "why", {}, fresh=True),
        lambda: custodian.remove_user(book, "custodian", "alice"),
        lambda: custodian.add_user(book, "custodian", new_user("bob", None), None),
    ):
        with pytest.raises(LedgerError, match="was moved to"):
            ask()
    assert [each.entry.event.action for each in verify(book)] == ["open", "move"]


def test_nothing_is_moved_to_where_something_is(
    folder: Path, places: list[Path | LedgerServer]
) -> None:
    policy, other = opened(folder, places[0]), policy_in(folder)
    assert other.lasting is not None
    own = replace(other.lasting, ledger=places[1], key=folder / "other.key")
    custodian.open_budget(replace(other, lasting=own), "custodian", "11" * 32, {})
    (folder / "last").write_text("x")
    refused = {folder / "last": "already", folder / "anchor": "is read by dpdb",
               places[0]: "is read by dpdb", places[1]: "already"}  # fmt: skip
    for place, words in refused.items():
        with pytest.raises((LedgerError, UsageError), match=words):
            moving.move(policy, place, "custodian")
    policy.lasting.key.write_text("of another")
    with pytest.raises(LedgerError, match=r"is no key|key of another"):
        moving.move(policy, places[2], "custodian")
    LastingLedger.open(policy).charge(LOSS, None)


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("way", [(0, 1), (1, 3)])
def test_a_crash_on_the_way_leaves_one_that_can_be_spent_at_most(
    folder: Path, places: list[Path | LedgerServer], way: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    source, to = (places[each] for each in way)
    policy = opened(folder, source)
    LastingLedger.open(policy, "alice").charge(LOSS, None)
    new = moved(policy, to)
    with monkeypatch.context() as broken:
        broken.setattr(moving, "decide", _killed)  # the old one has ended, the new one is not begun
        with pytest.raises(KeyboardInterrupt):
            moving.move(policy, to, "custodian")
    for each in (policy, new):
        with pytest.raises(LedgerError, match="was moved to"):
            LastingLedger.open(each)
    with pytest.raises(LedgerError, match="was moved to"):
        moving.move(policy, folder / "elsewhere", "custodian")
    moving.move(policy, to, "custodian")
    LastingLedger.open(new, "alice").charge(LOSS, None)
    verify(custodian.book_of(new))
    with pytest.raises(LedgerError):  # once more would be another ledger
        moving.move(policy, to, "custodian")


@pytest.mark.parametrize("part", ["walk_kept", "accounts"])
def test_a_copy_that_differs_ends_nothing(
    folder: Path, places: list[Path | LedgerServer], monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    policy, whole = opened(folder, places[0]), getattr(Book, part)
    custodian.add_user(custodian.book_of(policy), "custodian", new_user("bob", None), None)
    ledger = LastingLedger.open(policy, "alice")
    ledger.keep("scope", "text")
    with monkeypatch.context() as broken:
        broken.setattr(
            Book, part,
            lambda book, *key: whole(book, *key) if book.place == str(places[0]) else [],
        )  # fmt: skip
        with pytest.raises(LedgerError, match="not"):
            moving.move(policy, places[3], "custodian")
    ledger.charge(LOSS, None)
    assert ledger.balance.epsilon_left == Fraction(9, 10)
