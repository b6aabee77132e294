"""The rows of a file as texts: those that the engine reads."""

from __future__ import annotations

from pathlib import Path

from dpdb.lab.scenario import DataFile

POLICY = """
[tables.t]
separator = ";"
encoding = "latin-1"
decimal = ","
[tables.t.columns]
pay = { type = "number", bounds = [0, 9] }
name = { type = "text" }
"""


def test_a_file_for_the_lab_is_read_as_its_policy_says(tmp_path: Path) -> None:
    rows = (
        'name;x;pay\r\nJos\u00e9, Ann;1;2,5\r\n"Zo;";1;\r\n\r\nBob\r\n' + "y" * 10_001 + ";1;3\r\n"
    )
    (tmp_path / "t.csv").write_bytes(rows.encode("latin-1"))
    (tmp_path / "t.toml").write_text(POLICY)
    read = DataFile.read(tmp_path / "t.csv")
    assert read.rows == (("2.5", "Jos\u00e9, Ann"), ("", "Zo;"), ("", "Bob"), ("3", ""))
    assert read.victim().text == "'Jos\u00e9, Ann'"
