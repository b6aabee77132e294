"""Tables in Spark: the same exact results as in memory, from several tasks; needs Java."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest import mock

import pyarrow
import pyarrow.parquet
import pytest

pytest.importorskip("pyspark", reason="make test-spark installs it")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

from dpdb.answers.formats.json_lines import as_json
from dpdb.engines import streams
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.spark import SparkEngine
from dpdb.engines.statistics import accumulators, rank_windows
from dpdb.engines.statistics.rank_windows import AllValues
from dpdb.errors import DataFileError, PolicyError
from dpdb.interfaces.cli.main import main
from dpdb.lab.studies.prepare import prepare
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.policy.schemas import spark_cluster
from dpdb.policy.schemas.table_files import check_file
from dpdb.session.backends import open_engine
from dpdb.session.session import Session
from tests.sql.test_corpora import ACCEPTED, QUERIES, first_word
from tests.support import rows_of_two
from tests.support.exactly import raw
from tests.support.noiseless import Noiseless
from tests.support.rows_of_two import random_data, searched, shop_of_two
from tests.support.tables import HERE, PEOPLE

SETTINGS = (
    "--master local[2] --conf spark.sql.shuffle.partitions=3 --conf spark.ui.enabled=false "
    "--conf spark.sql.files.maxPartitionBytes=100000 --conf spark.sql.warehouse.dir={} "
    "pyspark-shell"
)
BUDGET = Budget(Fraction(10_000), Fraction(1, 10), 100_000)
STATEMENTS = [
    "SELECT COUNT(*), AVG(income), VARIANCE(age) FROM people",
    "SELECT zip, COUNT(*), SUM(net_worth) FROM people WHERE age >= 40 GROUP BY zip",
    "SELECT COUNT(DISTINCT name), COUNT(DISTINCT zip) FROM people",
    "SELECT zip, COUNT(DISTINCT age) FROM people GROUP BY zip",
    "SELECT MEDIAN(income), MIN(age), MAX(age) FROM people",
    "SELECT zip, MEDIAN(age) FROM people GROUP BY zip",
    "SELECT COUNT(*) FROM people WHERE income > (SELECT AVG(income) FROM people)",
]


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The environment names a cluster of two threads, which starts with the first query."""
    os.environ["PYSPARK_SUBMIT_ARGS"] = SETTINGS.format(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> tuple[Policy, Policy]:
    """The policy over CSV files, and over two Parquet files of each table in Spark."""
    policy = Policy(
        (*read_policy(PEOPLE).tables, *read_policy(HERE / "visits.toml").tables), BUDGET
    )
    folder = tmp_path_factory.mktemp("people")
    return policy, in_spark(policy, folder)


def in_spark(policy: Policy, folder: Path) -> Policy:
    tables = []
    for table in policy.tables:
        prepare(table, folder / "whole.parquet")
        rows = pyarrow.parquet.read_table(folder / "whole.parquet")
        (folder / "whole.parquet").unlink()
        (folder / table.name).mkdir()
        half = len(rows) // 2
        for name, part in (("a [1]", rows[:half]), ("b%20", rows[half:])):
            pyarrow.parquet.write_table(part, folder / table.name / f"{name}.parquet")
        tables.append(replace(table, path=folder / table.name / "*.parquet", engine="spark"))
    return replace(policy, tables=tuple(tables))


def assert_same(text: str, policy: Policy, twin: Policy) -> None:
    """All values are kept in windows of ranks, however few of them a mechanism looks at."""
    with (
        mock.patch.object(accumulators, "_reach", return_value=2**40),
        mock.patch.object(accumulators, "RungCounts", AllValues),
        mock.patch.object(rank_windows, "BUCKETS", 2**9),
    ):
        found = raw(text, twin, SparkEngine(tables=twin.tables))
    assert found == raw(text, policy, MemoryEngine(tables=policy.tables)), text


def test_rows_of_two_units_fill_the_same_sums(tmp_path: Path) -> None:
    policy = shop_of_two(tmp_path, random_data(7, lines=60))
    twin = in_spark(policy, tmp_path)
    for text in rows_of_two.STATEMENTS:
        assert_same(text, policy, twin)
    for text in rows_of_two.FINDING[:2]:
        memory = searched(text, policy, MemoryEngine(tables=policy.tables))
        assert searched(text, twin, SparkEngine(tables=twin.tables)) == memory


def test_no_unit_of_two_kinds_moves_an_answer_by_more_than_noise_pays_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for turn in (streams.TURN, 100):  # held in memory, and gathered block by block
        monkeypatch.setattr(streams, "TURN", turn)
        largest = rows_of_two.largest_moves(in_spark, tmp_path / str(turn))
        assert max(largest) == 1
        assert min(largest) > 0, largest


@pytest.mark.parametrize("text", STATEMENTS)
def test_results_are_those_of_the_memory_engine(people: tuple[Policy, Policy], text: str) -> None:
    assert_same(text, *people)


@pytest.mark.parametrize("text", [t for t in ACCEPTED[::12] if first_word(t) in QUERIES])
def test_statements_of_the_corpus_have_the_same_answers(
    people: tuple[Policy, Policy], text: str
) -> None:
    assert_same_answer(text, *people)


def assert_same_answer(text: str, *policies: Policy) -> None:
    """To the byte, without noise."""
    one, two = (as_json(Session(each, noise=Noiseless()).execute(text)) for each in policies)
    assert one == two


UNITS = """
[tables.t]
path = "{path}"
{engine}
unit = "who"
rows_per_unit = 2
[tables.t.columns]
who = {{ type = "{kind}" }}
n = {{ type = "integer", bounds = [0, 1000] }}
word = {{ type = "text" }}
"""


def rows_of_units(who: pyarrow.Array) -> pyarrow.Table:
    numbers = range(len(who))
    texts = pyarrow.array([f"w{at % 5}" for at in numbers], pyarrow.string())
    held = pyarrow.array([at * 7 % 1000 for at in numbers], pyarrow.int64())
    return pyarrow.table({"who": who, "n": held, "word": texts})


def unit_policy(folder: Path, kind: str, engine: str, who: pyarrow.Array) -> Policy:
    pyarrow.parquet.write_table(rows_of_units(who), folder / "t.parquet", row_group_size=50)
    (folder / "t.toml").write_text(UNITS.format(path="t.parquet", kind=kind, engine=engine))
    return replace(read_policy(folder / "t.toml"), budget=BUDGET)


@pytest.mark.parametrize("kind", ["integer", "text"])
def test_caps_count_the_rows_of_whole_units(tmp_path: Path, kind: str) -> None:
    who = [None if at % 31 == 0 else at % 37 for at in range(400)]
    held = pyarrow.array(
        who if kind == "integer" else [None if w is None else f"é{w}" for w in who]
    )
    policy = unit_policy(tmp_path, kind, 'engine = "memory"', held)
    twin = unit_policy(tmp_path, kind, 'engine = "spark"', held)
    for text in (
        "SELECT COUNT(*), SUM(n) FROM t WHERE n < 700",
        "SELECT COUNT(DISTINCT word) FROM t",
    ):
        assert_same(text, policy, twin)
    assert_same_answer("SELECT word, COUNT(*) FROM t GROUP BY word", policy, twin)


@pytest.mark.parametrize(
    ("who", "said"), [(["1", "1.0"], "texts"), ([1.0, -0.0], "floating-point numbers")]
)
def test_a_unit_that_could_be_in_several_tasks_is_refused(
    tmp_path: Path, who: list[object], said: str
) -> None:
    policy = unit_policy(tmp_path, "integer", 'engine = "spark"', pyarrow.array(who))
    with pytest.raises(DataFileError, match=f"who holds {said}"):
        check_file(policy.tables[0])


def test_a_table_without_a_row_has_zero_of_everything(tmp_path: Path) -> None:
    none = pyarrow.array([], pyarrow.int64())
    policy = unit_policy(tmp_path, "integer", 'engine = "memory"', none)
    twin = unit_policy(tmp_path, "integer", 'engine = "spark"', none)
    assert_same("SELECT COUNT(*), AVG(n), MEDIAN(n) FROM t", policy, twin)


def test_a_table_of_the_catalog_gives_the_same(people: tuple[Policy, Policy]) -> None:
    policy, twin = people
    frame = spark_cluster.rows_in_spark(twin.tables[0])
    frame.write.saveAsTable("folk")
    text = "SELECT zip, COUNT(*), AVG(income) FROM people GROUP BY zip"
    for engine in ("", 'engine = "memory"'):
        tables = read_policy_text(twin, f'source = "spark:///?table=default.folk"\n{engine}')
        found = raw(text, tables, open_engine(tables))
        assert found == raw(text, policy)


def read_policy_text(twin: Policy, source: str) -> Policy:
    path = twin.tables[0].path.parent / "folk.toml"
    path.write_text(PEOPLE.read_text().replace('path = "people.csv"', source))
    return replace(read_policy(path), budget=BUDGET)


def test_nothing_that_spark_says_is_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A page of the file is broken, so that its rows cannot be read, but its schema can."""
    policy = unit_policy(tmp_path, "text", 'engine = "spark"', pyarrow.array(["secret"] * 500))
    path = tmp_path / "t.parquet"
    content = bytearray(path.read_bytes())
    content[4 : len(content) // 3] = b"\xff" * (len(content) // 3 - 4)
    path.write_bytes(content)
    with pytest.raises(DataFileError) as caught:
        raw("SELECT COUNT(word) FROM t", policy, SparkEngine(tables=policy.tables))
    assert caught.value.message == f"{path} cannot be read by Spark"
    assert caught.value.__suppress_context__
    assert capfd.readouterr() == ("", "")


def test_the_command_line_writes_nothing_but_answers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    unit_policy(tmp_path, "integer", 'engine = "spark"', pyarrow.array(range(300)))
    main([str(tmp_path / "t.toml"), "-c", "SELECT COUNT(*) FROM t"])
    written = capfd.readouterr()
    assert written.err == ""
    assert "COUNT(*)" in written.out


@pytest.mark.parametrize(
    ("path", "engine", "said"), [("t.csv", 'engine = "spark"', "Spark reads Parquet files")]
)
def test_the_policy_says_what_is_in_spark(
    tmp_path: Path, path: str, engine: str, said: str
) -> None:
    (tmp_path / "t.toml").write_text(UNITS.format(path=path, kind="text", engine=engine))
    with pytest.raises(PolicyError, match=said):
        read_policy(tmp_path / "t.toml")
