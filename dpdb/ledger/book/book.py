"""The book: the file that keeps the entries of a lasting budget, for many processes at once.

It is an SQLite database in WAL mode with synchronous FULL: what is committed is on the disk. One
`BEGIN IMMEDIATE` transaction reads the last entry and appends the next, so that nobody else writes
in between (https://www.sqlite.org/lang_transaction.html, section 2.2).
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import Any

from dpdb.errors import InternalError, LedgerError
from dpdb.ledger.book.database import (
    FORMAT,
    UNCORRECTED,
    Anchor,
    check_file,
    check_folder,
    connected,
    fill,
    format_of,
    identity,
    is_ledger,
    upgrade,
)
from dpdb.ledger.book.entries import NO_SEAL, Entry, seal
from dpdb.ledger.protocol import Kept, SealedRelease
from dpdb.policy.budget import LastingBudget
from dpdb.records import dataclass

_REASONS = {
    "SQLITE_BUSY": "another process holds it",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "it cannot be written",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_IOERR": "the disk failed",
    "SQLITE_PERM": "it cannot be read",
    "SQLITE_AUTH": "it cannot be read",
}
"""The meanings of SQLite's errors, by the beginnings of their names; any other is damage."""


_entry = lru_cache(64)(Entry.read)
"""The entry of a number and a text: sessions of one process look at the same last entries."""


@dataclass(frozen=True)
class Sealed:
    """An entry and its seal."""

    entry: Entry
    seal: bytes


def sealed_after(before: Sealed, entry: Entry) -> Sealed:
    """An entry with its seal, which is of the entry before it, too."""
    return Sealed(entry, seal(before.seal, entry.number, entry.text))


