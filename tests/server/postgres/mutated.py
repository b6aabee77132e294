"""Conversations of PostgreSQL's protocol with faults in them, and a door that hears them.

A conversation begins as a driver would have it; then bytes, lengths, counts and the order change.
The door reads from memory, so that a second is enough for some ten thousand messages.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import io
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from dpdb.answers.formats.json_lines import error_as_json
from dpdb.answers.wire import to_wire
from dpdb.errors import SyntaxFault
from dpdb.policy.reading.reader import read_policy
from dpdb.server import asking
from dpdb.server.asking import Front, Setting
from dpdb.server.log import Log
from dpdb.server.messages import Action, Desk, Reply, Request, Shape
from dpdb.server.postgres import door as door_of
from dpdb.server.postgres.door import Door
from dpdb.server.worker import Sessions
from dpdb.session.connect import connect
from tests.server.postgres.wired import PEOPLE, POLICY, VISITS
from tests.server.served import Known

ASKED = (
    ("SELECT COUNT(*) FROM people WHERE age > ?", [30]),
    ("SELECT zip, AVG(income) FROM people GROUP BY zip", None),
    ("SELECT MEDIAN(born), MEDIAN(seen), 'a', TRUE FROM people", None),
)
"""Statements whose answers the desk knows, whatever the values."""
MESSAGES = set(b"RSKZTDCEN123InstvGHW")
"""The types of what a server sends."""


class Told(Desk):
    """Answers at once what it knows, and counts what is paid; refuses all else."""

    def __init__(self, folder: Path):
        (folder / "people.toml").write_text(POLICY)
        (folder / "people.csv").write_text(PEOPLE)
        (folder / "visits.csv").write_text(VISITS)
        policy = read_policy(folder / "people.toml")
        self._tables = Sessions(policy).tables(Shape.RECORD)
        self._known = dict[tuple[str, Action], str]()
        with connect(folder / "people.toml") as session:
            for text, values in ASKED:
                for action, ask in (("execute", session.execute), ("explain", session.explain)):
                    told = replace(ask(text, values), statement=text)
                    self._known[text, Action(action)] = to_wire(told)
        self.paid = 0

    async def ask(self, request: Request) -> Reply:
        assert len(request.line) > 1
        if request.action is Action.TABLES:
            return Reply(self._tables)
        known = self._known.get((" ".join(request.text.split()), request.action))
        if known is None:
            error = SyntaxFault("this is not known")
            return Reply(error_as_json("", error), error.kind)
        self.paid += request.action is Action.EXECUTE
        return Reply(known)

    async def close(self) -> None:
        """Nothing is open."""


class Written:
    """A writer that keeps what is sent."""

    def __init__(self) -> None:
        self.sent = bytearray()

    def write(self, part: bytes) -> None:
        self.sent += part

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def close(self) -> None:
        """Nothing is open."""

    def get_extra_info(self, _: str) -> tuple[str, int]:
        return "127.0.0.1", 5


def door(desk: Desk, known: Known | None = None) -> Door:
    """A door to a desk; without accounts everybody is let in."""
    setting = Setting("people", "http://127.0.0.1", None if known else "you")
    return Door(Front(desk, setting, known, Log(io.StringIO())), "people", None, near=True)


async def heard(at: Door, sent: bytes) -> bytes:
    """All that the door sends to a client who sends this and ends."""
    reader, writer = asyncio.StreamReader(), Written()
    reader.feed_data(sent)
    reader.feed_eof()
    served: Any = at._serve
    await served(reader, writer)
    return bytes(writer.sent)


def messages(got: bytes) -> Iterator[tuple[int, bytes]]:
    """The messages of a server; an error where the last is not whole."""
    at = 0
    while at < len(got):
        assert got[at] in MESSAGES, got[at : at + 50]
        size = struct.unpack("!I", got[at + 1 : at + 5])[0]
        assert 4 <= size <= len(got) - at - 1, got[at : at + 50]
        yield got[at], got[at + 5 : at + 1 + size]
        at += 1 + size


def text(content: str) -> bytes:
    return content.encode() + b"\0"


def start(**words: str) -> bytes:
    body = struct.pack("!i", 3 << 16) + b"".join(map(text, sum(words.items(), ()))) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def query(content: str) -> bytes:
    return message(b"Q", text(content))


def parse(name: str, content: str, oids: Sequence[int] = ()) -> bytes:
    counted = struct.pack(f"!h{len(oids)}i", len(oids), *oids)
    return message(b"P", text(name) + text(content) + counted)


def bind(
    portal: str,
    name: str,
    given: Sequence[bytes | None] = (),
    forms: Sequence[int] = (),
    shown: Sequence[int] = (),
) -> bytes:
    """A message of Bind."""
    parts = [struct.pack(f"!h{len(forms)}h", len(forms), *forms), struct.pack("!h", len(given))]
    for each in given:
        parts.append(struct.pack("!i", -1) if each is None else struct.pack("!i", len(each)) + each)
    parts.append(struct.pack(f"!h{len(shown)}h", len(shown), *shown))
    return message(b"B", text(portal) + text(name) + b"".join(parts))


def execute(portal: str = "", most: int = 0) -> bytes:
    return message(b"E", text(portal) + struct.pack("!i", most))


SYNC, FLUSH, END = message(b"S"), message(b"H"), message(b"X")
OIDS = (
    0,
    16,
    19,
    20,
    21,
    23,
    25,
    26,
    700,
    701,
    705,
    1042,
    1043,
    1082,
    1114,
    1184,
    1700,
    1009,
    2950,
)
TEXTS = (
    *(b"30", b"", b" 30 ", b"1e9999", b"-0", b"\xd9\xa1", b"NaN", b"1_000", b"9" * 500, b"t"),
    *(b"2020-01-01", b"20000-01-01", b"2020-01-01 10:00:00", b"2020-02-30", b"x" * 3000, b"\xff"),
    *(b"infinity", b"a\0b", b"{a,b}", b"0001-01-01", b"9999-12-31 23:59:59.9999999"),
)
STATEMENTS = (
    *("SELECT 1", "", ";", "BEGIN", "ROLLBACK", "COMMIT", "SAVEPOINT a", "SET dp_intervals = on"),
    *("SHOW server_version", "SHOW x", "DEALLOCATE a", "DEALLOCATE ALL", "DISCARD ALL", "RESET ALL"),
    *("DECLARE a CURSOR WITH HOLD FOR SELECT 1", "FETCH 1 FROM a", "MOVE ALL IN a", "CLOSE a"),
    *("SELECT COUNT(*) FROM people WHERE age = ANY($1)", "DECLARE a CURSOR FOR SELECT $1"),
    *("COPY (SELECT 1) TO STDOUT (FORMAT binary)", "COPY (SELECT 'a') TO STDOUT CSV HEADER"),
    *("COPY people TO STDOUT", "SELECT * FROM people LIMIT 0", "LISTEN a", "/* x */ SELECT 1"),
    *("SELECT version(), current_schemas(true)", "SELECT 'people'::regclass, $1::int, -$2"),
    *("SELECT oid, relname FROM pg_class WHERE relname ~ $1 ORDER BY 2 DESC LIMIT $2", "(SELECT 1"),
    *("SELECT a.attname, t.typname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid",),
    *("SELECT relkind, count(*), string_agg(relname, ',') FROM pg_class GROUP BY 1 HAVING true",),
    *("WITH a AS (SELECT $1 AS x) SELECT x, x || x FROM a UNION SELECT typname, $2 FROM pg_type",),
    *("SELECT 1; SELECT COUNT(*) FROM people WHERE age > $1; SELECT version()", "'", "$1", "SELECT $0"),
    *(each.replace("?", "$1") for each, _ in ASKED),
)  # fmt: skip


class Mutations:
    """Draws conversations after login, and faults."""

    def __init__(self, random: Random):
        self._random = random

    def value(self) -> bytes | None:
        """A value of a parameter, as a text or in binary."""
        size = self._random.choice((0, 1, 2, 4, 8, 8, 10, 16))
        number = self._random.choice((0, 1, -1, 2**15, 2**31 - 1, -(2**63), 2**63 - 1, 30))
        whole = (number % 2**64).to_bytes(8)[8 - min(size, 8) :]
        numeric = struct.pack("!hhHh2h", 2, *self._random.choice(((1, 0, 0), (99, 0x4000, 9), (0, 0xC000, 0))), 30, 12000)  # fmt: skip
        real = struct.pack("!d", self._random.choice((0.5, 1e300, float("nan"), float("inf"))))
        texts = (self._random.choice(TEXTS), self._random.randbytes(size))
        return self._random.choice((None, whole, numeric, real, *texts, *texts))

    def extended(self) -> list[bytes]:
        """A statement that is prepared, bound, described, run and closed."""
        random, name, portal = (
            self._random,
            *(self._random.choice(("", "", "a", "b")) for _ in "sp"),
        )
        given = [self.value() for _ in range(random.choice((0, 1, 1, 2)))]
        oids = [random.choice(OIDS) for _ in given if random.random() < 0.7]
        forms = random.choice(([], [], [0], [1], [random.randrange(2) for _ in given]))
        shown = random.choice(([], [], [0], [1], [1, 0]))
        parts = [parse(name, random.choice(STATEMENTS), oids)]
        if random.random() < 0.5:
            parts.append(message(b"D", b"S" + text(name)))
        parts.append(random.choice((SYNC, FLUSH, b"")))
        parts.append(bind(portal, name, given, forms, shown))
        if random.random() < 0.5:
            parts.append(message(b"D", b"P" + text(portal)))
        parts += [
            execute(portal, random.choice((0, 0, 1, -1))) for _ in range(random.choice((1, 1, 2)))
        ]
        if random.random() < 0.4:
            parts.append(message(b"C", random.choice((b"S", b"P")) + text(name)))
        return [each for each in (*parts, SYNC) if each]

    def conversation(self) -> list[bytes]:
        """The messages of a client after its start."""
        random, made = self._random, list[bytes]()
        for _ in range(random.choice((1, 2, 4))):
            made += self.extended() if random.random() < 0.7 else [query(random.choice(STATEMENTS))]
        return made

    def broken(self, parts: Sequence[bytes]) -> list[bytes]:
        """Messages with a few faults, in one or between them."""
        made = list(parts)
        for _ in range(self._random.choice((0, 1, 1, 2, 3))):
            self._random.choice((self._order, *[self._within] * 3))(made)
        return made

    def _order(self, made: list[bytes]) -> None:
        random, at = self._random, self._random.randrange(len(made))
        match random.randrange(4):
            case 0 if len(made) > 1:
                del made[at]
            case 1:
                made.insert(at, made[random.randrange(len(made))])
            case 2:
                made[at], made[0] = made[0], made[at]
            case _:
                junk = random.randbytes(random.choice((0, 3, 30)))
                made.insert(
                    at,
                    message(
                        random.choice((b"F", b"d", b"c", b"f", b"p", b"H", b"S", b"?", b"X")), junk
                    ),
                )

    def _within(self, made: list[bytes]) -> None:
        at = self._random.randrange(len(made))
        made[at] = self._random.choice(FAULTS)(self._random, made[at])


def _flip(random: Random, part: bytes) -> bytes:
    at = random.randrange(5, len(part)) if len(part) > 5 else random.randrange(len(part) or 1)
    return part[:at] + bytes([random.randrange(256)]) + part[at + 1 :]


def _resized(part: bytes, size: int) -> bytes:
    return part[:1] + struct.pack("!I", size % 2**32) + part[5:]


def _lie(random: Random, part: bytes) -> bytes:
    size = random.choice((0, 3, -1, len(part), len(part) + 5, 2**20, 2**20 + 5, 2**31 - 1, 2**31))
    return _resized(part, size)


def _inside(random: Random, part: bytes) -> bytes:
    """Another body whose length is right."""
    at = random.randrange(5, len(part) + 1) if len(part) >= 5 else 0
    junk = random.choice(
        (
            b"\0",
            b"\xff\xff",
            b"\x7f\xff",
            b"\xed\xa0\x80",
            b"\xff" * 4,
            b"x" * 300,
            b"$1",
            b"'",
            b"(" * 30,
        )
    )
    cut = random.choice((0, 0, 1, 2, 4))
    body = part[5:at] + junk + part[at + cut :]
    return _resized(part[:5] + body, len(body) + 4)


def _short(random: Random, part: bytes) -> bytes:
    body = part[5 : random.randrange(5, len(part) + 1)] if len(part) > 5 else b""
    return _resized(part[:5].ljust(5, b"\0") + body, len(body) + 4)


FAULTS: tuple[Callable[[Random, bytes], bytes], ...] = (
    _flip,
    _flip,
    _lie,
    _inside,
    _inside,
    _short,
)


async def known_to_be(at: Door, after: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """What a client in order is told, but for the secret of its connection."""
    got = await heard(at, start(user="alice", database="people") + b"".join(after))
    return [each for each in messages(got) if each[0] != ord("K")]


HONEST = (
    query("SELECT zip, AVG(income) FROM people GROUP BY zip"),
    parse("", "SELECT COUNT(*) FROM people WHERE age > $1", [20]),
    bind("", "", [struct.pack("!q", 30)], [1], [1]),
    message(b"D", b"P\0"), execute(), SYNC,
    query("SELECT relname FROM pg_class ORDER BY 1"),
    END,
)  # fmt: skip


async def attacked(desk: Told, random: Random, number: int) -> dict[str, int]:
    """Send so many messages with faults after a login; what came of it."""
    at, mutations = door(desk), Mutations(random)
    reference = await known_to_be(at, HONEST)
    seen = {"messages": 0, "errors": 0, "rows": 0, "ended": 0}
    while seen["messages"] < number:
        parts = mutations.broken(mutations.conversation())
        seen["messages"] += len(parts)
        paid = desk.paid
        got = await heard(at, start(user="alice", database="people") + b"".join(parts))
        told = 0
        for kind, body in messages(got):
            assert not (kind == ord("E") and b"CXX000\0" in body), (body, parts)
            assert b"Traceback" not in body, (body, parts)
            seen["errors"] += kind == ord("E")
            seen["rows"] += kind == ord("D")
            told += kind == ord("N") and b"left: " in body
        assert told <= desk.paid - paid, parts
        seen["ended"] += got[-6:-1] != b"Z\0\0\0\5"
    assert await known_to_be(at, HONEST) == reference
    return seen


TOKEN = "dpdb_of_alice"
FIRST = b"n,,n=,r=abcdefghijklmnop"


def proof(name: bytes, answer: bytes, token: str) -> bytes:
    """The last message of SCRAM-SHA-256 after a server's answer (RFC 5802, 3)."""
    nonce, salt, turns = (part[2:] for part in answer.split(b","))
    salted = hashlib.pbkdf2_hmac("sha256", token.encode(), base64.b64decode(salt), int(turns))
    key = hmac.digest(salted, b"Client Key", "sha256")
    bare, without = name.partition(b",,")[2], b"c=biws,r=" + nonce
    signed = b",".join((bare, answer, without))
    signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
    told = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    return message(b"p", without + b",p=" + base64.b64encode(told))


