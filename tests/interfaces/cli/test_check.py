"""`dpdb check` from a policy to what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdb.interfaces.cli.main import main
from dpdb.lab.studies.risk import NOTICE
from tests.support.shops import shop

POLICY = """
[tables.t]
unit = "name"
rows_per_unit = 1
[tables.t.columns]
name = { type = "text" }
"39" = { type = "integer", bounds = [0, 99] }
"2.5" = { type = "text", values = ["a", "b"] }
"""


def checked(capsys: pytest.CaptureFixture[str], path: Path) -> tuple[int, str, str]:
    code = main(["check", str(path)])
    caught = capsys.readouterr()
    return code, caught.out, caught.err


def test_a_check_is_for_the_custodian_and_tells_everything(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_bytes(b"name,39,2.5\nAnn,5,a\nAnn,\x1b[31m,c\n\nBob,100,\n,7,b\n")
    (tmp_path / "t.toml").write_text(POLICY)
    code, out, err = checked(capsys, tmp_path / "t.toml")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        NOTICE,
        "",
        f"t: 4 rows in {tmp_path}/t.csv, utf-8, separated by ,",
        "  the header looks like a row: if the file has none, say --no-header",
        "  blank lines, which are skipped: 1",
        "  units, by name: 2",
        "  rows that name no unit and are left out: 1",
        "  units cut to rows_per_unit = 1: 1",
        "  rows of theirs that are not counted: 1",
        "  name (text): 1 of 4 cells NULL",
        "    1 empty",
        "  39 (integer): 1 of 4 cells NULL",
        "    1 clamped, being above the bounds, as '100'",
        "    1 no integer, as '\\x1b[31m'",
        "  2.5 (text): 2 of 4 cells NULL",
        "    1 empty",
        "    1 not among the declared values, as 'c'",
    ]
    assert checked(capsys, tmp_path / "t.csv")[1] == out


@pytest.mark.parametrize("name", ["none.toml", "bad.toml", "t.toml"])
def test_what_cannot_be_checked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    (tmp_path / "bad.toml").write_text("x =")
    (tmp_path / "t.toml").write_text(POLICY)
    code, out, err = checked(capsys, tmp_path / name)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")


def test_keys_that_repeat_and_rows_of_nobody(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The lines of an order that is not there are nobody's; those of one that repeats are."""
    orders, lines = [(1, 7), (1, 7), (2, 8), (None, 8)], [(5, 1, 0), (6, 2, 0), (7, 9, 0)]
    shop(tmp_path, cap=1, orders=orders, lines=lines, customers=[(7,)])
    code, out, err = checked(capsys, tmp_path / "shop.toml")
    assert (code, err) == (0, "")
    found = out.splitlines()
    assert "  rows that repeat a value of the key id, so that no query is answered: 1" in found
    assert "  units, by customer_id: 2" in found
    assert "  units, by order_id -> orders.id: 2" in found
    assert "  rows that name no unit and are left out: 1" in found
    assert sum("repeat a value" in line for line in found) == 1


def test_values_with_more_rows_than_declared(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,x\n3,y\n")
    columns = '[tables.t.columns]\na = { type = "integer" }\nb = { type = "text" }\n'
    at_most = "[tables.t]\npublic = true\nat_most = { a = 1, b = 1 }\n"
    (tmp_path / "t.toml").write_text(at_most + columns)
    _, out, _ = checked(capsys, tmp_path / "t.toml")
    assert "  rows that share a value of b, at_most 1: 2" in out.splitlines()
    assert "value of a" not in out
