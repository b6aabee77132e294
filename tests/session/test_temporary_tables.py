"""CREATE TEMP TABLE keeps an answer: it says the same whenever it is read, and is free."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpdb
from dpdb.errors import UnknownName, Unsupported

pytestmark = pytest.mark.usefixtures("anywhere")

PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.csv"
BY_ZIP = "CREATE TEMP TABLE by_zip AS SELECT zip, COUNT(*) AS n FROM people GROUP BY zip"


@pytest.fixture
def session() -> dpdb.Session:
    return dpdb.connect(PEOPLE, epsilon=10, queries=100)


@pytest.mark.parametrize("fresh", [False, True])
def test_a_table_is_paid_for_once_and_stays_as_it_is(session: dpdb.Session, fresh: bool) -> None:
    """A table beside new answers is constants, also where repeats are paid again."""
    price = session.execute("EXPLAIN SELECT AVG(age) FROM people").cost
    total = sum(n for _, n in session.execute(BY_ZIP).rows)
    if fresh:
        session.execute("SET repeats = 'fresh'")
    beside = session.execute(
        "SELECT SUM(n), MAX(m) FROM by_zip CROSS JOIN (SELECT AVG(age) AS m FROM people) AS t"
    )
    assert beside.rows[0][0] == total
    assert beside.cost == price


def test_reading_tables_alone_is_free_with_their_intervals(session: dpdb.Session) -> None:
    made = session.execute(BY_ZIP)
    session.execute("CREATE OR REPLACE TEMPORARY VIEW most AS SELECT MAX(n) AS m FROM by_zip")
    again = session.execute("SELECT * FROM by_zip")
    assert (again.rows, again.intervals) == (made.rows, made.intervals)
    parts = session.execute("SELECT zip, n / m FROM by_zip, most WHERE n = m")
    assert [part for _, part in parts.rows] == [1] * len(parts.rows)
    scalar = session.execute("SELECT (SELECT m FROM most) - (SELECT SUM(n) FROM by_zip)")
    assert scalar.rows == ((max(n for _, n in made.rows) - sum(n for _, n in made.rows),),)
    assert session.balance.queries_left == 99


def test_a_table_is_replaced(session: dpdb.Session) -> None:
    session.execute(BY_ZIP)
    assert session.execute("SELECT COUNT(*) FROM by_zip").rows == ((40,),)
    session.execute("CREATE TEMP TABLE By_Zip AS SELECT COUNT(*) AS n FROM people")
    assert session.execute("SELECT COUNT(*) FROM by_zip").rows == ((1,),)


def test_a_table_is_there_once_it_is_paid_for(session: dpdb.Session) -> None:
    with pytest.raises(UnknownName, match="no table by_zip"):
        session.execute("SELECT SUM(n) FROM by_zip")
    with pytest.raises(dpdb.BudgetExceeded):
        session.execute("CREATE TEMP TABLE much AS SELECT WITH DIFFERENTIAL_PRIVACY"
                        " OPTIONS(epsilon = 11) COUNT(*) AS n FROM people")  # fmt: skip
    with pytest.raises(UnknownName, match="no table much"):
        session.execute("SELECT n FROM much")


def test_private_rows_are_not_compared_with_a_table(session: dpdb.Session) -> None:
    session.execute(BY_ZIP)
    with pytest.raises(Unsupported, match="not compared with rows"):
        session.execute("SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(n) FROM by_zip) / 9")


def test_summarize_is_one_query_whose_price_is_free_to_see(session: dpdb.Session) -> None:
    priced = session.execute("EXPLAIN SUMMARIZE people")
    assert priced.cost == session.quote("SUMMARIZE people").cost
    assert session.balance.queries_left == 100
    answer = session.execute("SUMMARIZE people")
    assert (answer.cost, answer.releases) == (priced.cost, priced.releases)
    assert session.balance.queries_left == 99
    assert [row[0] for row in answer.rows] == ["age", "income", "net_worth"]
    assert answer.columns == ("name", "count", "mean", "deviation", "q25", "q50", "q75")
    for asked in ("SUMMARIZE people", priced.notes[0].removeprefix("SUMMARIZE asks ")):
        again = session.execute(asked)
        assert again.repeat
        assert again.rows == answer.rows


def test_summarize_is_planned_with_others(session: dpdb.Session) -> None:
    asked = ["SUMMARIZE people", "SELECT COUNT(*) FROM people WHERE age > 30"]
    planned = session.plan(asked)
    told = [row[4] for row in planned.rows if row[4] is not None]
    assert [session.execute(each).cost.epsilon for each in asked] == pytest.approx(told)


def test_summarize_needs_bounds(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n", encoding="utf-8")
    with pytest.raises(Unsupported, match="t has 0 numbers with bounds"):
        dpdb.connect(tmp_path / "t.csv").execute("SUMMARIZE t")


def test_an_error_that_an_earlier_answer_keeps_is_a_repeat(session: dpdb.Session) -> None:
    session.execute("SELECT COUNT(*) FROM people WHERE age > 30")
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 1000) COUNT(*) FROM people"
    again = session.execute(f"{asked} WHERE age > 30")
    assert again.repeat
    assert again.cost.epsilon == again.cost.queries == 0
