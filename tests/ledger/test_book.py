"""The file of a ledger: where it may be, and that it is refused when anything is wrong with it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.errors import BudgetExceeded, InternalError, LedgerError
from dpdb.ledger import custodian
from dpdb.ledger.book import database, file_book, plan_text
from dpdb.ledger.book.file_book import FileBook
from dpdb.ledger.lasting import LastingLedger
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure
from tests.support.lasting import at, opened, policy_in, verify

LOSS = ComposedLoss.of(pure(Fraction(1, 10)))


def path_of(ledger: LastingLedger) -> Path:
    return ledger.book.path


def again(ledger: LastingLedger) -> LastingLedger:
    return LastingLedger.open(ledger.policy, "alice")


def connection_of(ledger: LastingLedger) -> sqlite3.Connection:
    return ledger.book._connection


# ----------------------------------------------------------------------------- where it is


def test_nobody_else_can_read_it(folder: Path) -> None:
    ledger = opened(folder)
    ledger.charge(LOSS, None)
    files = sorted(folder.iterdir())
    assert [file.name.split(".", 1)[1] for file in files] == ["ledger", "ledger-shm", "ledger-wal"]
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)


def test_a_commit_is_on_the_disk(folder: Path) -> None:
    ledger = opened(folder)
    ask = connection_of(ledger).execute
    assert ask("PRAGMA journal_mode").fetchone() == ("wal",)
    assert ask("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_what_would_not_read_as_it_is_written_is_not_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pair is a list when it is read: such an entry would be another than its session counts."""
    ledger = opened(folder)
    with monkeypatch.context() as broken:
        told = {"table": "t", "limits": {"x": (False, [3, 4], False)}}
        broken.setattr(plan_text, "kept_region", lambda region, _: (told, region))
        with pytest.raises(InternalError, match="would not read as it was written"):
            ledger.charge(LOSS, at(3))
    assert [sealed.entry.number for sealed in verify(ledger.book)] == [0]
    ledger.charge(LOSS, at(3))
    assert again(ledger).balance.epsilon_left == ledger.balance.epsilon_left == Fraction(9, 10)


def test_it_is_made_once(folder: Path) -> None:
    ledger = opened(folder)
    ledger.charge(LOSS, None)
    with pytest.raises(LedgerError, match="stays as it is"):
        custodian.open_budget(ledger.policy, "custodian", "00", {})
    assert again(ledger).balance.queries_left == 10
    assert ledger.balance.epsilon_left == Fraction(9, 10)


def test_it_is_never_made_by_asking(folder: Path) -> None:
    policy = policy_in(folder)
    with pytest.raises(LedgerError, match="there is no ledger"):
        LastingLedger.open(policy)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o400, 0o606])
def test_a_file_with_other_permissions(folder: Path, mode: int) -> None:
    ledger = opened(folder)
    path_of(ledger).chmod(mode)
    with pytest.raises(LedgerError, match="permissions"):
        again(ledger)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_change(folder: Path, mode: int) -> None:
    ledger, new = opened(folder), policy_in(folder)
    folder.chmod(mode)
    with pytest.raises(LedgerError, match="others can change"):
        again(ledger)
    with pytest.raises(LedgerError, match="others can change"):
        custodian.open_budget(new, "custodian", "00", {})


def test_a_file_of_another_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = opened(folder)
    monkeypatch.setattr(database, "check_folder", lambda path: None)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(LedgerError, match="another user"):
        database.check_file(path_of(ledger))


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_links(folder: Path, link: Callable[[Path, Path], None]) -> None:
    """Under another name there would be another file of what is not in the main file yet."""
    ledger, policy = opened(folder), policy_in(folder)
    assert policy.lasting is not None
    link(path_of(ledger), policy.lasting.ledger)
    with pytest.raises(LedgerError, match="a link"):
        LastingLedger.open(policy)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "9p"])
