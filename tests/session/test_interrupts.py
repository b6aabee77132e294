"""Whoever interrupts a statement learns nothing of its work, whenever that is and however long."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dpdb
from dpdb.engines.memory import MemoryEngine
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session.purchases.memory import Memory
from dpdb.session.session import Session
from dpdb.session.timing import gate, tick
from tests.support.lasting import book_of, opened_shop

POLICY = """
[budget]
name = "shop"
epsilon = 100
delta = 1e-6
queries = 50
[tables.t]
unit = "u"
rows_per_unit = 20
[tables.t.columns]
u = { type = "integer" }
a = { type = "integer", bounds = [0, 9], nullable = false }
g = { type = "text", values = ["x", "y"], nullable = false }
w = { type = "text" }
"""
COUNT = "SELECT COUNT(*) FROM t"
ACCURATE = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(relative_error = 0.2, epsilon = 9) COUNT(*) FROM t"
)
STATEMENTS = (
    "SELECT g, AVG(a), COUNT(*) FROM t GROUP BY g",
    ACCURATE,
    "SELECT MEDIAN(a) FROM t WHERE a > (SELECT AVG(a) FROM t)",
    "SELECT MAX(n) FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g) s",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 9, delta = 1e-7) w, COUNT(*) FROM t GROUP BY w",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(bounds = 'find') g, AVG(a) FROM t GROUP BY g",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(rows_per_unit = 'find') COUNT(*) FROM t",
    "SELECT COUNT(DISTINCT w) FROM t",
    "SELECT a, g, COUNT(*) FROM t WHERE a IN (5, 7) GROUP BY CUBE (a, g)",
)  # fmt: skip
PLANNED = ("SELECT SUM(a) FROM t WHERE g = 'x'", "SELECT COUNT(*) FROM t WHERE g = 'x'")
SHORT, LONG = 1, 200
HEADER, EQUAL = "u,a,g,w\n", "1,5,x,é\n" * 100
PARTS = 60
"""So many parts of a statement are interrupted."""
DPDB = str(Path(dpdb.__file__).parent)


@pytest.fixture(scope="module")
def shop() -> Iterator[Path]:
    with opened_shop(POLICY, HEADER + "1,5,x,é\n2,3,y,é\n3,7,y,f\n" * 50) as path:
        yield path


@dataclass
class Steps:
    """Counts the calls of functions of dpdb, and interrupts one of them."""

    work: int
    """How many calls the engine makes besides."""
    stop: int = 0
    """The call that is interrupted; 0 for none."""
    calls: int = 0
    began: int = 0
    """The number of calls before the engine was asked."""
    read: bool = False
    left: bool = False
    """Whether the tick was waited for."""
    trace: tuple[object, int] = (None, 0)
    """What the interrupt comes from, and how deep its traceback is."""

    def __enter__(self) -> Steps:
        self.patch = pytest.MonkeyPatch()
        waits = gate.wait_to_leave

        def worked(whole: Callable[..., Any]) -> Callable[..., Any]:
            def working(*arguments: Any) -> Any:
                self.read, self.began = True, self.began or self.calls
                for _ in range(self.work):
                    tick.Ticks().check()
                found = whole(*arguments)
                for _ in range(self.work):
                    tick.Ticks().check()
                return found

            return working

        def waiting(*arguments: Any) -> None:
            waits(*arguments)
            self.left = True

        for each in (MemoryEngine.exact, MemoryEngine.key_counts):
            self.patch.setattr(MemoryEngine, each.__name__, worked(each))
        self.patch.setattr(gate, "wait_to_leave", waiting)
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        self.patch.undo()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # it can come in what does this

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(DPDB):
            self.calls += 1
            if self.calls == self.stop:
                sys.setprofile(None)
                raise KeyboardInterrupt


def state(session: Session, text: str, path: Path | None) -> tuple[object, ...]:
    """What can be seen once a statement was interrupted, before anything else is asked."""
    kept = () if path is None else len([*book_of(path).walk_kept(pinned(session))])
    explained = session.execute(f"EXPLAIN {text}")
    limits = session.execute("SHOW BUDGET").rows
    history = [(each.statement, each.price) for each in session._ledger.history()] if path else []
    return explained.cost, explained.repeat, session.balance, limits, history[-4:], kept


def pinned(session: Session) -> bytes:
    assert session._ledger.pinned is not None
    return session._ledger.pinned.key


def run(policy: Policy, texts: tuple[str, ...], steps: Steps) -> Session:
    """Ask until the interrupt comes."""
    session = Session(policy)
    if len(texts) > 1:
        session.plan(texts)
    with steps:
        try:
            for text in texts:
                session.execute(text)
        except KeyboardInterrupt as interrupt:
            steps.trace = interrupt.__context__, len(traceback.extract_tb(interrupt.__traceback__))
    return session


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a finalizer
@pytest.mark.parametrize("texts", [*((each,) for each in STATEMENTS), PLANNED])
def test_an_interrupt_at_every_step_leaves_the_same_state(
    shop: Path, texts: tuple[str, ...]
) -> None:
    """Before the tick what was asked is charged for, and nothing of it is kept."""
    policy = replace(read_policy(shop), lasting=None)
    seen = set()
    for work in (SHORT, LONG):
        run(policy, texts, Steps(work))
        run(policy, texts, first := Steps(work))
        for stop in range(first.began, first.calls + 1, max(first.calls // PARTS, 1)):
            steps = Steps(work, stop)
            session = run(policy, texts, steps)
            if steps.read and not steps.left:
                seen.add(str((steps.trace, *state(session, texts[0], None))))
    assert len(seen) == 1
    assert "repeat=True" not in str(seen)


@pytest.mark.parametrize(
    ("sent", "text"), [(signal.SIGINT, COUNT), (signal.SIGKILL, COUNT), (signal.SIGKILL, ACCURATE)]
)
def test_a_signal_leaves_the_same_ledger(sent: signal.Signals, text: str) -> None:
    """The command line is at work, or has done it and waits for its tick."""
    seen = []
    for seconds in (0, 60):
        with opened_shop(POLICY, HEADER + EQUAL) as path:
            before = path.read_bytes()
            words = [sys.executable, "-m", "tests.support.stubbed", f"busy:{seconds}", str(path)]
            with subprocess.Popen([*words, "-c", text], stderr=subprocess.PIPE, text=True) as child:
                assert child.stderr is not None
                assert child.stderr.readline() == "at work\n"
                time.sleep(0.3)
                child.send_signal(sent)
                said = child.stderr.read()
            session, found = Session(read_policy(path)), [*path.parent.iterdir()]
            assert before == path.read_bytes()
            kept = [*book_of(path).walk_kept(pinned(session))]
            assert not kept
            assert session.balance.queries_left == 50
            sizes = {file.name: file.stat().st_size for file in found}
            seen.append((child.returncode, said, sizes, state(session, text, path)))
    assert seen[0] == seen[1]
    assert seen[0][0] == (130 if sent is signal.SIGINT else -signal.SIGKILL)


STOPPED = """
import signal, sys
import dpdb
from dpdb.engines.memory import MemoryEngine
from dpdb.session.purchases.memory import Memory
exact, keep = MemoryEngine.exact, Memory.keep
def stopped(*arguments):
    signal.raise_signal(signal.SIGTSTP)
    print("works", flush=True)
    return exact(*arguments)
