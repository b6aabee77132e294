"""`dpdb serve` from outside: a page at once, a clean stop, and what it refuses to serve."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_page_an_answer_and_a_clean_stop(stop: signal.Signals) -> None:
    command = [sys.executable, "-m", "dpdb", "serve", str(PEOPLE), "--http", "127.0.0.1:0"]
    with ended(
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", said)
        assert address is not None
        with urllib.request.urlopen(address[0]) as page:
            assert "ends with the server" in page.read().decode()
        asked = urllib.request.Request(
            f"{address[0]}query",
            json.dumps({"statement": "SELECT COUNT(*) FROM people"}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked) as answer:
            assert json.load(answer)["cost"]["epsilon"] == 0.1
        process.send_signal(stop)
        _, noted = process.communicate(timeout=60)
    assert process.returncode == 0
    assert noted == f"{serve.PASSING}\n"


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
