"""The prepared statements and portals that a connection holds, within limits of their memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.server.postgres import values
from dpdb.server.postgres.protocol import Malformed, Refusal
from dpdb.server.postgres.results import Column
from dpdb.server.postgres.statements import Statement

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
    def kinds(self) -> list[Kind | None]:
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
