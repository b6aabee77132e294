"""Parquet and DuckDB files on the command line: like CSV files, but for what they say of types."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

from tests.support.command_line import Run
from tests.support.typed_files import KINDS, write_typed

ROWS = pyarrow.table({
    "age": pyarrow.array([30, 40, None], pyarrow.int16()),
    "pay": pyarrow.array(["1.25", "7.5", "0"]).cast(pyarrow.decimal128(9, 2)),
    "name": ["Ada", "Bo", "'; DROP"],
    "born": pyarrow.array([0, 1, 2], pyarrow.date32()),
    "seen": pyarrow.array([0, 1, 2], pyarrow.timestamp("us")),
    "tags": [["a"], [], None],
})  # fmt: skip
POLICY = """
[tables.people]
path = "{path}"
[tables.people.columns]
age = {{ type = "integer", bounds = [18, 65] }}
Pay = {{ type = "number", bounds = [0, 10], step = 0.01 }}
"""
SUM = "SELECT COUNT(*), SUM(age), SUM(pay) FROM people"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """Where a policy goes that is not found by the name of a file."""
    return tmp_path / "policy.toml"


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_without_a_policy_has_the_types_it_says(run: Run, tmp_path: Path, kind: str) -> None:
    """What no policy could declare is left out."""
    path = write_typed(tmp_path, "people", ROWS, kind)
    ran = run(path, "--csv", "-c", "DESCRIBE people")
    assert (ran.code, ran.err) == (0, "")
    assert [line.split(",")[:2] for line in ran.out.splitlines()[1:]] == [
        ["age", "integer"], ["pay", "number"], ["name", "text"], ["born", "date"], ["seen", "timestamp"]
    ]  # fmt: skip
    ran = run(path, "--teach", "--csv", "-c", f"SET dp = off; {SUM}")
    assert ran.out.splitlines()[-1] == "3,70,8.75"


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_names_the_file(run: Run, tmp_path: Path, policy: Path, kind: str) -> None:
    path = write_typed(tmp_path, "people", ROWS, kind).relative_to(tmp_path)
    policy.write_text(POLICY.format(path=path.as_posix()))
    ran = run(policy, "--teach", "--csv", "-c", f"SET dp = off; {SUM}")
    assert ran.out.splitlines()[-1] == "3,70,8.75"


@pytest.mark.parametrize("words", [["-c", "SHOW TABLES"], []])
def test_a_duckdb_file_without_tables_is_said_to_be_one(
    run: Run, tmp_path: Path, words: list[str]
) -> None:
    path = tmp_path / "none.duckdb"
    duckdb.connect(str(path)).close()
    ran = run(path, *words) if words else run("init", path)
    assert ran.code == 2
    assert "none.duckdb has no tables" in ran.err


def test_a_duckdb_file_has_several_tables(run: Run, tmp_path: Path, policy: Path) -> None:
    path = write_typed(tmp_path, "two", ROWS, "duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute('CREATE TABLE "o""d"(age INT, half INT AS (1 / age)); '
                           "CREATE VIEW seen AS FROM two")  # fmt: skip
    ran = run(path, "--csv", "-c", "SHOW TABLES")
    assert [line.split(",")[0] for line in ran.out.splitlines()[1:]] == ['"o""d"', "two"]
    declared = POLICY.format(path='two.duckdb"\ntable = "NAME')
    for name, said in [
        ("two", ""),
        ("seen", "there is no table seen"),
        ("to", "there is no table to\nhint: did you mean two?"),
        ('o\\"d', "there is no column Pay"),
    ]:
        policy.write_text(declared.replace("NAME", name))
        ran = run(policy, "-c", "SELECT COUNT(*) FROM people")
        assert (ran.code == 0) == (not said)
        assert said in ran.err
    policy.write_text(declared.replace("NAME", 'o\\"d').replace("Pay", "half"))
    assert "there is no column half" in run(policy, "-c", SUM).err


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("column", "said"),
    [
        ('tags = { type = "text" }', "tags holds values of another type, which are not read as"),
        ('born = { type = "integer" }',
         'born holds dates, which are not read as type integer\nhint: declare it as type = "date"'),
        ('age = { type = "date" }', "age holds integers, which are not read as type date"),
        ('pay = { type = "text" }', "pay holds decimals, which are not read as type text"),
        ('agee = { type = "integer" }', "there is no column agee\nhint: did you mean age?"),
    ],
)  # fmt: skip
def test_a_file_unlike_its_policy(
    run: Run, policy: Path, kind: str, column: str, said: str
) -> None:
    """It is refused before anything is charged, whatever the statement."""
    path = write_typed(policy.parent, "people", ROWS, kind)
    policy.write_text(f'[tables.people]\npath = "{path}"\n[tables.people.columns]\n{column}\n')
    ran = run(policy, "-c", "SHOW BUDGET")
    assert (ran.code, ran.out) == (2, "")
    assert f"error: {path}" in ran.err
    assert said in ran.err


def test_each_part_has_the_columns(run: Run, tmp_path: Path) -> None:
    """Messages name the pattern: how parts are called could say what is in them."""
    pattern = write_typed(tmp_path, "people", ROWS, "parts")
    (tmp_path / "policy.toml").write_text(POLICY.format(path=pattern))
    write_typed(tmp_path / "people", "secret", ROWS.drop_columns("pay"))
    ran = run(tmp_path / "policy.toml", "-c", "SHOW BUDGET")
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"error: {pattern}: there is no column Pay")


@pytest.mark.parametrize("name", ["t.parquet", "t.duckdb", "*.parquet"])
@pytest.mark.parametrize("content", [b"", b"SECRET" * 100, None])
def test_a_file_of_another_kind(run: Run, tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name.replace("*", "t")).write_bytes(content)
    ran = run(tmp_path / name, "-c", "SHOW TABLES")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert "SECRET" not in ran.err
    assert ("cannot be read as" in ran.err) == (content is not None)


def test_the_policy_of_that_name_is_about_the_file(run: Run, tmp_path: Path) -> None:
    path = write_typed(tmp_path, "people", ROWS)
    (tmp_path / "people.toml").write_text(POLICY.format(path="people.csv"))
    ran = run(path, "-c", "SHOW TABLES")
    assert ran.code == 2
    assert f"about other files than {path}" in ran.err
    (tmp_path / "people.toml").write_text(POLICY.format(path="people.parquet"))
    assert run(path, "-c", "SHOW TABLES").code == 0


@pytest.mark.parametrize(
    ("name", "module"), [("t.parquet", "pyarrow"), ("t.duckdb", "duckdb"), ("t.duckdb", "pyarrow")]
)
def test_what_reads_them_is_optional(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str
) -> None:
    (tmp_path / name).touch()
    monkeypatch.setitem(sys.modules, module, None)
    ran = run(tmp_path / name, "-c", "SHOW TABLES")
    assert ran.code == 2
    assert f'hint: pip install "dpdb[{name[2:]}]"' in ran.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_takes_the_types_of_the_file(run: Run, tmp_path: Path, kind: str) -> None:
    path = write_typed(tmp_path, "people", ROWS, kind)
    draft = run("init", path, "-o", tmp_path / "policy.toml")
    assert draft.code == 0
    document = tomllib.loads((tmp_path / "policy.toml").read_text())
    assert document["tables"]["people"]["path"] == path.relative_to(tmp_path).as_posix()
    assert {name: each["type"] for name, each in document["tables"]["people"]["columns"].items()} == {
        "age": "integer", "pay": "number", "name": "text", "born": "date", "seen": "timestamp"
    }  # fmt: skip
    assert "read off rows" not in (tmp_path / "policy.toml").read_text()
    assert run(tmp_path / "policy.toml", "-c", "SELECT COUNT(*) FROM people").code == 0


def test_a_draft_has_all_tables_of_a_duckdb_file(run: Run, tmp_path: Path) -> None:
    path = write_typed(tmp_path, "two", ROWS, "duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute('CREATE TABLE "other one" AS SELECT age FROM two')
    run("init", path, "-o", tmp_path / "two.toml")
    shown = run(path, "--csv", "-c", "SHOW TABLES").out.splitlines()
    assert [line.split(",")[0] for line in shown[1:]] == ["other one", "two"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_check_counts_values(run: Run, tmp_path: Path, policy: Path, kind: str) -> None:
    rows = ROWS.append_column("wide", [["x" * 10_001, "", "7"]])
    path = write_typed(tmp_path, "people", rows, kind)
    policy.write_text(
        POLICY.replace("65", "35").format(path=path) + 'wide = { type = "integer" }\n'
    )
    form = "DuckDB" if kind == "duckdb" else "Parquet"
    assert run("check", policy).out.splitlines()[2:] == [
        f"people: 3 rows in {path}, {form}",
        "  age (integer): 1 of 3 cells NULL",
        "    1 clamped, being above the bounds, as '40'",
        "    1 empty",
        "  Pay (number): 0 of 3 cells NULL",
        "  wide (integer): 2 of 3 cells NULL",
        "    1 empty",
        "    1 over 10,000 bytes",
    ]


def test_answers_are_written_over_no_part(run: Run, tmp_path: Path) -> None:
    pattern = write_typed(tmp_path, "people", ROWS, "parts")
    ran = run(pattern, "-o", tmp_path / "people" / "a.parquet", "-c", "SHOW TABLES")
    assert ran.code == 2
    assert "a.parquet" in ran.err


def test_a_name_of_two_columns_names_neither(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table([[1], [2], [3]], names=["x", "x", "y"]), path)
    assert "several columns are called x" in run(path, "-c", "SHOW TABLES").err
    policy = tmp_path / "t.toml"
    policy.write_text('[tables.t]\npath = "t.parquet"\n[tables.t.columns]\ny = { type = "text" }\n')
    assert run(policy, "-c", "SELECT COUNT(*) FROM t").code == 0
