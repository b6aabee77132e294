"""Selections have a bound from the text and the policy, before anything is paid for."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpdb.errors import TooLarge
from dpdb.plan.expressions.expressions import Literal
from dpdb.plan.physical.release import Release
from dpdb.plan.ranges.grids import Grid
from dpdb.plan.ranges.statistics import Ranks
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Kind, Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.privacy.noise import exponential
from dpdb.session.purchases.query_plans import candidates_of
from dpdb.session.session import Session

PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.toml"


@pytest.fixture
def session() -> Session:
    policy = Policy(read_policy(PEOPLE).tables, Budget(Fraction(1_000), Fraction(0), 1_000))
    return Session(policy)


def medians(number: int) -> str:
    return ", ".join(f"MEDIAN(income) FILTER (WHERE age > {i})" for i in range(number))


TOO_MANY = {
    "over groups": f"SELECT {medians(25)} FROM people GROUP BY age, zip",
    "of little epsilon":
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.1) " + medians(200) + " FROM people",
    "in subqueries": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.01) COUNT(*) FROM people"
    " WHERE " + " AND ".join(
        f"income > (SELECT MEDIAN(income) FROM people WHERE age > {i})" for i in range(45)
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", TOO_MANY.values(), ids=TOO_MANY)
def test_too_many_candidates_are_refused_and_cost_nothing(session: Session, text: str) -> None:
    before = session.balance
    for statement in (f"EXPLAIN {text}", text):
        with pytest.raises(TooLarge, match="candidates"):
            session.execute(statement)
    assert session.balance == before


def test_what_people_ask_is_allowed(session: Session) -> None:
    for text in (
        "SELECT age, zip, MEDIAN(age) FROM people GROUP BY age, zip",
        f"SELECT {medians(20)} FROM people",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.001) MEDIAN(income) FROM people",
    ):
        session.execute(f"EXPLAIN {text}")


@pytest.mark.parametrize("upper", [10, 10**6])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(10)])
def test_no_rows_make_more_candidates_than_are_told(upper: int, epsilon: Fraction) -> None:
    mechanism = Exponential(Fraction(1, 2), epsilon)
    grid = Grid(Fraction(1), 0, upper)
    ranks = Ranks(Literal(0, Kind.INTEGER), None, grid, Fraction(1, 2))
    told = candidates_of(Release("quantile", ranks, mechanism))
    for number in (0, 1, 7, 20_000, 200_000):
        values = np.sort(np.arange(number) * 4 % (upper + 1))
        starts, _, _ = exponential.pieces(values, (0, upper), Fraction(1, 2), mechanism)
        assert len(starts) <= told