def test_a_network(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = opened(folder)
    mounts = folder / "mounts"
    mounts.write_text(f"disk / ext4 rw 0 0\nserver:/x {folder.resolve()} {kind} rw 0 0\n")
    monkeypatch.setattr(database, "_MOUNTS", mounts)
    with pytest.raises(LedgerError, match=f"on a network .{kind}"):
        again(ledger)
    mounts.write_text(f"disk / nfs4 rw 0 0\ndisk {folder.resolve()} ext4 rw 0 0\n")
    again(ledger)


# ------------------------------------------------------------------------ what can go wrong


def test_another_file_in_its_place(folder: Path) -> None:
    """Otherwise two sessions would spend from two files."""
    ledger = opened(folder)
    copy = folder / "copy"
    shutil.copy(path_of(ledger), copy)
    copy.replace(path_of(ledger))
    with pytest.raises(LedgerError, match="replaced"):
        ledger.charge(LOSS, None)


def test_a_missing_file(folder: Path) -> None:
    ledger = opened(folder)
    path_of(ledger).unlink()
    with pytest.raises(LedgerError, match="replaced"):
        ledger.charge(LOSS, None)
    with pytest.raises(LedgerError, match="there is no ledger"):
        again(ledger)


def test_entries_that_go_missing(folder: Path) -> None:
    ledger = opened(folder)
    ledger.charge(LOSS, None)
    ledger.charge(LOSS, None)
    connection_of(ledger).execute("DELETE FROM entries WHERE number = 2")
    with pytest.raises(LedgerError, match="older"):
        ledger.charge(LOSS, None)


def test_an_entry_that_was_written_over(folder: Path) -> None:
    """As if locks had not held, and somebody else had written in its place."""
    ledger, other = opened(folder), opened(folder)
    ledger.charge(LOSS, None)
    other.charge(LOSS, at(3))
    row = other.book._connection.execute("SELECT text, seal FROM entries WHERE number = 1")
    connection_of(ledger).execute("UPDATE entries SET text = ?, seal = ?", row.fetchone())
    with pytest.raises(LedgerError):
        ledger.charge(LOSS, None)


def test_an_entry_that_was_changed(folder: Path) -> None:
    """The ε of each charge is a text that an editor of databases can change."""
    ledger = opened(folder)
    ledger.charge(LOSS, None)
    change = "UPDATE entries SET text = replace(text, '1/10', '1/99') WHERE number = 1"
    assert connection_of(ledger).execute(change).rowcount == 1
    with pytest.raises(LedgerError, match="damaged"):
        again(ledger)


def test_a_file_that_was_cut_off_in_its_last_page_says_nothing_wrong(folder: Path) -> None:
    """SQLite reads what is missing of a page as zeros, and so an entry as the one with number 0."""
    ledger = opened(folder)
    path, refused = path_of(ledger), 0
    for _ in range(6):
        ledger = again(ledger)
        ledger.charge(LOSS, None)
        left, policy = ledger.balance.epsilon_left, ledger.policy
        ledger.book._connection.close()  # so that all is in one file
        whole = path.read_bytes()
        for cut in range(1, 4096, 409):
            path.write_bytes(whole[:-cut])
            try:
                opened_again = LastingLedger.open(policy, "alice")
                assert opened_again.balance.epsilon_left == left
                opened_again.book._connection.close()
            except LedgerError:
                refused += 1
            for beside in (path.with_suffix(".ledger-wal"), path.with_suffix(".ledger-shm")):
                beside.unlink(missing_ok=True)
        path.write_bytes(whole)
    assert refused > 5


def test_a_lost_entry_is_noticed_before_the_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = opened(folder)
    monkeypatch.setattr(FileBook, "_insert", lambda self, sealed: None)
    with pytest.raises(LedgerError, match="damaged"):
        ledger.charge(LOSS, None)


def test_locks_that_were_lost(folder: Path) -> None:
    """Closing a file gives up the locks that its process has on it, as fcntl(2) says.

    The next process to leave then takes itself for the last one, and removes the log that this
    one goes on to write.
    """
    ledger = opened(folder)
    ledger.charge(LOSS, None)
    path_of(ledger).read_bytes()
    come_and_go = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM entries'); c.close()"
    subprocess.run([sys.executable, "-c", come_and_go, path_of(ledger)], check=True)
    assert not path_of(ledger).with_suffix(".ledger-wal").exists()
    with pytest.raises(LedgerError, match="its locks did not hold"):
        ledger.charge(LOSS, None)


def test_an_interruption_leaves_no_lock(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of a charge: others go on, and so can this one."""
    ledger = opened(folder)
    for step in ("last", "_insert", "_check_same_files"):
        with monkeypatch.context() as patched:
            patched.setattr(FileBook, step, _interrupted)
            with pytest.raises(KeyboardInterrupt):
                ledger.charge(LOSS, None)
        other = again(ledger)
        connection_of(other).execute("PRAGMA busy_timeout = 1")
        other.charge(LOSS, None)
    assert len(verify(ledger.book)) == 4
    ledger.charge(LOSS, None)


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_full_disk(folder: Path) -> None:
    """Nothing is taken, and nothing may be answered; when there is room again, all goes on."""
    ledger = opened(folder)
    ask = connection_of(ledger).execute
    (pages,) = ask("PRAGMA page_count").fetchone()
    ask(f"PRAGMA max_page_count = {pages}")
    little = ComposedLoss.of(pure(Fraction(1, 1000)))
    taken = 0
    with pytest.raises(LedgerError, match="the disk is full"):  # noqa: PT012
        while taken < 100:
            ledger.charge(little, None, 0)
            taken += 1
    assert ledger.balance.epsilon_left == 1 - Fraction(taken, 1000)
    ask("PRAGMA max_page_count = 1000")
    ledger.charge(LOSS, None)
    assert len(verify(ledger.book)) == taken + 2


def test_a_disk_that_cannot_be_written(folder: Path) -> None:
    ledger = opened(folder)
    connection_of(ledger).execute("PRAGMA query_only = ON")
    with pytest.raises(LedgerError, match="cannot be written"):
        ledger.charge(LOSS, None)
    assert ledger.balance.epsilon_left == 1


def test_another_process_that_holds_it(folder: Path) -> None:
    ledger = opened(folder)
    connection_of(ledger).execute("PRAGMA busy_timeout = 1")
    holding = again(ledger)
    other = connection_of(holding)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="another process holds the ledger"):
        ledger.charge(LOSS, None)
    other.execute("ROLLBACK")
    ledger.charge(LOSS, None)


def test_a_refusal_lets_others_go_on(folder: Path) -> None:
    ledger = opened(folder)
    with pytest.raises(BudgetExceeded):
        ledger.charge(ComposedLoss.of(pure(Fraction(2))), None)
    again(ledger).charge(LOSS, None)


def test_a_clock_that_is_set_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = opened(folder)
    now = ledger.book.last().entry.time
    monkeypatch.setattr(file_book.time, "time", lambda: now - 10)
    ledger.charge(LOSS, None)
    assert ledger.book.last().entry.time == now
    monkeypatch.setattr(file_book.time, "time", lambda: now - 86_400)
    with pytest.raises(LedgerError, match="the clock"):
        ledger.charge(LOSS, None)
    custodian.accept(ledger.book, ledger.policy, "custodian", "the clock was wrong", {})
    again(ledger).charge(LOSS, None)


def test_a_fork(folder: Path) -> None:
    ledger = opened(folder)
    child = os.fork()
    if not child:  # nothing of pytest may run here
        try:
            ledger.charge(LOSS, None)
        except LedgerError as error:
            os._exit(0 if "forked" in error.message else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    ledger.charge(LOSS, None)


@pytest.mark.parametrize("text", [b"", b"SQLite format 3\0", b"age,zip\n40,31643\n" * 1000])
def test_files_that_are_no_ledgers(folder: Path, text: bytes) -> None:
    ledger = opened(folder)
    path_of(ledger).write_bytes(text)
    with pytest.raises(LedgerError):
        again(ledger)


def test_other_databases_are_no_ledgers(folder: Path) -> None:
    policy = policy_in(folder)
    assert policy.lasting is not None
    path = policy.lasting.ledger
    sqlite3.connect(path).execute("CREATE TABLE entries (number INTEGER PRIMARY KEY)").close()
    path.chmod(0o600)
    with pytest.raises(LedgerError, match="no ledger of dpdb"):
        LastingLedger.open(policy)


def test_a_ledger_that_was_cut_off(folder: Path) -> None:
    ledger = opened(folder)
    for _ in range(5):
        ledger.charge(LOSS, None, 0)
    connection_of(ledger).close()
    whole = path_of(ledger).read_bytes()
    for length in range(0, len(whole), 512):
        path_of(ledger).write_bytes(whole[:length])
        with pytest.raises(LedgerError):
            verify(again(ledger).book)
