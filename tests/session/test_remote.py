"""A session of a server: the same answers, and nothing that a server can do to who asks."""

from __future__ import annotations

import datetime
import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpdb
from dpdb import dbapi
from dpdb.answers.formats.render import FORMATS
from dpdb.answers.wire import to_wire
from dpdb.errors import PERHAPS, Busy, DpdbError, ServerError, UsageError
from dpdb.interfaces.cli.main import main
from dpdb.interfaces.prompt.status import toolbar
from dpdb.ledger.terms import public_terms
from dpdb.session.remote import server_link
from tests.support.command_line import PEOPLE
from tests.support.served import served

TOKEN = "dpdb-token"
STATEMENTS = [
    "SELECT zip, AVG(age), COUNT(*) AS n FROM people GROUP BY zip",
    "SELECT zip, AVG(age), COUNT(*) AS n FROM people GROUP BY zip",
    "SELECT MEDIAN(age), VARIANCE(income) FROM people WHERE age > 30",
    "SELECT COUNT(*) FROM people WHERE zip = 10025 HAVING COUNT(*) > 10",
    "EXPLAIN SELECT VARIANCE(income), COUNT(*) FROM people GROUP BY zip",
    "EXPLAIN SELECT COUNT(*) FROM people",
    "SHOW BUDGET",
    "SHOW TABLES",
    "DESCRIBE people",
    "SET epsilon = 0.05",
    "SET mechanism = 'staircase'",
    "SHOW ALL",
    "SELECT 1 + 1, 'a', DATE '2020-02-03'",
    "CREATE TEMP TABLE t AS SELECT zip, COUNT(*) AS n FROM people GROUP BY zip",
    "SELECT MAX(n) FROM t",
    "SET trial = on",
    "EXPLAIN SELECT COUNT(*) FROM people",
    "SET trial = off",
]


def opened() -> dpdb.Session:
    return dpdb.connect(PEOPLE, epsilon=10, queries=50, teach=True, seed=7)


@pytest.fixture
def both() -> Iterator[tuple[dpdb.Session, Any]]:
    """A session of this process, and one of a server, which answer alike."""
    there = opened()
    with served({TOKEN: there}.get) as address, opened() as here:
        yield here, dpdb.connect(address, token=TOKEN)


def test_every_format_has_the_same_bytes(both: tuple[dpdb.Session, Any]) -> None:
    here, there = both
    for text in STATEMENTS:
        ours, theirs = here.execute(text), there.execute(text)
        for name, form in FORMATS.items():
            for intervals in (False, True):
                assert form(theirs, intervals=intervals) == form(ours, intervals=intervals), (
                    text,
                    name,
                )
        assert (theirs.rows, theirs.intervals, theirs.types) == (
            ours.rows,
            ours.intervals,
            ours.types,
        )
        assert (there.settings, there.on_trial, there.balance) == (
            here.settings,
            here.on_trial,
            here.balance,
        )
    assert [(each.rows, each.cost) for each in there.answers()] == [
        (each.rows, each.cost) for each in here.answers()
    ]
    assert there.quote(STATEMENTS[2]).cost == here.quote(STATEMENTS[2]).cost
    assert public_terms(there.policy) == public_terms(here.policy)
    assert there.trial().execute("SELECT COUNT(*) FROM people").trial
    assert there.balance == here.balance
    assert "people: ε " in repr(there)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("age > ? AND zip IN ?", [30, [10025, 11215]]),
        ("age > :low", {"low": 30}),
        ("zip IN ?", [{10025, 11215}]),
        ("income < ?", [Decimal("1e3")]),
        ("income < ? OR income > ?", [0.1, 1e-05]),
        ("name = ?", ["O'Brien\x00 \N{SNOWMAN} \ud800"]),
        ("age > ? OR ?", [None, True]),
        ("DATE '2020-01-01' < ?", [datetime.date(2020, 1, 2)]),
        ("TIMESTAMP '2020-01-01' < ?", [datetime.datetime(2020, 1, 2, 3, 4, 5, 6)]),
        ("age > ?", [float("nan")]),
    ],
)  # fmt: skip
def test_values_are_the_same_constants(
    both: tuple[dpdb.Session, Any], text: str, values: Any
) -> None:
    told = [
        shown(
            lambda s=session: s.execute(
                f"SELECT COUNT(*) FROM people WHERE {text}", values, epsilon=Fraction(1, 3)
            )
        )
        for session in both
    ]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("ask", "options"),
    [
        (("SELECT agee FROM people",), {}),
        (("SELECT COUNT(*)\nFROM people WHERE",), {}),
        (("SELECT COUNT(*) FROM people WHERE age > ?",), {}),
        (("SELECT COUNT(*) FROM people",), {"epsilon": 11}),
        (("SELECT COUNT(*) FROM people",), {"epsilon": "much"}),
        (("SELECT COUNT(*) FROM people",), {"parameters": "abc"}),
        (("SELECT COUNT(*) FROM people",), {"parameters": [object()]}),
        (("SET epsilon = 0.1",), {"epsilon": 0.1}),
        ((5,), {}),
    ],
)
def test_errors_are_the_same(both: tuple[dpdb.Session, Any], ask: Any, options: Any) -> None:
    ours, theirs = (shown(lambda s=session: s.execute(*ask, **options)) for session in both)
    assert ours == theirs
    assert isinstance(ours, tuple)