class Book:
    """An open ledger file: reads entries, and appends one at a time.

    Whatever is wrong raises LedgerError, and then nothing may be answered. Reading an entry checks
    its seal; `walk` checks all of them.

    Threads may share a book, which does one thing at a time: a SELECT of one thread that has not
    ended would make SQLite refuse another's BEGIN IMMEDIATE once another process has written.
    """

    def __init__(self, path: Path, anchor: Anchor | None = None):
        check_folder(path)
        check_file(path)
        self.path = path
        self._process = os.getpid()
        self._lock = RLock()
        with self._guarded():
            self._connection = connected(path)
            weakref.finalize(self, self._connection.close)
            if not is_ledger(self._connection):
                raise self._damaged()
        self._files = self._identities()
        self._anchor = anchor
        if anchor is not None:
            self.check_anchor(anchor)

    def last(self) -> Sealed:
        """The last entry, read from the end: in a file that was cut its number may be another."""
        with self._guarded():
            rows = self._connection.execute(
                "SELECT number, text, seal FROM entries ORDER BY 1 DESC LIMIT 2"
            ).fetchall()
            if not rows:
                raise self._damaged()
            return self._checked(rows[0][0], rows[::-1])

    def at(self, number: int) -> Sealed:
        """The entry with this number."""
        with self._guarded():
            return self._at(number)

    def append(self, make: Callable[[Sealed], Entry]) -> Sealed:
        """Add the entry that `make` gives, once it has seen the last; it is on the disk then.

        What `make` raises is raised, and nothing is added.
        """
        with self._guarded():
            with self._writing():
                before = self.last()
                entry = make(before)
                sealed = sealed_after(before, entry)
                self._insert(sealed)
            if self._anchor is not None:
                self._anchor.add(entry.number, sealed.seal)
            # Where locks did not hold, somebody else's entry can be in its place.
            self._check_same_files()
            if self._at(entry.number).seal != sealed.seal:
                raise self._damaged()
            return sealed

    def bring_up_to_date(self, corrections: Callable[[Sealed], Iterable[Entry]]) -> None:
        """Make a book of an earlier version one of this, once.

        One that was never corrected is given the entries of `corrections`.
        """
        with self._guarded():
            if format_of(self._connection) == FORMAT:
                return
            with self._writing():
                found, last = format_of(self._connection), self.last()
                if found == FORMAT:
                    return  # another process was quicker
                for entry in corrections(last) if found == UNCORRECTED else ():
                    last = sealed_after(last, entry)
                    self._insert(last)
                upgrade(self._connection)
            if self._anchor is not None:
                self._anchor.add(last.entry.number, last.seal)

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows that a query about the accounts gives."""
        with self._guarded():
            self._check_same_files()
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """A transaction for `ask`, or a part of that in which `append` lets an entry be made."""
        with self._guarded():
            if self._connection.in_transaction:
                yield
                return
            with self._writing():
                yield

    def kept(self, scope: str, after: int, key: bytes) -> tuple[SealedRelease, ...]:
        """The releases that are kept under a scope and have a larger number than `after`.

        Raises LedgerError where one was changed.
        """
        return tuple(self._kept("scope = ? AND number > ?", (scope, after), key))

    def walk_kept(self, key: bytes) -> Iterator[SealedRelease]:
        """All releases that are kept, each with its seal checked."""
        return self._kept("TRUE", (), key)

    def _kept(
        self, condition: str, values: tuple[object, ...], key: bytes
    ) -> Iterator[SealedRelease]:
        columns = "number, scope, who, text, seal"
        query = f"SELECT {columns} FROM kept WHERE {condition} ORDER BY 1"  # noqa: S608 (constants)
        with self._guarded():
            for number, scope, who, text, kept in self._connection.execute(query, values):
                sealed = SealedRelease(number, Kept(scope, who, text), kept)
                if not sealed.is_genuine(key):
                    raise self._damaged()
                yield sealed

    def keep(self, release: Kept, key: bytes, after: int | None = None) -> int | None:
        """Add a release, which is on the disk then, and give its number.

        None, and nothing is added, where its scope has one with a larger number than `after`.
        """
        row = release.scope, release.who, release.text, release.seal(key)
        insert = "INSERT INTO kept (scope, who, text, seal) VALUES (?, ?, ?, ?)"
        newer = "SELECT 1 FROM kept WHERE scope = ? AND number > ?"
        with self._guarded():
            with self._writing():
                ask = self._connection.execute
                if after is not None and ask(newer, (release.scope, after)).fetchone():
                    return None
                number = ask(insert, row).lastrowid
            # Where locks did not hold, nobody else may find it.
            self._check_same_files()
            return number

    def check_anchor(self, anchor: Anchor) -> int:
        """Refuse a book that does not lead to the last entry that the anchor was given.

        Returns the number of that entry.
        """
        number, kept = anchor.last()
        if number > self.last().entry.number or self.at(number).seal != kept:
            raise LedgerError(
                f"{self.path} is older than {anchor.path} says, or another ledger",
                hint="charges are missing in it, and it must not be used",
            )
        return number

    def walk(self) -> Iterator[Sealed]:
        """All entries from the first, each with its seal checked, and the file checked first."""
        with self._guarded():
            if self._connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                raise self._damaged()
            rows = self._connection.execute("SELECT number, text, seal FROM entries ORDER BY 1")
            before, expected = NO_SEAL, 0
            for number, text, kept in rows:
                if number != expected:
                    raise self._damaged()
                yield self._sealed(before, number, text, kept)
                before, expected = kept, expected + 1

    def _at(self, number: int) -> Sealed:
        rows = self._connection.execute(
            "SELECT number, text, seal FROM entries WHERE number IN (?, ?) ORDER BY 1",
            (number - 1, number),
        ).fetchall()
        return self._checked(number, rows)

    def _checked(self, number: int, rows: list[tuple[int, str, bytes]]) -> Sealed:
        """An entry, of which this is the row, with the one before it if there is one."""
        if [row[0] for row in rows] != [each for each in (number - 1, number) if each >= 0]:
            raise self._damaged()
        before = rows[0][2] if number else NO_SEAL
        return self._sealed(before, *rows[-1])

    def _sealed(self, before: bytes, number: int, text: str, kept: bytes) -> Sealed:
        try:
            if seal(before, number, text) == kept:
                return Sealed(_entry(number, text), kept)
        except (ValueError, LookupError, TypeError, AttributeError):
            pass  # Damage can make a blob of a text; and whoever sealed it, it is no entry of ours.
        raise self._damaged()

    def _insert(self, sealed: Sealed) -> None:
        text = sealed.entry.text
        if _entry(sealed.entry.number, text) != sealed.entry:
            raise InternalError("an entry of the ledger would not read as it was written")
        row = sealed.entry.number, text, sealed.seal
        self._connection.execute("INSERT INTO entries VALUES (?, ?, ?)", row)

    def _check_same_files(self) -> None:
        """Refuse other files under the same names: what is written to ours is not theirs.

        SQLite removes the log when its last user leaves. While this process has it open, that can
        only be if its locks were lost.
        """
        if self._identities() != self._files:
            raise LedgerError(
                f"{self.path} was replaced while it was in use, or its locks did not hold"
            )

    def _identities(self) -> tuple[object, object]:
        """The identities of the file and of its write-ahead log."""
        return identity(self.path), identity(self.path.with_name(f"{self.path.name}-wal"))

    def _damaged(self) -> LedgerError:
        return LedgerError(
            f"{self.path} is damaged, or no ledger of dpdb",
            hint="dpdb budget verify POLICY looks at all of it; a backup can take its place",
        )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction, during which nobody else writes; what is raised in it undoes it."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._check_same_files()
            self._connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Errors as LedgerError, and no use by a process that was forked: it has no locks.

        One thread at a time is within.
        """
        if os.getpid() != self._process:
            raise LedgerError(
                "this process was forked from one that had opened the ledger",
                hint="open a session after the fork",
            )
        try:
            with self._lock:
                yield
        except (sqlite3.Error, UnicodeDecodeError) as error:  # a text can be damaged, too
            name = getattr(error, "sqlite_errorname", "")
            reasons = (why for start, why in _REASONS.items() if name.startswith(start))
            reason = next(reasons, None)
            if reason is None:
                raise self._damaged() from None
            raise LedgerError(f"cannot use the ledger {self.path}: {reason}") from None


def anchor_of(lasting: LastingBudget) -> Anchor | None:
    """The anchor of the budget's ledger; None where it has none."""
    return None if lasting.anchor is None else Anchor(lasting.anchor)


def create(path: Path, first: Entry, anchor: Anchor | None) -> None:
    """Make a ledger with one entry; it is there as a whole or not at all.

    Raises LedgerError where there is a file already, or an anchor, as then there was a ledger.
    """
    check_folder(path)
    if identity(path) is not None:
        raise _there_already(path)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            fill(new, first.number, first.text, seal(NO_SEAL, first.number, first.text))
            if anchor is not None:
                anchor.begin(first.number, seal(NO_SEAL, first.number, first.text))
            os.link(new, path)
        finally:
            new.unlink()
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except FileExistsError:
        raise _there_already(path) from None
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"cannot make the ledger {path}: {error}") from None


def _there_already(path: Path) -> LedgerError:
    return LedgerError(f"there is a ledger {path} already, and it stays as it is")
