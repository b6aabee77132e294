"""A server that is sent a million broken requests answers as documented, and only whom it knows."""

from __future__ import annotations

import json
import logging
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from random import Random
from urllib.parse import quote, urlencode

import pytest

from dpdb.answers.formats.json_lines import as_json
from dpdb.answers.wire import to_wire
from dpdb.server import asking, limits
from dpdb.server.http import app
from dpdb.server.messages import Action, Desk, Reply, Request, Shape
from dpdb.server.worker import Sessions
from dpdb.session.connect import connect, policy_of
from tests.long.parts import Part
from tests.server.served import Known, Served, hidden
from tests.support.command_line import PEOPLE

STATUSES = {200, 202, 303, 400, 401, 403, 404, 405, 406, 409, 413, 415, 429, 503}
HEADERS = (
    b"content-security-policy", b"x-content-type-options", b"referrer-policy", b"cache-control"
)  # fmt: skip
COUNT = "SELECT COUNT(*) FROM people"
SECRETS = {"alice": "the-token-of-alice", "bob": "a-token-of-bob"}
"""The tokens; the answers of each name have the name in them, and are told to nobody else."""
TOLD = {name: f"told-to-{name}" for name in SECRETS}
HEAD = re.compile(rb"HTTP/1\.1 (\d{3}) [^\r\n]*\r\n((?:[!-~]+: [^\r\n]*\r\n)*)\r\n")
VALUES = (
    *("null", "true", "-1", "1e999", "9" * 5000, "1e-400", "{}", "[]", '"\\ud800"', '"\\u0000"'),
    *('{"date":"2026-02-30"}', '{"a":1,"a":2}', "NaN", '"' + "(" * 3000 + '"', "[" * 3000),
    *('"' + "x" * 70_000 + '"', "[" * 400 + "]" * 400, '"SELECT 1; SELECT 2"', "[[[1]]]"),
)
PIECES = (
    *(b"\x00", b"\xff\xfe", b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b"%", b"%00", b"%ff", b"../"),
    *(b"\r\n\r\n", b"Host: evil.example\r\n", b"Content-Length: 5\r\n", b"Content-Length: -1\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"),
    *(b"Transfer-Encoding : chunked\r\n", b"Content-Length: +7\r\n", b"Content-Length: 0x9\r\n"),
    *(b"Expect: 100-continue\r\n", b"Connection: close\r\n", b"X: " + b"y" * 20_000 + b"\r\n"),
    *(b"Upgrade: websocket\r\nConnection: Upgrade\r\n", b"Upgrade: h2c\r\n", b"X: a\r\n b\r\n"),
    *(b"Sec-Fetch-Site: cross-site\r\n", b"Origin: null\r\n", b"X-Forwarded-For: ::1, \xe9\r\n"),
    *(b"Cookie: " + b";" * 2000 + b"\r\n", b"Dpdb-Part: 1\r\n", b"Accept: */*\r\n", b"x" * 5000),
    *(b"Content-Length: 18446744073709551617\r\n", b"Content-Encoding: gzip\r\n", b"ffffffff\r\n"),
)
STARTS = (
    *(b"GET http://evil.example/ HTTP/1.1", b"GET / HTTP/1.0", b"GET / HTTP/2.0", b"GET /"),
    *(b"CONNECT a:1 HTTP/1.1", b"OPTIONS * HTTP/1.1", b"TRACE / HTTP/1.1", b"HEAD / HTTP/1.1"),
    *(
        b"PRI * HTTP/2.0\r\n\r\nSM",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"get / HTTP/1.1",
    ),
    *(b"GET //evil.example/login/ HTTP/1.1", b"GET /static/..%2fpages.html HTTP/1.1", b"\x00"),
    *(
        b"DELETE /query HTTP/1.1",
        b"PUT /mcp HTTP/1.1",
        b"POST /query/ HTTP/1.1",
        b"QUERY / HTTP/1.1",
    ),
)


class Told(Desk):
    """Answers at once, with the name of whoever asks; writes down who asked for what."""

    def __init__(self) -> None:
        policy = policy_of(PEOPLE)
        with connect(PEOPLE) as session:
            answer, plan = session.execute(f"{COUNT} WHERE age > 30"), session.explain(COUNT)
        self._bodies = {
            (name, shape, given is plan): write(replace(given, statement=told))
            for name, told in TOLD.items()
            for shape, write in ((Shape.JSON, as_json), (Shape.RECORD, to_wire))
            for given in (answer, plan)
        }
        self._tables = {shape: Sessions(policy).tables(shape) for shape in Shape}
        self.asked: list[Request] = []

    async def ask(self, request: Request) -> Reply:
        assert len(request.line) > 1
        self.asked.append(request)
        priced = request.action in (Action.QUOTE, Action.EXPLAIN)
        body = self._bodies[request.analyst, request.shape, priced]
        match request.action:
            case Action.TABLES:
                return Reply(self._tables[request.shape])
            case Action.ANSWERS:
                return Reply(f"[{body}]")
            case _:
                return Reply(body)

    async def close(self) -> None:
        """Nothing is open."""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A server with two accounts, of which neither is asked to come later."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "_RATE", (1e9, 10**9))
        patch.setattr(app, "_STRANGERS", (1e9, 10**9))
        patch.setattr(limits, "FREE", 10**9)
        with Served(None, Known(dict(SECRETS)), desk=Told()) as server:
            yield server


