"""Files of statements: their size has a limit, and a wrong one's lines are not shown."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dpdb.interfaces import scripts
from tests.support.command_line import PEOPLE, Make, Run

NOT_SQL = {
    "rows": "name,age\nAbel Woods,33\n",
    "rows with a quote": "name,age\nAbel O'Woods,33\n",
    "a header that begins like DESCRIBE": "desc,name\n1,Abel Woods\n",
    "a header that begins like SHOW": "Show date,name\n2020-01-01,Abel Woods\n",
    "a header that begins like SET": "set\nAbel Woods\n",
    "a header that begins like SELECT": "select, name\n1,Abel Woods\n",
    "a header that begins like EXPLAIN": "explain,name\n1,Abel Woods\n",
    "rows with statements": "Abel Woods; SELECT COUNT(*) FROM people;",
}


@pytest.mark.parametrize("text", NOT_SQL.values(), ids=NOT_SQL)
@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_lines_of_a_wrong_file_are_not_shown(run: Run, make: Make, text: str, form: str) -> None:
    path = make(text, name="wrong")
    for name in (path, "-"):
        ran = run(PEOPLE, "--format", form, "-f", name, stdin=text)
        assert ran.code == 1
        assert "Woods" not in ran.out + ran.err
        assert "statement 1 in" in ran.err
        if form == "json":
            assert json.loads(ran.out)["error"]["kind"] == "Unsupported"


def test_statements_over_several_lines(run: Run, people: Path, tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text(
        "-- first\nset epsilon = 0.1;\nSHOW TABLES ;\nDesc people;\n"
        "EXPLAIN\nSELECT\n COUNT(*)\nFROM people;\nselect count(*)\n from people"
    )
    ran = run(people, "--json", "-f", path)
    assert (ran.code, len(ran.out.splitlines())) == (0, 5)


def test_what_is_typed_is_shown(run: Run, people: Path) -> None:
    assert "DELETE" in run(people, "-c", "DELETE FROM people").err


def test_a_file_has_a_limit(
    run: Run, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "LONGEST_FILE", 100)
    path = tmp_path / "long.sql"
    path.write_text("SHOW BUDGET;" + " " * 88)
    assert run(people, "-f", path).code == 0
    path.write_text("SHOW BUDGET;" + " " * 89)
    for ran in (run(people, "-f", path), run(people, stdin=path.read_text())):
        assert ran.code == 2
        assert "more than 100 characters" in ran.err
        assert not ran.out


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero here")
@pytest.mark.parametrize("piped", [True, False])
def test_what_has_no_end_is_refused(people: Path, piped: bool) -> None:
    words = [sys.executable, "-m", "dpdb", str(people), "-f", "-" if piped else "/dev/zero"]
    with Path("/dev/zero").open("rb") as zeros:
        ran = subprocess.run(words, stdin=zeros, capture_output=True, timeout=60, check=False)
    assert ran.returncode == 2
    assert b"characters of statements" in ran.stderr
