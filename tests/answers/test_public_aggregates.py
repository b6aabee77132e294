"""Aggregates that the policy alone gives stand in expressions beside noisy ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpdb
from dpdb.answers.formats.render import FORMATS

ROWS = 20


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text("age\n" + "30\n" * ROWS)
    return path


@pytest.mark.parametrize("zero", ["0", "CLAMP(0, -5, 5)"])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_a_sum_of_zeros_widens_no_interval(table: Path, neighbors: str, zero: str) -> None:
    session = dpdb.connect(table, bounds={"age": (0, 99)}, neighbors=neighbors)
    answer = session.execute(f"SELECT COUNT(*), SUM({zero}) + COUNT(*) FROM t WHERE age > 20")
    [(count, both)], [(interval, interval_of_both)] = answer.rows, answer.intervals
    assert (both, interval_of_both) == (count, interval)


def test_a_sum_of_one_constant_is_known_where_the_number_of_rows_is(table: Path) -> None:
    session = dpdb.connect(table, bounds={"age": (0, 99)}, neighbors="replace")
    answer = session.execute("SELECT SUM(3) + 1, SUM(3) + SUM(age) FROM t")
    assert answer.rows[0][0] == 3 * ROWS + 1
    assert answer.intervals[0][1] is not None


@pytest.mark.parametrize("rows", [0, ROWS])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_explain_says_that_means_of_constants_have_no_noise(
    table: Path, neighbors: str, rows: int
) -> None:
    """Also where others stand beside them, and where the table is known to be empty."""
    table.write_text("age\n" + "30\n" * rows)
    session = dpdb.connect(table, bounds={"age": (0, 99)}, neighbors=neighbors)
    sql = "EXPLAIN SELECT AVG(5), MEDIAN(5), STDDEV(5), VAR_POP(5), AVG(age), STDDEV(age) FROM t"
    lines = FORMATS["table"](session.execute(sql)).split("\n")[:6]
    margins = {name: margin.strip() for name, _, margin in (line.partition("±") for line in lines)}
    exact = {name.strip() for name, margin in margins.items() if margin == "0"}
    assert exact == {"AVG(5)", "MEDIAN(5)", "STDDEV(5)", "VAR_POP(5)"}
