"""What tasks return is joined to what the memory engine gives; without Spark itself."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow
import pyarrow.parquet
import pytest

from dpdb.engines import spark
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.statistics import accumulators, rank_windows
from dpdb.engines.statistics.rank_windows import AllValues
from dpdb.errors import DataFileError
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from tests.support.exactly import raw

POLICY = """
[tables.t]
path = "t.parquet"
engine = "spark"
[tables.t.columns]
g = { type = "integer", values = [1, 2, 3] }
x = { type = "integer", bounds = [0, 1000] }
word = { type = "text" }
"""
STATEMENTS = [
    "SELECT COUNT(*) FROM t",
    "SELECT AVG(x), VARIANCE(x) FROM t WHERE word > 'b'",
    "SELECT g, COUNT(DISTINCT word), COUNT(DISTINCT x) FROM t GROUP BY g",
    "SELECT g, MEDIAN(x), MIN(x) FROM t GROUP BY g",
]


class Rows:
    """Stands for the rows that Spark has, in tasks of three rows; the last has none."""

    def __init__(self, rows: pyarrow.Table) -> None:
        self.rows = rows

    def select(self, *names: str) -> Rows:
        return Rows(self.rows.select([name.strip("`") for name in names]))

    def mapInArrow(self, task: Any, _: str) -> Rows:  # noqa: N802 - as Spark calls it
        packed = pickle.dumps(task)
        starts = range(0, len(self.rows) + 3, 3)
        self.returned = [
            [batch.column(0)[0].as_py()]
            for start in starts
            for batch in pickle.loads(packed)(self.rows[start : start + 3].to_batches())
        ]
        return self

    def collect(self) -> list[list[bytes]]:
        return self.returned


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    words = ["b", None, "a", "c", "a", "zz", "", "b"]
    columns = {"g": [1, 2, 3, 1, 1, None, 2, 1], "x": [7, 9, 7, 1000, 3, 5, None, 7], "word": words}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    (tmp_path / "t.toml").write_text(POLICY)
    return replace(
        read_policy(tmp_path / "t.toml"), budget=Budget(Fraction(10_000), Fraction(1, 10), 100_000)
    )


def found(text: str, policy: Policy, rows: pyarrow.Table) -> list[Any]:
    """Windows of ranks hold all values, so that they can be compared."""
    with (
        mock.patch.object(spark, "rows_in_spark", return_value=Rows(rows)),
        mock.patch.object(spark, "spark_errors", return_value=nullcontext()),
        mock.patch.object(accumulators, "_reach", return_value=2**40),
        mock.patch.object(accumulators, "RungCounts", AllValues),
        mock.patch.object(rank_windows, "BUCKETS", 8),
    ):
        return raw(text, policy, spark.SparkEngine(tables=policy.tables))


@pytest.mark.parametrize("text", STATEMENTS)
def test_tasks_come_to_what_all_rows_come_to(policy: Policy, text: str) -> None:
    rows = pyarrow.parquet.read_table(policy.tables[0].path)
    assert found(text, policy, rows) == raw(text, policy, MemoryEngine(tables=policy.tables))


def test_rows_that_spark_leaves_out_are_missed(policy: Policy) -> None:
    """As it does those of a file whose name begins with a line."""
    rows = pyarrow.parquet.read_table(policy.tables[0].path)
    with pytest.raises(DataFileError, match="Spark does not read all rows"):
        found("SELECT COUNT(*) FROM t", policy, rows[:5])
