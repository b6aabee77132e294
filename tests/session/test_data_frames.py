"""Data frames as sources: what is public of them, how they are held, and wrong arguments."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpdb
from dpdb.answers.formats.json_lines import as_json
from dpdb.interfaces.cli.main import main
from dpdb.ledger import custodian
from dpdb.session.backends import table_digest
from dpdb.session.connect import policy_of
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

SECRET = "Abel Woods"
POLICY = {
    "budget": {"epsilon": 10, "queries": 100},
    "tables": {
        "people": {
            "columns": {
                "age": {"type": "integer", "bounds": [0, 100]},
                "name": {"type": "text"},
                "flag": {"type": "boolean"},
                "day": {"type": "date", "bounds": ["2020-01-01", "2020-12-31"]},
                "weight": {"type": "number", "bounds": [0, 1.5], "step": 0.1},
            }
        }
    },
}


def noiseless(*sources: Any, **options: Any) -> Session:
    return Session(policy_of(*sources, **options), noise=Noiseless())


def ask(db: Session, text: str) -> Any:
    [row] = db.execute(text).rows
    return row[0] if len(row) == 1 else list(row)


def people(**changed: list[object]) -> pd.DataFrame:
    columns: dict[str, list[object]] = {
        "age": [20, 30, 40], "name": ["a", SECRET, "c"], "flag": [True, False, True],
        "day": ["2020-01-01", "2020-02-01", "2020-03-01"], "weight": [0, 1, 1],
    }  # fmt: skip
    frame = pd.DataFrame({**columns, **changed})
    return frame.assign(day=pd.to_datetime(frame["day"], errors="coerce", format="%Y-%m-%d"))


def test_a_private_mean_in_three_lines() -> None:
    frame = pd.DataFrame({"age": [20, 40] * 500})
    db = dpdb.connect(frame, bounds={"age": (0, 100)})
    answer = db.execute("SELECT AVG(age) FROM frame")
    [[(low, high)]] = answer.intervals
    assert low < answer.rows[0][0] < high
    assert high - low < 8


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"age": [20, "NA", None]},
        {"age": [20, None, 40], "weight": [0.5, 2**70, 1]},
        {"age": [20, 2j, 40], "flag": [None, pd.Timedelta(1), None]},
        {"name": [None, pd.Period("2020"), None], "weight": [0, pd.Interval(0, 1), 1]},
        {"name": [1, 2, 3], "flag": ["yes", 0, None], "day": ["x", "y", "z"]},
        {"name": [None, None, None], "flag": [None, None, None], "age": [None, None, None]},
        {"age": pd.Categorical(["20", "30", "x"]), "flag": [0.0, 1.0, np.nan]},
    ],
)
def test_rows_change_nothing_public_under_a_policy(changed: dict[str, list[object]]) -> None:
    """Though pandas infers other types of the rows."""
    sessions = [dpdb.connect(people(**each), policy=POLICY) for each in ({}, changed)]
    for text in ("DESCRIBE people", "EXPLAIN SELECT AVG(age), SUM(weight) FROM people WHERE name = 'a'",
                 "EXPLAIN SELECT COUNT(*) FROM people WHERE flag AND day < '2020-02-02'"):  # fmt: skip
        one, two = (as_json(db.execute(text)) for db in sessions)
        assert one == two


def test_cells_keep_their_meaning_when_another_row_changes_the_type() -> None:
    for changed in ([1, 1, 0], [1, "NA", 0], [1, None, 0], [1.0, 2.5, 0]):
        db = noiseless(people(flag=changed), policy=POLICY)  # type: ignore[arg-type]
        asked = "SELECT COUNT(*) FROM people WHERE flag"
        assert ask(db, asked) == 1 + (changed[1] == 1), changed


def test_without_a_policy_types_are_those_of_the_frame_as_a_note_says() -> None:
    db = noiseless({"people": people(age=[1, "x", None]), "zips": pd.DataFrame({"zip": [1]})})
    answer = db.execute("DESCRIBE people")
    assert [row[1] for row in answer.rows] == ["text or number (guessed)", "text", "boolean", "timestamp", "integer"]  # fmt: skip
    assert any("owner's word" in note for note in answer.notes)
    assert ask(db, "SELECT COUNT(*) FROM zips WHERE zip = 1") == 1


def test_a_frame_is_held_by_reference_and_never_written() -> None:
    frame = people()
    before = frame.copy()
    db = noiseless(frame, policy=POLICY)
    assert ask(db, "SELECT SUM(age) FROM people") == 90
    pd.testing.assert_frame_equal(frame, before)
    frame.loc[0, "age"] = 99
    frame["weight"] = 0.0
    assert ask(db, "SELECT SUM(age), SUM(weight) FROM people") == [90, 2]


def test_a_change_is_noticed_where_a_budget_lasts(tmp_path: Path) -> None:
    policy = {**POLICY, "budget": {"name": "b", "ledger": str(tmp_path / "b.ledger")}}
    tmp_path.chmod(0o700)
    frame = people()
    held, key = policy_of(frame, policy=policy), custodian.new_key()
    digests = {table.name: table_digest(table, bytes.fromhex(key)) for table in held.tables}
    custodian.open_budget(held, "owner", key, digests)
    db = dpdb.connect(frame, policy=policy)
    db.execute("SELECT COUNT(*) FROM people WHERE age > 1")
    frame["weight"].array[0] = 1  # under copies of the frame
    with pytest.raises(dpdb.LedgerError):
        db.execute("SELECT SUM(weight) FROM people")
    with pytest.raises(dpdb.LedgerError):
        dpdb.connect(people(name=["a", "b", "d"]), policy=policy).execute(
            "SELECT COUNT(*) FROM people"
        )


@pytest.mark.parametrize(
    "source",
    [people()["name"], people().to_numpy(), people().groupby("name"), [people()], 5, None, [], {}, "",
     {"t": None}, {1: people()}, {"t": [1]}, pd.DataFrame(), pd.DataFrame({("a", None): [SECRET]}),
     pd.DataFrame({SECRET.encode(): [1]}), {"": people()}, b"people.csv", object()],
)  # fmt: skip
def test_a_wrong_argument_is_an_error_that_says_what_can_be_given(source: Any) -> None:
    with pytest.raises(dpdb.DpdbError) as refused:
        dpdb.connect(source)
    told = f"{refused.value} {refused.value.hint}"
    assert refused.value.hint
    assert SECRET not in told
    assert "object at 0x" not in told


@pytest.mark.parametrize(
    "policy",
    [5, [1], {}, {"tables": 5}, {1: 2}, {"tables": {"t": {"columns": {"age": {"type": "x"}}}}}],
)
def test_a_wrong_policy_is_an_error(policy: Any) -> None:
    with pytest.raises(dpdb.DpdbError):
        dpdb.connect(people(), policy=policy)


def test_an_error_in_a_dict_names_its_key() -> None:
    policy = {"tables": {"people": {"columns": {"age": {"type": "integer", "bounds": [3, 1]}}}}}
    with pytest.raises(dpdb.PolicyError, match=r"tables\.people\.columns\.age\.bounds"):
        dpdb.connect(people(), policy=policy)


@pytest.mark.parametrize(
    ("column", "kept"),
    [
        (pd.Series([1 + 2j, 2, complex("nan")]), ["2"]),
        (pd.Series([1 + 2j, 2, "x"], dtype=object), ["2", "x"]),
        (pd.Series(pd.to_timedelta([1, 2, None], unit="s")), []),
        (pd.Series(pd.period_range("2020", periods=3, freq="Y")), []),
        (pd.Series(pd.interval_range(0, 3)), []),
        (pd.Series([[1], None, 2], dtype=object), ["2"]),
        (pd.Series(pd.arrays.SparseArray([0, 2, 0])), ["2", "0", "0"]),
        (pd.Series([b"2", None, b"x"], dtype=pd.ArrowDtype(pa.binary())), ["2", "x"]),
        (pd.Series([1, None, 2], dtype=pd.ArrowDtype(pa.duration("s"))), []),
        (pd.Series([[1], None, [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))), []),
        (pd.Series([{"a": 1}] * 3, dtype=pd.ArrowDtype(pa.struct([("a", pa.int64())]))), []),
    ],
)
@pytest.mark.parametrize("kind", ["integer", "text", "date", "timestamp", "boolean"])
def test_every_type_is_read_under_a_policy(column: pd.Series, kept: list[str], kind: str) -> None:
    """One row can make any of them: what is no value is NULL, and the other cells are kept."""
    bounds = {"bounds": [0, 9]} if kind == "integer" else {}
    policy = {"tables": {"t": {"columns": {"x": {"type": kind, **bounds}}}}}
    db = noiseless({"t": pd.DataFrame({"x": column})}, policy=policy)
    numbers = [int(cell) for cell in kept if cell.isdigit()]
    expected = {"integer": sum(numbers), "text": len(kept), "boolean": numbers.count(0)}
    assert ask(db, f"SELECT {'SUM' if bounds else 'COUNT'}(x) FROM t") == expected.get(kind, 0)


def test_a_column_without_a_policy_is_left_out_where_it_holds_no_values() -> None:
    frame = pd.DataFrame({"x": pd.to_timedelta([1, 2], unit="s"), "y": [1, 2], "z": [1j, 2]})
    assert [row[0] for row in dpdb.connect(frame).execute("DESCRIBE frame").rows] == ["y"]


def test_names_of_columns_are_as_in_a_header() -> None:
    frame = pd.DataFrame(
        [[1, 2, 3, 4]], columns=pd.Index([" a ", "a", 7, ("b", "c")], dtype=object)
    )
    rows = dpdb.connect(frame, name="t").execute("DESCRIBE t").rows
    assert [row[0] for row in rows] == ["a", "a_2", "7", "b_c"]


def test_frames_of_other_libraries() -> None:
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    table = pa.table({"x": pa.array([1, 2, None]), "name": pa.array(["a", "é", None])})
    frames = [
        table,
        polars.from_arrow(table).with_columns(o=polars.Series([object()] * 3, dtype=polars.Object)),
        duckdb.from_arrow(table),
        pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
    ]
    for frame in frames:
        db = noiseless(frame, name="t", bounds={"x": (0, 5)})
        assert ask(db, "SELECT COUNT(*) FROM t WHERE name = 'é'") == 1
        assert ask(db, "SELECT SUM(x) FROM t") == 3
    odd = polars.DataFrame({"x": polars.Series([1, None, 2**70], dtype=polars.Int128)})
    odd = odd.with_columns(o=polars.Series([7, object(), "x"], dtype=polars.Object))
    columns = {name: {"type": "integer", "bounds": [0, 9]} for name in "xo"}
    db = noiseless({"t": odd}, policy={"tables": {"t": {"columns": columns}}})
    assert ask(db, "SELECT SUM(x), SUM(o) FROM t") == [1 + 9, 7]
    with pytest.raises(dpdb.UsageError) as refused:
        dpdb.connect(polars.from_arrow(table).lazy())
    assert ".collect()" in (refused.value.hint or "")


def test_a_frame_of_numbers_imports_no_other_library() -> None:
    code = """
