"""The answers that a session was given, or an analyst of a lasting budget: listed again, free."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

import dpdb
from dpdb.answers.formats.render import as_list
from tests.support.lasting import opened_shop

pytestmark = pytest.mark.usefixtures("anywhere")

COUNT = "SELECT COUNT(*) AS n FROM t"
GROUPS = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
POLICY = """
[budget]
name = "shop"
epsilon = 10
queries = 10
[tables.t.columns]
a = { type = "integer", bounds = [0, 9], nullable = false }
g = { type = "text", values = ["u", "v", "w", "x", "y"], nullable = false }
d = { type = "date" }
"""
ROWS = "a,g,d\n1,x,2020-01-01\n2,y,2020-01-01\n3,y,2020-01-01\n"


@pytest.fixture
def shop() -> Iterator[Path]:
    with opened_shop(POLICY, ROWS) as path:
        yield path


@pytest.fixture
def policy(shop: Path) -> Path:
    """The same without a lasting budget."""
    shop.write_text(POLICY.replace('name = "shop"\n', ""))
    return shop


def test_a_session_lists_what_it_told(policy: Path) -> None:
    db = dpdb.connect(policy)
    assert db.answers() == ()
    count = db.execute(COUNT)
    db.execute(COUNT)  # a repeat is the same answer
    db.explain(GROUPS)
    db.execute("SHOW TABLES")
    with pytest.raises(dpdb.UnknownName):
        db.execute("SELECT b FROM t")
    groups = db.execute(GROUPS, epsilon=2)
    before = db.balance
    assert db.answers() == (count, groups)
    assert db.balance == before
    cells = [
        f"{row[1]} ± {high - row[1]}"
        if high - row[1] >= row[1] - low
        else f"{row[1]} ± {row[1] - low}"
        for row, (_, (low, high)) in zip(groups.rows, groups.intervals, strict=True)
    ]
    listed = as_list(db.answers())
    assert "g u, n " + cells[0] + "; g v, n " + cells[1] in listed
    assert "… 2 more" in listed
    assert [line.rsplit("| ")[-1] for line in listed.splitlines()[2:]] == ["ε 1", "ε 2"]


def test_an_analyst_lists_the_answers_of_earlier_sessions(shop: Path) -> None:
    first = dpdb.connect(shop)
    first.execute("SET epsilon = 0.5")
    count = first.execute(COUNT)
    groups = first.execute(GROUPS, epsilon=2)
    ledger = next(shop.parent.glob("*.ledger*"))
    before = ledger.read_bytes()
    later = dpdb.connect(shop)
    told = later.answers()
    assert [each.statement for each in told] == [COUNT, GROUPS]
    assert [each.rows for each in told] == [count.rows, groups.rows]
    assert [each.intervals for each in told] == [count.intervals, groups.intervals]
    assert [each.cost for each in told] == [count.cost, groups.cost]
    assert later.balance.epsilon_left == first.balance.epsilon_left
    assert later.balance.queries_left == 10
    assert ledger.read_bytes() == before


def test_a_longer_statement_than_a_record_holds_is_not_answered_as_another(shop: Path) -> None:
    db = dpdb.connect(shop)
    db.execute(f"{COUNT} WHERE a < 9")
    longer = f"{COUNT} WHERE a < 9{' ' * 1_000}AND a > 1"
    db.execute(longer)
    _, told = db.answers()
    assert longer.startswith(told.statement)
    assert told.statement.strip() == f"{COUNT} WHERE a < 9"
    assert told.rows == ()
    assert "not kept" in as_list([told])


def test_a_statement_is_read_as_it_was_then(shop: Path) -> None:
    """On its day, and not as one over a table that a later session defines."""
    past = f"{COUNT} WHERE d < CURRENT_DATE"
    first = dpdb.connect(shop)
    count = first.execute(past)
    first.execute("CREATE TEMP TABLE b AS SELECT g, COUNT(*) AS n FROM t GROUP BY g")
    first.execute("SELECT MAX(n) AS n FROM b")
    with mock.patch("time.time", return_value=time.time() + 10 * 86_400):
        later = dpdb.connect(shop)
        later.execute("CREATE TEMP TABLE b AS SELECT a, COUNT(*) AS n FROM t GROUP BY a")
        told = {each.statement: each.rows for each in later.answers()}
    assert told[past] == count.rows
    assert told.get("SELECT MAX(n) AS n FROM b", ()) == ()


def test_trial_answers_are_listed_by_their_own_session_alone(policy: Path) -> None:
    db = dpdb.connect(policy)
    real = db.execute(COUNT)
    db.execute("SET trial = on")
    db.execute(GROUPS)
    assert db.answers() == (real,)
    trial = db.trial()
    made_up = trial.execute(COUNT)
    assert trial.answers() == (made_up,)
    assert made_up.trial
    assert as_list(trial.answers()).startswith("-- trial")
