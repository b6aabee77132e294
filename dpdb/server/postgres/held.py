"""The statements, portals and cursors that a connection holds, within limits of their memory."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import field
from itertools import chain
from sys import getsizeof
from typing import Any

from dpdb.answers.record import Cell
from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.server.postgres import values
from dpdb.server.postgres.protocol import Malformed, Refusal
from dpdb.server.postgres.results import Column, Result
from dpdb.server.postgres.statements import ParameterKind, Statement

MOST_HELD = 256
"""The most prepared statements, and the most portals, of a connection."""
MOST_HELD_BYTES = 2 * 1024 * 1024
"""The most bytes of the messages that they came in."""
MOST_WAITING_BYTES = 16 * 1024 * 1024
"""The most bytes of rows that wait in other portals while one is suspended."""


@dataclass(frozen=True)
class Told:
    """The columns that a client was told; None for no rows."""

    columns: tuple[Column, ...] | None
    intervals: bool
    version: int
    """The number of `Questions.version` then."""

    def is_of(self, version: int, *, intervals: bool) -> bool:
        """Whether these are still the columns of a statement without parameters."""
        return (self.version, self.intervals) == (version, intervals)

    def check(self, columns: Sequence[Column] | None) -> None:
        """Refuse to send other columns than the client was told."""
        if self._types(self.columns) != self._types(columns):
            raise Refusal(
                "0A000",
                "cached plan must not change result type",
                "values, SET dp_intervals or the policy changed it: prepare the statement again",
            )

    @staticmethod
    def _types(columns: Sequence[Column] | None) -> list[Kind] | None:
        return None if columns is None else [kind for _, kind in columns]


@dataclass(eq=False)
class Prepared:
    """A prepared statement."""

    statement: Statement
    given: Sequence[int]
    """The types of its parameters as the client gave them; 0 for those that it did not."""
    oids: Sequence[int]
    """The types as the client is told them."""
    size: int
    told: Told | None = None

    @property
    def kinds(self) -> list[ParameterKind]:
        """The kinds of its parameters; None for texts that are read as constants."""
        return [values.kind_of(oid) for oid in self.oids]


@dataclass(eq=False)
class Portal:
    """A prepared statement with its values."""

    prepared: Prepared
    values: Sequence[Any]
    formats: Sequence[int]
    size: int
    intervals: bool
    """Whether the ends of intervals are columns, since it was bound."""
    told: Told | None = None
    rows: deque[bytes] | None = None
    """The rows that were not sent yet; None before it has run."""
    tag: str = ""

    @property
    def waiting(self) -> int:
        """The bytes of the rows that were not sent yet."""
        return sum(map(len, self.rows or ()))


@dataclass(eq=False)
class Held:
    """Statements and portals; the empty name is free to be taken again, and others are not."""

    prepared: dict[str, Prepared] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)

    def prepare(self, name: str, statement: Prepared) -> None:
        """Hold a statement; raises Refusal."""
        if name and name in self.prepared:
            raise Refusal("42P05", f'prepared statement "{name[:63]}" already exists')
        self._check_room(self.prepared, name, statement.size)
        self.prepared[name] = statement

    def bind(self, name: str, portal: Portal) -> None:
        """Hold a portal; raises Refusal."""
        if name and name in self.portals:
            raise Refusal("42P03", f'cursor "{name[:63]}" already exists')
        self._check_room(self.portals, name, portal.size)
        self.portals[name] = portal

    def statement(self, name: str) -> Prepared:
        """A statement; raises Refusal."""
        if name not in self.prepared:
            raise Refusal("26000", f'prepared statement "{name[:63]}" does not exist')
        return self.prepared[name]

    def portal(self, name: str) -> Portal:
        """A portal; raises Refusal."""
        if name not in self.portals:
            raise Refusal("34000", f'portal "{name[:63]}" does not exist')
        return self.portals[name]

    def close(self, what: bytes, name: str) -> None:
        """Hold one no longer; raises Malformed."""
        if what not in (b"S", b"P"):
            raise Malformed("statements and portals are closed")
        (self.prepared if what == b"S" else self.portals).pop(name, None)

    def deallocate(self, name: str | None) -> None:
        """Hold a statement no longer, or none of them; a name that is not held is no error."""
        if name is None:
            self.prepared.clear()
        else:
            self.prepared.pop(name, None)

    def suspend(self, name: str) -> None:
        """Let the rows of a portal wait, if not too many of others do; raises Refusal."""
        others = sum(each.waiting for key, each in self.portals.items() if key != name)
        if others > MOST_WAITING_BYTES:
            del self.portals[name]
            hint = "read the rows of other cursors first; asked again, the answer is free"
            raise Refusal("53400", "too many rows wait in other portals", hint)

    def _check_room(
        self, held: dict[str, Prepared] | dict[str, Portal], name: str, size: int
    ) -> None:
        """Refuse what is too much for a connection to hold."""
        sizes = [each.size for each in self.prepared.values()]
        known = sum(sizes) + sum(each.size for each in self.portals.values())
        freed = held[name].size if name in held else 0
        if (len(held) >= MOST_HELD and name not in held) or known - freed + size > MOST_HELD_BYTES:
            hint = "DEALLOCATE ALL, or close some"
            raise Refusal("53400", "too many statements and portals are held", hint)


_NAME = r'("(?:[^"]|"")+"|\w+)'
_DECLARE = re.compile(
    rf"\s*DECLARE\s+{_NAME}\s+(?:(?:ASENSITIVE|INSENSITIVE|(?:NO\s+)?SCROLL)\s+)*CURSOR\s+"
    r"(?:(WITH|WITHOUT)\s+HOLD\s+)?FOR\b",
    re.IGNORECASE,
)
_FETCH = re.compile(
    r"\s*(?:FETCH|MOVE)(?:\s+(?:NEXT|FORWARD))?(?:\s+(ALL|[0-9]{1,9}))?(?:\s+(?:FROM|IN))?"
    rf"\s+{_NAME}\s*",
    re.IGNORECASE,
)
_CLOSE = re.compile(rf"\s*CLOSE\s+{_NAME}\s*", re.IGNORECASE)


def asked(text: str) -> str:
    """The SELECT of a DECLARE after blanks, so that errors keep their places; else the text."""
    found = _DECLARE.match(text)
    return text if found is None else re.sub(r"\S", " ", found[0]) + text[found.end() :]


@dataclass(eq=False)
class _Cursor:
    columns: tuple[Column, ...]
    rows: deque[Sequence[Cell]]
    """The rows that were not fetched yet."""
    holds: bool
    """Whether COMMIT leaves the cursor open."""
    size: int
    stays: bool
    """Whether the cursor outlives the transactions to come."""


class Cursors:
    """The cursors of a connection, by DECLARE, FETCH, MOVE and CLOSE.

    A statement is answered, and paid, when its cursor is declared. What is fetched is free.
    """

    def __init__(self) -> None:
        self._held: dict[str, _Cursor] = {}

    def columns(self, name: str) -> tuple[Column, ...] | None:
        """The columns of a cursor; None where there is none of this name."""
        cursor = self._held.get(name)
        return None if cursor is None else cursor.columns

    def fetched(self, statement: Statement) -> tuple[Column, ...] | None:
        """The columns of a FETCH; None for another statement."""
        found = _FETCH.fullmatch(statement.text) if statement.word == "FETCH" else None
        return None if found is None else self._cursor(found[2]).columns

    def begun(self, text: str, transaction: str) -> tuple[str, bool]:
        """The name of a new cursor, and whether COMMIT leaves it open; raises Refusal."""
        if (found := _DECLARE.match(text)) is None:
            raise Refusal("0A000", "this form of DECLARE is not supported", _FORMS)
        name, holds = _named(found[1]), (found[2] or "").upper() == "WITH"
        if transaction == "I" and not holds:
            message = "DECLARE CURSOR can only be used in transaction blocks"
            raise Refusal("25P01", message, "BEGIN, or CURSOR WITH HOLD FOR")
        if name in self._held:
            raise Refusal("42P03", f'cursor "{name[:63]}" already exists')
        if len(self._held) >= MOST_HELD:
            raise Refusal("53400", "too many cursors are open", "CLOSE ALL")
        return name, holds

    def hold(self, name: str, result: Result, *, holds: bool, within: bool) -> Result:
        """Hold an answer, `within` a transaction or not; raises Refusal for too many rows."""
        assert result.columns is not None
        texts = (name, *(label for label, _ in result.columns), *chain.from_iterable(result.rows))
        size = sum(getsizeof(str(each)) for each in texts)
        if size + sum(each.size for each in self._held.values()) > MOST_WAITING_BYTES:
            hint = "CLOSE some; asked again, the answer is free"
            raise Refusal("53400", "too many rows wait in cursors", hint)
        self._held[name] = _Cursor(
            result.columns, deque(result.rows), holds, size, stays=not within
        )
        return Result("DECLARE CURSOR", notice=result.notice)

    def result(self, statement: Statement) -> Result | None:
        """The result of FETCH, MOVE or CLOSE; None for another statement; raises Refusal."""
        word, text = statement.word, statement.text
        if word not in ("FETCH", "MOVE", "CLOSE"):
            return None
        if found := _FETCH.fullmatch(text):
            rows, most = self._cursor(found[2]).rows, (found[1] or "1").upper()
            number = len(rows) if most == "ALL" else min(int(most), len(rows))
            told = [rows.popleft() for _ in range(number)]
            if word == "MOVE":
                return Result(f"MOVE {number}")
            return Result(f"FETCH {number}", self._cursor(found[2]).columns, told)
        if (found := _CLOSE.fullmatch(text)) is None:
            raise Refusal("0A000", f"this form of {word} is not supported", _FORMS)
        if found[1].upper() == "ALL":
            self._held.clear()
            return Result("CLOSE CURSOR ALL")
        self._cursor(found[1])
        del self._held[_named(found[1])]
        return Result("CLOSE CURSOR")

    def end(self, tag: str) -> None:
        """Close the cursors that end with a transaction, or all at DISCARD ALL."""
        for name, each in list(self._held.items()):
            each.stays = each.stays or (each.holds and tag == "COMMIT")
            if tag == "DISCARD ALL" or not each.stays:
                del self._held[name]

    def _cursor(self, written: str) -> _Cursor:
        name = _named(written)
        if name not in self._held:
            raise Refusal("34000", f'cursor "{name[:63]}" does not exist')
        return self._held[name]


_FORMS = "a cursor goes forward: DECLARE c CURSOR FOR SELECT …; FETCH 100 FROM c; CLOSE c"


def _named(written: str) -> str:
    """The name, as PostgreSQL folds it: a word in lower case, a name in quotes as it is."""
    return written[1:-1].replace('""', '"') if written.startswith('"') else written.lower()
