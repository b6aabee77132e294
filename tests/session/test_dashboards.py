"""Thirty statements of a dashboard, planned together: how noisy each is, alone and then."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session

PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.toml"
CONDITIONS = (
    *(f"age >= {age}" for age in (30, 40, 50, 60)),
    *(f"income >= {income}" for income in (40_000, 60_000, 80_000, 100_000)),
    *(f"age >= {age} AND income >= {2_000 * age - 20_000}" for age in (30, 40, 50)),
)
DASHBOARD = [
    "SELECT COUNT(*) FROM people",
    *(f"SELECT COUNT(*) FROM people WHERE {each}" for each in CONDITIONS),
    "SELECT zip, COUNT(*) FROM people GROUP BY zip",
    *(f"SELECT zip, COUNT(*) FROM people WHERE {each} GROUP BY zip" for each in CONDITIONS),
    "SELECT zip, COUNT(*) AS n FROM people GROUP BY zip ORDER BY n DESC LIMIT 5",
    "SELECT AVG(age) FROM people",
    "SELECT AVG(income) FROM people",
    "SELECT MEDIAN(income) FROM people",
    "SELECT MEDIAN(age) FROM people",
    "SELECT QUANTILE(income, 0.9) FROM people",
]
"""25 counts, two averages and three quantiles."""
BUDGETS = (
    Budget(Fraction(1), Fraction(0), 30),
    Budget(Fraction(1), Fraction(1, 10**6), 30, Composition.ZCDP),
)


@pytest.mark.parametrize("budget", BUDGETS)
def test_no_statement_of_a_dashboard_is_noisier_than_alone(budget: Budget) -> None:
    session = Session(replace(read_policy(PEOPLE), budget=budget))
    rows = session.plan(DASHBOARD).rows
    errors = [(alone, together) for *_, alone, _, together in rows if alone is not None]
    assert len(rows) == len(DASHBOARD)
    assert all(together <= alone for alone, together in errors)
    if budget.composition is Composition.PURE:
        gains = [math.log(alone / together) for alone, together in errors]
        assert math.exp(sum(gains) / len(gains)) >= 2.9
        for text, (*_, margin) in zip(DASHBOARD, rows, strict=True):
            answer = session.execute(text)
            if margin is not None:
                low, high = answer.intervals[0][-1] or (0, 0)
                assert margin - 1 <= (high - low) / 2 <= margin, text  # ends are whole numbers
        assert 0 <= session.balance.epsilon_left <= Fraction(1, 1000)


@pytest.mark.parametrize("other", ["AVG(age)", "MEDIAN(income)", "VARIANCE(age)", "SUM(income)"])
def test_a_count_beside_anything_else_is_no_noisier(other: str) -> None:
    session = Session(replace(read_policy(PEOPLE), budget=BUDGETS[0]))
    several = (f"COUNT(*) FROM people WHERE age >= {age}" for age in range(20, 65, 5))
    texts = ["SELECT COUNT(*) FROM people", f"SELECT {other} FROM people"]
    texts += [f"SELECT {each}" for each in several]
    for *_, alone, _, together in session.plan(texts).rows:
        assert alone is None or together <= alone


@pytest.mark.parametrize("number", [2, 5, 15, 25])
def test_a_sum_of_many_segments_has_no_wider_interval_than_alone(number: int) -> None:
    """Gaussian noise of the same variance has the same ±, however many noises are added up."""
    session = Session(replace(read_policy(PEOPLE), budget=BUDGETS[1]))
    ages = (18 + 46 * place // number for place in range(number))
    rows = session.plan([f"SELECT COUNT(*) FROM people WHERE age >= {age}" for age in ages]).rows
    assert all(together <= alone for *_, alone, _, together in rows)


def test_averages_of_different_statements_are_one_vector() -> None:
    """Two averages in one box need 1.55 times less ε than a pair of sums for each of them."""
    policy = read_policy(PEOPLE)
    tables = tuple(
        replace(table, columns=tuple(replace(each, nullable=False) for each in table.columns))
        for table in policy.tables
    )
    session = Session(replace(policy, tables=tables, budget=BUDGETS[0]))
    rows = session.plan(DASHBOARD).rows
    gains = [math.log(alone / together) for *_, alone, _, together in rows if alone is not None]
    assert math.exp(sum(gains) / len(gains)) >= 3.2
    drawn = {each.mechanism for text in DASHBOARD[-5:-3] for each in session.execute(text).releases}
    assert drawn == {"box"}


def test_a_count_of_what_an_average_reads_is_no_noisier() -> None:
    """The steps of a sum are no steps of the count beside it."""
    budget = replace(BUDGETS[1], queries=2)
    texts = [
        "SELECT age >= 40, COUNT(*), SUM(age), AVG(income) FROM people GROUP BY age >= 40",
        "SELECT age >= 40, COUNT(income) FROM people GROUP BY age >= 40",
        "SELECT age >= 40, VARIANCE(income) FROM people GROUP BY age >= 40",
    ]
    for neighbors in Neighbors:
        policy = replace(read_policy(PEOPLE), budget=budget, neighbors=neighbors)
        for *_, alone, _, together in Session(policy).plan(texts[:2]).rows:
            assert alone is None or together <= alone
        assert Session(replace(policy, budget=replace(budget, queries=3))).plan(texts).rows
