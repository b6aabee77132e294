"""`dpdb serve` from outside: a page at once, a clean stop, and what it refuses to serve."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode

import psycopg
import pytest

from dpdb.errors import DpdbError, UsageError
from dpdb.interfaces.cli.main import main
from dpdb.interfaces.commands import serve
from tests.support.command_line import PEOPLE

LASTING = """
[budget]
name = "people-2026"
ledger = "ledger"
epsilon = 1.0

[tables.people]
path = "{path}"
unit = "row"

[tables.people.columns]
age = {{ type = "integer", bounds = [18, 65] }}
"""


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that does not outlive its test."""
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def running(
    *words: str, stop: signal.Signals, noted: str, reloads: bool = False
) -> Iterator[HTTPConnection]:
    """A connection to `dpdb serve` in a process, which the signal ends as it should."""
    command = [sys.executable, "-m", "dpdb", "serve", *words, "--http", "127.0.0.1:0"]
    with ended(subprocess.Popen(command, stdin=-3, stdout=-1, stderr=-1, text=True)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
        assert address is not None
        connection = HTTPConnection("127.0.0.1", int(address[1]), timeout=60)
        yield connection
        if reloads:
            process.send_signal(signal.SIGHUP)
            assert process.stderr.readline() == "the policy was read again\n"
            assert got(connection, "/healthz")[0].status == 200
        connection.close()
        process.send_signal(stop)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, noted)


