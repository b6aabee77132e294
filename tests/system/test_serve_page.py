"""The page on the server: its session is typed, its files are read by what they are written for."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dpdb import manual
from dpdb.interfaces.cli.main import main
from dpdb.interfaces.commands import mcp
from dpdb.interfaces.commands.serve import parser
from dpdb.ledger import people
from dpdb.policy.reading.reader import read_policy
from dpdb.server.log import Log
from dpdb.server.messages import Action, Reply, Request
from tests.server.served import Known, Served

PAGE = manual.page("serve")
PASSWORD = "correct horse battery"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.DOTALL)


[POLICY], [SESSION], [ASSISTANT, LOGGED], [UNIT], [NGINX], [CADDY], [IMAGE] = map(
    blocks, ("toml", "text", "json", "ini", "nginx", "caddy", "dockerfile")
)
LINES = [line for block in blocks("sh") for line in block.splitlines()]
SERVED = [shlex.split(line)[2:] for line in LINES if line.startswith("dpdb serve ")]
CURLS = [line for line in LINES if line.startswith("curl ")]


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with data, policy and password, which is where commands are typed."""
    (tmp_path / "clinic.csv").write_text("age\n" + "40\n50\n" * 200, encoding="utf-8")
    (tmp_path / "clinic.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "alice.txt").write_text(f"{PASSWORD}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(people, "_COST", (16, 8, 1))
    return tmp_path


def test_two_accounts_on_one_budget(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [step.split("\n", 1) for step in re.split(r"(?m)^\$ ", SESSION)[1:]]
    assert len(steps) == 4
    for command, expected in steps:
        assert main(shlex.split(command)[1:]) == 0
        printed, said = capsys.readouterr()
        shown = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-11-27 12:00:00", said + printed)
        assert re.sub(r"dpdb_\S{43}", "dpdb_…", shown) == expected


def test_each_command_that_serves_is_understood() -> None:
    unit = re.search(r"(?m)^ExecStart=/opt/dpdb/bin/python -I -m dpdb serve (.*)$", UNIT)
    entry, command = (
        json.loads(words) for words in re.findall(r"(?m)^(?:ENTRYPOINT|CMD) (.*)$", IMAGE)
    )
    assert unit is not None
    assert entry[:5] == ["python", "-I", "-m", "dpdb", "serve"]
    given = [
        parser().parse_args(words)
        for words in (*SERVED, shlex.split(unit[1]), [*entry[5:], *command])
    ]
    assert len(given) == 6
    behind = [each for each in given if each.proxy is not None]
    assert len(behind) == 2
    for each in behind:
        address = ":".join(map(str, each.http))
        assert f"proxy_pass http://{address};" in NGINX
        assert f"reverse_proxy {address}\n" in CADDY
        assert f"server_name {each.name};" in NGINX
        assert CADDY.startswith(f"{each.name} {{")
    assert f"curl https://{behind[0].name}/query " in CURLS[0]


def test_the_command_of_an_assistant_is_understood() -> None:
    server = json.loads(ASSISTANT)["mcpServers"]["clinic"]
    assert server["command"] == "dpdb"
    command, *words = server["args"]
    assert command == "mcp"
    assert mcp.parser().parse_args(words).analyst == "robot"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_the_unit_is_one_with_few_rights(tmp_path: Path) -> None:
    unit = tmp_path / "dpdb.service"
    unit.write_text(UNIT.replace("/opt/dpdb/bin/python", sys.executable))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    told = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout  # an exposure of 2.0 or less, of 10
    assert not re.search("MemoryMax|MemoryHigh|CPUQuota|TasksMax|RuntimeMaxSec|LimitAS", UNIT)


def test_a_program_asks_as_the_page_says(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [line] = CURLS
    _, address, *words = shlex.split(line.replace("$DPDB_TOKEN", "secret"))
    options = list(zip(words[::2], words[1::2], strict=True))
    headers = dict(text.split(": ") for option, text in options if option == "-H")
    [body] = [text for option, text in options if option == "-d"]
    assert main(["budget", "open", "clinic.toml"]) == 0
    monkeypatch.setenv("DPDB_TOKEN", "secret")
    with Served(read_policy(clinic / "clinic.toml"), Known({"robot": "secret"})) as served:
        [code] = blocks("python")
        made: dict[str, Any] = {}
        exec(code.replace("https://stats.example.org", served.origin), made)
        assert made["mean"] == made["db"].execute("SELECT AVG(age) FROM clinic").scalar()
        made["db"].close()
        answered = served.ask("POST", f"/{address.rpartition('/')[2]}", body, headers)
        assert answered.json["columns"] == ["COUNT(*)"]
        for path in ("/price", "/explain"):
            assert served.ask("POST", path, body, headers).json["cost"]["epsilon"] >= 0
        for path in ("/budget", "/tables", "/answers", "/api"):
            assert served.ask("GET", path, headers=headers).status == 200
        assert served.ask("POST", "/query", body, headers | {"Authorization": ""}).status == 401


def test_log_and_counters_are_those_of_the_page() -> None:
    kept = io.StringIO()
    log = Log(kept, clock=lambda: datetime(2026, 11, 27, 12, tzinfo=UTC).timestamp())
    asked = Request("alice", Action.EXECUTE, "SELECT COUNT(*) FROM clinic")
    log.request(log.now(), asked, Reply("{}", paid=True, epsilon="1/20"))
    assert kept.getvalue() == LOGGED
    told = re.findall(r"(?m)^# TYPE (\w+)", log.metrics([0], 0))
    assert told == re.findall(r"(?m)^\| `(dpdb_\w+)` \|", PAGE)
