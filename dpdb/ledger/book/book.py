"""The book: the entries of a lasting budget, for many processes at once.

A book has two forms, `FileBook` and `ServerBook`. Both have the same four tables and the same
chain of seals. A form says how a statement of SQL is run, and how a transaction keeps others from
writing: nobody else writes between the reading of the last entry and the next one.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from functools import lru_cache
from typing import Any

from dpdb.errors import InternalError, LedgerError
from dpdb.ledger.book.database import Anchor, Turns
from dpdb.ledger.book.entries import NO_SEAL, Entry, arrives, moved_to, seal
from dpdb.ledger.protocol import Kept, SealedRelease
from dpdb.records import dataclass

Row = tuple[Any, ...]
Account = tuple[str, str, bytes]
"""The name of an account, its text and its seal: `people` makes and checks them."""

_PAGE = 500
"""The rows that are read at once of all that there are."""
_entry = lru_cache(64)(Entry.read)
"""The entry of a number and a text: sessions of one process look at the same last entries."""


@dataclass(frozen=True)
class Sealed:
    """An entry and its seal."""

    entry: Entry
    seal: bytes


def sealed_after(before: Sealed | None, entry: Entry) -> Sealed:
    """An entry with its seal, which is of the entry before it, too."""
    return Sealed(entry, seal(before.seal if before else NO_SEAL, entry.number, entry.text))


@dataclass(frozen=True)
class Contents:
    """The contents of a new ledger."""

    key: str = field(repr=False)
    """The ledger's key, which each decision names."""
    entries: Iterable[Sealed]
    kept: Iterable[SealedRelease] = ()
    accounts: Iterable[Account] = ()

    def add_to(self, write: Callable[..., object], text: Callable[[str], str] = str) -> None:
        """Insert all rows with `write`; `text` gives the form in which an entry's text is kept."""
        for each in self.entries:
            write(INSERT_ENTRY, each.entry.number, text(each.entry.text), each.seal)
        for release in self.kept:
            kept = release.kept
            row = release.number, kept.scope, kept.who, kept.text, release.seal
            write(_INSERT_KEPT, *row)
        for account in self.accounts:
            write("INSERT INTO {0}users VALUES (?, ?, ?)", *account)


INSERT_ENTRY = "INSERT INTO {0}entries VALUES (?, ?, ?)"
_INSERT_KEPT = "INSERT INTO {0}kept VALUES (?, ?, ?, ?, ?)"
_ENTRIES = "SELECT number, text, seal FROM {0}entries "
_LATEST_KEPT = "SELECT coalesce(max(number), 0) FROM {0}kept"