def shown(ask: Callable[[], Any]) -> Any:
    """What is told: an answer as JSON, or all of an error."""
    try:
        return FORMATS["json"](ask())
    except DpdbError as error:
        return type(error), error.message, error.hint, error.place, error.statement


def test_statements_are_planned_together(both: tuple[dpdb.Session, Any]) -> None:
    members = [
        ("SELECT COUNT(*) FROM people WHERE age > ?", [30], {"epsilon": 0.1}),
        "SELECT AVG(age) FROM people",
    ]
    ours, theirs = (session.plan(members) for session in both)
    assert ours.rows == theirs.rows
    refused = [
        shown(lambda s=session: s.plan(["SELECT COUNT(*) FROM people", "SELECT x FROM people"]))
        for session in both
    ]
    assert refused[0] == refused[1]


def test_a_closed_session_asks_nothing(both: tuple[dpdb.Session, Any]) -> None:
    for session in both:
        session.close()
        with pytest.raises(UsageError, match="the session is closed"):
            session.execute("SHOW BUDGET")


def test_a_driver_on_a_server() -> None:
    with served({TOKEN: opened()}.get) as address:
        with dbapi.connect(address, token=TOKEN) as connection:
            cursor = connection.cursor().execute(
                "SELECT zip, COUNT(*) FROM people WHERE age > ? GROUP BY zip", [30]
            )
            assert len(cursor.fetchall()) == 40
            with pytest.raises(dbapi.ProgrammingError):
                cursor.execute("SELECT agee FROM people")
        with pytest.raises(dbapi.InterfaceError, match="does not know this token"):
            dbapi.connect(address, token="another")


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_the_command_line_prints_the_same(
    form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPDB_TOKEN", TOKEN)
    asked = ["-c", "; ".join(STATEMENTS[2:7]), "--format", form, "--intervals", "--plan"]
    local = ["--epsilon", "10", "--queries", "50", "--teach", "--seed", "7"]
    with served({TOKEN: opened()}.get) as address:
        codes = main([str(PEOPLE), *local, *asked]), main([address, *asked])
        printed = capsys.readouterr()
    assert codes == (0, 0)
    assert not printed.err
    half = len(printed.out) // 2
    assert printed.out[:half] == printed.out[half:]


def test_the_token_is_in_a_file_of_its_owner_or_in_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DPDB_TOKEN", raising=False)
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")

    def code(*words: str) -> tuple[int, str]:
        return main([*words, "-c", "SHOW TABLES"]), capsys.readouterr().err

    with served({TOKEN: opened()}.get) as address:
        given = address, "--token-file", str(file)
        file.chmod(0o644)
        assert code(*given) == (2, f"error: others can read {file}\nhint: chmod 600 {file}\n")
        file.chmod(0o600)
        assert code(*given) == (0, "")
        assert code(address)[0] == 2
        assert (
            "--epsilon, --teach: the server says these itself"
            in code(*given, "--epsilon", "1", "--teach")[1]
        )
    assert "--token-file is for a server" in code(str(PEOPLE), "--token-file", str(file))[1]


@pytest.mark.parametrize(
    "address",
    ["http://example.org", "http://127.0.0.1.example.org", "http://0.0.0.0", "http://[::2]:80", "https://", "https://a b", "https://ann@example.org",
     "https://example.org/?x=1", "https://example.org:99999", "https://ex\N{LATIN SMALL LETTER A WITH DIAERESIS}mple", "https://a\nb"],
)  # fmt: skip
def test_addresses_that_no_token_is_sent_to(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("connected"))
    with pytest.raises(UsageError):
        dpdb.connect(address, token=TOKEN)


@pytest.mark.parametrize("token", ["a b", "a\r\nX: y", "\N{SNOWMAN}", "a\x00"])
def test_what_is_no_token(token: str) -> None:
    with pytest.raises(UsageError, match="this is no token"):
        dpdb.connect("http://127.0.0.1:1", token=token)


@contextmanager
def raw(
    *replies: bytes, hang: bool = False, tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[bytes]]]:
    """A server that sends these bytes, one for each request, whatever is asked."""
    asked: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def answer() -> None:
        for reply in replies:
            try:
                connection, _ = listening.accept()
                with (
                    connection,
                    tls.wrap_socket(connection, server_side=True) if tls else connection as link,
                ):
                    asked.append(link.recv(100_000))
                    link.sendall(reply)
                    if hang:
                        done.wait(10)
                    link.shutdown(socket.SHUT_WR)
                    while link.recv(100_000):
                        pass
            except OSError:
                continue

    thread = threading.Thread(target=answer)
    thread.start()
    with listening:
        yield f"http{'s' if tls else ''}://127.0.0.1:{listening.getsockname()[1]}", asked
        done.set()
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def reply(content: str | bytes, status: str = "200 OK", *headers: str) -> bytes:
    body = content if isinstance(content, bytes) else content.encode()
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *headers,
        "",
        "",
    ]
    return "\r\n".join(lines).encode() + body


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    """An answer, as a server tells it."""
    told: dict[str, Any] = json.loads(
        to_wire(opened().execute("SELECT zip, COUNT(*) FROM people GROUP BY zip"))
    )
    return told


