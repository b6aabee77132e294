"""Attacks 17 to 19: on the budget, on prices, and on what is said beside an answer."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from fractions import Fraction

import pytest

from dpdb.errors import BudgetExceeded, InvalidOption, StatementError
from dpdb.interfaces.cli import main as cli
from dpdb.ledger.spending import MemoryLedger
from dpdb.policy.budget import Budget
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure
from dpdb.session.session import Session
from tests.support.charges import charged
from tests.support.known_attacks import (
    DIFFERENT,
    REWORDINGS,
    ROWS,
    TRAPS,
    asking,
    people,
    rich,
    with_delta,
)

BAD_EPSILONS = ["-10", "0", "NaN", "'nan'", "inf", "1e-320", "1e400", "1e999999999", "-1e999999999",
                "1e-999999999", "0.1 + 0.1", "1_000", "0x10", "10001", "TRUE", "NULL", "--1",
                "1/3"]  # fmt: skip


@pytest.mark.parametrize("epsilon", BAD_EPSILONS)
def test_a17_no_such_epsilon(tmp_path, epsilon):
    """A negative price fills the budget up, NaN passes every comparison, 1e-320 is free."""
    session = Session(people(tmp_path))
    started = time.monotonic()
    for text in (
        f"SET epsilon = {epsilon}",
        f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon}) COUNT(*) FROM t",
    ):
        with pytest.raises((InvalidOption, StatementError)):
            session.execute(text)
    assert time.monotonic() - started < 2
    assert session.execute("SHOW BUDGET").balance.epsilon_left == 1


@pytest.mark.parametrize("option", ["--epsilon", "--bounds", "--delta"])
@pytest.mark.parametrize("value", ["1e999999999", "1e-999999999", "nan", "-inf"])
def test_a17_no_such_option(tmp_path, option, value):
    """The same on the command line, in no time."""
    people(tmp_path)
    value = f"age=0:{value}" if option == "--bounds" else value
    started = time.monotonic()
    with pytest.raises(SystemExit) as left:
        sys.exit(cli.main([str(tmp_path / "t.csv"), "-c", "SHOW BUDGET", option, value]))
    assert left.value.code == 2
    assert time.monotonic() - started < 2


def test_a17_ten_tenths_are_one(tmp_path):
    """As doubles, ten times 0.1 is less than 1, and 0.1 + 0.2 more than 0.3."""
    session = Session(people(tmp_path))
    session.execute("SET epsilon = 0.1")
    for number in range(10):
        assert session.execute(f"SELECT COUNT(*) FROM t WHERE age > {number}").cost.queries == 1
    balance = session.execute("SHOW BUDGET").balance
    assert (balance.epsilon_left, balance.queries_left) == (0, 0)
    with pytest.raises(BudgetExceeded):
        session.execute("SELECT COUNT(*) FROM t")


def test_a17_three_thirds_are_one(tmp_path):
    policy = replace(people(tmp_path), budget=Budget(Fraction(1), Fraction(0), 3))
    session = Session(policy)
    for number in range(3):
        session.execute(f"SELECT COUNT(*), SUM(age), AVG(pay) FROM t WHERE age > {number}")
    assert session.execute("SHOW BUDGET").balance.epsilon_left == 0


def test_a17_a_refusal_takes_nothing(tmp_path):
    ledger = MemoryLedger(Budget(Fraction(1), Fraction(0), 2))
    for epsilon, queries in ((2, 1), (Fraction(1, 2), 3)):
        with pytest.raises(BudgetExceeded):
            ledger.charge(ComposedLoss.of(pure(Fraction(epsilon))), None, queries)
    assert ledger.balance.epsilon_left == 1
    session = Session(people(tmp_path))
    session.execute("SET epsilon = 0.6")
    session.execute("SELECT COUNT(*) FROM t")
    with pytest.raises(BudgetExceeded) as refused:
        session.execute("SELECT SUM(age) FROM t")
    assert all(part in str(refused.value) for part in ("0.6 requested", "0.4 left", "0.2"))
    session.execute("SET epsilon = 0.4")
    assert session.execute("SELECT SUM(age) FROM t").balance.epsilon_left == 0


WORKLOAD = [*DIFFERENT, *REWORDINGS, *TRAPS,
            "SELECT AVG(pay), VARIANCE(pay), MEDIAN(pay), MODE(city), COUNT(DISTINCT id) FROM t",
            "SELECT city, AVG(pay), COUNT(*) FROM t GROUP BY city HAVING COUNT(*) > 3",
            "SELECT COUNT(*) FROM t WHERE age > (SELECT AVG(age) FROM t WHERE age >"
            " (SELECT MEDIAN(age) FROM t)) AND pay < (SELECT AVG(pay) FROM t)"]  # fmt: skip


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_a17_what_is_charged_is_what_the_mechanisms_add_up_to(tmp_path, neighbors):
    """Overspending: a query whose releases lose more than its price."""
    policy = rich(people(tmp_path, ROWS, neighbors))
    session = Session(policy)
    spent = Fraction(0)
    for query in WORKLOAD:
        answer = session.execute(query)
        loss = charged(answer.releases)
        alone = Session(policy).execute(query)
        assert alone.cost.epsilon == charged(alone.releases), query
        # Filters that exclude each other share a price: see tests/system/test_parallel.py.
        assert answer.cost.epsilon <= (0 if answer.repeat else loss), query
        for release in answer.releases:
            assert (
                release.sensitivity == 0 or release.scale >= release.sensitivity / release.epsilon
            )
        spent += answer.cost.epsilon
    assert session.execute("SHOW BUDGET").balance.epsilon_left == 10_000 - spent


def test_a17_the_parts_of_an_index_are_the_whole(tmp_path):
    """1/3 and 1/7 and so on: in doubles they would leave something over, or take too much."""
    policy = replace(people(tmp_path), budget=Budget(Fraction(1), Fraction(0), 3))
    session = Session(policy)
    aggregates = "COUNT(*), SUM(age), SUM(pay), COUNT(name), SUM(id)"
    for number in range(3):
        index = f"noise_index = [3, 7, 0.1, 1e-6, {number + 11}]"
        answer = session.execute(asking(index, f"{aggregates} FROM t WHERE age > {number}"))
        assert answer.cost.epsilon == Fraction(1, 3)
    assert session.balance.epsilon_left == 0


def _of_the_text(notes):
    """The notes but for those on values that are only noise, or of few rows: noise decides these."""
    of_noise = (" is only noise", " is of few rows", " is unknown")
    return [note for note in notes if not any(words in note for words in of_noise)]


def test_a18_what_is_asked_for_has_a_price_of_its_own(tmp_path):
    """Whatever the rows are; only for a relative error the noisy answer has a say."""
    selects = {
        "error = 12": "city, COUNT(*), COUNT(age) FROM t GROUP BY city",
        "noise_index = [1, 5]": "COUNT(*), SUM(pay) FROM t WHERE name = 'Zoe'",
        "mechanism = 'gaussian'": "city, AVG(pay), COUNT(*) FROM t GROUP BY city",
        "sensitivity = 'smooth'": "city, MEDIAN(pay), MAX(age) FROM t GROUP BY city",
        "relative_error = 0.1": "COUNT(*) FROM t WHERE name = 'Zoe'",
    }
    found = []
    for rows in (ROWS, ROWS[:1], [], [*ROWS, "99,Zoe,33,0,Rome,true,2000-01-01"]):
        session = Session(with_delta(people(tmp_path, rows)))
        texts = [asking(options, select) for options, select in selects.items()]
        told = [session.execute(f"EXPLAIN {text}") for text in texts]
        answers = [session.execute(text) for text in texts[:-1]]
        every = (*told, *answers)
        found.append([(a.cost, a.releases, _of_the_text(a.notes), a.columns) for a in every])
        assert [a.cost for a in answers] == [a.cost for a in told[:-1]]
        assert session.execute(texts[-1]).cost.epsilon <= told[-1].cost.epsilon
    assert found == found[:1] * 4


def test_a18_the_price_is_a_function_of_the_text(tmp_path):
    """Charged for each group that is seen, the price tells which are there."""
    explained = set()
    for rows in (ROWS, ROWS[:1], [], ["1,a,1,1,Atlantis,maybe,"] * 50):
        session = Session(people(tmp_path, rows))
        promised = session.execute("EXPLAIN SELECT city, COUNT(*) FROM t GROUP BY city").cost
        answer = session.execute("SELECT city, COUNT(*) FROM t GROUP BY city")
        assert answer.cost == promised
        explained.add((promised, answer.balance, len(answer.rows)))
    assert len(explained) == 1


def test_a19_metadata_comes_from_the_policy(tmp_path):
    """Row counts, extremes and values that a catalogue or EXPLAIN would show."""
    shown = set()
    for rows in (ROWS, [], ["7777,Canary,77,777.75,Rome,true,1977-07-07"] * 7):
        session = Session(people(tmp_path, rows))
        texts = ("SHOW TABLES", "DESCRIBE t", "SHOW BUDGET", "EXPLAIN SELECT MAX(pay) FROM t",
                 "EXPLAIN SELECT COUNT(*) FROM t WHERE name = 'Canary'")  # fmt: skip
        shown.add(
            tuple((session.execute(text).rows, session.execute(text).releases) for text in texts)
        )
    assert len(shown) == 1
    assert "7777" not in str(shown)