@contextmanager
def wired(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`dpdb serve --postgres` in a process, and the words after psql that it prints."""
    doors = "--http", "127.0.0.1:0", "--postgres", "127.0.0.1:0"
    command = [sys.executable, "-m", "dpdb", "serve", *words, *doors]
    with ended(subprocess.Popen(command, stdin=-3, stdout=-1, stderr=-1, text=True)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        printed = process.stdout.readline()
        assert re.fullmatch(r"psql -h 127\.0\.0\.1 -p \d+ people\n", printed)
        yield process, printed.removeprefix("psql ")


def got(
    connection: HTTPConnection, path: str, body: str | None = None, **headers: str
) -> tuple[HTTPResponse, str]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET" if body is None else "POST", path, body, named)
    response = connection.getresponse()
    return response, response.read().decode()


def test_a_page_an_answer_and_a_clean_stop() -> None:
    with running(str(PEOPLE), stop=signal.SIGTERM, noted=f"{serve.PASSING}\n") as server:
        assert "ends with the server" in got(server, "/")[1]
        body = json.dumps({"statement": "SELECT COUNT(*) FROM people"})
        _, answer = got(server, "/query", body, Content_Type="application/json")
        assert json.loads(answer)["cost"]["epsilon"] == 0.1


def test_a_page_and_a_program_spend_one_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, password = tmp_path / "people.toml", tmp_path / "password"
    policy.write_text(LASTING.format(path=PEOPLE), encoding="utf-8")
    password.write_text("correct horse battery\n", encoding="utf-8")
    assert main(["budget", "open", str(policy)]) == 0
    add = ["user", "add", "alice", str(policy), "--password-file", str(password), "--token"]
    assert main(add) == 0
    token = capsys.readouterr().out.splitlines()[-1]
    with running(
        str(policy), "--workers", "2", stop=signal.SIGINT, noted="", reloads=True
    ) as server:
        form = {
            "Content_Type": "application/x-www-form-urlencoded",
            "Sec_Fetch_Site": "same-origin",
        }
        name = urlencode({"name": "alice", "password": "correct horse battery"})
        login, _ = got(server, "/login", name, **form)
        assert login.status == 303
        form["Cookie"] = str(login.getheader("Set-Cookie")).partition(";")[0]
        csrf = re.search(r'name="csrf" value="([^"]+)"', got(server, "/", **form)[1])
        assert csrf is not None
        asked = {"csrf": csrf[1], "statement": "SELECT COUNT(*) FROM people", "do": "run"}
        response, page = got(server, "/ask", urlencode(asked), **form)
        assert response.status == 200
        assert "<strong>ε 0.9</strong> of 1 left" in page
        bearer = {"Authorization": f"Bearer {token}", "Content_Type": "application/json"}
        body = json.dumps({"statement": asked["statement"]})
        answer = json.loads(got(server, "/query", body, **bearer)[1])
        assert answer["repeat"]
        assert re.search(rf">{answer['rows'][0][0]} ± ", page)
        paid, ended = list[int](), threading.Event()

        def spend(path: str, headers: dict[str, str], sent: Callable[[str], str]) -> None:
            own = HTTPConnection(server.host, server.port, timeout=60)
            for number in itertools.count(20):
                statement = f"SELECT COUNT(*) FROM people WHERE age * {len(path)} > {number}"
                response, _ = got(own, path, sent(statement), **headers)
                if response.status == 409:
                    break
                paid.append(response.status)
            own.close()

        def hammer() -> None:
            while not ended.wait(0.002):
                with socket.create_connection((server.host, server.port)) as other:
                    other.sendall(b"POST /query HTTP/1.1\r\nContent-Length: x\r\n\r\n")

        with ThreadPoolExecutor() as threads:
            threads.submit(hammer)
            both = [
                threads.submit(spend, "/ask", form, lambda x: urlencode(asked | {"statement": x})),
                threads.submit(spend, "/query", bearer, lambda x: json.dumps({"statement": x})),
            ]
            wait(both)
            ended.set()
        assert [each.exception() for each in both] == [None, None]
        assert paid == [200] * 9
    capsys.readouterr()
    assert main(["budget", "verify", str(policy)]) == 0
    assert ", ε 1 spent" in capsys.readouterr().out


def refused(*words: str) -> str:
    with pytest.raises(UsageError) as caught:
        serve.main(list(words))
    return f"{caught.value.message}; {caught.value.hint}"


def test_other_machines_are_served_by_a_wall_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each refusal says what to type next, until there is nothing more to say."""
    policy = tmp_path / "people.toml"
    policy.write_text(LASTING.format(path=PEOPLE), encoding="utf-8")
    outside = str(policy), "--http", "0.0.0.0:0"
    assert "dpdb budget open" in refused(str(PEOPLE), *outside[1:])
    assert main(["budget", "open", str(policy)]) == 0
    assert f"dpdb user add NAME {policy}" in refused(*outside)
    # A proxy on this machine is asked by others.
    assert "dpdb user add" in refused(str(policy), "--proxy", "127.0.0.1")
    assert main(["user", "add", "alice", str(policy), "--token"]) == 0
    assert "--certificate FILE --key FILE, or --proxy" in refused(*outside)
    assert "--name stats.example.org" in refused(*outside, "--proxy", "10.0.0.1")
    psql = str(policy), "--http", "127.0.0.1:0", "--postgres", "0.0.0.0:0"
    assert "--certificate FILE --key FILE, or --proxy" in refused(*psql)
    named = "--proxy", "127.0.0.1", "--name", "stats.example.org"
    assert "psql from other machines is served by TLS of dpdb itself" in refused(*psql, *named)
    missing = "--certificate", "none.pem", "--name", "stats.example.org"
    assert "cannot be used: No such file" in refused(*outside, *missing)


def test_psql_asks_as_the_command_says_and_what_a_stop_interrupts_is_paid_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "people.toml"
    policy.write_text(LASTING.format(path=PEOPLE), encoding="utf-8")
    assert main(["budget", "open", str(policy)]) == 0
    assert main(["user", "add", "alice", str(policy), "--token"]) == 0
    token = capsys.readouterr().out.splitlines()[-1]
    text = "SELECT COUNT(*) AS n FROM people"

    def connected(words: str) -> psycopg.Connection[tuple[int]]:
        _, host, _, port, database = words.split()
        place = f"host={host} port={port} dbname={database} user=alice password={token}"
        return psycopg.connect(place, autocommit=True)

    with wired(str(policy)) as (process, words):
        psql = ["psql", "-X", "-w", "-U", "alice", *words.split(), "-t", "-A", "-c", text]
        own = {"PGPASSWORD": token, "PATH": os.environ["PATH"]}
        told = subprocess.run(psql, env=own, capture_output=True, text=True, check=True)
        assert "± " in told.stderr
        assert process.stderr is not None
        process.send_signal(signal.SIGHUP)
        assert process.stderr.readline() == "the policy was read again\n"
        with closing(connected(words)) as held:
            assert held.execute(text).fetchone() == (int(told.stdout),)
            [worker] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(worker), signal.SIGSTOP)
            held.pgconn.send_query(f"{text} WHERE age > 30".encode())
            held.pgconn.flush()
            time.sleep(0.2)  # it is with the worker then, or soon, and ends alike
            process.send_signal(signal.SIGTERM)
            answer = held.pgconn.get_result()
            assert answer is not None
            assert answer.error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"57P01"
            os.kill(int(worker), signal.SIGCONT)
        assert process.wait(60) == 0
    with wired(str(policy)) as (process, words), closing(connected(words)) as held:
        assert held.execute(f"{text} WHERE age > 30").fetchone() is not None
        [worker] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(worker), signal.SIGSTOP)
        held.pgconn.send_query(f"{text} WHERE age > 40".encode())
        held.pgconn.flush()
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until:
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        assert process.wait(0) == 130
    capsys.readouterr()
    assert main(["budget", "verify", str(policy)]) == 0
    assert ", ε 0.2 spent" in capsys.readouterr().out


def test_what_cannot_be_served_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        assert "Address already in use; --http" in refused(str(PEOPLE), "--http", place)
        free = "--http", "127.0.0.1:0"
        told = refused(str(PEOPLE), *free, "--postgres", place)
        assert "Address already in use; --postgres" in told
    with pytest.raises(SystemExit):
        serve.main([str(PEOPLE), "--postgres", "alice:secret@127.0.0.1:5433"])
    told = capsys.readouterr().err
    assert "write HOST:PORT" in told
    assert "secret" not in told
    with pytest.raises(DpdbError, match=r"nobody\.toml"):
        serve.main([str(tmp_path / "nobody.toml"), "--postgres", "127.0.0.1:0"])
    (tmp_path / "token").write_text("short", encoding="utf-8")
    few = "--metrics-token", str(tmp_path / "token")
    assert "openssl rand" in refused(str(PEOPLE), "--http", "127.0.0.1:0", *few)
    assert "--log FILE" in refused(str(PEOPLE), "--http", "127.0.0.1:0", "--log-statements")
    own = refused(str(PEOPLE), "--http", "127.0.0.1:0", "--log", str(PEOPLE))
    assert "is read by dpdb, and is not overwritten" in own


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dpdb.server.http.app", None)
    assert "pip install 'dpdb[serve]'" in refused(str(PEOPLE))
