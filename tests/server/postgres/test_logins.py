"""Who gets in, over what, and how a statement or a connection ends."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Iterator

import psycopg
import pytest

from dpdb.errors import LedgerError
from dpdb.policy.reading.reader import read_policy
from dpdb.server.messages import Action, Desk, Reply, Request
from dpdb.server.postgres import door
from dpdb.server.postgres.door import MOST_OF_ANALYST
from tests.server.postgres.wired import Wired
from tests.server.served import Known, NearDesk

TOKEN = "dpdb_of_alice"
COUNT = "SELECT COUNT(*) FROM t"
POLICY = """
[budget]
epsilon = 0.1
queries = 1

[tables.t]
path = "t.csv"

[tables.t.columns]
a = { type = "integer", bounds = [0, 9] }
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> NearDesk:
    folder = tmp_path_factory.mktemp("small")
    (folder / "t.toml").write_text(POLICY)
    (folder / "t.csv").write_text("a\n" + "5\n" * 50)
    return NearDesk(read_policy(folder / "t.toml"))


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    folder = tmp_path_factory.mktemp("tls")
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-keyout", "key.pem", "-out", "own.pem", "-subj", "/CN=own"]  # fmt: skip
    subprocess.run(words, check=True, capture_output=True, cwd=folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "own.pem", folder / "key.pem")
    return context


@pytest.fixture
def known() -> Known:
    return Known({"alice": TOKEN, "bob": "dpdb_of_bob"})


@pytest.fixture
def guarded(desk: NearDesk, known: Known) -> Iterator[Wired]:
    """A door for accounts, without TLS on the loopback."""
    with Wired(desk, known) as made:
        yield made


def state_of(wired: Wired, name: str, token: str, **options: str) -> str | None:
    """The SQLSTATE with which a login ends; None where it is let in."""
    try:
        psycopg.connect(wired.address(name, token), **options).close()
    except psycopg.OperationalError as error:
        return "refused" if error.sqlstate is None else error.sqlstate
    return None


def opened(wired: Wired, *sent: bytes) -> socket.socket:
    """A connection over which these bytes were sent."""
    made = socket.create_connection(("127.0.0.1", wired.port), timeout=20)
    made.sendall(b"".join(sent))
    return made


def start(*words: str, version: int = 3 << 16) -> bytes:
    body = struct.pack("!i", version) + b"".join(each.encode() + b"\0" for each in words) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def all_of(connection: socket.socket) -> bytes:
    """What comes until the end of a connection."""
    parts = []
    with connection:
        try:
            while part := connection.recv(65536):
                parts.append(part)
        except ConnectionResetError:
            pass
    return b"".join(parts)


def test_an_unknown_name_and_a_wrong_token_are_told_alike(guarded: Wired) -> None:
    assert "token of dpdb user token" in guarded.psql("SELECT 1", password="dpdb_of_bob").err
    told = {
        guarded.psql("SELECT 1", user=name, password="x" * 40).err.replace(name, "NAME")
        for name in ("alice", "nobody")
    }
    assert len(told) == 1
    assert "password authentication failed" in told.pop()
    salts = []
    for name in ("alice", "nobody", "nobody"):
        with opened(guarded, start("user", name)) as connection:
            assert b"SCRAM-SHA-256\0" in connection.recv(1000)
            first = b"n,,n=,r=abcdefghijkl"
            body = b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first
            connection.sendall(b"p" + struct.pack("!i", len(body) + 4) + body)
            answer = connection.recv(1000)
            nonce, salt, turns = answer[9:].split(b",")
            assert nonce.startswith(b"r=abcdefghijkl")
            assert turns == b"i=4096"
            salts.append(salt)
            # The proof of another exchange is none.
            final = b"c=biws," + nonce + b",p=" + b"A" * 43 + b"="
            connection.sendall(b"p" + struct.pack("!i", len(final) + 4) + final)
            assert b"C28P01\0" in connection.recv(1000)
    assert salts[1] == salts[2] != salts[0]
    refused = guarded.log.getvalue()
    assert '"outcome": "refused"' in refused
    assert "nobody" not in refused


def test_the_database_is_the_policys(guarded: Wired) -> None:
    for address in (
        guarded.address("alice", TOKEN)[:-6] + "postgres",
        guarded.address("alice", TOKEN)[:-7],
    ):
        with pytest.raises(psycopg.OperationalError, match='" does not exist'):
            psycopg.connect(address)
    assert "3D000" not in str(state_of(guarded, "alice", "wrong"))  # after the token alone


def test_logins_that_succeed_are_no_guesses(
    desk: NearDesk, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "_STRANGERS", (0.0, 2))
    with Wired(desk, known) as wired:
        assert [state_of(wired, "alice", TOKEN) for _ in range(5)] == [None] * 5
        assert [state_of(wired, "alice", "x") for _ in range(3)] == ["refused"] * 3
        assert state_of(wired, "alice", TOKEN) == "refused"


