"""The door of PostgreSQL's clients: connections, TLS, login, and what cancels a statement.

Limits before login are of public size: bytes, seconds, connections of an address. Nobody learns
whether a name has an account.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
import time
from contextlib import suppress
from hmac import compare_digest
from ssl import SSLContext

from dpdb.errors import DpdbError, error_text, reportable
from dpdb.server.asking import Front
from dpdb.server.limits import Places, Rates, network
from dpdb.server.postgres import protocol, scram
from dpdb.server.postgres.connection import Connection
from dpdb.server.postgres.control import Control
from dpdb.server.postgres.protocol import LONGEST_BEFORE_LOGIN, Fields, Malformed, Opening, Refusal
from dpdb.server.postgres.questions import Catalogue, Questions
from dpdb.server.postgres.results import failure

LOGIN = 10.0
"""Seconds from the connection to the end of the login."""
PAUSE = 12 * 3600.0
"""Seconds after which a connection ends that asks nothing."""
MOST_OF_ANALYST, MOST_OF_ADDRESS, MOST_CONNECTIONS = 20, 100, 1000
_STRANGERS = (5.0, 50)
"""The logins of an address that may fail: a second in the long run, and at once."""
_OPENINGS = 4
"""The first messages of a connection: for GSS, for TLS, the start, and one more."""


class Door:
    """Serves PostgreSQL's clients at a socket."""

    def __init__(self, front: Front, database: str, tls: SSLContext | None, *, near: bool):
        """`near` says that the socket is on the loopback, where TLS is no need."""
        self._front, self._tls, self._near = front, tls, near
        self._database = database
        self._catalogue = Catalogue(front, database)
        self._places = Places(MOST_OF_ADDRESS, MOST_CONNECTIONS)
        self._analysts = Places(MOST_OF_ANALYST, MOST_CONNECTIONS)
        self._strangers = Rates(*_STRANGERS, time.monotonic)
        self._open: dict[int, tuple[int, Questions]] = {}
        """The secrets of the connections by their numbers, and whose statements they cancel."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def open(self, listener: socket.socket) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_server(
            self._serve, sock=listener, limit=LONGEST_BEFORE_LOGIN
        )

    async def close(self) -> None:
        """End all connections; a statement that was begun is answered to nobody."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._catalogue.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        peer = writer.get_extra_info("peername")
        address = network(str(peer[0]) if peer else "")
        held = self._places.take(address)
        try:
            if held:
                await self._greet(reader, writer, address)
        except (Malformed, OSError, EOFError, TimeoutError):
            pass  # whoever it was is told nothing
        except Refusal as error:
            writer.write(failure(error, fatal=True))
        except asyncio.CancelledError:
            stopping = Refusal("57P01", "the server is stopping")
            with suppress(OSError, RuntimeError):
                writer.write(failure(stopping, fatal=True))
        except DpdbError as error:  # accounts that are not to be relied on: why is for the owner
            print(error_text("", error), file=sys.stderr, flush=True)
            writer.write(
                failure(Refusal("58000", "this server cannot read its accounts"), fatal=True)
            )
        except Exception as error:  # of the server itself, of which nothing is told
            writer.write(failure(reportable(error), fatal=True))
        finally:
            if held:
                self._places.leave(address)
            self._tasks.discard(task)
            with suppress(OSError, RuntimeError):
                writer.close()

    async def _greet(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str
    ) -> None:
        """Log a client in, and serve it."""
        async with asyncio.timeout(LOGIN):
            started = await self._started(reader, writer)
            if started is None:
                return
            minor, options = started
            name = options.pop("user", "")
            if not name:
                raise Refusal("28000", "no user is named", "psql -U NAME")
            database = options.pop("database", name)
            control = Control(name)
            if (unknown := control.start(options)) or minor:
                writer.write(protocol.negotiation(unknown))
            analyst = await self._known(name, reader, writer, address)
        if database != self._database:
            message = f'database "{database[:63]}" does not exist'
            raise Refusal("3D000", message, f"the database is {self._database}")
        mark = self._mark(analyst)
        if not self._analysts.take(analyst):
            raise Refusal("53300", f"an analyst has at most {MOST_OF_ANALYST} connections")
        number, secret = self._number(), secrets.randbits(32)
        questions = Questions(
            self._front,
            self._catalogue,
            analyst,
            control,
            lambda: mark is not None and self._mark(analyst) == mark,
        )
        self._open[number] = secret, questions
        try:
            writer.write(protocol.authentication(0))
            for told, value in control.reported.items():
                writer.write(protocol.parameter_status(told, value))
            writer.write(protocol.backend_key(number, secret))
            await Connection(reader, writer, questions, PAUSE).serve()
        finally:
            del self._open[number]
            self._analysts.leave(analyst)

    async def _started(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[int, dict[str, str]] | None:
        """The minor version and the options of a start; None after a cancellation."""
        secure = False
        for _ in range(_OPENINGS):
            code, fields = await protocol.read_opening(reader)
            match code:
                case Opening.TLS if self._tls is not None and not secure:
                    # What came before TLS was not read by it (CVE-2021-23214).
                    if reader._buffer:  # type: ignore[attr-defined]
                        raise Malformed("bytes came before TLS")
                    writer.write(b"S")
                    await writer.start_tls(self._tls)
                    secure = True
                case Opening.TLS | Opening.GSS:
                    writer.write(b"N")
                case Opening.CANCEL:
                    self._cancel(fields)
                    return None
                case _ if code >> 16 == protocol.VERSION >> 16:
                    if not (secure or self._near):
                        raise Refusal(
                            "28000", "other machines are served by TLS", "sslmode=require"
                        )
                    return code - protocol.VERSION, _options(fields)
                case _:
                    raise Refusal("0A000", "protocol 3.0 is spoken")
        raise Malformed("the connection does not start")

    async def _known(
        self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str
    ) -> str:
        """The analyst, who has proved a token; raises Refusal."""
        everybody = self._front.people.everybody
        if everybody is not None:
            return everybody
        if not self._strangers.allows(address):
            raise Refusal("53300", "too many logins have failed", "try again in 10 seconds")
        people = self._front.people
        exchange = scram.Exchange(people.verifier(name), people.decoy(name))
        writer.write(protocol.mechanisms([scram.MECHANISM]))
        chosen = await _password(reader)
        mechanism, size = chosen.text(), chosen.int32()
        first = chosen.take(size)
        chosen.end()
        if mechanism != scram.MECHANISM:
            raise Malformed("SCRAM-SHA-256 is spoken")
        writer.write(protocol.authentication(11, exchange.first(first)))
        final = exchange.final((await _password(reader)).rest())
        if final is None:
            self._front.log.login(None, address)
            raise Refusal(
                "28P01",
                f'password authentication failed for user "{name[:63]}"',
                "the password is the token of dpdb user token",
            )
        self._strangers.forgive(address)
        writer.write(protocol.authentication(12, final))
        self._front.log.login(name, address)
        return name

    def _mark(self, analyst: str) -> str | None:
        """A text of the analyst's account and token, another when either is made anew."""
        people = self._front.people
        if people.everybody is not None:
            return "" if analyst == people.everybody else None
        return people.verifier(analyst)

    def _number(self) -> int:
        while (number := secrets.randbelow(2**31 - 1) + 1) in self._open:
            pass
        return number

    def _cancel(self, fields: Fields) -> None:
        """Cancel the statement of the connection whose secret is told."""
        number, told = fields.int32(), fields.take(4)
        fields.end()
        secret, questions = self._open.get(number, (None, None))
        if secret is not None and questions and compare_digest(secret.to_bytes(4), told):
            questions.cancel()


def _options(fields: Fields) -> dict[str, str]:
    """The names and values of a start."""
    options = {}
    while name := fields.text():
        options[name] = fields.text()
    fields.end()
    return options


async def _password(reader: asyncio.StreamReader) -> Fields:
    """The next message of a login."""
    if await reader.readexactly(1) != b"p":
        raise Malformed("a message of a login is due")
    return await protocol.read_body(reader, LONGEST_BEFORE_LOGIN)
