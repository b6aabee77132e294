"""Several quantiles of a SELECT that are selected together: when, at what price, and what is shown."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.answers.answer import Answer
from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.plan.ranges.statistics import JointRanks
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.selections.halves import Halves
from dpdb.session.session import Session
from tests.support.known_attacks import seeded
from tests.support.plans import planned

QUARTILES = "QUANTILE_CONT(x, 0.75) AS q3, MEDIAN(x) AS m, QUANTILE_CONT(x, 0.25) AS q1"


def policy(
    tmp_path: Path,
    neighbors: Neighbors = Neighbors.ADD_REMOVE,
    composition: Composition = Composition.PURE,
    queries: int = 20,
) -> Policy:
    path = tmp_path / "t.csv"
    path.write_text("g,x,y\n" + "".join(f"{1 + i % 2},{i},{i}\n" for i in range(2000)))
    columns = (
        Column("g", Kind.INTEGER, values=(1, 2)),
        Column("x", Kind.INTEGER, Fraction(0), Fraction(10**6)),
        Column("y", Kind.INTEGER, Fraction(0), Fraction(10**6)),
    )
    delta = Fraction(0) if composition is Composition.PURE else Fraction(1, 10**6)
    budget = Budget(Fraction(20), delta, queries, composition)
    return Policy((Table("t", path, columns),), budget, neighbors)


def joint(answer: Answer) -> list[Halves]:
    assert answer.plan is not None
    found = [release.mechanism for release in answer.plan.every_release]
    return [mechanism for mechanism in found if isinstance(mechanism, Halves)]


@pytest.mark.parametrize("neighbors", Neighbors)
def test_quartiles_are_one_release_with_one_charge(tmp_path: Path, neighbors: Neighbors) -> None:
    session = Session(policy(tmp_path, neighbors), noise=seeded(1))
    sql = f"SELECT {QUARTILES} FROM t"
    explained = session.execute(f"EXPLAIN {sql}")
    [halves] = joint(explained)
    assert halves.epsilon == Fraction(4, 5)
    assert explained.plan is not None
    assert isinstance(explained.plan.releases[0].statistic, JointRanks)
    answer = session.execute(sql)
    assert answer.cost.epsilon == sum(report.epsilon for report in answer.releases) == 1
    assert [(report.column, report.aggregate) for report in answer.releases] == [
        ("q3, m, q1", "quantiles"), ("q1", "interval"), ("m", "interval"), ("q3", "interval"),
    ]  # fmt: skip
    [(third, middle, first)] = answer.rows
    assert first <= middle <= third  # type: ignore[operator]
    for cell, interval, truth in zip(
        answer.rows[0], answer.intervals[0], (1499, 999, 499), strict=True
    ):
        assert isinstance(interval, tuple)
        assert interval[0] <= cell <= interval[1]  # type: ignore[operator]
        assert interval[0] <= truth <= interval[1]  # type: ignore[operator]
        assert interval[1] - interval[0] < 4000  # type: ignore[operator]
    assert answer.notes == ()
    again = session.execute(f"SELECT DP_INTERVAL_LOW(MEDIAN(x)) AS low, {QUARTILES} FROM t")
    assert again.repeat
    assert again.rows[0][0] == answer.intervals[0][1][0]  # type: ignore[index]


def test_without_intervals_all_is_for_the_values(tmp_path: Path) -> None:
    sql = f"EXPLAIN SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(interval = off) {QUARTILES} FROM t"
    answer = Session(policy(tmp_path)).execute(sql)
    [halves] = joint(answer)
    assert halves.epsilon == 1
    assert "q3, m, q1 is chosen by rank, and has no interval" in answer.notes[0]


@pytest.mark.parametrize("sql", [
    "SELECT QUANTILE_CONT(x, 0.25), QUANTILE_CONT(x, 0.75) FROM t",
    "SELECT MEDIAN(x), MEDIAN(y), QUANTILE_CONT(x, 1), QUANTILE_CONT(x, 0), MAX(x) FROM t",
    "SELECT MEDIAN(x) FILTER (WHERE y > 3), MEDIAN(x), MEDIAN(x) FILTER (WHERE y > 4) FROM t",
])  # fmt: skip
def test_what_is_no_better_together_is_selected_apart(tmp_path: Path, sql: str) -> None:
    assert not joint(Session(policy(tmp_path)).execute(f"EXPLAIN {sql}"))


@pytest.mark.parametrize("composition", [Composition.ADVANCED, Composition.ZCDP])
def test_under_zcdp_each_is_selected_by_itself(tmp_path: Path, composition: Composition) -> None:
    session = Session(policy(tmp_path, composition=composition))
    assert not joint(session.execute(f"EXPLAIN SELECT {QUARTILES} FROM t"))


@pytest.mark.parametrize("concentrated", [False, True])
@pytest.mark.parametrize("interval", ["on", "off"])
def test_their_shares_add_up_to_the_share_of_the_query(interval: str, concentrated: bool) -> None:
    share = BudgetShare(Fraction(1, 2), concentrated=concentrated)
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS(interval = {interval})"
    loss = planned(f"{options} {QUARTILES.replace('x', 'age')} FROM t", share=share).loss
    spent, allowed = (loss.rho, share.loss.rho) if concentrated else (loss.epsilon, share.epsilon)
    assert allowed * Fraction(999, 1000) < spent <= allowed


def test_under_zcdp_they_are_selected_together_where_the_sum_of_epsilon_pays(
    tmp_path: Path,
) -> None:
    session = Session(policy(tmp_path, composition=Composition.ZCDP, queries=1))
    options = "WITH DIFFERENTIAL_PRIVACY OPTIONS(interval = off)"
    [halves] = joint(session.execute(f"EXPLAIN SELECT {options} {QUARTILES} FROM t"))
    assert halves.epsilon == 20


def test_by_cell_and_beside_other_aggregates(tmp_path: Path) -> None:
    """The quantiles have their three parts of five together; empty cells are answered, too."""
    session = Session(policy(tmp_path), noise=seeded(2))
    sql = f"SELECT g, COUNT(*), {QUARTILES}, MODE(g) FROM t WHERE x >= 1000 OR g = 1 GROUP BY g"
    [halves] = joint(session.execute(f"EXPLAIN {sql}"))
    assert halves.epsilon == Fraction(3, 5) * Fraction(4, 5)
    answer = session.execute(sql)
    assert answer.cost.epsilon == 1
    for _, _, third, middle, first, _ in answer.rows:
        assert first <= middle <= third  # type: ignore[operator]


def test_explain_says_how_they_are_selected(tmp_path: Path) -> None:
    sql = f"EXPLAIN SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(interval = off) {QUARTILES} FROM t"
    lines = explain_screen(Session(policy(tmp_path)).execute(sql), ()).splitlines()
    assert lines[lines.index("q3, m, q1") :][:7] == [
        "q3, m, q1",
        "└─ quantiles by recursive halves",
        "   ├─ bounds 0 to 1000000, declared in the policy",
        "   ├─ Δ      0.5, the most one row can change it (of a value's rank in its half)",
        "   ├─ ε      1",
        "   ├─ scale  1/rate = 2",
        "   └─ noise  3 values are chosen, in 2 levels of halves; how near depends on the rows",
    ]
