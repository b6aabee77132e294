"""Values of which nothing is known beyond the policy are not shown as if there were."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.answers.answer import Answer
from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.answers.formats.render import FORMATS
from dpdb.interfaces.console.chart import chart
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

BY_RANK = "is chosen by rank, and has no interval: how near it is depends on the rows"
OFF = "WITH DIFFERENTIAL_PRIVACY OPTIONS(interval = off)"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """100 rows in group 1, of x from 0 to 99, and one in group 2."""
    path = tmp_path / "t.csv"
    path.write_text("g,x,d\n" + "".join(f"1,{i},2000-01-01\n" for i in range(100)) + "2,50,\n")
    columns = (
        Column("g", Kind.INTEGER, values=(1, 2)),
        Column("x", Kind.NUMBER, Fraction(0), Fraction(100), nullable=False),
        Column("d", Kind.DATE, Fraction(0), Fraction(20_000)),
    )
    budget = Budget(Fraction(20), Fraction(0), 20)
    return Session(Policy((Table("t", path, columns),), budget), noise=Noiseless())


def _both(session: Session, query: str) -> tuple[Answer, Answer]:
    return session.execute(f"EXPLAIN {query}"), session.execute(query)


@pytest.mark.parametrize("select", ["MEDIAN(x)", "MIN(x)", "MAX(x)", "QUANTILE_CONT(x, 0.3)"])
def test_a_selected_value_has_no_interval(session: Session, select: str) -> None:
    explained, answer = _both(session, f"SELECT {OFF} {select}, MAX(x) + COUNT(*) FROM t")
    assert answer.intervals == ((None, None),)
    for each in (explained, answer):
        assert each.notes[0] == f"{select} {BY_RANK}"
        for form in ("table", "vertical"):
            assert f" {select} {BY_RANK} " in " ".join(FORMATS[form](each).split()) + " "
    assert f"\n{select} {BY_RANK}" in explain_screen(explained, ())
    for form in FORMATS.values():
        assert "±" not in form(answer)


def test_a_mode_is_chosen_by_frequency_and_a_subquery_counts_where_it_is_shown(
    session: Session,
) -> None:
    answer = session.execute("SELECT MODE(g) FROM t")
    assert answer.notes[0].startswith("MODE(g) is chosen by frequency, and has no interval")
    query = f"SELECT {OFF} COUNT(*) + (SELECT MEDIAN(x) FROM t) AS n FROM t"
    assert session.execute(query).notes == (f"MEDIAN(x) {BY_RANK}",)
    query = "SELECT COUNT(*) FROM t WHERE x < (SELECT MEDIAN(x) FROM t)"
    assert session.execute(query).notes == ()


def test_a_chart_of_selected_values_has_bars_alone(session: Session) -> None:
    answer = session.execute(f"SELECT {OFF} g, MEDIAN(x) FROM t GROUP BY g")
    drawn = chart(answer, "", 60)
    assert drawn.startswith("MEDIAN(x) by g\n1 ██")
    assert "┼" not in drawn
    assert "±" not in drawn


@pytest.mark.parametrize(
    "select", ["AVG(x)", "VARIANCE(x)", "STDDEV_POP(x)", "AVG(x) * 2 - 7", "AVG(d)"]
)
def test_a_group_that_is_all_noise_is_marked(session: Session, select: str) -> None:
    answer = session.execute(f"SELECT g, {select} FROM t GROUP BY g")
    assert [column.only_noise for column in answer.cells] == [None, (False, True)]
    assert answer.notes == (
        f"{select} is only noise in 1 of 2 rows: ± is as wide as its bounds allow",
    )
    for form in ("table", "vertical", "markdown"):
        shown = FORMATS[form](answer)
        assert shown.count(" (only noise)") == 1
        first, second = (line for line in shown.splitlines() if "±" in line and " is " not in line)
        assert ("only noise" in first, "only noise" in second) == (False, True)


def test_one_row_that_is_all_noise(session: Session) -> None:
    answer = session.execute("SELECT AVG(x) FROM t WHERE g = 2")
    assert answer.notes == ("AVG(x) is only noise: ± is as wide as its bounds allow",)
    assert "± 50 (only noise)" in FORMATS["table"](answer)


FEW = "{0} is of few rows{1}: noise of ± {2} in their number moves it to one side, too"


def test_an_average_of_few_rows_says_so(session: Session) -> None:
    """Where rows are many, or all is noise, there is no such note."""
    session.execute("SET epsilon = 0.5")
    few = "SELECT AVG(x) AS a FROM t WHERE g = 1 AND x < {}"
    assert session.execute(few.format(15)).notes == (FEW.format("a", "", 8),)
    assert session.execute(few.format(90)).notes == ()


def test_counts_and_sums_of_few_rows_are_not_marked(session: Session) -> None:
    """Their noise is as large as the answer, and yet it says that there are few rows."""
    answer = session.execute("SELECT COUNT(*), SUM(x) FROM t WHERE g = 2")
    assert [column.only_noise for column in answer.cells] == [None, None]
    assert answer.notes == ()