class Requests:
    """Requests as browsers, programs and assistants send them, of two analysts and of strangers."""

    def __init__(self, server: Served, random: Random):
        self._random, self._host = random, f"127.0.0.1:{server.port}"
        self.cookies = dict[str, tuple[str, str]]()
        for name, token in SECRETS.items():
            login = server.post("/login", {"name": name, "password": token})
            self.cookies[name] = login.cookie, hidden(server.get("/", login.cookie).text, "csrf")

    def secrets(self, name: str) -> tuple[bytes, ...]:
        """The texts of which one must be sent by whoever is taken for the analyst."""
        return SECRETS[name].encode(), self.cookies[name][0].partition("=")[2].encode()

    def one(self) -> bytes:
        """A request in order."""
        name = self._random.choice([*SECRETS, ""])
        by = self._random.choice((self._get, self._program, self._form, self._assistant))
        return by(name)

    def _sent(self, start: str, headers: dict[str, str], body: str = "") -> bytes:
        length = {"Content-Length": str(len(body.encode()))} if body else {}
        lines = [
            start,
            *(f"{k}: {v}" for k, v in {"Host": self._host, **headers, **length}.items()),
        ]
        return "\r\n".join([*lines, "", body]).encode()

    def _get(self, name: str) -> bytes:
        path = self._random.choice(
            ("/", "/login", "/api", "/openapi.json", "/healthz", "/metrics", "/static/page.css",
             "/budget", "/tables", "/answers", "/answer/x", "/answer/x/csv", "/mcp", "/nothing")
        )  # fmt: skip
        return self._sent(f"GET {path} HTTP/1.1", self._known(name))

    def _known(self, name: str) -> dict[str, str]:
        if not name:
            return {}
        cookie = {"Cookie": self.cookies[name][0]}
        return self._random.choice(({"Authorization": f"Bearer {SECRETS[name]}"}, cookie))

    def _program(self, name: str) -> bytes:
        path = self._random.choice(("/query", "/price", "/explain", "/plan"))
        content = {"statements": [COUNT, [COUNT, [1], {"epsilon": "0.1"}]]} if path == "/plan" else {
            "statement": COUNT, **({} if path == "/price" else {"parameters": [1], "epsilon": 0.1})
        }  # fmt: skip
        return self._json(path, name, content)

    def _assistant(self, name: str) -> bytes:
        tool = self._random.choice(("ask", "price", "explain", "budget", "list_tables"))
        given = {} if tool in ("budget", "list_tables") else {"statement": COUNT, "epsilon": 0.1}
        method = self._random.choice(("tools/call", "tools/list", "ping", "resources/list"))
        params = {"name": tool, "arguments": given} if method == "tools/call" else {}
        content = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self._json("/mcp", name, content)

    def _json(self, path: str, name: str, content: object) -> bytes:
        headers = {"Content-Type": "application/json"}
        headers["Accept"] = "application/json, text/event-stream"
        if name:
            headers["Authorization"] = f"Bearer {SECRETS[name]}"
        text = json.dumps(content)
        if self._random.random() < 0.5:  # another value somewhere, or an end
            spots = [*re.finditer(r'"[^"]*"(?!:)|[\d.]+|\[[^\[\]]*\]', text)]
            spot, value = self._random.choice(spots), self._random.choice(VALUES)
            text = f"{text[: spot.start()]}{value}{text[spot.end() :]}"
        return self._sent(f"POST {path} HTTP/1.1", headers, text)

    def _form(self, name: str) -> bytes:
        cookie, csrf = self.cookies[name] if name else ("", "x")
        path = self._random.choice(("/ask", "/ask", "/login"))
        fields = {
            "csrf": csrf, "statement": COUNT, "form": self._random.choice(("a", "b", "\x00")),
            "do": self._random.choice(("run", "price", "explain", "")), "name": "<b>", "password": "x"
        }  # fmt: skip
        body = urlencode(fields)
        if self._random.random() < 0.3:
            body += f"&{quote(self._random.choice(VALUES))}&insert=%ED%A0%80%00"
        kind = "application/x-www-form-urlencoded"
        site = {"Sec-Fetch-Site": "same-origin"} if self._random.random() < 0.9 else {}
        headers = {"Content-Type": kind, "Cookie": cookie, **site}
        return self._sent(f"POST {path} HTTP/1.1", headers, body)

    def broken(self, request: bytes) -> bytes:
        """The request with a few faults."""
        for _ in range(self._random.choice((*[0] * 12, 1, 1, 2, 4))):
            request = self._random.choice(FAULTS)(self._random, request)
        return request


