"""The support for tests that send a statement again and again: its plans are those of sessions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpdb.errors import DpdbError
from dpdb.plan.planner import plan
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Column, Kind
from dpdb.session.session import Session
from dpdb.sql.selects.statements import statement
from tests.support import planned_once
from tests.support.brute import REPLACE, world

pytestmark = pytest.mark.usefixtures("in_memory")

SUM, MEAN = "EXPLAIN SELECT SUM(x) FROM t", "EXPLAIN SELECT AVG(x) FROM t"
ASKED = [
    # The statement, ε, the number of rows, and how many plans were made by then.
    (MEAN, 2, 4, 1),
    (MEAN, 2, 4, 1),
    (MEAN, 2, 5, 2),
    (MEAN, 1, 5, 3),
    (MEAN, 2, 4, 3),
    (SUM, 2, 4, 4),
    (SUM, 2, 9, 4),
]


def test_a_statement_is_planned_again_for_another_number_of_rows_and_another_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That number is public, and the sensitivity of an average follows from it."""
    made = []
    monkeypatch.setattr(
        planned_once, "plan", lambda *given, **named: made.append(given) or plan(*given, **named)
    )
    here = world([Column("x", Kind.INTEGER, Fraction(0), Fraction(10), nullable=False)], REPLACE)
    with planned_once.planned_once():
        for statement, epsilon, number, plans in ASKED:
            here.source.rows = [("3",)] * number
            policy = replace(here.policy, budget=Budget(Fraction(epsilon), Fraction(0), 1))
            [drawn] = Session(policy).execute(statement).releases
            assert (len(made), drawn.epsilon) == (plans, epsilon)
            assert drawn.sensitivity == (10 if statement == SUM else pytest.approx(10 / number))


@pytest.mark.parametrize(
    "refused", ["SELECT COUNT(nobody) FROM t", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 1) AVG(x) FROM t"]
)  # fmt: skip
def test_a_refusal_is_remembered_and_raised_again(
    monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """That of a name is met on reading, and that of an error nobody can promise on planning."""
    made = []
    for step, original in {"statement": statement, "plan": plan}.items():
        monkeypatch.setattr(
            planned_once,
            step,
            lambda *given, make=original, **named: made.append(make) or make(*given, **named),
        )
    policy = world([Column("x", Kind.INTEGER, Fraction(0), Fraction(10))]).policy
    raised = []
    with planned_once.planned_once():
        for _ in range(3):
            with pytest.raises(DpdbError) as caught:
                Session(policy).execute(refused)
            raised.append(caught.value)
    assert made in ([statement], [statement, plan])
    assert len({(type(e), e.message, e.hint, e.place, e.statement) for e in raised}) == 1
    assert raised[0] is not raised[1]


def test_what_follows_from_other_answers_is_planned_for_itself() -> None:
    policy = world([Column("x", Kind.INTEGER, Fraction(0), Fraction(10))]).policy
    prices = []
    with planned_once.planned_once():
        for before in ([], [MEAN.removeprefix("EXPLAIN ")]) * 2:
            session = Session(policy)
            for statement in before:
                session.execute(statement)
            prices.append(session.execute(SUM).cost.epsilon)
    assert prices == [Fraction(1, 10), 0] * 2