class Book(ABC):
    """An open ledger: reads entries, and appends one at a time.

    Whatever is wrong raises LedgerError, and then nothing may be answered. Reading an entry checks
    its seal; `walk` checks all of them.

    Threads may share a book, which does one thing at a time. In SQL, `?` stands for a value, and
    `{0}` for the prefix of a table's name.
    """

    place: str
    """The ledger in messages."""
    owner: int
    """The user of the operating system whose ledger it is."""

    def __init__(self, anchor: Anchor | None) -> None:
        self._process = os.getpid()
        self._lock = Turns()
        self._anchor = anchor
        self._is_changing = False
        with self._guarded():
            self._open()
        if anchor is not None:
            self.check_anchor(anchor)

    @abstractmethod
    def _open(self) -> None:
        """Connect; raises LedgerError where there is no ledger of dpdb."""

    @abstractmethod
    def now(self) -> int:
        """The time of the ledger's clock when the last entry was looked at, since 1970."""

    @abstractmethod
    def _ask(self, query: str, *values: object) -> list[Row]:
        """The rows that a query gives."""

    @abstractmethod
    def _write(self, query: str, *values: object) -> None:
        """Change rows in a transaction, when that ends or before."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[None]:
        """A transaction, during which nobody else writes; what is raised in it undoes it."""

    @abstractmethod
    def _errors(self) -> AbstractContextManager[None]:
        """Errors of the database as LedgerError, which quotes nothing that is kept."""

    @abstractmethod
    def _check_stored(self) -> None:
        """Refuse a database that is damaged."""

    @abstractmethod
    def _damaged(self) -> LedgerError:
        """The error of a ledger that is not to be relied on."""

    @property
    @abstractmethod
    def accounts_version(self) -> object:
        """A value that becomes another when the accounts may have changed."""

    def _check_written(self, sealed: Sealed | None) -> None:  # noqa: B027 (a form may trust)
        """Refuse a transaction that has ended, and whose rows nobody else finds."""

    def bring_up_to_date(  # noqa: B027 (a form may have no earlier versions)
        self, corrections: Callable[[Sealed], Iterable[Entry]]
    ) -> None:
        """Make a book of an earlier version one of this, once."""

    def last(self) -> Sealed:
        """The last entry, read from the end: in a file that was cut its number may be another."""
        with self._guarded():
            rows = self._last_rows()
            if not rows:
                raise self._damaged()
            return self._checked(rows[0][0], rows[::-1])

    def at(self, number: int) -> Sealed:
        """The entry with this number."""
        with self._guarded():
            rows = self._entries("WHERE number IN (?, ?) ORDER BY 1", number - 1, number)
            return self._checked(number, rows)

    def append(self, make: Callable[[Sealed], Entry]) -> Sealed:
        """Add the entry that `make` gives, once it has seen the last; it is on the disk then.

        What `make` raises is raised, and nothing is added.
        """
        with self._guarded():
            with self.changing():
                before = self.last()
                sealed = sealed_after(before, make(before))
                if (to := moved_to(before.entry)) is not None and not arrives(sealed.entry):
                    raise has_moved(self, to)
                self._insert(sealed)
            if self._anchor is not None:
                self._anchor.add(sealed.entry.number, sealed.seal)
            self._check_written(sealed)
            return sealed

    @contextmanager
    def changing(self) -> Iterator[None]:
        """A transaction, or a part of that in which `append` lets an entry be made."""
        with self._guarded():
            if self._is_changing:
                yield
                return
            self._is_changing = True
            try:
                with self._writing():
                    yield
            finally:
                self._is_changing = False

    def accounts(self) -> list[Account]:
        """The accounts, in the order of their names."""
        with self._guarded():
            return sorted(self._ask("SELECT name, text, seal FROM {0}users"))

    def put_account(self, name: str, account: tuple[str, bytes] | None) -> None:
        """Keep the text and the seal of an account, or remove it, in a transaction."""
        if (to := moved_to(self.last().entry)) is not None:
            raise has_moved(self, to)
        with self.changing():
            self._write("DELETE FROM {0}users WHERE name = ?", name)
            if account is not None:
                self._write("INSERT INTO {0}users VALUES (?, ?, ?)", name, *account)

    def kept(self, scope: str, after: int, key: bytes) -> tuple[SealedRelease, ...]:
        """The releases that are kept under a scope and have a larger number than `after`.

        Raises LedgerError where one was changed.
        """
        with self._guarded():
            rows = self._ask(f"{_KEPT} WHERE scope = ? AND number > ? ORDER BY 1", scope, after)
        return tuple(self._genuine(row, key) for row in rows)

    def walk_kept(self, key: bytes) -> Iterator[SealedRelease]:
        """All releases that are kept, each with its seal checked."""
        for row in self._pages(lambda after: self._ask(f"{_KEPT} {_NEXT}", after)):
            yield self._genuine(row, key)

    def keep(self, release: Kept, key: bytes, after: int | None = None) -> int | None:
        """Add a release, which is on the disk then, and give its number.

        None, and nothing is added, where its scope has one with a larger number than `after`.
        """
        newer = "SELECT 1 FROM {0}kept WHERE scope = ? AND number > ? LIMIT 1"
        row = release.scope, release.who, release.text, release.seal(key)
        with self._guarded():
            with self.changing():
                if after is not None and self._ask(newer, release.scope, after):
                    return None
                number = int(self._ask(_LATEST_KEPT)[0][0]) + 1
                self._write(_INSERT_KEPT, number, *row)
            self._check_written(None)
            return number

    def check_anchor(self, anchor: Anchor) -> int:
        """Refuse a book that does not lead to the last entry that the anchor was given.

        Returns the number of that entry.
        """
        (number, kept), last = anchor.last(), self.last().entry
        if number > last.number or self.at(number).seal != kept:
            if (to := moved_to(last)) is not None:
                raise has_moved(self, to)
            raise LedgerError(
                f"{self.place} is older than {anchor.path} says, or another ledger",
                hint="charges are missing in it, and it must not be used",
            )
        return number

    def walk(self) -> Iterator[Sealed]:
        """Check the database, and then give each entry from the first, once its seal is checked."""
        with self._guarded():
            self._check_stored()
        before, expected = NO_SEAL, 0
        for number, text, kept in self._pages(lambda after: self._entries(_NEXT, after)):
            if number != expected:
                raise self._damaged()
            yield self._sealed(before, number, text, kept)
            before, expected = kept, expected + 1

    def _pages(self, ask: Callable[[int], list[Row]]) -> Iterator[Row]:
        """The rows that `ask` gives, some at a time: those with numbers after one."""
        after = -1
        while True:
            with self._guarded():
                rows = ask(after)
            yield from rows
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def _last_rows(self) -> list[Row]:
        """The rows of the last entry and of the one before it."""
        return self._entries("ORDER BY 1 DESC LIMIT 2")

    def _entries(self, condition: str, *values: object) -> list[Row]:
        """Number, text and seal of the entries that meet a condition."""
        return self._ask(_ENTRIES + condition, *values)

    def _genuine(self, row: Row, key: bytes) -> SealedRelease:
        number, scope, who, text, kept = row
        sealed = SealedRelease(number, Kept(scope, who, text), kept)
        if not sealed.is_genuine(key):
            raise self._damaged()
        return sealed

    def _checked(self, number: int, rows: list[Row]) -> Sealed:
        """An entry, of which this is the row, with the one before it if there is one."""
        if [row[0] for row in rows] != [each for each in (number - 1, number) if each >= 0]:
            raise self._damaged()
        before = rows[0][2] if number else NO_SEAL
        number, text, kept = rows[-1]
        return self._sealed(before, number, text, kept)

    def _sealed(self, before: bytes, number: int, text: str, kept: bytes) -> Sealed:
        try:
            if seal(before, number, text) == kept:
                return Sealed(_entry(number, text), kept)
        except (ValueError, LookupError, TypeError, AttributeError):
            pass  # Damage can make a blob of a text; and whoever sealed it, it is no entry of ours.
        raise self._damaged()

    def _insert(self, sealed: Sealed) -> None:
        number, text = sealed.entry.number, sealed.entry.text
        if _entry(number, text) != sealed.entry:
            raise InternalError("an entry of the ledger would not read as it was written")
        self._write(INSERT_ENTRY, number, self._stored(text), sealed.seal)

    def _stored(self, text: str) -> str:
        """The text of an entry as the database keeps it."""
        return text

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Let one thread at a time use the book, and no forked process, which has no locks."""
        if os.getpid() != self._process:
            raise LedgerError(
                "this process was forked from one that had opened the ledger",
                hint="open a session after the fork",
            )
        with self._lock, self._errors():
            yield


_KEPT = "SELECT number, scope, who, text, seal FROM {0}kept"
_NEXT = f"WHERE number > ? ORDER BY 1 LIMIT {_PAGE}"


def has_moved(book: Book, to: str) -> LedgerError:
    """The error of a ledger that was moved."""
    return LedgerError(
        f"{book.place} was moved to {to}, and nothing is spent from it any more",
        hint=f'ledger = "{to}" in the policy',
    )