@pytest.fixture(scope="module")
def tables() -> str:
    return json.dumps(public_terms(opened().policy))


def changed(**fields: Any) -> Callable[[dict[str, Any]], str]:
    return lambda answer: json.dumps({**answer, **fields})


@pytest.mark.parametrize(
    "sent",
    [
        "", "nothing", "null", "[]", "5", "{}", '"a"', "[" * 100_000, "{" * 1000, "9" * 10_000, "\ud800".encode("utf-8", "surrogatepass"),
        changed(columns=[5]), changed(columns="ab"), changed(columns=[]), changed(cells=[]), changed(cells=5), changed(statement=None),
        changed(balance=None), changed(cost={"Price": {"epsilon": {"/": "1e99999999999"}}}), changed(cost={"Price": {"epsilon": {"/": "1/0"}}}),
        changed(cost={"Price": {"epsilon": 0.5}}), changed(cost={"os.system": {"epsilon": 0.5}}), changed(plan={"Plan": {}}), changed(unknown=1),
        changed(kinds=[{"Kind": "NOTHING"}]), changed(kinds=["text"]), changed(query=1), changed(told={"set": [1]}),
        changed(cells=[{"CellColumn": {"cells": [float("nan")]}}] * 2), changed(cells=[{"CellColumn": {"cells": [[1]]}}] * 2),
        changed(cells=[{"CellColumn": {"cells": [1]}}, {"CellColumn": {"cells": [1, 2]}}]),
        changed(cells=[{"CellColumn": {"cells": [1], "accuracy_detail": {"Detail": 5}}}] * 2),
        changed(cells=[{"CellColumn": {"cells": ["x"]}}] * 2), changed(cells=[{"CellColumn": {"cells": [1.5]}}, {"CellColumn": {"cells": [1]}}]),
        changed(columns=["zip", "\ud800"]), changed(explain=True, cells=[]), changed(origins=[{"Origin": "KEY"}]),
        changed(note_detail={"Detail": [5]}), changed(note_detail={"Answer": {}}),
    ],
)  # fmt: skip
def test_what_is_no_answer(sent: Any, answer: dict[str, Any], tables: str) -> None:
    told = sent(answer) if callable(sent) else sent
    with raw(reply(tables), reply(told)) as (address, _):
        session = dpdb.connect(address, token=TOKEN)
        with pytest.raises(ServerError, match="sends what is no answer"):
            session.execute("SELECT COUNT(*) FROM people")


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"", "was lost"),
        (b"\x00\xff\x1b[2J\r\n\r\n", "was lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "was lost"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "was lost"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000, "was lost"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000, "was lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 200000000\r\n\r\n" + b" " * 3_000_000, "too long"),
        (reply("", "302 Found", "Location: http://127.0.0.1:1/\x1b[2J"), "which is not followed"),
        (reply("<html>", "502 Bad Gateway"), "status 502"),
        (reply('{"error": 5}', "400 Bad"), "status 400"),
        (reply('{"statement": "", "error": {"kind": [], "message": "a", "hint": null}}', "400 Bad"), "status 400"),
        (reply('{"statement": "", "error": {"kind": "SystemExit", "message": "busy", "hint": null}}', "409 Many"), "busy"),
        (reply("who", "401 Unauthorized"), "does not know this token"),
    ],
)  # fmt: skip
def test_what_a_hostile_server_sends_is_an_error(
    sent: bytes, message: str, tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_link, "LONGEST_BODY", 2_000_000)
    with raw(reply(tables), sent) as (address, asked):
        session = dpdb.connect(address, token=TOKEN)
        with pytest.raises(DpdbError, match=message) as caught:
            session.execute("SELECT COUNT(*) FROM people")
    assert caught.value.message.isprintable()
    assert len(asked) == 2
    if message in ("was lost", "too long"):
        assert caught.value.hint == PERHAPS