def _flip(random: Random, request: bytes) -> bytes:
    at = random.randrange(len(request) or 1)
    return request[:at] + bytes([random.randrange(256)]) + request[at + 1 :]


def _cut(random: Random, request: bytes) -> bytes:
    at = random.randrange(len(request) or 1)
    return request[:at] + request[at + random.choice((1, 2, 20, 9999)) :]


def _insert(random: Random, request: bytes) -> bytes:
    at, ends = (
        random.randrange(len(request) or 1),
        [m.end() for m in re.finditer(rb"\r\n", request)],
    )
    at = random.choice([at, *ends, *ends])
    return request[:at] + random.choice(PIECES) + request[at:]


def _repeat(random: Random, request: bytes) -> bytes:
    lines = request.split(b"\r\n")
    at = random.randrange(len(lines))
    return b"\r\n".join([*lines[:at], lines[at], *lines[at:]])


def _start(random: Random, request: bytes) -> bytes:
    return random.choice(STARTS) + b"\r\n" + request.partition(b"\r\n")[2]


def _chunk(random: Random, request: bytes) -> bytes:
    head, _, body = request.partition(b"\r\n\r\n")
    head = re.sub(rb"Content-Length", random.choice((b"Content-Length", b"X")), head)
    size = random.choice((b"%x" % len(body), b"%x;a=b" % len(body), b"-1", b"f" * 20, b"0x5", b""))
    parts = [head, b"\r\nTransfer-Encoding: chunked\r\n\r\n", size, b"\r\n", body, b"\r\n0\r\n\r\n"]
    return b"".join(parts)


def _ends(random: Random, request: bytes) -> bytes:
    return request.replace(b"\r\n", random.choice((b"\n", b"\r", b"\r\r\n")))


def _length(random: Random, request: bytes) -> bytes:
    size = random.choice((b"0", b"1", b"99999999", b"-5", b"1, 2", b"1e3", b"\xd9\xa1", b""))
    return re.sub(rb"Content-Length: \d+", lambda _: b"Content-Length: " + size, request)


FAULTS: tuple[Callable[[Random, bytes], bytes], ...] = (
    _flip, _flip, _cut, _insert, _insert, _repeat, _start, _chunk, _ends, _length
)  # fmt: skip


def talk(server: Served, sent: bytes, random: Random) -> bytes:
    """All that is answered: until the server closes, or has nothing more to say."""
    got = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        at = random.randrange(len(sent) + 1) if random.random() < 0.2 else len(sent)
        wait(lambda: server.connections == 1)
        with suppress(ConnectionError):
            connection.sendall(sent[:at])
            connection.sendall(sent[at:])
            connection.settimeout(0.005)
            patience = 8  # a request of which a part is missing is waited for
            while patience and (server.answering or patience == 8):
                try:
                    if not (part := connection.recv(2**20)):
                        break
                    got += part
                except TimeoutError:
                    patience -= 1
    wait(lambda: not (server.connections or server.answering))
    return got


def wait(until: Callable[[], bool]) -> None:
    """Wait until something is so; after a minute it is an error."""
    ends = time.monotonic() + 60
    while not until():
        assert time.monotonic() < ends
        time.sleep(0.0005)


def responses(got: bytes) -> Iterator[tuple[int, bytes]]:
    """The status and the head of each response; what a HEAD asked for has no body."""
    while got := got.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n"):
        head = HEAD.match(got)
        assert head is not None, got[:300]
        yield int(head[1]), head[2]
        length = re.search(rb"(?m)^content-length: (\d+)\r$", head[2])
        body = got[head.end() :][: int(length[1]) if length else 0]
        got = got[head.end() :] if HEAD.match(got, head.end()) else got[head.end() + len(body) :]


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.examples(1_000_000, 2_000, most=50_000)
def test_broken_requests(
    part: Part, served: Served, tried, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is told or asked in the name of somebody whose secret was not sent."""
    caplog.set_level(logging.ERROR)
    random = Random(part.seed)
    requests, desk = Requests(served, random), served.desk
    statuses: Counter[int] = Counter()
    sent, before = 0, resident()
    while sent < part.examples:
        batch = [requests.one() for _ in range(random.choice((1, 4, 8, 16)))]
        stream = b"".join(map(requests.broken, batch))
        sent += len(batch)
        desk.asked.clear()
        got = talk(served, stream, random)
        for status, head in responses(got):
            statuses[status] += 1
            assert status in STATUSES, (status, stream)
            assert all(head.count(b"%b: " % name) == 1 for name in HEADERS), head
        for name, told in TOLD.items():
            if not any(secret in stream for secret in requests.secrets(name)):
                assert told.encode() not in got, stream
                assert not [each for each in desk.asked if each.analyst == name], stream
    assert served.get("/healthz").status == 200
    assert not caplog.records, caplog.text
    assert resident() - before < 200_000_000
    tried(f"{part}: {sent} requests, {dict(sorted(statuses.items()))}")
    assert {200, 303, 400, 401, 403, 404} <= statuses.keys()
