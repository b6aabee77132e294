"""HTTP to a server of dpdb, by the standard library alone.

No redirect is followed, and no token leaves without TLS but to this machine. A reply is of bounded
length, and comes within bounded time.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import select
import ssl
import time
import weakref
from collections.abc import Mapping
from socket import SHUT_RDWR, socket
from threading import Lock, Timer
from urllib.parse import urlsplit

from dpdb.answers.formats.json_lines import error_in
from dpdb.errors import PERHAPS, DpdbError, ServerError, UsageError, printable

RECORD = "application/vnd.dpdb.record+json"
"""The type of an exact answer, by which the server is asked for it."""
LONGEST_BODY = 100_000_000
"""The most bytes of a reply."""
PATIENCE = 10.0
"""Seconds in which a server takes a connection."""
LONGEST_WAIT = 600.0
"""Seconds until a reply has come: others may be before it."""
PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds between attempts where a server is busy."""
_IDLE = 2.0
"""Seconds after which a connection is made anew; servers close theirs after five and more."""


class Server:
    """Sends a server one request at a time."""

    def __init__(self, address: str, token: str | None):
        try:
            parts = urlsplit(address)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host = ""
        if not host or not address.isascii() or not address.isprintable() or " " in address:
            raise UsageError(
                f"{address} is no address of a server", hint="https://stats.example.org"
            )
        if parts.username is not None or parts.query or parts.fragment:
            raise UsageError(
                "an address is a host, and perhaps a port and a path",
                hint="a token is given as token=…, or in DPDB_TOKEN",
            )
        if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
            raise UsageError("this is no token", hint="dpdb user token NAME POLICY makes one")
        self.name = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._path = parts.path.rstrip("/")
        self._headers = {
            "Accept": f"{RECORD}, application/json",
            "Content-Type": "application/json",
            "User-Agent": "dpdb",
            **({} if token is None else {"Authorization": f"Bearer {token}"}),
        }
        self._lock = Lock()
        self._used = 0.0
        self._connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context()
            self._connection = http.client.HTTPSConnection(
                host, port, timeout=PATIENCE, context=context
            )
        elif is_loopback(host):
            self._connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
        else:
            raise UsageError(
                "without TLS, others on the way read statements, answers and the token",
                hint=f"https://{parts.netloc}; http is for a server on this machine",
            )

        weakref.finalize(self, self._connection.close)

    def ask(self, path: str, body: Mapping[str, object] | None = None) -> str:
        """The text of a reply; an error that the server tells is raised."""
        sent = None if body is None else json.dumps(body).encode()
        with self._lock:
            try:
                for pause in (*PAUSES, None):
                    status, told = self._reply("GET" if sent is None else "POST", path, sent)
                    if status != http.client.TOO_MANY_REQUESTS or pause is None:
                        break
                    time.sleep(pause)  # a busy server has not taken the request
            except BaseException:
                self._connection.close()  # or the reply would be taken for that to the next
                raise
        if status == http.client.OK:
            return told
        raise self._error(status, told)

    def _reply(self, method: str, path: str, sent: bytes | None) -> tuple[int, str]:
        link = self._connection
        if link.sock is not None and (time.monotonic() - self._used > _IDLE or _has_ended(link)):
            link.close()
        try:
            if link.sock is None:
                link.timeout = PATIENCE
                link.connect()
            link.sock.settimeout(None)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ServerError(
                f"{self.name} cannot be reached: {_reason(error)}", hint="nothing was asked"
            ) from None
        late = Timer(LONGEST_WAIT, socket.shutdown, (link.sock, SHUT_RDWR))
        late.daemon = True
        late.start()
        try:
            link.request(method, self._path + path, sent, self._headers)
            with link.getresponse() as response:
                content = _content(response)
                status, location = response.status, response.getheader("Location")
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ServerError(
                f"the connection to {self.name} was lost: {_reason(error)}", hint=PERHAPS
            ) from None
        finally:
            late.cancel()
        self._used = time.monotonic()
        if 300 <= status < 400:
            elsewhere = printable(str(location))
            raise ServerError(
                f"{self.name} sends to another address, {elsewhere}, which is not followed",
                hint="connect to the address of the server itself",
            )
        return status, content.decode("utf-8", "replace")

    def _error(self, status: int, told: str) -> DpdbError:
        if status == http.client.UNAUTHORIZED:
            return UsageError(
                f"{self.name} does not know this token",
                hint="token=…, DPDB_TOKEN or --token-file; the data owner has them",
            )
        try:
            return error_in(told)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return ServerError(f"{self.name} answers with status {status}, and no error of dpdb")

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._connection.close()


def is_loopback(host: str) -> bool:
    """Whether a host is this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _has_ended(link: http.client.HTTPConnection) -> bool:
    """Whether the server has closed the connection, or has sent what nobody asked for."""
    return bool(select.select([link.sock], [], [], 0)[0])


def _content(response: http.client.HTTPResponse) -> bytes:
    """The body; raises OSError where it is too long, or too short."""
    parts, size = [], 0
    while part := response.read1(1 << 20):
        parts.append(part)
        size += len(part)
        if size > LONGEST_BODY:
            raise OSError("the answer is too long")
    if response.length:  # fewer bytes than were announced
        raise OSError("the answer ends too early")
    return b"".join(parts)


def _reason(error: Exception) -> str:
    """The reason of a failure, in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid ({error.verify_message})"
    text = getattr(error, "strerror", None) or str(error)
    return printable(text) or type(error).__name__
