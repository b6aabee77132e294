"""`dpdb serve` from outside: a page at once, a clean stop, and what it refuses to serve."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode

import pytest

from dpdb.errors import UsageError
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
    missing = "--certificate", "none.pem", "--name", "stats.example.org"
    assert "cannot be used: No such file" in refused(*outside, *missing)


def test_what_cannot_be_served_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        assert "Address already in use; --http" in refused(str(PEOPLE), "--http", place)
    (tmp_path / "token").write_text("short", encoding="utf-8")
    few = "--metrics-token", str(tmp_path / "token")
    assert "openssl rand" in refused(str(PEOPLE), "--http", "127.0.0.1:0", *few)
    assert "--log FILE" in refused(str(PEOPLE), "--http", "127.0.0.1:0", "--log-statements")
    own = refused(str(PEOPLE), "--http", "127.0.0.1:0", "--log", str(PEOPLE))
    assert "is read by dpdb, and is not overwritten" in own


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dpdb.server.app", None)
    assert "pip install 'dpdb[serve]'" in refused(str(PEOPLE))
