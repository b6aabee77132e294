"""The messages of PostgreSQL's protocol 3.0 ("Message Formats" of its manual), as bytes.

`Fields` reads what a client sends, with each length checked; the functions write what it is sent.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from dpdb.records import dataclass

LONGEST_BEFORE_LOGIN = 10 * 1024
"""The most bytes of a message before login."""
LONGEST = 1024 * 1024
"""The most bytes of a message after login."""
VERSION = 3 << 16
"""Protocol 3.0."""
RELEASE = "15.0"
"""The version of PostgreSQL that clients are told, whose catalogue and protocol they then use."""


class Opening(IntEnum):
    """The codes of first messages that are no version."""

    CANCEL = 80877102
    TLS = 80877103
    GSS = 80877104


class Malformed(Exception):
    """The client sends what is no message of the protocol; the connection ends."""


class Refusal(Exception):
    """An error of the front itself, with its SQLSTATE."""

    def __init__(self, state: str, message: str, hint: str | None = None, detail: str = ""):
        super().__init__(message)
        self.state, self.message, self.hint, self.detail = state, message, hint, detail


@dataclass(frozen=True)
class Described:
    """A column of a result, as a client is told of it."""

    name: str
    oid: int
    size: int
    """The bytes of a value; -1 where they differ."""


class Fields:
    """The body of a message, read from its first byte to its last; raises Malformed."""

    def __init__(self, body: bytes):
        self._body, self._at = body, 0

    @property
    def size(self) -> int:
        """The bytes of the body."""
        return len(self._body)

    def take(self, number: int) -> bytes:
        """The next bytes."""
        end = self._at + number
        if not 0 <= number <= len(self._body) - self._at:
            raise Malformed("a message is shorter than it says")
        part, self._at = self._body[self._at : end], end
        return part

    def text(self) -> str:
        """The next text, which a zero byte ends."""
        end = self._body.find(b"\0", self._at)
        if end < 0:
            raise Malformed("a text in a message does not end")
        part, self._at = self._body[self._at : end], end + 1
        return utf8(part)

    def int16(self) -> int:
        """The next number of two bytes; these are counts, and so not negative."""
        number: int = struct.unpack("!h", self.take(2))[0]
        if number < 0:
            raise Malformed("a count is negative")
        return number

    def int32(self) -> int:
        """The next number of four bytes."""
        number: int = struct.unpack("!i", self.take(4))[0]
        return number

    def int16s(self) -> list[int]:
        """The next numbers of two bytes, after their count."""
        return [self.int16() for _ in range(self.int16())]

    def values(self) -> list[bytes | None]:
        """The next values, each after its length, after their count; None is NULL."""
        lengths = range(self.int16())
        return [None if (size := self.int32()) == -1 else self.take(size) for _ in lengths]

    def rest(self) -> bytes:
        """The bytes that are left."""
        return self.take(len(self._body) - self._at)

    def end(self) -> None:
        """Refuse a message that has more in it."""
        if self._at != len(self._body):
            raise Malformed("a message is longer than its fields")


def utf8(part: bytes) -> str:
    """A text; raises Malformed where it is none."""
    try:
        return part.decode()
    except UnicodeDecodeError:
        raise Malformed("a text is not in UTF-8") from None


async def read_opening(reader: asyncio.StreamReader) -> tuple[int, Fields]:
    """The code of the next first message, which has no type, and the fields after it."""
    body = await read_body(reader, LONGEST_BEFORE_LOGIN)
    return body.int32(), body


async def read_body(reader: asyncio.StreamReader, longest: int) -> Fields:
    """The rest of a message after its type; raises Malformed or IncompleteReadError."""
    size = int.from_bytes(await reader.readexactly(4)) - 4
    if not 0 <= size <= longest:
        raise Malformed(f"a message has at most {longest:,} bytes")
    return Fields(await reader.readexactly(size))


def message(kind: bytes, body: bytes = b"") -> bytes:
    """A message of this type."""
    return kind + struct.pack("!i", len(body) + 4) + body


def text(content: str) -> bytes:
    """A text with a zero byte at its end; what the protocol cannot hold becomes `?`."""
    return content.replace("\0", "?").encode(errors="replace") + b"\0"


def authentication(code: int, body: bytes = b"") -> bytes:
    """A step of the login; 0 says that it is done."""
    return message(b"R", struct.pack("!i", code) + body)


def mechanisms(names: Iterable[str]) -> bytes:
    """The mechanisms of SASL among which the client can choose."""
    return authentication(10, b"".join(map(text, names)) + b"\0")


def negotiation(options: Sequence[str]) -> bytes:
    """Version 3.0 is spoken, and these options are not known."""
    return message(b"v", struct.pack("!ii", 0, len(options)) + b"".join(map(text, options)))


def parameter_status(name: str, value: str) -> bytes:
    """The value of a setting."""
    return message(b"S", text(name) + text(value))


def backend_key(number: int, secret: int) -> bytes:
    """The two numbers with which a statement of this connection can be cancelled."""
    return message(b"K", struct.pack("!iI", number, secret))


def ready(state: str) -> bytes:
    """Ready for a query: I outside a transaction, T in one, E in one that failed."""
    return message(b"Z", state.encode())


def complete(tag: str) -> bytes:
    """A statement is done."""
    return message(b"C", text(tag))


def row_description(columns: Sequence[Described], formats: Sequence[int] = ()) -> bytes:
    """The columns of a result; formats are 0 for text and 1 for binary."""
    chosen = formats or [0] * len(columns)
    told = (
        text(each.name) + struct.pack("!ihihih", 0, 0, each.oid, each.size, -1, chosen[place])
        for place, each in enumerate(columns)
    )
    return message(b"T", struct.pack("!h", len(columns)) + b"".join(told))


def parameter_description(oids: Sequence[int]) -> bytes:
    """The types of a statement's parameters."""
    return message(b"t", struct.pack(f"!h{len(oids)}i", len(oids), *oids))


def data_row(cells: Sequence[bytes | None]) -> bytes:
    """A row."""
    parts = (b"\xff\xff\xff\xff" if c is None else struct.pack("!i", len(c)) + c for c in cells)
    return message(b"D", struct.pack("!h", len(cells)) + b"".join(parts))


def report(kind: bytes, fields: Mapping[str, str | None]) -> bytes:
    """An error (E) or a notice (N): its fields by their letters."""
    parts = (key.encode() + text(value) for key, value in fields.items() if value)
    return message(kind, b"".join(parts) + b"\0")


EMPTY_QUERY = message(b"I")
PARSE_COMPLETE = message(b"1")
BIND_COMPLETE = message(b"2")
CLOSE_COMPLETE = message(b"3")
NO_DATA = message(b"n")
PORTAL_SUSPENDED = message(b"s")
