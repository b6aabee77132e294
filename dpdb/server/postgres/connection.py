"""A connection after login: simple and extended queries, until the client goes.

A statement is prepared by Parse, given its values by Bind, told by Describe, and run by Execute.
After an error all messages up to Sync are skipped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from dpdb.errors import DpdbError, reportable
from dpdb.records import dataclass
from dpdb.server.postgres import protocol, values
from dpdb.server.postgres.control import deallocated
from dpdb.server.postgres.held import Held, Portal, Prepared, Told
from dpdb.server.postgres.protocol import LONGEST, Fields, Malformed, Refusal
from dpdb.server.postgres.questions import Questions
from dpdb.server.postgres.results import Column, Result, failure, notice
from dpdb.server.postgres.statements import MOST_PARAMETERS, Statement, statements

DRAIN = 60.0
"""Seconds in which a client takes what it is sent."""
_LONG = 10_000
"""The characters of a text that takes some time to split."""
_LONGEST_TEXT = 200_000
"""The most characters of one, or of several statements at once."""
_ARRIVAL = 20.0
"""Seconds in which a message arrives that has begun."""


@dataclass(eq=False)
class Connection:
    """The messages of a client that is known."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    questions: Questions
    pause: float
    """The seconds after which a connection ends that asks nothing."""
    held: Held = field(default_factory=Held)
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
            except (Malformed, OSError):
                raise
            except Exception as error:
                self._fail(error, self._asked)
                self._failed = kind not in (b"Q", b"F")
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
                fields.end()
                self.held.close(what, name)
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
        self.held.prepared.pop("", None)
        asked = await _statements(text)
        if not asked:
            self._send(protocol.EMPTY_QUERY)
        for statement in asked:
            try:
                result = await self.questions.result(statement, (), (), intervals=None)
                if result.columns is not None:
                    self._send(protocol.row_description(_described(result.columns)))
                    for row in await self._encoded(result, []):
                        self._send(row)
                        await self._drain()
                await self._complete(result, statement)
            except (DpdbError, Refusal) as error:
                self._fail(error, statement)
                break
            await self._drain()
            await asyncio.sleep(0)  # many short statements keep nobody else from an answer
        self._ready()

    async def _parse(self, fields: Fields) -> None:
        size = fields.size
        name, text = fields.text(), fields.text()
        given = [fields.int32() for _ in range(fields.int16())]
        fields.end()
        if len(given) > MOST_PARAMETERS:
            raise Refusal("54000", f"a statement has at most {MOST_PARAMETERS} parameters")
        asked = await _statements(text) or [Statement("")]
        if len(asked) > 1:
            raise Refusal("42601", "cannot insert multiple commands into a prepared statement")
        kinds = await self.questions.kinds(asked[0].text)
        number = max(len(kinds), len(given))
        kinds += [None] * (number - len(kinds))
        given += [0] * (number - len(given))
        if any(
            isinstance(kind, tuple) and oid and not isinstance(values.kind_of(oid), tuple)
            for oid, kind in zip(given, kinds, strict=True)
        ):
            raise Refusal("42809", "op ANY/ALL (array) requires array on right side")
        oids = [oid or values.oid_of(kind) for oid, kind in zip(given, kinds, strict=True)]
        self.held.prepare(name, Prepared(asked[0], given, oids, size + 32 * number))
        self._send(protocol.PARSE_COMPLETE)

    def _bind(self, fields: Fields) -> None:
        size = fields.size
        name, prepared = fields.text(), self.held.statement(fields.text())
        formats, sent, shown = fields.int16s(), fields.values(), fields.int16s()
        fields.end()
        if len(sent) != len(prepared.oids):
            raise Refusal(
                "08P01",
                f"bind message supplies {len(sent)} parameters, but the statement requires "
                f"{len(prepared.oids)}",
            )
        if not {*formats, *shown} <= {0, 1}:
            raise Refusal("08P01", "formats are 0 or 1")
        typed = zip(sent, prepared.oids, _each(formats, len(sent)), strict=True)
        try:
            read = [values.parameter(part, oid, binary=form == 1) for part, oid, form in typed]
        except values.BadValue as error:
            raise Refusal("22P02", str(error)) from None
        intervals = self.questions.control.intervals
        self.held.bind(name, Portal(prepared, read, shown, size + 32 * len(sent), intervals))
        self._send(protocol.BIND_COMPLETE)

    async def _describe(self, fields: Fields) -> None:
        what, name = fields.take(1), fields.text()
        fields.end()
        formats: Sequence[int] = ()
        if what == b"S":
            prepared = self.held.statement(name)
            self._send(protocol.parameter_description(prepared.oids))
            intervals = self.questions.control.intervals
            told = prepared.told = await self._columns(prepared, None, intervals=intervals)
        elif what == b"P":
            shown = None if name in self.held.portals else self.questions.cursors.columns(name)
            if shown is not None:
                told = Told(shown, intervals=False, version=0)
            else:
                portal = self.held.portal(name)
                told = portal.told = await self._columns(
                    portal.prepared, portal.values, intervals=portal.intervals
                )
                formats = _each(portal.formats, len(told.columns or ()))
        else:
            raise Malformed("statements and portals are described")
        if told.columns is None:
            self._send(protocol.NO_DATA)
        else:
            self._send(protocol.row_description(_described(told.columns), formats))

    async def _columns(
        self, prepared: Prepared, given: Sequence[Any] | None, *, intervals: bool
    ) -> Told:
        """The columns of a statement, with its values or before they are sent; free."""
        self._asked = prepared.statement
        known, version = prepared.told, self.questions.version
        if known is not None and not prepared.oids and known.is_of(version, intervals=intervals):
            return known
        columns = await self.questions.columns(
            prepared.statement, given, prepared.kinds, intervals=intervals
        )
        return Told(columns, intervals, version)

    async def _run(self, portal: Portal) -> bool:
        """Run a portal, and let its rows wait; False where it has none.

        What the client was told is checked before the charge, as far as it may have changed.
        """
        self._asked, prepared = portal.prepared.statement, portal.prepared
        told = portal.told or prepared.told
        is_old = told is not None and told.version != self.questions.version
        if is_old or told is not portal.told or len(portal.formats) > 1:
            now = await self._columns(prepared, portal.values, intervals=portal.intervals)
            _each(portal.formats, len(now.columns or ()))
            told = told or now
            told.check(now.columns)
        result = await self.questions.result(
            prepared.statement, portal.values, prepared.kinds, intervals=portal.intervals
        )
        if told is not None:
            told.check(result.columns)
        portal.rows = deque(await self._encoded(result, portal.formats) if result.columns else ())
        portal.tag = result.tag
        if result.columns is None:
            await self._complete(result, prepared.statement)
        else:
            self._notify(result)
        return result.columns is not None

    async def _execute(self, fields: Fields) -> None:
        name, most = fields.text(), fields.int32()
        fields.end()
        portal = self.held.portal(name)
        if not portal.prepared.statement.text:
            self._send(protocol.EMPTY_QUERY)
            return
        if portal.rows is None and not await self._run(portal):
            return
        sent, rows = 0, portal.rows or deque()
        while rows:
            self._send(rows.popleft())
            await self._drain()
            sent += 1
            if sent == most:
                self.held.suspend(name)
                self._send(protocol.PORTAL_SUSPENDED)
                return
        tag = portal.tag
        self._send(protocol.complete(f"SELECT {sent}" if tag.startswith("SELECT") else tag))

    async def _encoded(self, result: Result, formats: Sequence[int]) -> list[bytes]:
        """The rows of a result as messages, or those of a copy."""
        kinds = [kind for _, kind in result.columns or ()]
        forms = list(zip(kinds, _each(formats, len(kinds)), strict=True))

        def encode() -> list[bytes]:
            if result.copied is not None:
                return result.copied.messages()
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
            is_long = len((result.copied or result).rows) > 100
            return await asyncio.to_thread(encode) if is_long else encode()
        except values.BadValue as error:
            hint = "CAST(… AS DOUBLE) of it; asked again, the answer is free"
            raise Refusal("22003", str(error), hint) from None

    async def _complete(self, result: Result, statement: Statement) -> None:
        for part in await self._encoded(result, []) if result.copied is not None else ():
            self._send(part)
            await self._drain()
        match result.tag:
            case "DISCARD ALL":
                self.held = Held()
            case "DEALLOCATE" | "DEALLOCATE ALL":
                self.held.deallocate(deallocated(statement.text))
        self._notify(result)
        self._send(protocol.complete(result.tag))

    def _notify(self, result: Result) -> None:
        level = self.questions.control["client_min_messages"].lower()
        if result.notice is not None and level not in ("warning", "error"):
            self._send(notice(*result.notice))

    def _fail(self, error: Exception, statement: Statement) -> None:
        """Tell an error, with its place in the statement if it has one."""
        known = error if isinstance(error, Refusal) else reportable(error)
        position = statement.position(known) if isinstance(known, DpdbError) else None
        self.questions.control.fail()
        self._send(failure(known, position))

    def _ready(self) -> None:
        state = self.questions.control.transaction
        if state == "I":
            self.held.portals.clear()
        self._send(protocol.ready(state))

    def _send(self, part: bytes) -> None:
        self.writer.write(part)

    async def _drain(self) -> None:
        async with asyncio.timeout(DRAIN):
            await self.writer.drain()


async def _statements(text: str) -> list[Statement]:
    """The statements of a text; a long one is split beside the work for others."""
    if len(text) > _LONGEST_TEXT:
        raise Refusal("54000", f"a text has at most {_LONGEST_TEXT:,} characters")
    if len(text) > _LONG:
        return await asyncio.to_thread(list, statements(text))
    return list(statements(text))


def _described(columns: Sequence[Column]) -> list[protocol.Described]:
    return [values.described(name, kind) for name, kind in columns]


def _each(formats: Sequence[int], number: int) -> list[int]:
    """The format of each value: none is given for text alone, one for all of them."""
    if len(formats) not in (0, 1, number):
        raise Refusal("08P01", f"{len(formats)} formats for {number} values")
    return [*formats] if len(formats) > 1 else [*(formats or [0])] * number