import sys, pandas, dpdb
sys.modules["pyarrow"] = None
db = dpdb.connect(pandas.DataFrame({"x": [1, 2], "c": pandas.Categorical([7, 8])}), bounds={"x": (0, 9)})
db.execute("SELECT SUM(x) FROM frame WHERE c = 7")
print({"polars", "duckdb"} & {*sys.modules})
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


def test_several_csv_files_are_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "2023.csv").write_text("zip,age\n1,20\n2,30\n")
    (tmp_path / "2024.csv").write_text("age;zip\n40;1\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(
        '[tables.t]\npath = ["2023.csv", "2024.csv"]\n[tables.t.columns]\n'
        'age = { type = "integer", bounds = [0, 50] }\nzip = { type = "integer" }\n'
    )
    bounds = {"age": (0, 50)}
    sources: list[Any] = [
        ["2023.csv", Path("2024.csv")],
        "*.csv",
        tmp_path / "*.csv",
        {"t": ["2023.csv", "2024.csv"]},
    ]
    sessions = [
        noiseless(source, bounds=bounds, name=None if isinstance(source, dict) else "t")
        for source in sources
    ]
    sessions += [noiseless("p.toml"), noiseless(["2023.csv", "2024.csv"], policy="p.toml")]
    for db in sessions:
        assert ask(db, "SELECT SUM(age) FROM t WHERE zip = 1") == 60
        assert ask(db, "SELECT COUNT(*) FROM t") == 3
    assert main(["init", "*.csv", "-o", "drafted.toml"]) == 0
    assert ask(noiseless("drafted.toml"), f"SELECT COUNT(*) FROM {tmp_path.stem}") == 3
    with pytest.raises(dpdb.DataFileError, match=r"other/\*\.csv"):
        dpdb.connect("other/*.csv")
    (tmp_path / "2025.csv").write_text("zip\n1\n")
    with pytest.raises(dpdb.DataFileError) as refused:
        dpdb.connect("*.csv", bounds=bounds)
    assert "2025" not in str(refused.value)