def chosen(first: bytes = FIRST, mechanism: str = "SCRAM-SHA-256") -> bytes:
    return message(b"p", text(mechanism) + struct.pack("!i", len(first)) + first)


async def logged_in(at: Door, name: str, token: str) -> tuple[bytes, bytes]:
    """What the door sends to a client who proves a token, and the proof."""
    reader, writer = asyncio.StreamReader(), Written()
    served: Any = at._serve
    task = asyncio.ensure_future(served(reader, writer))
    reader.feed_data(start(user=name, database="people") + chosen())
    while b",i=4096" not in writer.sent:
        await asyncio.sleep(0)
    challenge = [body[4:] for _, body in messages(bytes(writer.sent))][-1]
    last = proof(FIRST, challenge, token)
    reader.feed_data(last + END)
    reader.feed_eof()
    await task
    return bytes(writer.sent), last


async def knocked(desk: Told, random: Random, number: int) -> dict[str, int]:
    """Send so many messages with faults and without a token; what came of it."""
    at, mutations = door(desk, Known({"alice": TOKEN, "bob": "dpdb_of_bob"})), Mutations(random)
    got, captured = await logged_in(at, "alice", TOKEN)
    assert ADMITTED in got
    assert got.endswith(b"Z\0\0\0\5I")
    secure, encrypted = (struct.pack("!ii", 8, code) for code in (80877103, 80877104))
    seen, paid = {"messages": 0, "errors": 0, "silent": 0}, desk.paid
    while seen["messages"] < number:
        name = random.choice(("alice", "bob", "nobody", "", "al\u0131ce"))
        first = random.choice(
            (FIRST, b"y,,n=,r=abcdefghijklmnop", b"p=tls-server-end-point,,n=,r=abcdefghijkl",
             b"p=tls-unique,,n=,r=abcdefghijkl", b"n,a=alice,n=,r=abcdefghijkl", b"n,,n=,r=x")
        )  # fmt: skip
        parts = [
            *random.choices((secure, encrypted, b""), k=random.randrange(3)),
            start(user=name, database=random.choice(("people", "x")), options="-c a=b"),
            chosen(first, random.choice(("SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"))),
            captured,
            query("SELECT 1"),
        ]
        if random.random() < 0.1:
            parts = [struct.pack("!iiiI", 16, 80877102, random.randrange(9), random.randrange(9))]
        made = mutations.broken([each for each in parts if each])
        seen["messages"] += len(made)
        got = await heard(at, b"".join(made))
        assert ADMITTED not in got, made
        assert b"CXX000\0" not in got, made
        seen["errors"] += b"SFATAL\0" in got
        seen["silent"] += b"SFATAL\0" not in got
    assert desk.paid == paid
    assert ADMITTED in (await logged_in(at, "alice", TOKEN))[0]
    return seen


ADMITTED = b"R\0\0\0\x08\0\0\0\0"
"""The message that a login is done."""


def unlimited(patch: Any) -> None:
    """Let analysts ask, and everybody try to log in, as often as they like."""
    patch.setattr(door_of, "_STRANGERS", (1e9, 10**9))
    patch.setattr(asking, "_RATE", (1e9, 10**9))
