"""DP_INTERVAL_LOW and DP_INTERVAL_HIGH: the ends of intervals as values of the answer."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.answers.formats.sheet import sheet
from dpdb.errors import DpdbError, TypeMismatch, Unsupported
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.session.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    path = tmp_path / "t.csv"
    path.write_text("g,x,d,name\n" + "".join(f"{1 + i % 3},{i},2000-01-01,a\n" for i in range(900)))
    columns = (
        Column("g", Kind.INTEGER, values=(1, 2, 3)),
        Column("x", Kind.INTEGER, Fraction(0), Fraction(1000)),
        Column("d", Kind.DATE, Fraction(0), Fraction(20_000)),
        Column("name", Kind.TEXT, values=("a", "b")),
    )
    return Session(Policy((Table("t", path, columns),), Budget(Fraction(60), queries=60)))


@pytest.mark.parametrize("aggregate", [
    "COUNT(*)", "SUM(x)", "AVG(x)", "VARIANCE(x)", "MEDIAN(x)", "QUANTILE_CONT(x, 0.9)",
    "SUM(x) / COUNT(*)", "-COUNT(*)", "COUNT(*) + (SELECT COUNT(*) FROM t WHERE x > 3)", "AVG(d)",
])  # fmt: skip
def test_they_are_the_ends_of_the_interval_and_free(session: Session, aggregate: str) -> None:
    """By alias or by the expression itself, in the same statement or in a later one."""
    sql = f"SELECT {aggregate} AS a, DP_INTERVAL_LOW(a), DP_INTERVAL_HIGH({aggregate}) FROM t"
    first = session.execute(sql)
    [(_, low, high)], [(interval, *none)] = first.rows, first.intervals
    assert (low, high) == interval
    assert none == [None, None]
    assert first.cost.epsilon == 1
    again = session.execute(f"SELECT DP_INTERVAL_HIGH({aggregate}) AS high FROM t")
    assert again.repeat
    assert again.rows == ((high,),)


def test_of_a_walk_there_is_one_end(session: Session) -> None:
    sql = "SELECT MAX(x), DP_INTERVAL_LOW(MAX(x)), DP_INTERVAL_HIGH(MAX(x)) FROM t"
    [(_, low, high)] = session.execute(sql).rows
    assert low is not None
    assert high is None


def test_without_an_interval_they_are_null(session: Session) -> None:
    sql = "SELECT DP_INTERVAL_LOW(MODE(g)), DP_INTERVAL_HIGH(COUNT(*) % 7) FROM t"
    answer = session.execute(sql)
    assert answer.rows == ((None, None),)


def test_they_can_be_computed_with_filtered_and_sorted_by(session: Session) -> None:
    sql = (
        "SELECT g, COUNT(*) AS n, DP_INTERVAL_HIGH(n) - DP_INTERVAL_LOW(n) AS width FROM t "
        "GROUP BY g HAVING DP_INTERVAL_LOW(n) > 0 ORDER BY DP_INTERVAL_HIGH(n) DESC LIMIT 2"
    )
    answer = session.execute(sql)
    for (_, _, width), (_, interval, none) in zip(answer.rows, answer.intervals, strict=True):
        assert isinstance(interval, tuple)
        assert width == interval[1] - interval[0]  # type: ignore[operator]
        assert none is None
    assert answer.rows[0][1] >= answer.rows[1][1]  # type: ignore[operator]
    assert "± holds for all 3 groups at once" in answer.notes[-1]
    plain = session.execute("SELECT g, COUNT(*) FROM t GROUP BY g")
    assert plain.repeat
    [_, narrow], [_, wide, _] = plain.intervals[0], answer.intervals[0]
    assert wide[1] - wide[0] > narrow[1] - narrow[0]  # type: ignore[index,operator]


def test_no_columns_of_ends_are_put_beside_them(session: Session) -> None:
    answer = session.execute("SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low FROM t")
    assert sheet(answer, intervals=True)[0] == ["n", "n_low", "n_high", "low"]


@pytest.mark.parametrize(("sql", "error"), [
    ("SELECT g, DP_INTERVAL_LOW(g) FROM t GROUP BY g", TypeMismatch),
    ("SELECT DP_INTERVAL_LOW(3), COUNT(*) FROM t", TypeMismatch),
    ("SELECT DP_INTERVAL_LOW(COUNT(*), 2) FROM t", TypeMismatch),
    ("SELECT DP_INTERVAL_LOW() FROM t", TypeMismatch),
    ("SELECT DP_INTERVAL_LOW(MODE(name)) FROM t", TypeMismatch),
    ("SELECT DP_INTERVAL_LOW(DP_INTERVAL_LOW(COUNT(*))) FROM t", TypeMismatch),
    ("SELECT SUM(DP_INTERVAL_LOW(x)) FROM t", DpdbError),
    ("SELECT COUNT(*) FROM t WHERE x > (SELECT DP_INTERVAL_LOW(AVG(x)) FROM t)", Unsupported),
])  # fmt: skip
def test_what_has_no_interval_to_begin_with_is_refused(
    session: Session, sql: str, error: type[DpdbError]
) -> None:
    with pytest.raises(error):
        session.execute(sql)
    assert session.balance.epsilon_left == 60


def test_an_answer_without_privacy_has_no_ends(tmp_path: Path, session: Session) -> None:
    teaching = Session(session.policy, teach=True)
    teaching.execute("SET dp = off")
    answer = teaching.execute("SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) FROM t")
    assert answer.rows == ((900, None),)


def test_they_are_shown_for_an_error_that_is_asked_for(session: Session) -> None:
    options = "WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 50)"
    sql = f"SELECT {options} COUNT(*) AS n, DP_INTERVAL_LOW(n) FROM t"
    [(number, low)] = session.execute(sql).rows
    assert number - low == 50  # type: ignore[operator]
