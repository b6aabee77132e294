"""Attack 7: no row makes a query fail, and failing is paid for."""

from __future__ import annotations

import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.session.session import Session
from tests.support.known_attacks import ROWS, TRAPS, people


@pytest.mark.parametrize("query", TRAPS)
def test_a07_no_row_makes_a_query_fail_and_failing_is_paid_for(tmp_path, query):
    """A query written to fail for one person's row only."""
    costs = []
    for rows in (ROWS, [*ROWS, "99,Zoe,33,0,Rome,true,2000-01-01"], [], ROWS[:1]):
        session = Session(people(tmp_path, rows))
        answer = session.execute(query)
        costs.append((answer.cost, answer.balance, answer.releases))
    assert costs == costs[:1] * 4


def test_a07_the_debit_comes_before_the_rows(tmp_path, monkeypatch):
    """Ctrl-C, or a crash, after the rows were read: what they could tell is paid for."""

    def interrupted(self, plan, slots):
        raise KeyboardInterrupt

    session = Session(people(tmp_path))
    monkeypatch.setattr(MemoryEngine, "exact", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.execute("SELECT COUNT(*) FROM t")
    monkeypatch.undo()
    assert session.execute("SHOW BUDGET").balance.queries_left == 9
