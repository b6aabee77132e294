"""`dpdb prepare` writes what a file holds, for its owner alone, and never over another file."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow.parquet
import pytest

from dpdb.interfaces.cli.main import main
from dpdb.lab.studies import prepare

ROWS = (
    'id,day,x,n,t,b,at\n1,2020-01-01,70.4,0.1,"a,""b""",yes,2020-01-01 00:00:00.5\n'
    "2.5,2020-02-30,1e30,nan,,,\n,,x,1e300,é,0,2020-01-01T01:00+01:00\n"
)
POLICY = """
[tables.t]
unit = "id"
[tables.t.columns]
x = { type = "integer", bounds = [0, 9], nullable = false }
id = { type = "integer" }
day = { type = "date" }
n = { type = "number", values = [1, 2] }
t = { type = "text", values = ["a"] }
b = { type = "boolean" }
at = { type = "timestamp", bounds = [2020-01-01, 2020-01-02] }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(ROWS)
    path.with_suffix(".toml").write_text(POLICY)
    return path


def prepared(file: Path) -> Path:
    output = file.with_suffix(".parquet")
    assert main(["prepare", str(file), "-o", str(output)]) == 0
    return output


def test_declared_columns_are_written_as_they_are(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither bounds nor values change them; what would name a wrong unit names none."""
    monkeypatch.setattr(prepare, "_GROUP_ROWS", 2)
    written = prepared(file)
    table = pyarrow.parquet.read_table(written)
    assert [str(field.type) for field in table.schema] == [
        "int64", "int64", "date32[day]", "double", "string", "bool", "timestamp[us, tz=UTC]"
    ]  # fmt: skip
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    assert columns["x"] == [70, 2**53, None]
    assert columns["id"] == [1, None, None]
    assert [str(day) for day in columns["day"]] == ["2020-01-01", "None", "None"]
    assert columns["n"] == [0.1, None, 1e300]
    assert columns["t"] == ['a,"b"', None, "é"]
    assert columns["b"] == [True, None, False]
    midnight = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    assert columns["at"] == [midnight.replace(microsecond=500_000), None, midnight]
    assert written.stat().st_mode & 0o777 == 0o600
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith('in a policy, path = "t.parquet"\n')


def test_without_a_policy_types_are_those_of_the_draft(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.with_suffix(".toml").unlink()
    schema = pyarrow.parquet.read_schema(prepared(file))
    assert [str(field.type) for field in schema] == [
        "double", "string", "double", "double", "string", "string", "timestamp[us, tz=UTC]"
    ]  # fmt: skip
    assert (
        "note: x: 1 of the first 3 cells are no number, and will be NULL" in capsys.readouterr().err
    )


def test_no_file_is_written_over(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = prepared(file)
    before = written.read_bytes()
    assert main(["prepare", str(file), "-o", str(written)]) == 2
    assert "there is a file" in capsys.readouterr().err
    assert written.read_bytes() == before


def test_nothing_is_left_of_what_fails(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(prepare, "_batch", fail)
    assert main(["prepare", str(file), "-o", str(file.with_suffix(".parquet"))]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert {path.name for path in file.parent.iterdir()} == {"t.csv", "t.toml"}


@pytest.mark.parametrize(
    ("words", "said"),
    [(["t.csv", "-o", "t.csv"], "t.csv is written as Parquet"),
     (["t.csv", "-o", "nowhere/t.parquet"], "cannot write nowhere"),
     (["u.csv", "-o", "t.parquet"], "u.csv")],
)  # fmt: skip
def test_what_cannot_be_prepared(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    words: list[str], said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(file.parent)
    assert main(["prepare", *words]) == 2
    assert said in capsys.readouterr().err
