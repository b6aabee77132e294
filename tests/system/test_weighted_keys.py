"""Found keys of people with many: by weights where a public rule says that fewer people do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Policy
from dpdb.session.session import Session
from tests.support.audited import noise
from tests.support.exactly import write

POLICY = """
[budget]
epsilon = 1
delta = 1e-6
queries = 1
[tables.t]
unit = "who"
rows_per_unit = {rows}
[tables.t.columns]
who = {{ type = "integer" }}
word = {{ type = "text" }}
x = {{ type = "integer", bounds = [0, 9] }}
"""
KEYS = "SELECT word FROM t GROUP BY word"
COUNTS = "SELECT word, COUNT(DISTINCT who) FROM t GROUP BY word"


def opened(folder: Path, rows: int, people: int = 400) -> Policy:
    """Every person has `rows` words, of which the first ten are those of everybody."""
    lines = [f"{who},w{word if word < 10 else 100 * who + word},{word % 10}"
             for who in range(people) for word in range(rows)]  # fmt: skip
    text = "\n".join(["who,word,x", *lines]) + "\n"
    return write(folder, "t", text, POLICY.format(rows=rows))


def mechanism(policy: Policy, text: str) -> str:
    return Session(policy).execute(f"EXPLAIN {text}").releases[0].mechanism


@pytest.mark.parametrize(
    ("rows", "keys", "counts"),
    [(1, "threshold", "threshold"), (2, "threshold", "threshold"),
     (5, "weighted keys", "threshold"), (12, "weighted keys", "weighted keys")],
)  # fmt: skip
def test_the_rule_is_public(tmp_path: Path, rows: int, keys: str, counts: str) -> None:
    """By rows for a person; a count that a threshold tells needs a share of its own."""
    policy = opened(tmp_path, rows, people=1)
    assert (mechanism(policy, KEYS), mechanism(policy, COUNTS)) == (keys, counts)
    replaced = replace(policy, neighbors=Neighbors.REPLACE)
    assert mechanism(replaced, KEYS) == "threshold"
    assert mechanism(replace(policy, minimum_units=10), KEYS) == "threshold"
    least = KEYS.replace(
        "SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(min_privacy_units_per_group = 5)"
    )
    assert mechanism(policy, least) == "threshold"


def test_words_of_many_are_found_and_words_of_one_are_not(tmp_path: Path) -> None:
    """400 people need 166 for a word; by a threshold 658 would be needed."""
    policy = opened(tmp_path, 50)
    everybodys = {f"w{word}" for word in range(10)}
    for run in range(5):
        answer = Session(policy, noise=noise(run)).execute(KEYS)
        assert {row[0] for row in answer.rows} == everybodys
    explained = explain_screen(Session(policy).execute(f"EXPLAIN {KEYS}"))
    assert "from about 166 units on, if each has 50 groups" in explained
    session = Session(policy, noise=noise(9))
    counted = session.execute(COUNTS)
    assert [each.epsilon for each in counted.releases] == [Fraction(1, 2)] * 2
    assert counted.cost.epsilon == 1
    for (word, _), (_, ends) in zip(counted.rows, counted.intervals, strict=True):
        assert word in everybodys
        assert ends is not None
        assert ends[1] - ends[0] > 100


@pytest.mark.parametrize("composition", [Composition.PURE, Composition.ZCDP])
def test_what_is_charged_is_what_the_mechanism_loses(
    tmp_path: Path, composition: Composition
) -> None:
    policy = opened(tmp_path, 50, people=2)
    budget = Budget(Fraction(1), Fraction(1, 10**6), 3, composition)
    session = Session(replace(policy, budget=budget), noise=noise(1))
    explained = session.execute(f"EXPLAIN {KEYS}")
    assert explained.plan is not None
    [release] = explained.plan.releases
    session.execute(KEYS)
    charged = session._ledger.balance.sums
    assert release.mechanism.loss.rho <= charged.rho
    assert release.mechanism.loss.rho_delta <= charged.rho_delta
    assert release.mechanism.loss.epsilon <= charged.epsilon
    assert session.execute(KEYS).cost.epsilon == 0
