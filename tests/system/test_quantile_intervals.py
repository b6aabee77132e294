"""Intervals of quantiles: what they cover, what they cost, and where there is none."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpdb.answers.answer import Answer
from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.answers.formats.render import FORMATS
from dpdb.errors import InvalidOption
from dpdb.policy.budget import Budget, Composition
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.mechanisms.selections.bracket import Bracket, half_widths
from dpdb.session.session import Session
from tests.support.exactly import write
from tests.support.known_attacks import seeded
from tests.support.tables import PEOPLE

GROUPS = 1000
QUARTILES = (27858.7175, 42314.71, 62634.0)
"""Those of the incomes of people.csv."""
OFF = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(interval = off)"
SHAPES = {
    "one row": (0.5, [3.0]),
    "two ends": (0.9, [0.0, 10.0]),
    "ties": (0.5, [2.0] * 30 + [2.01] * 10 + [9.0] * 20),
    "at the bound": (0.9, [10.0] * 40),
    "halves": (0.5, [0.0, 10.0] * 40),
    "spread": (0.9, [i * 37 % 1000 / 100 for i in range(60)]),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("later", [False, True])
def test_the_interval_covers_the_quantile(tmp_path: Path, shape: str, *, later: bool) -> None:
    """In 1,000 runs 5 % may fail, and 4.8 σ more: one in a million tests of a sound 5 % does."""
    fraction, values = SHAPES[shape]
    rows = [f"{group},{x}" for group in range(GROUPS) for x in values]
    text = (
        f"[budget]\nepsilon = 16\nqueries = 2\n[tables.t.columns]\n"
        f'g = {{ type = "integer", bounds = [0, {GROUPS - 1}] }}\n'
        'x = { type = "number", bounds = [0, 10], step = 0.01 }\n'
    )
    policy = write(tmp_path, "t", "g,x\n" + "\n".join(rows), text)
    sql = f"SELECT QUANTILE_CONT(x, {fraction}) FROM t GROUP BY g"
    session = Session(policy, noise=seeded(len(shape)))
    if later:
        session.execute(sql.replace("SELECT", OFF))
    answer = session.execute(sql)
    truth = float(np.quantile(values, fraction))
    ends = [interval for (interval,) in answer.intervals]
    missed = sum(not low - 1e-9 <= truth <= high + 1e-9 for low, high in ends)  # type: ignore[misc]
    assert missed <= 0.05 * GROUPS + 4.8 * math.sqrt(0.05 * 0.95 * GROUPS)


@pytest.mark.parametrize(("interval", "error"), [("on", 16.6), ("off", 14)])
def test_the_errors_of_the_manual(interval: str, error: float) -> None:
    """Of 300 draws the root mean square has a standard error of 5 %: 15 % more is a 3 σ event."""
    budget = Budget(Fraction(300), Fraction(0), 300)
    session = Session(replace(read_policy(PEOPLE), budget=budget), noise=seeded(9))
    for setting in (f"interval = '{interval}'", "repeats = 'fresh'"):
        session.execute(f"SET {setting}")
    answers = [session.execute("SELECT MEDIAN(income) FROM people") for _ in range(300)]
    off = np.array([answer.rows[0][0] for answer in answers], dtype=float) - 42314.71
    assert float(np.sqrt((off**2).mean())) <= 1.15 * error
    if interval == "on":
        ends = np.array([answer.intervals[0][0] for answer in answers], dtype=float)
        assert np.median(ends[:, 1] - ends[:, 0]) == pytest.approx(463, abs=1)


def test_the_errors_of_quartiles() -> None:
    """By the law over gaps, worked out apart; of 60 draws a root errs by some 11 %: 45 % is 4 σ."""
    budget = Budget(Fraction(60), Fraction(0), 60)
    session = Session(replace(read_policy(PEOPLE), budget=budget), noise=seeded(11))
    session.execute("SET repeats = 'fresh'")
    asked = ", ".join(f"QUANTILE_CONT(income, {each})" for each in (0.25, 0.5, 0.75))
    answers = [session.execute(f"SELECT {asked} FROM people") for _ in range(60)]
    off = np.array([answer.rows[0] for answer in answers], dtype=float) - QUARTILES
    assert np.sqrt((off**2).mean(axis=0)) == pytest.approx((25.9, 23.3, 47.3), rel=0.45)
    ends = np.array([answer.intervals[0] for answer in answers], dtype=float)
    widths = np.median(ends[:, :, 1] - ends[:, :, 0], axis=0)
    assert widths == pytest.approx((1_850, 1_850, 5_240), rel=0.01)


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    """1,000 rows in group 1, of x from 0 to 999, and none in group 2."""
    path = tmp_path / "t.csv"
    path.write_text("g,x,d\n" + "".join(f"1,{i},2000-01-01\n" for i in range(1000)))
    columns = (
        Column("g", Kind.INTEGER, values=(1, 2)),
        Column("x", Kind.INTEGER, Fraction(0), Fraction(10**6)),
        Column("d", Kind.DATE, Fraction(0), Fraction(20_000)),
    )
    return Policy((Table("t", path, columns),), Budget(Fraction(20), Fraction(1, 10**6), 20))


def brackets(answer: Answer) -> list[Bracket]:
    """The brackets in the plan of an EXPLAIN."""
    assert answer.plan is not None
    found = [release.mechanism for release in answer.plan.every_release]
    return [mechanism for mechanism in found if isinstance(mechanism, Bracket)]


def test_a_fifth_is_for_the_interval_and_can_be_given_back(policy: Policy) -> None:
    session = Session(policy, noise=seeded(5))
    answer = session.execute("SELECT MEDIAN(x) FROM t")
    assert [(r.aggregate, r.mechanism, r.epsilon) for r in answer.releases] == [
        ("quantile", "exponential", Fraction(4, 5)),
        ("interval", "exponential", Fraction(1, 5)),
    ]
    assert answer.cost.epsilon == 1
    [((low, high),)] = answer.intervals  # type: ignore[misc]
    assert 0 < high - low < 500  # type: ignore[operator]
    assert "±" in str(answer)
    alone = session.execute(f"{OFF} QUANTILE_CONT(x, 0.4) FROM t")
    assert [(r.mechanism, r.epsilon) for r in alone.releases] == [("exponential", Fraction(1))]
    assert alone.intervals == ((None,),)
    session.execute("SET interval = 'off'")
    again = session.execute("SELECT MEDIAN(x) FROM t")
    assert (again.repeat, again.rows, again.intervals) == (True, answer.rows, answer.intervals)
    assert not brackets(session.execute("EXPLAIN SELECT QUANTILE_CONT(x, 0.3) FROM t"))
    on = "EXPLAIN SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(interval = 'on') MEDIAN(x) FROM t"
    assert len(brackets(session.execute(on))) == 1
    with pytest.raises(InvalidOption):
        session.execute("SET interval = 'wide'")


@pytest.mark.parametrize(
    ("columns", "epsilons"),
    [
        ("MEDIAN(x)", ["1/5"]),
        ("COUNT(*), MEDIAN(x), AVG(x)", ["1/10"]),
        ("QUANTILE_CONT(x, 0.25), MEDIAN(x), QUANTILE_CONT(x, 0.75)", ["1/15"] * 3),
    ],
)
def test_an_interval_that_is_asked_for_later_is_drawn_around_the_value(
    policy: Policy, columns: str, epsilons: list[str]
) -> None:
    session = Session(policy, noise=seeded(6))
    if columns.startswith("COUNT"):  # a value that the first answer recalls, too
        session.execute("SELECT COUNT(*) FROM t")
    values = session.execute(f"{OFF} {columns} FROM t")
    assert (values.cost.epsilon, set(values.intervals[0]) & {None}) == (1, {None})
    explained, shown = (session.execute(f"{e}SELECT {columns} FROM t") for e in ("EXPLAIN ", ""))
    drawn = [release.epsilon for release in shown.releases if not release.recalled]
    assert drawn == list(map(Fraction, epsilons))
    assert shown.cost == explained.cost
    assert (shown.cost.epsilon, shown.cost.queries, shown.rows) == (sum(drawn), 1, values.rows)
    for value, interval in zip(shown.rows[0], shown.intervals[0], strict=True):
        assert interval is not None
        assert interval[0] <= value <= interval[1]  # type: ignore[operator]
    for text, told in ((f"{OFF} {columns} FROM t", values), (f"SELECT {columns} FROM t", shown)):
        again = session.execute(text)
        assert (again.repeat, again.rows, again.intervals) == (True, told.rows, told.intervals)
    session.execute("SET repeats = 'fresh'")
    assert session.execute(f"SELECT {columns} FROM t").cost.epsilon == 1


def test_an_end_that_is_read_as_a_value_is_paid_for(policy: Policy) -> None:
    session = Session(policy, noise=seeded(7))
    answer = session.execute(f"{OFF} MEDIAN(x), DP_INTERVAL_LOW(QUANTILE_CONT(x, 0.9)) FROM t")
    assert [r.column for r in answer.releases if r.aggregate == "interval"] == [answer.columns[1]]
    assert answer.rows[0][1] is not None


def test_a_wide_bracket_does_not_say_that_a_value_is_only_noise(policy: Policy) -> None:
    """How wide it is, is a draw of its own: the value of a group with rows can be near."""
    answer = Session(policy, noise=seeded(3)).execute("SELECT g, MEDIAN(x) FROM t GROUP BY g")
    [_, medians] = answer.cells
    assert medians.only_noise is None
    assert medians.accuracy is not None
    assert medians.accuracy.unknown == (False, True)
    assert "± of MEDIAN(x) is unknown in 1 of 2 rows: as wide as its bounds" in answer.notes
    assert "only noise" not in FORMATS["table"](answer)
    assert answer.intervals[1][1] == (0, 10**6)


@pytest.mark.parametrize("sql", [
    "SELECT COUNT(*) FROM t WHERE x > (SELECT MEDIAN(x) FROM t)",
    "SELECT g, COUNT(*) FROM t GROUP BY g HAVING MEDIAN(x) > 3",
    "SELECT g, COUNT(*) FROM t GROUP BY g ORDER BY MEDIAN(x) LIMIT 1",
    "SELECT QUANTILE_CONT(x, 0), QUANTILE_CONT(x, 1), MAX(x), MODE(g) FROM t",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(sensitivity = 'smooth') MEDIAN(x) FROM t",
])  # fmt: skip
def test_an_interval_that_is_not_shown_is_not_paid_for(policy: Policy, sql: str) -> None:
    assert not brackets(Session(policy).execute(f"EXPLAIN {sql}"))


def test_nor_is_one_that_could_not_be_narrower_than_the_bounds(policy: Policy) -> None:
    """At ε = 1e-7 more rows would have to be to spare than any table has."""
    sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e-9) MEDIAN(x) FROM t"
    answer = Session(policy).execute(f"EXPLAIN {sql}")
    assert not brackets(answer)
    assert answer.cost.epsilon == Fraction(1, 10**9)


@pytest.mark.parametrize(("sql", "parts"), [
    ("SELECT MEDIAN(x) FROM t", 1),
    ("SELECT MEDIAN(x) + COUNT(*) FROM t", 2),
    ("SELECT g, MEDIAN(x) FROM t GROUP BY g ORDER BY MEDIAN(x) LIMIT 1", 2),
    ("SELECT g, MEDIAN(x) + COUNT(*) FROM t GROUP BY g HAVING COUNT(*) > 1", 4),
    ("SELECT COUNT(*) + (SELECT MEDIAN(x) FROM t) FROM t", 2),
])  # fmt: skip
def test_several_intervals_hold_at_once(policy: Policy, sql: str, parts: int) -> None:
    """The half-width is selected for the confidence that is needed, and all of it is used."""
    session = Session(policy, noise=seeded(4))
    [bracket] = brackets(session.execute(f"EXPLAIN {sql}"))
    assert math.isclose(bracket.confidence, 1 - 0.05 / parts)
    answer = session.execute(sql)
    accuracy = answer.cells[-1].accuracy
    assert accuracy is not None
    assert False in (accuracy.unknown or (False,))


def test_shares_that_are_concentrated_are_divided_as_such(policy: Policy) -> None:
    budget = Budget(Fraction(1), Fraction(1, 10**6), 3, Composition.ZCDP)
    session = Session(Policy(policy.tables, budget))
    for number in range(3):
        session.execute(f"SELECT MEDIAN(x) FROM t WHERE x <> {number}")
    assert session.balance.epsilon_left <= Fraction(1, 1000)


def test_explain_says_what_the_interval_takes_and_says(policy: Policy) -> None:
    lines = explain_screen(
        Session(policy).execute("EXPLAIN SELECT MEDIAN(x) FROM t"), ()
    ).splitlines()
    start = lines.index("└─ interval by the exponential mechanism")
    assert lines[start + 1 : start + 7] == [
        "   ├─ bounds 0 to 1000000, declared in the policy",
        "   ├─ Δ      0.5, the most one row can change it (of how many ranks an interval has to spare)",
        "   ├─ ε      0.2, a part of the query's 1",
        "   ├─ scale  2Δ/ε = 5",
        f"   ├─ widths {len(half_widths(10**6))} half-widths, each √2 times the one before",
        "   └─ says   95 % sure: the exact value is within ±; about 34 rows to spare on either side "
        "make it so",
    ]  # fmt: skip


def test_dates_have_intervals_of_days(policy: Policy) -> None:
    answer = Session(policy).execute("SELECT MEDIAN(d) FROM t")
    [[cell]], [[interval]] = answer.rows, answer.intervals
    assert isinstance(interval, tuple)
    assert interval[0] <= cell <= interval[1]  # type: ignore[operator]
    assert "days" in str(answer)
