"""`dpdb init`: a draft for any header is a policy."""

from __future__ import annotations

import csv
import io
import tomllib
from pathlib import Path

import pytest

from tests.support.command_line import Make, Run


def test_a_draft_is_a_policy(run: Run, make: Make, tmp_path: Path) -> None:
    path = make(
        "id,born,member,pay,plan,odd name\n"
        "1,1990-01-31,true,1.5,basic,x\n2,,no,20,gold,\n3,1985-05-05,FALSE,1e3,gold,y\n"
    )
    draft = run("init", path)
    assert (draft.code, draft.err) == (0, "")
    document = tomllib.loads(draft.out)
    columns = document["tables"]["t"]["columns"]
    assert {name: column["type"] for name, column in columns.items()} == {
        "id": "integer", "born": "date", "member": "boolean", "pay": "number", "plan": "text",
        "odd name": "text",
    }  # fmt: skip
    # No bound is guessed from the rows.
    assert not any("bounds" in column or "values" in column for column in columns.values())
    for secret in ("1990", "1985", "basic", "gold"):
        assert secret not in draft.out
    policy = tmp_path / "t.toml"
    policy.write_text(draft.out, encoding="utf-8")
    ran = run(path, "-c", "SELECT COUNT(*), COUNT(DISTINCT plan) FROM t; DESCRIBE t")
    assert ran.code == 0
    completed = (
        draft.out.replace('"number" }', '"number", bounds = [0, 9] }')
        .replace('plan = { type = "text" }', 'plan = { type = "text", values = ["gold"] }')
        .replace('"date" }', '"date", bounds = [1900-01-01, 2030-12-31] }')
    )
    policy.write_text(completed, encoding="utf-8")
    ran = run(path, "-c", "SELECT plan, SUM(pay), MIN(born) FROM t GROUP BY plan")
    assert ran.code == 0


@pytest.mark.parametrize(
    "name",
    ["a b", "a.b", "a#b", 'a"b', "a'b", "a\\b", "[a]", "a=b", "é", "日本", "\u202ea", "a\x7fb",
     "a\nb", "1", "-", "\U0001f600", "\\\U0001f600", "\U0001fffe", "tables"],
)  # fmt: skip
def test_a_draft_for_any_header(run: Run, make: Make, tmp_path: Path, name: str) -> None:
    buffer = io.StringIO()
    csv.writer(buffer).writerows([[name, "other"], ["1", "2"]])
    path = make(buffer.getvalue())
    draft = run("init", path)
    assert draft.code == 0
    columns = tomllib.loads(draft.out)["tables"]["t"]["columns"]
    assert list(columns) == [name, "other"]
    (tmp_path / "t.toml").write_text(draft.out, encoding="utf-8")
    assert run(path, "-c", "DESCRIBE t; SELECT COUNT(*) FROM t").code == 0


@pytest.mark.parametrize("name", ["a b", "a.b", "x'y", "\U0001f600", "q\\\U0001f600"])
def test_a_draft_for_any_file_name(run: Run, make: Make, name: str) -> None:
    path = make("a\n1\n", name=name)
    document = tomllib.loads(run("init", path).out)
    assert list(document["tables"]) == [name]
    assert document["tables"][name]["path"] == path.name


@pytest.mark.parametrize("words", [["init"], ["init", "no such file.csv"], ["init", "/"],
                                   ["init", "a", "b"]])  # fmt: skip
def test_a_draft_of_nothing(run: Run, words: list[str]) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
