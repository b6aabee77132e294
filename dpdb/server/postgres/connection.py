"""A connection after login: simple and extended queries, until the client goes.

A statement is prepared by Parse, given its values by Bind, told by Describe, and run by Execute.
After an error all messages up to Sync are skipped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

from dpdb.errors import DpdbError, reportable
from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.server.postgres import protocol, values
from dpdb.server.postgres.protocol import LONGEST, Fields, Malformed, Refusal
from dpdb.server.postgres.questions import Questions
from dpdb.server.postgres.results import Column, Result, failure, notice
from dpdb.server.postgres.statements import Statement, statements

MOST_HELD = 256
"""The most prepared statements, and the most portals, of a connection."""
MOST_HELD_BYTES = 4 * LONGEST
"""The most bytes of the statements and values that they hold."""
DRAIN = 60.0
"""Seconds in which a client takes what it is sent."""
_ARRIVAL = 20.0
"""Seconds in which a message arrives that has begun."""


@dataclass(eq=False)
class _Prepared:
    """A prepared statement."""

    statement: Statement
    oids: list[int]
    """The types of its parameters, as the client is told them."""
    kinds: list[Kind | None]
    given: list[int]
    """The types of its parameters, as the client has told them; 0 where it has not."""
    columns: tuple[Column, ...] | None = None
    is_described: bool = False


@dataclass(eq=False)
class _Portal:
    """A prepared statement with its values."""

    prepared: _Prepared
    values: list[Any]
    formats: list[int]
    size: int
    columns: tuple[Column, ...] | None = None
    is_described: bool = False
    rows: Iterator[bytes] | None = None
    tag: str = ""
    done: int = 0


@dataclass(eq=False)
class Connection:
    """The messages of a client that is known."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    questions: Questions
    pause: float
    """The seconds after which a connection ends that asks nothing."""
    prepared: dict[str, _Prepared] = field(default_factory=dict)
    portals: dict[str, _Portal] = field(default_factory=dict)
    _failed: bool = False
    _asked: Statement = Statement("")
    """The statement that was described or run last."""

    async def serve(self) -> None:
        """Answer messages until the client ends the connection; raises Malformed."""
        self._send(protocol.ready("I"))
        while True:
            await self._drain()
            kind, fields = await self._next()
            if kind == b"X":
                return
            if self._failed and kind != b"S":
                continue
            try:
                await self._take(kind, fields)
            except (Refusal, DpdbError) as error:
                place = self._asked.position(error) if isinstance(error, DpdbError) else None
                self._fail(error, place)
                self._failed = kind not in (b"Q", b"F")
                if not self._failed:
                    self._ready()
            except (Malformed, OSError):
                raise
            except Exception as error:
                self._fail(reportable(error))
                self._failed = kind != b"Q"
                if not self._failed:
                    self._ready()

    async def _next(self) -> tuple[bytes, Fields]:
        """The next message; raises TimeoutError where none comes, or not to its end."""
        async with asyncio.timeout(self.pause):
            head = await self.reader.readexactly(1)
        async with asyncio.timeout(_ARRIVAL):
            return head, await protocol.read_body(self.reader, LONGEST)

    async def _take(self, kind: bytes, fields: Fields) -> None:
        match kind:
            case b"Q":
                text = fields.text()
                fields.end()
                await self._query(text)
            case b"P":
                await self._parse(fields)
            case b"B":
                self._bind(fields)
            case b"D":
                await self._describe(fields)
            case b"E":
                await self._execute(fields)
            case b"C":
                what, name = fields.take(1), fields.text()
                self._held(what).pop(name, None)
                self._send(protocol.CLOSE_COMPLETE)
            case b"H":
                fields.end()
            case b"S":
                fields.end()
                self._failed = False
                self._ready()
            case b"F":
                raise Refusal("0A000", "function calls are not supported", "SELECT is")
            case b"d" | b"c" | b"f":
                return  # of a COPY that was refused
            case _:
                raise Malformed("a message of an unknown type")

    async def _query(self, text: str) -> None:
        """Answer the statements of a text; the first that fails ends it."""
        self.prepared.pop("", None)
        asked = list(statements(text))
        if not asked:
            self._send(protocol.EMPTY_QUERY)
        for statement in asked:
            try:
                result = await self.questions.result(statement, (), ())
                if result.columns is not None:
                    self._send(protocol.row_description(_described(result.columns)))
                    for row in await self._encoded(result, []):
                        self._send(row)
                        await self._drain()
                self._complete(result, result.tag)
            except DpdbError as error:
                self._fail(error, statement.position(error))
                break
            except Refusal as error:
                self._fail(error)
                break
        self._ready()

    async def _parse(self, fields: Fields) -> None:
        name, text = fields.text(), fields.text()
        given = [fields.int32() for _ in range(fields.int16())]
        fields.end()
        if name and name in self.prepared:
            raise Refusal("42P05", f'prepared statement "{name[:63]}" already exists')
        asked = list(statements(text)) or [Statement("")]
        if len(asked) > 1:
            raise Refusal("42601", "cannot insert multiple commands into a prepared statement")
        self._check_room(self.prepared, name, len(text))
        kinds = await self.questions.kinds(asked[0].text)
        number = max(len(kinds), len(given))
        kinds += [None] * (number - len(kinds))
        given += [0] * (number - len(given))
        oids = [
            oid or (values.TEXT if kind is None else values.oid_of(kind))
            for oid, kind in zip(given, kinds, strict=True)
        ]
        self.prepared[name] = _Prepared(asked[0], oids, kinds, given)
        self._send(protocol.PARSE_COMPLETE)

    def _bind(self, fields: Fields) -> None:
        portal, name = fields.text(), fields.text()
        formats, sent, shown = fields.int16s(), fields.values(), fields.int16s()
        fields.end()
        prepared = self._prepared(name)
        if len(sent) != len(prepared.oids):
            raise Refusal(
                "08P01",
                f"bind message supplies {len(sent)} parameters, but the statement requires "
                f"{len(prepared.oids)}",
            )
        if not {*formats, *shown} <= {0, 1} or len(formats) not in (0, 1, len(sent)):
            raise Refusal("08P01", "formats are 0 or 1, for one parameter each")
        if portal and portal in self.portals:
            raise Refusal("42P03", f'cursor "{portal[:63]}" already exists')
        size = sum(len(each or b"") for each in sent)
        self._check_room(self.portals, portal, size)
        binary = _each(formats, len(sent))
        try:
            read = [_value(prepared, place, part, binary[place]) for place, part in enumerate(sent)]
        except values.BadValue as error:
            raise Refusal("22P02", str(error)) from None
        self.portals[portal] = _Portal(prepared, read, shown, size)
        self._send(protocol.BIND_COMPLETE)

    async def _describe(self, fields: Fields) -> None:
        what, name = fields.take(1), fields.text()
        fields.end()
        if what == b"S":
            prepared = self._prepared(name)
            self._send(protocol.parameter_description(prepared.oids))
            if not prepared.is_described:
                prepared.columns = await self._columns(prepared, None)
                prepared.is_described = True
            columns, formats = prepared.columns, list[int]()
        elif what == b"P":
            portal = self._portal(name)
            columns = await self._promise(portal)
            formats = _each(portal.formats, len(columns or ()))
        else:
            raise Malformed("statements and portals are described")
        if columns is None:
            self._send(protocol.NO_DATA)
        else:
            self._send(protocol.row_description(_described(columns), formats))

    async def _columns(
        self, prepared: _Prepared, given: Sequence[Any] | None
    ) -> tuple[Column, ...] | None:
        self._asked = prepared.statement
        return await self.questions.columns(prepared.statement, given, prepared.kinds)

    async def _promise(self, portal: _Portal) -> tuple[Column, ...] | None:
        """The columns of a portal, as they are told."""
        if not portal.is_described:
            known = portal.prepared.is_described and not portal.values
            portal.columns = (
                portal.prepared.columns
                if known
                else await self._columns(portal.prepared, portal.values)
            )
            portal.is_described = True
        return portal.columns

    async def _execute(self, fields: Fields) -> None:
        name, most = fields.text(), fields.int32()
        fields.end()
        portal = self._portal(name)
        if not portal.prepared.statement.text:
            self._send(protocol.EMPTY_QUERY)
            return
        if portal.rows is None:
            self._asked = portal.prepared.statement
            result = await self.questions.result(
                portal.prepared.statement, portal.values, portal.prepared.kinds
            )
            encoded = await self._encoded(result, portal.formats)
            portal.rows, portal.tag = iter(encoded), result.tag
            if result.columns is None:
                self._complete(result, result.tag)
                return
            self._notify(result)
        sent = 0
        for row in portal.rows:
            self._send(row)
            await self._drain()
            sent += 1
            if sent == most:
                self._send(protocol.PORTAL_SUSPENDED)
                return
        tag = portal.tag
        self._send(protocol.complete(f"SELECT {sent}" if tag.startswith("SELECT") else tag))

    async def _encoded(self, result: Result, formats: list[int]) -> list[bytes]:
        """The rows of a result as messages."""
        kinds = [kind for _, kind in result.columns or ()]
        if formats and len(formats) not in (1, len(kinds)):
            raise Refusal("08P01", f"{len(formats)} formats for {len(kinds)} columns")
        forms = list(zip(kinds, _each(formats, len(kinds)), strict=True))

        def encode() -> list[bytes]:
            return [
                protocol.data_row(
                    [
                        values.cell(cell, kind, binary=form == 1)
                        for cell, (kind, form) in zip(row, forms, strict=True)
                    ]
                )
                for row in result.rows
            ]

        try:
            return await asyncio.to_thread(encode) if len(result.rows) > 100 else encode()
        except values.BadValue as error:
            hint = "CAST(… AS DOUBLE) of it; asked again, the answer is free"
            raise Refusal("22003", str(error), hint) from None

    def _complete(self, result: Result, tag: str) -> None:
        self._notify(result)
        match tag.split(" ", 1)[0]:
            case "DISCARD":
                self.prepared.clear()
                self.portals.clear()
            case "DEALLOCATE" if tag == "DEALLOCATE ALL":
                self.prepared.clear()
        self._send(protocol.complete(tag))

    def _notify(self, result: Result) -> None:
        level = self.questions.control["client_min_messages"].lower()
        if result.notice is not None and level not in ("warning", "error"):
            self._send(notice(*result.notice))

    def _fail(self, error: Refusal | DpdbError, position: int | None = None) -> None:
        self.questions.control.fail()
        self._send(failure(error, position))

    def _ready(self) -> None:
        state = self.questions.control.transaction
        if state == "I":
            self.portals.clear()
        self._send(protocol.ready(state))

    def _prepared(self, name: str) -> _Prepared:
        if name not in self.prepared:
            raise Refusal("26000", f'prepared statement "{name[:63]}" does not exist')
        return self.prepared[name]

    def _portal(self, name: str) -> _Portal:
        if name not in self.portals:
            raise Refusal("34000", f'portal "{name[:63]}" does not exist')
        return self.portals[name]

    def _held(self, what: bytes) -> dict[str, Any]:
        if what not in (b"S", b"P"):
            raise Malformed("statements and portals are closed")
        return self.prepared if what == b"S" else self.portals

    def _check_room(self, held: dict[str, Any], name: str, size: int) -> None:
        """Refuse what is too much for a connection to hold."""
        texts = sum(len(each.statement.text) for each in self.prepared.values())
        total = texts + sum(each.size for each in self.portals.values()) + size
        if (len(held) >= MOST_HELD and name not in held) or total > MOST_HELD_BYTES:
            hint = "DEALLOCATE ALL, or close some"
            raise Refusal("54000", "too many statements and portals are held", hint)

    def _send(self, part: bytes) -> None:
        self.writer.write(part)

    async def _drain(self) -> None:
        async with asyncio.timeout(DRAIN):
            await self.writer.drain()


def _described(columns: Sequence[Column]) -> list[protocol.Described]:
    return [values.described(name, kind) for name, kind in columns]


def _each(formats: Sequence[int], number: int) -> list[int]:
    """The format of each value: none is given for text alone, one for all of them."""
    return [*formats] if len(formats) > 1 else [*(formats or [0])] * number


def _value(prepared: _Prepared, place: int, sent: bytes | None, binary: int) -> Any:  # noqa: ANN401
    """A value as JSON; one of unknown type is read as a constant beside the column would be."""
    kind, given = prepared.kinds[place], prepared.given[place]
    if given in (0, 705) and not binary:
        return values.guessed(values.parameter(sent, 0, binary=False), kind)
    return values.parameter(sent, given or prepared.oids[place], binary=bool(binary))
