"""Attack 13: the same question in other words, and other questions in nearly the same."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpdb.errors import BudgetExceeded
from dpdb.ledger.protocol import Price
from dpdb.session.session import Session
from tests.support.known_attacks import DIFFERENT, REWORDINGS, asking, people, rich, with_delta


def test_a13_repeats_and_rewordings_are_free_and_tell_nothing_new(tmp_path):
    """The mean of a hundred noisy answers is the exact one."""
    session = Session(people(tmp_path))
    first = session.execute(REWORDINGS[0])
    assert not first.repeat
    for number in range(100):
        answer = session.execute(REWORDINGS[number % len(REWORDINGS)])
        assert answer.repeat
        assert answer.cost == Price()
        assert abs(answer.rows[0][0]) == abs(first.rows[0][0])
    assert answer.balance == first.balance
    assert session.execute(f"EXPLAIN {REWORDINGS[2]}").cost == Price()


def test_a13_different_questions_are_not_taken_for_repeats(tmp_path):
    """An answer given again to another question is wrong, and paid for by nobody."""
    session = Session(rich(people(tmp_path), epsilon=1000))
    rows = {}
    for query in DIFFERENT:
        answer = session.execute(query)
        assert not answer.repeat, query
        rows[query] = answer.rows
    for query in DIFFERENT:
        answer = session.execute(query)
        assert (answer.repeat, answer.rows) == (True, rows[query]), query
    never = session.execute("SELECT SUM(age) FROM t WHERE name NOT IN ('a', NULL)")
    assert (never.repeat, never.rows, never.releases) == (False, ((None,),), ())
    assert session.execute("SHOW BUDGET").balance.queries_left == 1000 - len(DIFFERENT)


def test_a13_fresh_noise_is_paid_for(tmp_path):
    session = Session(people(tmp_path))
    session.execute("SET repeats = 'fresh'")
    for left in range(9, -1, -1):
        assert session.execute("SELECT COUNT(*) FROM t").balance.queries_left == left
    with pytest.raises(BudgetExceeded):
        session.execute("SELECT COUNT(*) FROM t")


OTHERWISE = [
    asking("epsilon = 0.2"), asking("epsilon = 0.2000001"), asking("error = 30"),
    asking("error = 30.5, confidence = 0.96"), asking("relative_error = 0.5"),
    asking("relative_error = 0.4"), asking("relative_error = 0.5, confidence = 0.9"),
    asking("relative_error = 0.5, epsilon = 1"), asking("mechanism = 'gaussian', delta = 1e-9"),
    asking("mechanism = 'gaussian'"), asking("mechanism = 'gaussian', epsilon = 0.2"),
    asking("noise_index = [1, 3]", "COUNT(*), SUM(age) FROM t"),
    asking("noise_index = [1, 4]", "COUNT(*), SUM(age) FROM t"),
]  # fmt: skip
THE_SAME = [
    (asking("epsilon = 0.2"), asking("noise_index = [7], epsilon = 0.2")),
    (asking("error = 30"), asking("error = 3e1, confidence = 0.95")),
    (asking("mechanism = 'gaussian'"), asking("delta = 1e-8, mechanism = Gaussian")),
    (asking("epsilon = 0.3, mechanism = laplace, sensitivity = smooth"), asking("epsilon = 0.3")),
]
LESS = [
    (asking("epsilon = 0.3"), "SELECT COUNT(*) FROM t"),
    (asking("epsilon = 0.3"), asking("epsilon = 0.25")),
    (
        asking("mechanism = 'gaussian', epsilon = 0.2"),
        asking("mechanism = gaussian, epsilon = 0.15"),
    ),
]
"""Questions, and others that ask for no less noise: of one alone follows the same answer."""


def test_a13_options_draw_no_other_noise_for_nothing(tmp_path):
    """One question, asked with options that vary a little: each answer is paid for, or the same.

    A level of Laplace noise is paid for beyond the finest that was told of its statistic.
    """
    session = Session(with_delta(people(tmp_path)))
    spent, finest = Fraction(0), dict[str, Fraction]()
    for query in OTHERWISE:
        answer = session.execute(query)
        assert answer.repeat is not bool(answer.cost.epsilon), query
        loss = sum((release.epsilon for release in answer.releases), Fraction(0))
        for each in answer.releases:
            if each.mechanism == "laplace" and "relative_error" not in query:
                loss -= min(before := finest.get(each.aggregate, Fraction(0)), each.epsilon)
                finest[each.aggregate] = max(before, each.epsilon)
        assert answer.cost.epsilon == loss >= 0
        assert answer.cost.delta == sum(release.delta for release in answer.releases)
        spent += answer.cost.epsilon
    assert spent > sum(finest.values())
    assert session.balance.epsilon_left == 100 - spent
    for first, again in [*THE_SAME, *zip(OTHERWISE, OTHERWISE, strict=True)]:
        expected = session.execute(first).rows
        answer = session.execute(again)
        assert (answer.repeat, answer.rows) == (True, expected), again
    for again in (again for _, again in LESS):  # these may follow from several answers together
        answer = session.execute(again)
        assert all(release.recalled for release in answer.releases), again
        assert (answer.repeat, answer.rows) == (True, session.execute(again).rows), again
    assert session.balance.epsilon_left == 100 - spent - (Fraction(3, 10) - finest["count"])
    for first, again in LESS:
        alone = Session(with_delta(people(tmp_path)))
        expected = alone.execute(first).rows
        answer = alone.execute(again)
        assert (answer.repeat, answer.rows) == (True, expected), again
