"""Counts in the groups of several sets of keys, planned together: values, noise, loss, prices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpdb.errors import BudgetExceeded, DpdbError
from dpdb.plan.physical.plan import Plan
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.privacy.noise.protocols import Noise
from dpdb.privacy.noise.sources import seeded
from dpdb.session.session import Session
from tests.support.many_sessions import sessions
from tests.support.noiseless import Noiseless

COLUMNS = (
    Column("city", Kind.TEXT, values=("Ely", "Rye", "Wem")),
    Column("ok", Kind.BOOLEAN, nullable=False),
    Column("day", Kind.INTEGER, Fraction(1), Fraction(2)),
    Column("pay", Kind.INTEGER, Fraction(0), Fraction(1000)),
)
ASKED = (
    *(f"SELECT COUNT(*) FROM t WHERE pay >= {pay}" for pay in (200, 400, 600, 800)),
    "SELECT COUNT(*), COUNT(pay) FROM t WHERE pay >= 100 OR pay IS NULL",
    "SELECT ok, COUNT(*) FROM t GROUP BY ok",
    "SELECT ok, COUNT(*) FROM t WHERE pay >= 400 GROUP BY ok",
    "SELECT city, COUNT(*) FROM t WHERE pay >= 600 GROUP BY city",
    "SELECT day, city, COUNT(*), COUNT(*) FILTER (WHERE pay < 200) FROM t GROUP BY day, city",
    "SELECT city, day, COUNT(*) AS n FROM t WHERE pay >= 400 GROUP BY city, day ORDER BY 1, 2",
)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    rows = [
        f"{('Ely', 'Rye', 'Wem')[i % 3] if i % 13 else ''},{str(i % 5 > 1).lower()},"
        f"{1 + i % 2 if i % 7 else ''},{i * 7 % 1000 if i % 11 else ''}"
        for i in range(300)
    ]
    return written(tmp_path_factory.mktemp("cross") / "t.csv", rows)


def written(path: Path, rows: list[str], neighbors: Neighbors = Neighbors.ADD_REMOVE) -> Policy:
    path.write_text("\n".join(["city,ok,day,pay", *rows]) + "\n", encoding="utf-8")
    budget = Budget(Fraction(1), Fraction(0), len(ASKED))
    return Policy((Table("t", path, COLUMNS),), budget, neighbors=neighbors)


def margins(session: Session) -> list[tuple[float, float]]:
    """The ± of each column alone, and once all statements are planned."""
    return [(alone, now) for *_, alone, _, now in session.plan(ASKED).rows]


def planned(policy: Policy, noise: Noise | None = None) -> Session:
    session = Session(policy, noise=noise)
    session.plan(ASKED)
    return session


def drawn(session: Session) -> list[Plan]:
    assert session._batches is not None
    parts = session._batches._parts.values()
    return list({id(part.joint): part.joint.bill.plan for part in parts}.values())


def test_counts_are_exact_without_noise(here: Policy) -> None:
    plain = Session(here, teach=True)
    plain.execute("SET dp = off")
    session = planned(here, Noiseless())
    [plan] = drawn(session)
    assert plan.releases[0].strategy is not None
    assert len(plan.releases[0].strategy.levels) > 1
    for text in ASKED:
        assert session.execute(text).rows == plain.execute(text).rows


def counts(rows: Any) -> list[float]:
    """The last column of an answer."""
    return [row[-1] for row in rows]


def test_errors_are_as_promised_and_intervals_cover(here: Policy) -> None:
    """Of 100 intervals of 95 % fewer than 85 cover with probability 1e-4 at most."""
    runs, exact = 100, Session(here, noise=Noiseless())
    exact.plan(ASKED)
    true = {text: counts(exact.execute(text).rows) for text in ASKED}
    squares, inside = dict.fromkeys(ASKED, 0.0), dict.fromkeys(ASKED, 0)
    for session in sessions(here, map(seeded, range(runs))):
        planned_margins = margins(session)
        assert all(now <= alone for alone, now in planned_margins)
        for text in ASKED:
            answer = session.execute(text)
            squares[text] += (answer.rows[0][-1] - true[text][0]) ** 2
            low, high = answer.intervals[0][-1] or (0, 0)
            inside[text] += low <= true[text][0] <= high
            assert (high - low) / 2 <= max(now for _, now in planned_margins) + 1
        assert session.balance.epsilon_left == 0
    assert min(inside.values()) >= 85
    for text, answered in zip(ASKED, margins_by_text(here), strict=True):
        # With 100 draws of a kurtosis of up to 6 the ratio is within .4 but for 1e-4.
        assert 0.6 < 2 * math.sqrt(squares[text] / runs) / answered < 1.4, text


def margins_by_text(policy: Policy) -> Iterator[float]:
    """The ± that the plan tells of the last column of each statement."""
    rows = Session(policy).plan(ASKED).rows
    for number in range(1, len(ASKED) + 1):
        yield [row[5] for row in rows if row[0] == number][-1]


@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("neighbors", Neighbors)
def test_no_small_table_loses_more_than_is_charged(tmp_path: Path, neighbors: Neighbors) -> None:
    """All tables of up to two of some rows and their neighbours, by what is drawn of them."""
    kinds = [",".join(row) for row in product(("Ely", ""), ("true", "false"), "1", ("100", "900"))]
    sums, scale = {}, 0.0
    for number in range(3):
        for rows in combinations_with_replacement(kinds, number):
            session = planned(written(tmp_path / "t.csv", list(rows), neighbors), Noiseless())
            session.execute(ASKED[-1])
            [joint] = {id(p.joint): p.joint for p in session._batches._parts.values()}.values()
            assert joint.result is not None
            sums[rows] = joint.result.noisy.draws[0]
            scale = float(joint.bill.plan.releases[0].mechanism.scale)
    losses = [
        np.abs(sums[one] - sums[other]).sum() / scale
        for one, other in product(sums, sums)
        if is_neighbour(one, other, neighbors)
    ]
    assert 0.8 < max(losses) <= 1 + 1e-12


def is_neighbour(one: tuple[str, ...], other: tuple[str, ...], neighbors: Neighbors) -> bool:
    common = list(other)
    for row in one:
        if row in common:
            common.remove(row)
    if neighbors is Neighbors.REPLACE:
        return len(one) == len(other) and len(common) == 1
    return len(other) == len(one) + 1 and len(common) == 1


def test_few_groups_have_less_noise_than_each_set_of_keys_by_itself(here: Policy) -> None:
    """One in sixteen in the mean square of the counts of two groups and of all rows."""
    wheres = ["", *(f" WHERE pay >= {pay}" for pay in range(100, 1000, 100))]
    whole = [f"SELECT COUNT(*) FROM t{where}" for where in wheres]
    texts = whole + [f"SELECT ok, COUNT(*) FROM t{where} GROUP BY ok" for where in wheres]
    budget = replace(here.budget, queries=len(texts))

    def squares(*plans: list[str]) -> float:
        """The sum of the squares of ±; of several plans each has half of ε."""
        errors = [
            row[5] * len(plans)
            for each in plans
            for row in Session(replace(here, budget=replace(budget, queries=len(each))))
            .plan(each)
            .rows
        ]
        return sum(error**2 for error in errors)

    assert squares(texts) < 0.6 * squares(whole, texts[len(whole) :])


def test_one_statement_pays_and_repeats_are_free(here: Policy) -> None:
    session = planned(here)
    first, *others = [session.execute(text) for text in ASKED]
    assert (first.cost.epsilon, first.cost.queries) == (1, len(ASKED))
    assert all(each.cost.epsilon == 0 for each in others)
    again = session.execute(ASKED[-1])
    assert (again.rows, again.repeat) == (others[-1].rows, True)
    with pytest.raises(BudgetExceeded):
        session.execute("SELECT MEDIAN(pay) FROM t")


def test_a_statement_of_another_kind_gains_as_the_counts_do(here: Policy) -> None:
    """It would have a share of 1/11 alone."""
    session = Session(replace(here, budget=replace(here.budget, queries=len(ASKED) + 1)))
    session.plan([*ASKED, "SELECT MEDIAN(pay) FROM t"])
    costs = [session.execute(text).cost for text in ("SELECT MEDIAN(pay) FROM t", *ASKED)]
    assert costs[0].queries == 1
    assert costs[0].epsilon > Fraction(3, 22)
    assert sum(cost.epsilon for cost in costs) == 1


def test_a_plan_that_is_not_covered_draws_nothing(here: Policy) -> None:
    session = Session(here)
    session.execute("SELECT MEDIAN(pay) FROM t")
    with pytest.raises(BudgetExceeded):
        session.plan(ASKED)
    assert session.balance.queries_left == len(ASKED) - 1
    with pytest.raises(DpdbError):
        session.plan([*ASKED[1:], "SELECT nothing FROM t"])


def test_conditions_on_a_key_keep_it_apart(here: Policy) -> None:
    session = Session(here)
    session.plan(
        [*ASKED[:4], "SELECT ok, COUNT(*) FROM t GROUP BY ok", "SELECT COUNT(*) FROM t WHERE ok"]
    )
    assert all(each.strategy is None for plan in drawn(session) for each in plan.releases)


@pytest.mark.parametrize("composition", [Composition.ZCDP, Composition.ADVANCED])
def test_gaussian_noise_is_drawn_by_keys(here: Policy, composition: Composition) -> None:
    budget = Budget(Fraction(1), Fraction(1, 10**6), 100, composition)
    session = planned(replace(here, budget=budget))
    assert all(each.strategy is None for plan in drawn(session) for each in plan.releases)


def test_streams_answer_as_memory_does(here: Policy) -> None:
    [table] = here.tables
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(table.path, dtype={"day": "Int64", "pay": "Int64"})
    path = table.path.with_suffix(".parquet")
    frame.to_parquet(path)
    streamed = replace(here, tables=(replace(table, path=path),))
    one, other = (planned(each, seeded(1)) for each in (here, streamed))
    for text in ASKED:
        assert one.execute(text).rows == other.execute(text).rows
