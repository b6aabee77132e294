"""SET mechanism = 'staircase': what has it, what it costs, and that its intervals cover the truth."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from scipy.stats import binom

from dpdb.answers.answer import Answer
from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.policy.budget import Budget, Composition
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session
from tests.support.brute import REPLACE, world
from tests.support.optional import PLENTY, asking, opened, refused

pytestmark = pytest.mark.usefixtures("in_memory")

ALPHA = 1e-6


def staircase(budget: Budget = PLENTY, **more: object) -> Session:
    session = opened(budget, **more)  # type: ignore[arg-type]
    session.execute("SET mechanism = 'staircase'")
    return session


def mechanisms(answer: Answer) -> list[str]:
    return [drawn.mechanism for drawn in answer.releases]


@pytest.mark.parametrize("grouped", ["", " GROUP BY g"])
@pytest.mark.parametrize(
    ("select", "kinds"),
    [
        ("COUNT(*)", ["staircase"]),
        ("SUM(m)", ["staircase"]),
        ("COUNT(DISTINCT x)", ["staircase"]),
        ("SUM(k), COUNT(*)", ["staircase"] * 2),
        ("COUNT(x), SUM(x), COUNT(*)", ["staircase"] * 3),
        # Averages and variances are computed from Laplace noise, and tell no count or sum.
        ("AVG(x)", ["laplace"] * 2),
        ("AVG(k), COUNT(*), SUM(k)", ["laplace"] * 2 + ["staircase"] * 2),
        ("COUNT(*), VARIANCE(k)", ["staircase"] + ["laplace"] * 3),
    ],
)
def test_counts_and_sums_have_it(select: str, kinds: list[str], grouped: str) -> None:
    answer = staircase().execute(f"SELECT {select} FROM t{grouped}")
    assert mechanisms(answer) == kinds
    groups = {drawn.group: drawn.epsilon for drawn in answer.releases}
    assert sum(groups.values()) == answer.cost.epsilon == PLENTY.epsilon / PLENTY.queries
    assert answer.cost.delta == 0


def test_a_repeat_is_free_and_no_other_noise_is_answered_from_it() -> None:
    session = staircase()
    first = session.execute("SELECT SUM(x) FROM t")
    again = session.execute("SELECT SUM(x) FROM t")
    assert (again.rows, again.cost.epsilon, again.repeat) == (first.rows, 0, True)
    session.execute("SET mechanism = 'laplace'")
    other = session.execute("SELECT SUM(x) FROM t")
    assert (mechanisms(other), other.cost.epsilon) == (["laplace"], 10)
    session.execute("SET mechanism = 'staircase'")
    for select in ("COUNT(*)", "AVG(k)"):
        session.execute(f"SELECT {select} FROM t WHERE k > 4")
    # The vector behind an average tells no sum with staircase noise.
    assert mechanisms(session.execute("SELECT SUM(k) FROM t WHERE k > 4")) == ["staircase"]


def test_groups_are_added_up_for_nothing() -> None:
    columns = (
        Column("h", Kind.INTEGER, Fraction(0), Fraction(3), nullable=False),
        Column("y", Kind.INTEGER, Fraction(0), Fraction(10), nullable=False),
    )
    here = world(columns, budget=PLENTY)
    here.source.rows = [(str(i % 4), "5") for i in range(40)]
    session = Session(here.policy, noise=SystemNoise(Random(1).randbytes))
    session.execute("SET mechanism = 'staircase'")
    parts = session.execute("SELECT h, SUM(y) FROM t GROUP BY h")
    whole = session.execute(asking("epsilon = 1", "SUM(y) FROM t"))
    assert whole.cost.epsilon == 0
    assert whole.rows == ((sum(row[1] for row in parts.rows),),)
    [[(low, high)]] = whole.intervals
    assert low <= 200 <= high


def test_it_is_explained() -> None:
    session = staircase(Budget(Fraction(4), Fraction(0), 1))
    explained = session.execute("EXPLAIN SELECT SUM(x) FROM t")
    shown = explain_screen(explained, ())
    for text in ("sum by staircase noise", "5, the most one row can change one number", "ε      4",
                 "Δ/ε of one number = 1.25"):  # fmt: skip
        assert text in shown
    assert explained.cost.epsilon == 4


def test_between_two_groups_a_row_loses_half_in_each() -> None:
    session = staircase(Budget(Fraction(4), Fraction(0), 2), relation=REPLACE)
    [drawn] = session.execute("EXPLAIN SELECT g, COUNT(*) FROM t GROUP BY g").releases
    assert (drawn.sensitivity, drawn.scale, drawn.epsilon) == (1, 1, 2)


def test_under_zcdp_it_is_accounted_as_pure() -> None:
    budget = replace(PLENTY, epsilon=Fraction(1), composition=Composition.ZCDP)
    session = staircase(budget)
    answer = session.execute("SELECT SUM(x) FROM t")
    [drawn] = answer.releases
    other = session.execute(asking("mechanism = 'laplace'", "SUM(x) FROM t"))
    assert (drawn.mechanism, drawn.epsilon) == ("staircase", other.releases[0].epsilon)


def test_goals_that_need_other_noise_are_refused() -> None:
    session = staircase()
    said = refused(session, asking("noise_index = [1]", "COUNT(*) FROM t"))
    assert "noise_index is for Laplace noise" in said
    said = refused(session, asking("relative_error = 0.1", "COUNT(*) FROM t"))
    assert "with Laplace noise" in said
    answer = session.execute(asking("error = 5", "SUM(x) FROM t"))
    [[(low, high)]] = answer.intervals
    assert high - low <= 10


GROUPS = 2000
VALUES = (1, 4, 7, 9, 10, 10, 2)
TRUTHS = {"COUNT(*)": 7, "SUM(y)": sum(VALUES), "SUM(y) + COUNT(*)": sum(VALUES) + 7}


@pytest.mark.parametrize("epsilon", [1, 4, 9])
@pytest.mark.parametrize("statistic", TRUTHS)
def test_intervals_cover_the_truth(statistic: str, epsilon: int) -> None:
    """In at least 95 % of cells, as far as a binomial can be told from that at α = 1e-6."""
    columns = (
        Column("h", Kind.INTEGER, Fraction(0), Fraction(GROUPS - 1)),
        Column("y", Kind.INTEGER, Fraction(0), Fraction(10)),
    )
    here = world(columns, budget=Budget(Fraction(epsilon), Fraction(0), 1))
    here.source.rows = [(str(h), str(y)) for h in range(GROUPS) for y in VALUES]
    session = Session(here.policy, noise=SystemNoise(Random(epsilon).randbytes))
    answer = session.execute(asking("mechanism = 'staircase'", f"{statistic} FROM t GROUP BY h"))
    stated = [cell for (cell,) in answer.intervals]
    assert len(stated) == GROUPS
    missed = sum(not low <= TRUTHS[statistic] <= high for low, high in stated)
    assert missed <= binom.isf(ALPHA, GROUPS, 0.05)
    if statistic == "SUM(y)" and epsilon == 1:
        assert missed >= binom.ppf(ALPHA, GROUPS, 0.04)  # as far as whole numbers allow
