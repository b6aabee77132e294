"""ORDER BY COUNT(DISTINCT unit) DESC LIMIT k: the groups are chosen, and then counted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Policy
from dpdb.session.session import Session
from tests.support.audited import noise
from tests.support.exactly import write
from tests.support.many_sessions import sessions

POLICY = """
[budget]
epsilon = 1
delta = 1e-6
queries = 1
[tables.t]
unit = "who"
rows_per_unit = 20
[tables.t.columns]
who = { type = "integer" }
word = { type = "integer", bounds = [0, 99] }
d = { type = "number", bounds = [0, 9] }
"""
ORDERED = "SELECT word, COUNT(DISTINCT who) AS n FROM t GROUP BY word ORDER BY n DESC"
TOP = f"{ORDERED} LIMIT 5"


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """Word w is of 1,500 - 300w people, down to the five largest; and one row is NULL."""
    rows = [f"{who},{word},1" for word in range(5) for who in range(1_500 - 300 * word)]
    text = "\n".join(["who,word,d", *rows, "7,,1"]) + "\n"
    return write(tmp_path_factory.mktemp("top"), "t", text, POLICY)


def mechanisms(policy: Policy, text: str) -> list[str]:
    return [each.mechanism for each in Session(policy).execute(f"EXPLAIN {text}").releases]


def test_groups_are_chosen_where_the_rule_says_so(policy: Policy) -> None:
    assert mechanisms(policy, TOP) == ["peeling", "laplace"]
    for other in (
        ORDERED,
        f"{ORDERED} LIMIT 50",  # too many for pure ε
        TOP.replace("DESC", "ASC"),
        f"{TOP} OFFSET 1",
        TOP.replace("ORDER BY", "HAVING n > 3 ORDER BY"),
        TOP.replace("COUNT(DISTINCT who)", "COUNT(*)"),  # up to 20 rows of a person
        TOP.replace("COUNT(DISTINCT who)", "COUNT(DISTINCT who) FILTER (WHERE d > 3)"),
    ):
        assert "peeling" not in mechanisms(policy, other), other
    hidden = replace(policy, minimum_units=10)
    assert "peeling" not in mechanisms(hidden, TOP)
    budget = Budget(Fraction(1), Fraction(1, 10**6), 9, Composition.ZCDP)
    assert mechanisms(replace(policy, budget=budget), TOP) == ["peeling", "gaussian"]
    pure = replace(policy, budget=Budget(Fraction(1), queries=1))
    assert mechanisms(pure, TOP) == ["peeling", "laplace"]


def test_the_largest_are_chosen_and_counted_for_the_whole_of_epsilon(policy: Policy) -> None:
    for session in sessions(policy, map(noise, range(20))):
        answer = session.execute(TOP)
        assert [row[0] for row in answer.rows] == [0, 1, 2, 3, 4]
        assert [each.epsilon for each in answer.releases] == [Fraction(1, 2)] * 2
        assert answer.cost.epsilon == 1
        assert session.execute(TOP).cost.epsilon == 0
        for (word, _), (_, ends) in zip(answer.rows, answer.intervals, strict=True):
            assert ends is not None
            # Five groups: a unit changes each of them, at half of ε.
            assert ends[1] - ends[0] == 2 * answer.releases[1].margin
            assert abs(1_500 - 300 * int(word) - sum(ends) / 2) < 150


def test_groups_that_nobody_has_are_candidates_and_null_is_none(policy: Policy) -> None:
    little = replace(policy, budget=Budget(Fraction(1, 10**5), queries=1))
    shown = {
        row[0]
        for session in sessions(little, map(noise, range(30)))
        for row in session.execute(TOP).rows
    }
    assert None not in shown
    assert len(shown) > 50
    assert all(0 <= word <= 99 for word in shown if isinstance(word, int))


def test_under_replace_choices_are_half_as_sharp(policy: Policy) -> None:
    scales = []
    for neighbors in (Neighbors.ADD_REMOVE, Neighbors.REPLACE):
        changed = replace(policy, neighbors=neighbors)
        first, *_ = Session(changed).execute(f"EXPLAIN {TOP}").releases
        scales.append(first.scale)
    assert scales == [10, 20]


def test_explain_says_how_many_of_how_many(policy: Policy) -> None:
    shown = explain_screen(Session(policy).execute(f"EXPLAIN {TOP}"))
    assert "5 of 100 groups" in shown
    assert "the 5 largest of 100 groups are chosen by noisy numbers" in shown
