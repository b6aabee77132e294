"""What looks at rows leaves a session on a tick, and nothing else waits, on a clock of the test's."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dpdb.errors import DpdbError, UsageError
from dpdb.policy.budget import Neighbors
from dpdb.policy.reading.reader import policy_for
from dpdb.session.session import Session
from dpdb.session.timing import gate

PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.csv"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, and after it how long was slept."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", now.append)
    return now


def test_answers_from_rows_leave_a_session_on_a_tick(clock: list[float]) -> None:
    Session(policy_for(PEOPLE)).execute("SELECT COUNT(*) FROM people")
    assert len(clock) == 2


@pytest.mark.parametrize("failure", [ValueError("a cell"), DpdbError("after the rows")])
def test_errors_behind_the_rows_leave_a_session_on_a_tick(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    session = Session(policy_for(PEOPLE))

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(session, "_answer", fail)
    with pytest.raises(DpdbError):
        session.execute("SELECT COUNT(*) FROM people")
    assert len(clock) == 2


AT_ONCE = [
    "SHOW BUDGET", "SET repeats = 'free'", "DESCRIBE people", "EXPLAIN SELECT SUM(age) FROM people",
    "SELECT nothing FROM people", "SELECT COUNT(*) FROM people WHERE FALSE",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 9) SUM(age) FROM people",
]  # fmt: skip


@pytest.mark.parametrize("text", AT_ONCE)
def test_what_looks_at_no_row_waits_for_nothing(clock: list[float], text: str) -> None:
    session = Session(policy_for(PEOPLE))
    with contextlib.suppress(DpdbError):
        session.execute(text)
    assert len(clock) == 1
    assert session._loaded_engine is None


def test_a_repeat_waits_for_nothing(clock: list[float]) -> None:
    """Its answer is in memory, noise and all."""
    session = Session(policy_for(PEOPLE))
    session.execute("SELECT COUNT(*) FROM people")
    assert session.execute("SELECT COUNT(*) AS n FROM people").repeat
    assert len(clock) == 2


def test_where_the_number_of_rows_is_public_asking_for_it_waits(clock: list[float]) -> None:
    """The file is read to count its rows, and how long that takes depends on what is in them."""
    policy = replace(policy_for(PEOPLE), neighbors=Neighbors.REPLACE)
    Session(policy).execute("EXPLAIN SELECT AVG(age) FROM people WHERE age IS NOT NULL")
    assert len(clock) == 1
    Session(policy).execute("EXPLAIN SELECT COUNT(*) FROM people")
    assert len(clock) == 2


def test_the_next_statement_is_let_in_after_the_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread cannot learn when an answer was ready by asking at the same time."""
    session = Session(policy_for(PEOPLE))
    held: list[bool] = []
    monkeypatch.setattr(time, "sleep", lambda _: held.append(session._gate._lock.locked()))
    session.execute("SELECT COUNT(*) FROM people")
    assert held == [True]


def test_a_price_waits_for_nothing(clock: list[float]) -> None:
    """It is told while somebody types, and reads no row."""
    Session(policy_for(PEOPLE)).quote("SELECT COUNT(*) FROM people")
    assert len(clock) == 1


def test_a_session_that_its_own_thread_enters_again_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a signal handler or a callback does; it must not wait for itself."""
    session = Session(policy_for(PEOPLE))
    refused: list[DpdbError] = []

    def ask_again(_: float) -> None:
        for ask in (session.execute, session.explain):
            with pytest.raises(DpdbError, match="its own thread") as caught:
                ask("SELECT COUNT(*) FROM people")
            refused.append(caught.value)

    monkeypatch.setattr(time, "sleep", ask_again)
    session.execute("SELECT COUNT(*) FROM people")
    assert len(refused) == 2
    assert session.execute("SELECT COUNT(*) FROM people").repeat


@pytest.mark.parametrize("text", [None, 1, b"SELECT 1"])
def test_a_statement_is_a_text(text: object) -> None:
    session = Session(policy_for(PEOPLE))
    for ask in (session.execute, session.explain, session.quote):
        with pytest.raises(UsageError) as caught:
            ask(text)  # type: ignore[arg-type]
        assert caught.value.hint is None
    for statements in ([text], "SELECT 1"):
        with pytest.raises(UsageError, match="a list of texts"):
            session.plan(statements)  # type: ignore[arg-type]


def test_teaching_mode_is_not_entered_later() -> None:
    session = Session(policy_for(PEOPLE))
    for name in ("teach", "settings", "policy"):
        with pytest.raises(AttributeError):
            setattr(session, name, True)
    for teach in (1, "no", None):
        with pytest.raises(UsageError, match="True or False"):
            Session(policy_for(PEOPLE), teach=teach)  # type: ignore[arg-type]


def test_nothing_is_said_of_a_price_that_was_not_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(policy_for(PEOPLE))

    def fail(*_: object) -> None:
        raise ValueError("a cell")

    monkeypatch.setattr(session, "_explained", fail)
    monkeypatch.setattr(session, "_plans", fail)
    for text in ("EXPLAIN SELECT COUNT(*) FROM people", "SELECT COUNT(*) FROM people"):
        with pytest.raises(DpdbError) as caught:
            session.execute(text)
        assert (caught.value.kind, caught.value.hint) == ("InternalError", None)


LONG = "CASE WHEN age > 64 THEN name ELSE '' END"
WORK = [
    "SELECT COUNT(*) FROM people",
    " OR ".join([f"SELECT COUNT(*) FROM people WHERE {LONG} LIKE '%a_b%'"] + [
        f"{LONG} LIKE '%c{number}_d%'" for number in range(20)]),
    f"SELECT AVG(age) FROM people WHERE age > (SELECT COUNT(*) FROM people WHERE {LONG} LIKE '_')",
    f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(relative_error = 0.1, epsilon = 0.9) COUNT(*) "
    f"FROM people WHERE {LONG} LIKE '%a_b%'",
]  # fmt: skip


@pytest.mark.parametrize("text", WORK)
def test_the_moment_follows_from_the_work_of_one_unit(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Subqueries' included, as EXPLAIN's plan has it."""
    session, noted = Session(policy_for(PEOPLE)), list[float]()
    monkeypatch.setattr(gate, "wait_to_leave", lambda _, __, unit: noted.append(unit))
    plan = session.execute(f"EXPLAIN {text}").plan
    session.execute(text)
    assert plan is not None
    assert noted == [plan.work.seconds]
    assert plan.work.seconds > 0


def test_the_moment_of_statements_drawn_together_is_that_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What one unit adds to each of them adds up."""
    texts = [
        f"SELECT SUM(age) FROM people WHERE {LONG} LIKE '%a_b%' AND zip = {zip_}"
        for zip_ in (31643, 80127)
    ]
    session, noted = Session(policy_for(PEOPLE)), list[float]()
    monkeypatch.setattr(gate, "wait_to_leave", lambda _, __, unit: noted.append(unit))
    plans = [session.execute(f"EXPLAIN {text}").plan for text in texts]
    session.plan(texts)
    for text in texts:
        session.execute(text)
    assert len(noted) == 1
    assert noted[0] >= max(plan.work.seconds for plan in plans if plan is not None)
