"""Attacks 21 to 23: noise that can be predicted, and what is done before it is added."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpdb.errors import DpdbError, StatementError
from dpdb.interfaces.cli import main as cli
from dpdb.policy.budget import Budget
from dpdb.session.session import Session
from tests.support.known_attacks import ROWS, people


class Added:
    """A source of noise that says what it is told."""

    private = True

    def __init__(self, *values: int):
        self.values = values

    def laplace(self, scale, size):
        return np.resize(np.array(self.values, dtype=np.int64), size)

    def below(self, bound):
        return bound // 2


def test_a21_noise_cannot_be_predicted(tmp_path, capsys):
    """Two sessions with the same stream, or one whose seed is known, have no noise."""
    query = "SELECT COUNT(*), SUM(pay) FROM t"
    policy = replace(people(tmp_path), budget=Budget(Fraction(1, 10**6), Fraction(0), 1))
    answers = {Session(policy).execute(query).rows for _ in range(5)}
    assert len(answers) == 5
    for text in ("SET seed = 1", "SET noise = 'seeded'", "SET teach = 'on'", "SET dp = 'off'",
                 "SET sensitivity = 'local'", "SET reveal = 'on'"):  # fmt: skip
        with pytest.raises(DpdbError):
            Session(policy).execute(text)
    assert cli.main([str(tmp_path / "t.csv"), "--seed", "1", "-c", query]) == 2
    assert capsys.readouterr().out == ""


def test_a22_noise_comes_before_rounding(tmp_path):
    """A true value rounded to tens, then noise of scale 1: which ten shows."""
    policy = people(tmp_path, ROWS[:12])
    answer = Session(policy, noise=Added(2)).execute("SELECT COUNT(*), ROUND(COUNT(*), -1) FROM t")
    assert answer.rows == ((14, 10),)
    answer = Session(policy, noise=Added(4)).execute("SELECT ROUND(COUNT(*), -1) FROM t")
    assert answer.rows == ((20,),)


def test_a23_rows_are_chosen_and_ordered_after_noise(tmp_path):
    """ORDER BY, LIMIT and HAVING on exact values choose rows that the noise then decorates."""
    policy = people(tmp_path)
    # 20 in Rome, 10 in Oslo, 0 in =cmd(); noise turns them round.
    noise = Added(-20, 0, 30)
    order = "SELECT city FROM t GROUP BY city ORDER BY COUNT(*)"
    session = Session(policy, noise=noise)
    assert session.execute(order).rows == (("Rome",), ("Oslo",), ("=cmd()",))
    assert session.execute(f"{order} DESC LIMIT 1").rows == (("=cmd()",),)
    having = "SELECT city FROM t GROUP BY city HAVING COUNT(*) > 5"
    assert session.execute(having).rows == (("Oslo",), ("=cmd()",))
    for refused in ("SELECT COUNT(*) FROM t TABLESAMPLE (10 PERCENT)",
                    "SELECT COUNT(*) FROM t ORDER BY age", "SELECT name FROM t LIMIT 1",
                    "SELECT COUNT(*) FROM t HAVING age > 3",
                    "SELECT COUNT(*) FROM (SELECT age FROM t LIMIT 5)"):  # fmt: skip
        with pytest.raises(StatementError):
            session.execute(refused)
