"""Sessions that share an engine and a book, as those of a server's process do, in threads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from threading import Event, Lock, Thread
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dpdb.answers.answer import Answer
from dpdb.errors import UsageError
from dpdb.ledger.book import state
from dpdb.ledger.protocol import PinnedData
from dpdb.plan.physical.plan import Plan
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.noise.sources import seeded
from dpdb.session.backends import Backends, _Turns, _TurnsAtEngine
from dpdb.session.session import Session
from tests.support.lasting import book_of, opened_shop, verify

POLICY = """
[budget]
name = "shared"
epsilon = 1000
queries = 1000
[tables.t.columns]
a = { type = "integer", bounds = [0, 9] }
b = { type = "number", bounds = [0, 1] }
"""
ROWS = "a,b\n" + "".join(f"{i % 10},{i / 100}\n" for i in range(100))
NAMES = ("alice", "bob", "carol", "dave")
ASKED = [
    "SELECT COUNT(*) FROM t WHERE a = {}",
    "SELECT AVG(b) FROM t WHERE a <> {}",
    "SELECT a > {}, SUM(b) FROM t GROUP BY 1",
    "SELECT MEDIAN(b) FROM t WHERE a > {}",
]


@pytest.fixture
def path() -> Iterator[Path]:
    with opened_shop(POLICY, ROWS) as opened:
        yield opened


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The table of each time that a file is read."""
    seen = list[str]()
    monkeypatch.setattr(PinnedData, "check", lambda _, table, digest: seen.append(table))
    return seen


def asked(session: Session, number: int) -> list[Answer]:
    return [session.execute(text.format(number)) for text in ASKED]


def test_answers_are_those_of_sessions_alone(path: Path) -> None:
    """Four analysts, each with noise of an own seed, ask at once; nothing is charged twice."""
    policy = read_policy(path)
    backends = Backends(policy)
    sharing = [
        Session(policy, noise=seeded(i), analyst=name, backends=backends)
        for i, name in enumerate(NAMES)
    ]
    with ThreadPoolExecutor(len(NAMES)) as threads:
        together = list(threads.map(asked, sharing, range(len(NAMES))))
    spent = Fraction(0)
    for i, answers in enumerate(together):
        alone = asked(Session(policy, noise=seeded(i), analyst="eve"), i)
        assert [a.rows for a in answers] == [a.rows for a in alone]
        assert [a.intervals for a in answers] == [a.intervals for a in alone]
        spent += 2 * sum(answer.cost.epsilon for answer in answers)
    assert verify(book_of(path))[-1].entry.totals.loss.epsilon == spent


def test_a_column_is_read_once_and_stays_for_others(path: Path, reads: list[str]) -> None:
    policy = read_policy(path)
    backends = Backends(policy)
    first, second = (Session(policy, analyst=name, backends=backends) for name in NAMES[:2])
    first.execute("SELECT AVG(b) FROM t")
    first.close()
    second.execute("SELECT AVG(b) FROM t WHERE b > 0.5")
    assert len(reads) == 1


def test_a_charge_of_this_process_is_not_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of another process is, once for all sessions."""
    read = list[int]()
    region_in = state.region_in

    def noted(book: Any, number: int, *given: Any) -> Any:
        read.append(number)
        return region_in(book, number, *given)

    monkeypatch.setattr(state, "region_in", noted)
    policy = read_policy(path)
    backends = Backends(policy)
    sharing = [Session(policy, analyst=name, backends=backends) for name in NAMES]
    for i, session in enumerate(sharing):
        session.execute(f"SELECT COUNT(*) FROM t WHERE a = {i}")
    assert read == []
    Session(policy, analyst="eve").execute("SELECT COUNT(*) FROM t WHERE a = 9")
    read.clear()
    for session in sharing:
        session.execute("SHOW BUDGET")
    assert len(read) == 1


def test_a_budget_of_a_session_is_not_shared(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(ROWS)
    path = tmp_path / "t.toml"
    path.write_text("[tables.t.columns]\na = { type = 'integer', bounds = [0, 9] }\n")
    policy = read_policy(path)
    backends = Backends(policy)
    Session(policy, backends=backends)
    with pytest.raises(UsageError, match="for one session"):
        Session(policy, backends=backends)


class _Slow:
    """An engine whose results are there when it is let go on."""

    def __init__(self) -> None:
        self.begun, self.goes_on = Event(), Event()

    def exact(self, plan: Plan, slots: object) -> tuple[()]:
        self.begun.set()
        assert self.goes_on.wait(10)
        return ()


class _Door:
    """A lock that says when somebody waits for it."""

    def __init__(self) -> None:
        self._lock, self.waits = Lock(), Event()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.waits.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_who_waits_is_told_what_a_unit_adds_to_others_turns() -> None:
    def plan(seconds: float) -> Plan:
        return cast("Plan", SimpleNamespace(work=SimpleNamespace(seconds=seconds)))

    slow, door = _Slow(), _Door()
    turns = _Turns(cast("Lock", door))
    waited: dict[str, list[float]] = {"first": [], "second": []}
    first, second = (
        _TurnsAtEngine(cast("Any", slow), turns, waited[name].append) for name in waited
    )
    one = Thread(target=first.exact, args=(plan(0.25), {}))
    other = Thread(target=second.exact, args=(plan(0.5), {}))
    one.start()
    assert slow.begun.wait(10)
    other.start()
    assert door.waits.wait(10)
    slow.goes_on.set()
    one.join()
    other.join()
    assert waited == {"first": [0.0], "second": [0.25]}
    third = _TurnsAtEngine(cast("Any", slow), turns, waited["first"].append)
    third.exact(plan(0), {})
    assert waited["first"] == [0.0, 0.0]
