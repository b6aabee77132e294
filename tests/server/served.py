"""A server of this process, with sessions in threads instead of workers, and what it is asked."""

from __future__ import annotations

import asyncio
import io
import json
import re
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from ssl import SSLContext
from typing import Any, Self
from urllib.parse import urlencode

from dpdb.errors import Busy
from dpdb.ledger.people import scram_verifier
from dpdb.policy.catalog import Policy
from dpdb.server.asking import Front, Setting
from dpdb.server.http.app import HttpServer, application
from dpdb.server.log import Log
from dpdb.server.messages import Action, Desk, People, Reply, Request
from dpdb.server.worker import Sessions, reply_to


class NearDesk(Desk):
    """One session of each analyst, asked in a thread."""

    def __init__(self, policy: Policy):
        self._policy = policy
        self._sessions: dict[str, Sessions] = {}
        self.asked: list[Request] = []
        self.busy = False

    async def ask(self, request: Request) -> Reply:
        if self.busy:
            raise Busy
        self.asked.append(request)
        sessions = self._sessions.setdefault(request.analyst, Sessions(self._policy))
        return await asyncio.to_thread(reply_to, Request.read(request.line), sessions)

    @property
    def waiting(self) -> tuple[int, ...]:
        return (0,)

    @property
    def restarts(self) -> int:
        return 0

    async def close(self) -> None:
        """Sessions end with the test."""

    def executed(self) -> list[str]:
        """The statements that were to be answered."""
        return [each.text for each in self.asked if each.action is Action.EXECUTE]


@dataclass
class Known(People):
    """Accounts by name: a password, which is the token, too."""

    passwords: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.passwords)

    def by_password(self, name: str, password: str) -> str | None:
        return name if self.passwords.get(name) == password else None

    def by_token(self, token: str) -> str | None:
        return next((name for name, known in self.passwords.items() if known == token), None)

    def verifier(self, name: str) -> str | None:
        token = self.passwords.get(name)
        return None if token is None else scram_verifier(token, name.encode().ljust(16, b"."))

    def decoy(self, name: str) -> str:
        return scram_verifier("", name.encode()[::-1].ljust(16, b"-"))

    def mark(self, name: str) -> str | None:
        return self.passwords.get(name)


@dataclass
class Response:
    """What the server has sent."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def cookie(self) -> str:
        return self.headers["set-cookie"].partition(";")[0]


class Served:
    """A server on a port of the loopback, in a thread of its own."""

    def __init__(
        self,
        policy: Policy | None,
        people: People | None = None,
        *,
        passing: bool = False,
        proxy: str | None = None,
        desk: Any = None,
        tls: SSLContext | None = None,
    ):
        self.desk = desk or NearDesk(policy)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.origin = f"{'http' if proxy is None else 'https'}://127.0.0.1:{self.port}"
        everybody = None if people is not None and people.names else "you"
        self.log = io.StringIO()
        setting = Setting("people", self.origin, everybody, passing, "a token")
        front = Front(self.desk, setting, people, Log(self.log))
        hosts = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        self._server = HttpServer(application(front, hosts, proxy=proxy), proxy=proxy, tls=tls)
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        await self._server.serve([self._socket])
        await self.desk.close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive()

    @property
    def connections(self) -> int:
        """The number of connections that are open."""
        return len(self._server.server_state.connections)

    @property
    def answering(self) -> int:
        """The number of requests that are being answered."""
        return len(self._server.server_state.tasks)

    def ask(
        self,
        method: str,
        path: str,
        body: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, dict(headers or {}))
            got = connection.getresponse()
            names = {name.lower(): value for name, value in got.getheaders()}
            return Response(got.status, names, got.read().decode())
        finally:
            connection.close()

    def get(self, path: str, cookie: str = "") -> Response:
        return self.ask("GET", path, headers={"Cookie": cookie} if cookie else {})

    def post(
        self, path: str, fields: Mapping[str, str], cookie: str = "", **headers: str
    ) -> Response:
        """A form, as a browser sends one of this server's pages."""
        given = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Sec-Fetch-Site": "same-origin",
            "Cookie": cookie,
        }
        sent = given | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", path, urlencode(fields), {k: v for k, v in sent.items() if v})

    def send(self, path: str, content: object, token: str = "", **headers: str) -> Response:
        """JSON, as a program sends it."""
        given = {"Content-Type": "application/json"}
        if token:
            given["Authorization"] = f"Bearer {token}"
        sent = given | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", path, json.dumps(content), sent)


def hidden(page: str, name: str) -> str:
    """The value of a hidden field."""
    found = re.search(rf'name="{name}"[^>]* value="([^"]*)"', page)
    assert found is not None
    return found[1]
