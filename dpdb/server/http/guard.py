"""The outer wall of the HTTP server: limits of public size, the names of the host, headers.

No limit depends on a row. A connection is closed if its request does not arrive in time, if its
headers are too long, or if its answer is not taken. A request to another name of the host is
refused, so that no page of another site can reach the server by DNS rebinding.
"""

from __future__ import annotations

import asyncio
import math
from asyncio.sslproto import SSLProtocol
from collections.abc import Collection
from socket import IPPROTO_TCP, TCP_NODELAY
from ssl import SSLContext
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dpdb.server.limits import Places, network

ARRIVAL = 20.0
"""Seconds in which a whole request must arrive, from the first byte or the connection on."""
SLOWEST = 1024.0
"""The fewest bytes a second of an answer that a client takes, looked at each `ARRIVAL` seconds."""
MOST_HEAD = 16 * 1024
"""The most bytes of a request before its body."""
MOST_BODY = 1024 * 1024
MOST_BODY_OF_STRANGERS = 64 * 1024
"""The most bytes of a body before login."""
MOST_CONNECTIONS = 1000
MOST_OF_ADDRESS = 100
"""The most connections from one address, but for a declared proxy's."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
"""The headers of every response."""


class Entrance:
    """A place for each connection, but for a declared proxy's, which has one for each client."""

    def __init__(self, proxy: str | None, of_address: int = MOST_OF_ADDRESS) -> None:
        self._places, self._proxy = Places(of_address, MOST_CONNECTIONS), proxy

    def enter(self, transport: asyncio.Transport) -> str | None:
        """The place, to be left; without one the connection is closed."""
        peer = transport.get_extra_info("peername")
        address = peer[0] if isinstance(peer, tuple) else ""
        if address == self._proxy:
            return None
        if self._places.take(place := network(address)):
            return place
        transport.abort()
        return None

    def leave(self, place: str | None) -> None:
        """Give the place back."""
        if place is not None:
            self._places.leave(place)


class _Tls(SSLProtocol):
    """TLS, in which a handshake has a place and must arrive in time, as a request."""

    def __init__(self, inner: LimitedProtocol, entrance: Entrance, tls: SSLContext) -> None:
        own: Any = {"waiter": None, "server_side": True, "ssl_handshake_timeout": ARRIVAL}
        super().__init__(asyncio.get_running_loop(), inner, tls, **own)
        self._entrance = entrance
        self._place: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._place = self._entrance.enter(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._entrance.leave(self._place)
        super().connection_lost(exc)


class LimitedProtocol(HttpToolsProtocol):
    """HTTP by httptools, with limits on heads, on the time of arrival and on connections."""

    entrance: ClassVar[Entrance | None]
    """The places; None where TLS has them."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        # Or the body of an answer would wait up to 40 ms until its head is acknowledged.
        transport.get_extra_info("socket").setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        super().connection_made(transport)
        self._size = self._pending = 0
        self._head: object = None
        self._deadline: asyncio.TimerHandle | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self._place = None if self.entrance is None else self.entrance.enter(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        self._left()
        if self.entrance is not None:
            self.entrance.leave(self._place)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self._await_request()
        head = self._head
        super().data_received(data)
        if head is not None and head is self._head:  # it had begun before, and has not ended
            self._pending += len(data)
            if self._pending > MOST_HEAD and not self.transport.is_closing():
                self.send_400_response("The head of the request is too long.")

    def send_400_response(self, msg: str) -> None:
        head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
        ends = f"content-type: text/plain\r\ncontent-length: {len(msg)}\r\nconnection: close"
        self.transport.write(f"HTTP/1.1 400 Bad Request\r\n{head}{ends}\r\n\r\n{msg}".encode())
        self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = object()
        self._size = self._pending = 0

    def on_url(self, url: bytes) -> None:
        self._read(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._read(name + value)
        super().on_header(name, value)

    def _read(self, part: bytes) -> None:
        """Count what was read of a head; the parser answers an error with 400."""
        self._size += len(part)
        if self._size > MOST_HEAD:
            raise ValueError("the head is too long")

    def on_headers_complete(self) -> None:
        self._head = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._arrived()
        super().on_message_complete()

    def _await_request(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(ARRIVAL, self._too_late)

    def _arrived(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_leaving()

    def resume_writing(self) -> None:
        self._left()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()  # what was not taken yet still is
        self._await_leaving()

    def _await_leaving(self, before: float = math.inf) -> None:
        """Abort if too little of an answer is taken from now on: it is in memory until then."""
        left = self.transport.get_write_buffer_size()
        if before - left < SLOWEST * ARRIVAL:
            self.transport.abort()
        else:
            self._left()
            self._leaving = self.loop.call_later(ARRIVAL, self._await_leaving, left)

    def _left(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def _too_late(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()


def limited(proxy: str | None, tls: SSLContext | None, of_address: int = MOST_OF_ADDRESS) -> Any:  # noqa: ANN401 (for uvicorn)
    """The maker of a connection's protocol; the server's connections have places in common."""
    entrance = Entrance(proxy, of_address)
    own = {"entrance": entrance if tls is None else None}
    http = type("Limited", (LimitedProtocol,), own)
    return http if tls is None else lambda **given: _Tls(http(**given), entrance, tls)


class Guard:
    """Lets through requests to the server's own names, and adds the headers of every response."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str], proxy: str | None = None):
        """`hosts` are the values that a Host header may have, in lower case."""
        self._app, self._hosts, self._proxy = app, frozenset(hosts), proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        headers = Headers(scope=scope)
        named = headers.getlist("host")
        if len(named) != 1 or named[0].lower() not in self._hosts:
            known = "this server has another name\n"
            await PlainTextResponse(known, 403)(scope, receive, sent)
            return
        scope["state"]["address"] = self._address(scope, headers)
        await self._app(scope, receive, sent)

    def _address(self, scope: Scope, headers: Headers) -> str:
        """The address of the client: of a declared proxy's requests, the one that it names last."""
        client = scope.get("client")
        address = client[0] if client else ""
        if address and address == self._proxy:
            forwarded = ",".join(headers.getlist("x-forwarded-for"))
            return forwarded.rpartition(",")[2].strip() or address
        return str(address)


def is_own(request: Request, *, secure: bool) -> bool:
    """Whether a page of this server sent the request, as the browser tells.

    Under `no-referrer` browsers send the Origin `null` with a form; then Sec-Fetch-Site tells.
    An Origin is compared with the Host, which is one of the server's.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    own = f"{'https' if secure else 'http'}://{request.headers['host']}"
    return request.headers.get("origin", "").lower() == own.lower()


async def body_of(request: Request, most: int) -> bytes:
    """The body of a request; raises HTTPException 413 if it is longer than `most` bytes."""
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise HTTPException(413, f"a request has at most {most:,} bytes")
            parts.append(part)
    except ClientDisconnect:
        raise HTTPException(400, "the request did not arrive") from None
    return b"".join(parts)


async def form_of(request: Request, most: int, *, fields: int, secure: bool) -> dict[str, str]:
    """The fields of a form that one of the server's pages has sent.

    Raises HTTPException: 403 for a form of another site, 400 for what is none.
    """
    if not is_own(request, secure=secure):
        raise HTTPException(403, "the form is from another site")
    body = await body_of(request, most)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=fields))
    except ValueError:
        raise HTTPException(400, "this is no form") from None