def kept(*arguments):
    print("keeps", flush=True)
    return keep(*arguments)
MemoryEngine.exact, Memory.keep = stopped, kept
session = dpdb.connect(sys.argv[1])
for count in range(2):
    session.execute(f"SELECT COUNT(*) FROM t WHERE a > {count}")
    print("answered", flush=True)
"""


def test_a_stop_takes_place_when_the_statement_ends(shop: Path) -> None:
    """A process that is stopped while its answer waits would show that when it goes on."""
    words = [sys.executable, "-c", STOPPED, str(shop)]
    # A group of its own, as processes of a group without a terminal's shell are never stopped.
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, process_group=0) as child:
        assert child.stdout is not None
        try:
            for _ in range(2):
                _, status = os.waitpid(child.pid, os.WUNTRACED)
                assert os.WIFSTOPPED(status)
                os.set_blocking(child.stdout.fileno(), False)
                assert child.stdout.read() == "works\nkeeps\n"
                os.set_blocking(child.stdout.fileno(), True)
                child.send_signal(signal.SIGCONT)
                assert child.stdout.readline() == "answered\n"
        finally:
            child.kill()


def test_an_interrupt_after_the_tick_waits_until_the_answer_is_kept(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real one, in the main thread; what it says nothing of is there for nothing."""
    session, keep = Session(replace(read_policy(shop), lasting=None)), Memory.keep

    def interrupted(*arguments: Any) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return keep(*arguments)

    monkeypatch.setattr(Memory, "keep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.execute(COUNT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert session.execute(COUNT).repeat


def test_a_second_interrupt_does_not_show_when_the_first_was_noticed(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is interrupted ends on a tick of its own, whatever comes until then."""
    session, slept = Session(replace(read_policy(shop), lasting=None)), list[float]()

    def interrupted(*_: object) -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    def sleep(seconds: float) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        slept.append(seconds)

    monkeypatch.setattr(MemoryEngine, "exact", interrupted)
    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        session.execute(COUNT)
    assert len(slept) == 1
    assert session.balance.queries_left == 49
    assert not session.execute(f"EXPLAIN {COUNT}").repeat


def test_whoever_waits_for_a_thread_s_statement_is_interrupted_alone(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement of the other thread goes on, and no signal handler is set there."""
    session, exact, handlers = Session(replace(read_policy(shop), lasting=None)), [], []
    whole = MemoryEngine.exact

    def noted(*arguments: Any) -> Any:
        handlers.append(signal.getsignal(signal.SIGINT))
        return whole(*arguments)

    monkeypatch.setattr(MemoryEngine, "exact", noted)
    thread = threading.Thread(target=lambda: exact.append(session.execute(COUNT)))
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]
    assert exact[0].rows == session.execute(COUNT).rows


@dataclass
class Clock:
    """A clock of the test's, and an interrupt at one of its moments."""

    stop: float
    now: float = 0.0

    def pass_by(self, seconds: float, steps: int = 1) -> None:
        """Work, or sleep, so long; an interrupt is noticed when the step ends that it comes in."""
        for _ in range(steps):
            before, self.now = self.now, self.now + seconds / steps
            if before <= self.stop < self.now:
                raise KeyboardInterrupt


@pytest.mark.parametrize("text", [COUNT, ACCURATE])
def test_an_interrupt_at_a_moment_tells_nothing_of_how_long_the_work_was(
    shop: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """State and moment of the end are the same, as both works' answers leave on the same tick."""
    policy, exact = replace(read_policy(shop), lasting=None), MemoryEngine.exact
    monkeypatch.setattr(tick, "TICK", 0.01)
    monkeypatch.setattr(tick.secrets, "randbelow", lambda most: most // 2)
    outcomes = set()
    for stop in range(-1, 25):
        seen = set()
        for work in (0.0005, 0.0045):
            clock, session = Clock(stop / 1000), Session(policy)
            monkeypatch.setattr(time, "monotonic", lambda clock=clock: clock.now)
            monkeypatch.setattr(time, "sleep", clock.pass_by)

            def working(*arguments: Any, clock: Clock = clock, work: float = work) -> Any:
                clock.pass_by(work, 4)
                return exact(*arguments)

            monkeypatch.setattr(MemoryEngine, "exact", working)
            with contextlib.suppress(KeyboardInterrupt):
                session.execute(text)
            explained = session.execute(f"EXPLAIN {text}")
            assert session.balance.queries_left == 49
            seen.add((round(clock.now, 6), explained.repeat))
        assert len(seen) == 1
        outcomes |= seen
    assert outcomes == {(0.01, True), (0.5, False)}
