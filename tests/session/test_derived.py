"""Releases used further: each is drawn and paid for once, and what reads it costs nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpdb.errors import BudgetExceeded, InvalidOption, TooLarge
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.privacy.noise.sources import seeded
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless
from tests.support.optional import Record
from tests.support.plans import COLUMNS, small_policy

pytestmark = pytest.mark.usefixtures("anywhere")

COUNTS = "SELECT zip, COUNT(*) AS n FROM t GROUP BY zip"
CELLS = 3


@pytest.fixture
def here(tmp_path: Path) -> Policy:
    """The table t of the plans, with rows: 10, 20 and 30 of the zips 1, 2 and 3."""
    zips = [1] * 10 + [2] * 20 + [3] * 30
    head = ",".join(column.name for column in COLUMNS)
    lines = [f"{i},{i},{i},0,1970-01-02,1500,{z},Ely,true,1,x" for i, z in enumerate(zips)]
    (tmp_path / "t.csv").write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    policy = small_policy()
    table = replace(policy.tables[0], path=tmp_path / "t.csv")
    return replace(policy, tables=(table,), budget=Budget(Fraction(1), Fraction(0), 10))


def width(interval):
    return interval[1] - interval[0]


def test_a_release_that_is_read_twice_is_drawn_once(here: Policy) -> None:
    record = Record()
    session = Session(here, noise=record)
    answer = session.execute(
        f"WITH t AS ({COUNTS}) SELECT COUNT(*), MAX(n) FROM t WHERE n >= (SELECT AVG(n) FROM t)"
    )
    assert record.asked == [10]
    assert answer.cost.epsilon == Fraction(1, 10)
    assert answer.cost.queries == 1
    assert [(each.column, each.aggregate, each.epsilon) for each in answer.releases] == [
        ("n", "count", Fraction(1, 10))
    ]


def test_the_releases_of_a_statement_share_its_epsilon(here: Policy) -> None:
    record = Record()
    session = Session(here, noise=record)
    text = f"SELECT zip, n FROM ({COUNTS}) AS u UNION ALL SELECT 0, SUM(age) FROM t"
    explained = session.execute(f"EXPLAIN {text}")
    answer = session.execute(text)
    assert explained.cost == answer.cost
    assert explained.releases == answer.releases
    assert answer.cost.epsilon == sum(each.epsilon for each in answer.releases) == Fraction(1, 10)
    assert record.asked == [20, 20 * 100]
    assert any("costs nothing" in note for note in explained.notes)


def test_what_reads_a_release_again_is_a_repeat(here: Policy) -> None:
    session = Session(here, noise=seeded(1))
    rows = session.execute(f"SELECT * FROM ({COUNTS}) AS u").rows
    for text, expected in (
        (f"SELECT MAX(n) FROM ({COUNTS}) AS u", max(n for _, n in rows)),
        (f"SELECT SUM(m) + 1 FROM ({COUNTS}) AS u(z, m)", sum(n for _, n in rows) + 1),
    ):
        assert session.execute(f"EXPLAIN {text}").cost.queries == 0
        answer = session.execute(text)
        assert answer.repeat
        assert answer.rows == ((expected,),)


def test_an_answer_that_was_given_before_is_read_for_nothing(here: Policy) -> None:
    session = Session(here, noise=seeded(1))
    rows = session.execute(COUNTS).rows
    mean = session.execute("SELECT AVG(age) FROM t").rows[0][0]
    text = (
        f"SELECT zip, n, n > (SELECT AVG(age) FROM t) AS large FROM ({COUNTS}) AS u ORDER BY n DESC"
    )
    assert session.execute(f"EXPLAIN {text}").cost.queries == 0
    answer = session.execute(text)
    assert answer.repeat
    assert answer.rows == tuple(
        (place, n, n > mean) for place, n in sorted(rows, key=lambda row: -row[1])
    )
    assert session.balance.epsilon_left == Fraction(8, 10)
    chosen = session.execute(f"SELECT n FROM ({COUNTS}) AS u ORDER BY n LIMIT 1")
    alone = session.execute(COUNTS)
    assert chosen.repeat
    assert width(chosen.intervals[0][0]) > width(alone.intervals[0][1])


def test_what_is_read_further_answers_the_plain_question_for_nothing(here: Policy) -> None:
    session = Session(here, noise=seeded(1))
    inner = "SELECT zip, COUNT(*) AS n, MEDIAN(age) AS m FROM t GROUP BY zip"
    rows = session.execute(f"SELECT * FROM ({inner}) AS u").rows
    left = session.balance.epsilon_left
    plain = session.execute(inner)
    assert plain.repeat
    assert plain.rows == rows
    assert session.balance.epsilon_left == left


def test_answers_that_follow_from_others_are_read_for_nothing(here: Policy) -> None:
    """Single groups of an answer, neither of which was asked for by itself."""
    session = Session(here, noise=seeded(1))
    rows = dict(session.execute(COUNTS).rows)
    answer = session.execute(
        "SELECT COUNT(*) FROM t WHERE zip = 2 UNION ALL SELECT COUNT(*) FROM t WHERE zip = 3"
    )
    assert answer.repeat
    assert answer.rows == ((rows[2],), (rows[3],))


def test_with_fresh_repeats_it_is_paid_for_again(here: Policy) -> None:
    session = Session(here, noise=seeded(1))
    session.execute(COUNTS)
    session.execute("SET repeats = 'fresh'")
    assert session.execute(f"SELECT MAX(n) FROM ({COUNTS}) AS u").cost.epsilon == Fraction(1, 10)


def test_of_what_no_row_can_pass_all_is_free(here: Policy) -> None:
    answer = Session(here).execute(
        "SELECT MAX(n) FROM (SELECT zip, COUNT(*) AS n FROM t WHERE age > 200 GROUP BY zip) AS u"
    )
    assert answer.rows == ((0,),)
    assert not answer.cost.queries


def test_a_plan_of_several_statements_lists_it(here: Policy) -> None:
    session = Session(here, noise=seeded(1))
    plan = session.plan(
        [f"SELECT zip, MAX(n) OVER () AS m FROM ({COUNTS}) AS u", "SELECT COUNT(*) FROM t"]
    )
    assert [row[:3] for row in plan.rows] == [(1, "m", 0.1), (2, "COUNT(*)", 0.1)]


def test_releases_have_names_of_columns_or_functions(here: Policy) -> None:
    answer = Session(here).execute(
        "EXPLAIN SELECT SUM(age) AS total, RANK() OVER (ORDER BY COUNT(*)) FROM t GROUP BY zip"
    )
    assert {report.column for report in answer.releases} == {"total"}
    answer = Session(here).execute(
        "EXPLAIN SELECT RANK() OVER (ORDER BY COUNT(*)) FROM t GROUP BY zip"
    )
    assert {report.column for report in answer.releases} == {"COUNT"}


def test_scalars_over_one_release_are_not_taken_for_each_other(here: Policy) -> None:
    """What is drawn with them depends on which one it is."""
    session = Session(here, noise=Noiseless())
    scalars = [f"(SELECT {call} FROM ({COUNTS}) AS u)" for call in ("MIN(n)", "MAX(n)")]
    answers = [session.execute(f"SELECT COUNT(*) FROM t WHERE id < {each}") for each in scalars]
    assert [answer.rows for answer in answers] == [((10,),), ((30,),)]
    assert [answer.repeat for answer in answers] == [False, False]


def test_no_row_is_looked_at_before_all_of_it_is_paid_for(here: Policy) -> None:
    short = replace(here, budget=Budget(Fraction(1, 10), Fraction(0), 1))
    (missing,) = (replace(table, path=Path("nowhere.csv")) for table in short.tables)
    session = Session(replace(short, tables=(missing,)))
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.2) MAX(n)"
    with pytest.raises(BudgetExceeded):
        session.execute(f"{asked} FROM (SELECT MAX(n) AS n FROM ({COUNTS}) AS u) AS v")
    assert session.balance.epsilon_left == Fraction(1, 10)


def test_intervals_are_passed_on_and_hold_at_once_where_noise_chooses(here: Policy) -> None:
    session = Session(here, noise=seeded(2))
    plain = session.execute(COUNTS).intervals[0][1]
    all_rows = session.execute(f"SELECT n, zip, 2 * n FROM ({COUNTS}) AS u WHERE zip < 3")
    chosen = session.execute(f"SELECT n FROM ({COUNTS}) AS u ORDER BY n DESC LIMIT {CELLS}")
    best = session.execute(f"SELECT n FROM ({COUNTS}) AS u WHERE n > 0 ORDER BY zip")
    at_once = session.execute(f"{COUNTS} HAVING COUNT(*) > 0").intervals[0][1]
    assert [interval for _, *others in all_rows.intervals for interval in others] == [None] * 4
    assert {width(row[0]) for row in all_rows.intervals} == {width(plain)}
    assert {width(row[0]) for row in (*chosen.intervals, *best.intervals)} == {width(at_once)}
    assert width(at_once) > width(plain)


def test_a_join_passes_intervals_on_but_for_rows_without_a_match(here: Policy) -> None:
    session = Session(here, noise=seeded(2))
    plain = session.execute(f"SELECT n FROM ({COUNTS}) AS u").intervals
    answer = session.execute(
        f"WITH u AS ({COUNTS}) SELECT u.zip, v.n FROM u LEFT JOIN u AS v ON v.zip = u.zip + 1"
    )
    assert [row[1] for row in answer.intervals] == [*(row[0] for row in plain[1:]), (None, None)]
    assert answer.rows[2] == (3, None)


def test_a_join_of_too_many_pairs_is_refused_before_anything_is_spent(here: Policy) -> None:
    session, many = Session(here), "SELECT year, COUNT(*) AS n FROM t GROUP BY year"
    with pytest.raises(TooLarge, match="1002000 × 1000 rows"):
        session.execute(f"WITH u AS ({many}) SELECT COUNT(*) FROM u, u AS v, u AS w")
    assert session.balance.epsilon_left == 1


def test_a_join_of_too_many_cells_is_refused_before_anything_is_spent(here: Policy) -> None:
    columns = ", ".join(f"COUNT(*) + {number} AS n{number}" for number in range(9))
    session, many = Session(here), f"SELECT year, {columns} FROM t GROUP BY year"
    with pytest.raises(TooLarge, match="1000 × 1000 rows of 20 columns"):
        session.execute(f"WITH u AS ({many}) SELECT COUNT(*) FROM u, u AS v")
    assert session.balance.epsilon_left == 1


def test_keys_that_are_found_are_read_further_and_joined_with_few_rows(here: Policy) -> None:
    """How many are found is not known when a join is planned."""
    policy = replace(here, budget=Budget(Fraction(10), Fraction(1, 100), 1))
    session = Session(policy, noise=seeded(1))
    found = "SELECT note, COUNT(*) AS n FROM t GROUP BY note"
    with pytest.raises(TooLarge, match="100000 × 100000 rows"):
        session.execute(f"WITH u AS ({found}) SELECT COUNT(*) FROM u JOIN u AS v USING (note)")
    answer = session.execute(
        f"WITH u AS ({found}) SELECT note, n, s = n FROM u CROSS JOIN (SELECT SUM(n) AS s FROM u)"
    )
    ((note, number, alone),) = answer.rows
    assert (note, alone) == ("x", True)
    assert 30 < float(str(number)) < 90


def test_medians_that_are_not_shown_have_no_bracket(here: Policy) -> None:
    """ε goes to the value alone where nothing shows how near it is."""
    inner = "SELECT zip, MEDIAN(age) AS m FROM t GROUP BY zip"
    session = Session(here)
    shown = session.execute(f"EXPLAIN SELECT m FROM ({inner}) AS u")
    hidden = session.execute(f"EXPLAIN SELECT MAX(m) FROM ({inner}) AS u")
    assert len(shown.releases) == 2
    assert len(hidden.releases) == 1


def test_rows_are_chosen_and_ranked_after_the_noise(here: Policy) -> None:
    """The exact order is 3, 2, 1; the noise turns it round."""

    class Turned:
        private = True

        def laplace(self, scale: Fraction, size: int):
            return np.array([100, 50, 0], dtype=np.int64)

    session = Session(here, noise=Turned())
    top = session.execute(f"SELECT zip FROM ({COUNTS}) AS u WHERE n > 50 ORDER BY n DESC LIMIT 1")
    assert top.rows == ((1,),)
    ranked = session.execute("SELECT zip, RANK() OVER (ORDER BY COUNT(*) DESC) FROM t GROUP BY zip")
    assert ranked.rows == ((1, 1), (2, 2), (3, 3))


def test_an_accuracy_goal_is_refused(here: Policy) -> None:
    with pytest.raises(InvalidOption, match="is kept of one SELECT over tables"):
        Session(here).execute(
            f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 5) MAX(n) FROM ({COUNTS}) AS u"
        )


def test_teaching_mode_without_privacy_computes_from_exact_rows(here: Policy) -> None:
    session = Session(here, teach=True)
    session.execute("SET dp = off")
    answer = session.execute(
        f"SELECT zip, n, n / SUM(n) OVER () FROM ({COUNTS}) AS u WHERE n > (SELECT MIN(n)"
        f" FROM ({COUNTS}) AS v) ORDER BY n DESC"
    )
    assert answer.rows == ((3, 30, 0.6), (2, 20, 0.4))


def test_the_footer_and_csv_show_it(here: Policy) -> None:
    answer = Session(here, noise=seeded(1)).execute(
        f"SELECT zip, n, MAX(n) OVER () FROM ({COUNTS}) AS u ORDER BY n LIMIT 1"
    )
    assert re.search(r"\|\s+n \|\s+MAX\(n\) OVER \(\)", repr(answer))
    assert "± holds for all 3 groups at once" in repr(answer)