def test_a_frame_is_forgotten_with_its_session_and_policy() -> None:
    db = dpdb.connect(people(), policy=POLICY)
    db.execute("SELECT AVG(age) FROM people WHERE name = 'a'")
    rows = weakref.ref(db.policy.tables[0].frame.data)  # type: ignore[union-attr]
    policy = db.policy
    del db
    assert ask(Session(policy, noise=Noiseless()), "SELECT SUM(age) FROM people") == 90
    del policy
    gc.collect()
    assert rows() is None


def test_a_unit_without_a_policy() -> None:
    visits = pd.DataFrame({"who": ["a"] * 9 + ["b"], "x": [1] * 10, "y": [0.5] * 10})
    for rows, counted in ((None, 2), (3, 4)):
        db = noiseless(visits, unit="who", rows_per_unit=rows)
        assert ask(db, "SELECT COUNT(*) FROM frame") == counted
    explained = dpdb.connect(visits, unit="who", rows_per_unit=3).explain(
        "SELECT COUNT(*) FROM frame"
    )
    assert explained.releases[0].sensitivity == 3
    wrong: list[dict[str, Any]] = [
        {"unit": "whom"}, {"unit": "y"}, {"unit": 5}, {"rows_per_unit": 2}, {"unit": "who", "rows_per_unit": 0},
        {"unit": "who", "rows_per_unit": True}, {"unit": "who", "bounds": {"who": (0, 1)}},
    ]  # fmt: skip
    for options in wrong:
        with pytest.raises(dpdb.DpdbError):
            dpdb.connect(visits, **options)
    with pytest.raises(dpdb.DpdbError):
        dpdb.connect({"a": visits, "b": visits}, unit="who")