def test_who_says_nothing_is_left_and_others_are_served(
    desk: NearDesk, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "LOGIN", 1.0)
    with Wired(desk, known) as wired:
        silent = [opened(wired) for _ in range(200)]
        halves = [opened(wired, start("user", "alice")[:-3]) for _ in range(200)]
        assert {all_of(each) for each in (*silent, *halves)} == {b""}
        assert state_of(wired, "alice", TOKEN) is None


def test_a_new_token_ends_the_connections_of_the_former(guarded: Wired, known: Known) -> None:
    with psycopg.connect(guarded.address("alice", TOKEN), autocommit=True) as connection:
        connection.execute("SELECT 1")
        known.passwords["alice"] = "dpdb_another"
        for text in ("SELECT 1", COUNT, r"SELECT relname FROM pg_class"):
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(text)
            assert refused.value.sqlstate == "28000"
    assert state_of(guarded, "alice", TOKEN) == "refused"
    assert state_of(guarded, "alice", "dpdb_another") is None


def test_accounts_that_cannot_be_read_are_the_data_owners_concern(
    guarded: Wired, known: Known, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    error = LedgerError("postgresql://db.inner/x does not answer", hint="user root at 10.0.0.7")

    def unread(name: str) -> str:
        raise error

    with psycopg.connect(guarded.address("alice", TOKEN), autocommit=True) as connection:
        connection.execute("SELECT 1")
        with monkeypatch.context() as broken:
            broken.setattr(known, "verifier", unread)
            for text in ("SELECT 1", r"SELECT relname FROM pg_class"):
                with pytest.raises(psycopg.Error) as refused:
                    connection.execute(text)
                told = refused.value.diag
                assert told.sqlstate == "58000"
                assert told.message_primary == "this server cannot read its accounts"
                assert told.message_hint == "try again"
        connection.execute("SELECT 1")
    assert capfd.readouterr().err.count("hint: user root at 10.0.0.7") == 2


def test_tls_is_spoken_and_what_came_before_it_is_not_read(
    desk: NearDesk, known: Known, certified: ssl.SSLContext
) -> None:
    with Wired(desk, known, tls=certified, near=False) as wired:
        with psycopg.connect(wired.address("alice", TOKEN), sslmode="require") as connection:
            assert connection.pgconn.ssl_in_use
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert state_of(wired, "alice", TOKEN, sslmode="disable") == "refused"
        asking = struct.pack("!ii", 8, 80877103)
        assert all_of(opened(wired, asking, start("user", "alice"))) in (b"", b"S")
        assert all_of(opened(wired, start("user", "alice"))).startswith(b"E")


def test_who_sends_no_start_is_told_nothing(guarded: Wired) -> None:
    for nonsense in (
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        struct.pack("!ii", 2**30, 3 << 16),
        struct.pack("!ii", 4, 3 << 16),
        struct.pack("!ii", -1, 0),
        start("user", "alice") + b"Q" + struct.pack("!i", 20000) + b"x" * 20000,
    ):
        connection = opened(guarded, nonsense)
        connection.shutdown(socket.SHUT_WR)
        assert b"dpdb" not in all_of(connection)
    assert all_of(opened(guarded, start("user", "alice", version=2 << 16)))[:1] == b"E"
    newer = opened(guarded, start("user", "alice", "_pq_.x", "1", version=(3 << 16) + 2))
    newer.shutdown(socket.SHUT_WR)
    assert all_of(newer).startswith(b"v" + struct.pack("!iii", 19, 0, 1) + b"_pq_.x\0")


def test_an_analyst_has_a_limited_number_of_connections(guarded: Wired) -> None:
    held = [psycopg.connect(guarded.address("alice", TOKEN)) for _ in range(MOST_OF_ANALYST)]
    assert state_of(guarded, "alice", TOKEN) == "refused"
    held.pop().close()
    assert state_of(guarded, "bob", "dpdb_of_bob") is None
    for each in held:
        each.close()


class Stuck(Desk):
    """A desk whose statements wait for ever."""

    def __init__(self) -> None:
        self.begun, self.cancelled = threading.Event(), threading.Event()

    async def ask(self, request: Request) -> Reply:
        if request.action is Action.TABLES:
            return Reply("", "LedgerError")
        self.begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        raise AssertionError


def test_a_statement_is_cancelled_by_its_secret_alone() -> None:
    stuck = Stuck()
    with Wired(stuck) as wired, wired.connect() as connection:
        caught = list[psycopg.Error]()

        def ask() -> None:
            try:
                connection.execute("SELECT COUNT(*) FROM t")
            except psycopg.Error as error:
                caught.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        assert stuck.begun.wait(20)
        for number in (0, 1, connection.info.backend_pid):
            guess = struct.pack("!iiiI", 16, 80877102, number, 12345)
            assert all_of(opened(wired, guess)) == b""
        assert not stuck.cancelled.is_set()
        connection.cancel_safe(timeout=10)  # the other way holds the lock of this process
        thread.join(20)
        assert [each.sqlstate for each in caught] == ["57014"]
        assert stuck.cancelled.is_set()
        assert connection.execute("SHOW server_encoding").fetchone() == ("UTF8",)
