"""The book in a file: an SQLite database in WAL mode with synchronous FULL.

What is committed is on the disk. One `BEGIN IMMEDIATE` transaction reads the last entry and appends
the next (https://www.sqlite.org/lang_transaction.html, section 2.2).
"""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dpdb.errors import LedgerError
from dpdb.ledger.book.book import Book, Contents, Row, Sealed, sealed_after
from dpdb.ledger.book.database import (
    FORMAT,
    UNCORRECTED,
    Anchor,
    check_file,
    check_folder,
    connected,
    fill,
    format_of,
    held_by_another,
    identity,
    is_ledger,
    upgrade,
)
from dpdb.ledger.book.entries import Entry

_REASONS = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "it cannot be written",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_IOERR": "the disk failed",
    "SQLITE_PERM": "it cannot be read",
    "SQLITE_AUTH": "it cannot be read",
}
"""The meanings of SQLite's errors, by the beginnings of their names; any other is damage."""


class FileBook(Book):
    """A book in a file of one machine.

    A SELECT of one thread that has not ended would make SQLite refuse another's BEGIN IMMEDIATE
    once another process has written; so each is read to its end.
    """

    def __init__(self, path: Path, anchor: Anchor | None = None) -> None:
        check_folder(path)
        check_file(path)
        self.path, self.place = path, str(path)
        self.owner = path.stat().st_uid
        super().__init__(anchor)

    def _open(self) -> None:
        self._connection = connected(self.path)
        weakref.finalize(self, self._connection.close)
        if not is_ledger(self._connection):
            raise self._damaged()
        self._files = self._identities()

    def now(self) -> int:
        return int(time.time())

    def bring_up_to_date(self, corrections: Callable[[Sealed], Iterable[Entry]]) -> None:
        """Bring the file up to date; add the `corrections` if it was never corrected."""
        with self._guarded():
            if format_of(self._connection) == FORMAT:
                return
            with self.changing():
                found, last = format_of(self._connection), self.last()
                if found == FORMAT:
                    return  # another process was quicker
                for entry in corrections(last) if found == UNCORRECTED else ():
                    last = sealed_after(last, entry)
                    self._insert(last)
                upgrade(self._connection)
            if self._anchor is not None:
                self._anchor.add(last.entry.number, last.seal)

    @property
    def accounts_version(self) -> object:
        with self._guarded():
            self._check_same_files()
            return self._ask("PRAGMA data_version")  # of any table: charges change it, too

    def _ask(self, query: str, *values: object) -> list[Row]:
        return self._connection.execute(query.format(""), values).fetchall()

    def _write(self, query: str, *values: object) -> None:
        self._connection.execute(query.format(""), values)

    def _check_written(self, sealed: Sealed | None) -> None:
        """Refuse a file in which locks did not hold: somebody else's entry can be in its place."""
        self._check_same_files()
        if sealed is not None and self.at(sealed.entry.number).seal != sealed.seal:
            raise self._damaged()

    def _check_stored(self) -> None:
        if self._ask("PRAGMA integrity_check(1)") != [("ok",)]:
            raise self._damaged()

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
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:  # a text can be damaged, too
            name = getattr(error, "sqlite_errorname", "")
            if name.startswith("SQLITE_BUSY"):
                raise held_by_another() from None
            reasons = (why for start, why in _REASONS.items() if name.startswith(start))
            reason = next(reasons, None)
            if reason is None:
                raise self._damaged() from None
            raise LedgerError(f"cannot use the ledger {self.path}: {reason}") from None


def create(path: Path, contents: Contents, anchor: Anchor | None) -> None:
    """Make a ledger in a file; it is there as a whole or not at all.

    Raises LedgerError where there is a file already, or an anchor, as then there was a ledger.
    """
    check_folder(path)
    if identity(path) is not None:
        raise _there_already(path)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            fill(new, lambda ask: contents.add_to(lambda query, *row: ask(query.format(""), row)))
            if anchor is not None:
                (first,) = contents.entries
                anchor.begin(first.entry.number, first.seal)
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