def test_a_server_that_never_ends_its_reply(tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by silence, nor by a reply that goes on and on."""
    for begun in (
        b"",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 3,
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    ):
        with raw(reply(tables), hang=True) as (address, _):
            session = dpdb.connect(address, token=TOKEN)
        with raw(begun, hang=True) as (other, _):
            session._server._connection.port = int(other.rpartition(":")[2])
            monkeypatch.setattr(server_link, "LONGEST_WAIT", 0.05)
            with pytest.raises(ServerError, match="was lost"):
                session.execute("SELECT COUNT(*) FROM people")
            monkeypatch.undo()


def test_a_balance_that_cannot_be(answer: dict[str, Any], tables: str) -> None:
    left = {"/": "9" * 30}
    balance = {"Balance": {**answer["balance"]["Balance"], "epsilon_left": left}}
    with raw(reply(tables), reply(json.dumps(answer | {"balance": balance}))) as (address, _):
        told = dpdb.connect(address, token=TOKEN).execute("SELECT COUNT(*) FROM people")
    assert sum(len(text) for _, text in toolbar(told.balance, None, 80)) <= 80


@pytest.mark.parametrize("times", [2, 4, 5])
def test_a_busy_server_is_asked_again(
    times: int, answer: dict[str, Any], tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_link, "PAUSES", [0] * 4)
    busy = {"statement": "", "error": {"kind": "Busy", "message": "many wait", "hint": "later"}}
    replies = [reply(json.dumps(busy), "429 Many")] * times + [reply(json.dumps(answer))]
    with raw(reply(tables), *replies) as (address, asked):
        session = dpdb.connect(address, token=TOKEN)
        if times <= 4:
            assert session.execute("SELECT zip, COUNT(*) FROM people GROUP BY zip").rows
        else:
            with pytest.raises(Busy, match="many wait"):
                session.execute("SELECT zip, COUNT(*) FROM people GROUP BY zip")
        assert len(asked) == 1 + min(times + 1, 5)


@pytest.mark.parametrize(
    "change",
    [{"epsilon": "1e99999999"}, {"epsilon": 1}, {"tables": []}, {"tables": {"t": 5}}, {"name": 5}, {"noise": 5}, {"minimum_units": "x"}, {"timing": "soon"}],
)  # fmt: skip
def test_what_is_no_policy(change: dict[str, Any], tables: str) -> None:
    served = raw(reply(json.dumps(json.loads(tables) | change)))
    with served as (address, _), pytest.raises(ServerError, match="sends what is no answer"):
        dpdb.connect(address, token=TOKEN)


def test_a_certificate_is_checked(
    tmp_path: Path, tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is one that this machine trusts, and one of the name that is asked."""

    def certified(name: str) -> tuple[Path, ssl.SSLContext]:
        path, key = tmp_path / f"{name}.pem", tmp_path / f"{name}.key"
        alternative = "IP:127.0.0.1" if name == "own" else f"DNS:{name}"
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                 "-keyout", str(key), "-out", str(path), "-subj", f"/CN={name}", "-addext", f"subjectAltName={alternative}"]  # fmt: skip
        subprocess.run(words, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path, key)
        return path, context

    for name, trusted, refused in [
        ("own", False, "not valid"),
        ("other", True, "not valid"),
        ("own", True, None),
    ]:
        path, context = certified(name)
        monkeypatch.setenv("SSL_CERT_FILE", str(path if trusted else PEOPLE))
        with raw(reply(tables), tls=context) as (address, asked):
            if refused is None:
                assert dpdb.connect(address, token=TOKEN).policy.tables[0].name == "people"
                continue
            with pytest.raises(ServerError, match=refused):
                dpdb.connect(address, token=TOKEN)
            assert not asked