DAYS = pd.to_datetime(["2020-03-04", "2020-05-06"])


@pytest.mark.parametrize("kind", ["date", "timestamp"])
@pytest.mark.parametrize(
    "days",
    [
        pd.Series(DAYS),
        pd.Series(DAYS).astype(object),
        pd.Series(DAYS).astype("category"),
        pd.Series(DAYS.date),
        pd.Series([DAYS[0], "6/5/2020"], dtype=object),
        pd.Series([*DAYS.date], dtype=pd.ArrowDtype(pa.date32())),
    ],
    ids=["datetime64", "timestamps", "category", "dates", "with a text", "arrow"],
)
def test_a_format_is_for_texts_whatever_type_one_row_gives_a_column(
    days: pd.Series, kind: str
) -> None:
    """One text makes a column of dates one of objects: the other dates are read as before."""
    day = {"type": kind, "format": "%d/%m/%Y", "bounds": ["2020-01-01", "2020-12-31"]}
    table = {"columns": {"day": day}}
    db = noiseless(pd.DataFrame({"day": days}), name="t", policy={"tables": {"t": table}})
    assert ask(db, "SELECT COUNT(*) FROM t WHERE day = '2020-03-04'") == 1
    assert ask(db, "SELECT COUNT(*) FROM t WHERE day = '2020-05-06'") == 1
