"""The gate of a session: what leaves through it says nothing of a row, nor does the time it takes.

Statements that look at no row leave at once: repeats, EXPLAIN, SHOW, SET and refusals. How long
these take follows from the statements so far, their noisy answers and the policy.

Whoever interrupts a statement at a moment of their own choice learns nothing of its work:

- What is drawn from rows is handed out on a tick and not before (`Gate.reading`), so nothing of it
  is kept in memory or on the disk before. A statement that is interrupted, or killed, before its
  tick has been charged for, and nothing else. From the tick on, all that follows is a function of
  noisy values.
- An interrupt (SIGINT) before the tick drops the statement. The error says nothing of where the
  work was, and the statement ends on a tick of its own: Python notices an interrupt when the step
  ends that it comes in. An interrupt from the tick on is raised when the answer has been kept.
- A stop from the terminal (SIGTSTP) takes place when the statement ends. A process that was stopped
  while its answer waited for a tick would show it at once when it goes on, and otherwise work.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from types import FrameType, TracebackType

from dpdb.answers.answer import Answer
from dpdb.errors import DpdbError, Place, UsageError, of_trial, reportable
from dpdb.ledger.protocol import QueryLimit
from dpdb.session.timing.tick import Leaving, Moments, wait_to_drop, wait_to_leave

_ONE_INTERRUPT = 1.0
"""The seconds in which interrupts are taken for one."""


class Gate:
    """Lets one statement into a session at a time, and its answer or its error out."""

    def __init__(self, moments: Moments, *, timed: bool, trial: bool = False) -> None:
        """A gate of a trial marks all that leaves."""
        self._trial = trial
        self._timed = timed
        self._moments = moments
        self._lock = _Alone()
        self._interrupts = _Interrupts()
        self._closed = False
        self._started = 0.0
        self._leaving: Leaving | None = None
        """When the statement leaves, if rows were looked at since it began, or since its tick."""
        self._unit_seconds = 0.0
        """The most seconds that one unit's rows can have added since then."""

    @property
    def limits(self) -> tuple[QueryLimit, ...]:
        """The limits on answers for which rows are looked at, besides the budget's."""
        return self._moments.limits if self._timed else ()

    def notes(self, unit_seconds: float) -> tuple[str, ...]:
        """EXPLAIN's notes on when the answer leaves to a statement for which rows are looked at."""
        return self._moments.notes(unit_seconds) if self._timed else ()

    def check(self) -> None:
        """Refuse a statement for which rows are looked at, where too many were."""
        if self._timed and self._leaving is None:
            self._moments.check()

    def opens_on_tick(self, unit_seconds: float = 0.0) -> None:
        """From here on the time of the statement may depend on rows, so it leaves on a tick."""
        if not self._timed:
            return
        if self._leaving is None:
            leaving = self._moments.drawn()
            self._interrupts.hold()
            self._leaving = leaving
        self._unit_seconds += unit_seconds

    @contextmanager
    def reading(self, unit_seconds: float) -> Iterator[None]:
        """Look at rows within; what comes of it is there on a tick and not before."""
        self.opens_on_tick(unit_seconds)
        yield
        self._wait()

    def close(self) -> None:
        """Let no more statements in, once the one that is being answered has left."""
        with self._lock:
            self._closed = True

    def answer(self, text: str, execute: Callable[[str], Answer]) -> Answer:
        """The answer to the statement `text`; raises DpdbError, which says what statement failed.

        Where several statements are planned together `text` is empty, and the error says which one
        it was.

        The next statement is let in when this one has left: otherwise its time would tell when this
        one's answer was ready.
        """
        if not isinstance(text, str):
            raise UsageError("a statement is a text")
        started = time.monotonic()
        with self._lock, self._interrupts:
            if self._closed:
                raise UsageError("the session is closed", hint="dpdb.connect(…) makes another")
            self._started, self._leaving, self._unit_seconds = started, None, 0.0
            try:
                return self._left(text, execute)
            except Exception:
                raise
            except BaseException as interrupt:
                if self._leaving is None:
                    raise
                # Its traceback, and the error that it came in, would tell where the work was.
                dropped = interrupt.with_traceback(None)
            self._interrupts.ignore()
            wait_to_drop(started)
            dropped.__context__ = None
            try:
                raise dropped
            finally:
                del dropped  # or it would keep its own frames, and with them the session

    def _left(self, text: str, execute: Callable[[str], Answer]) -> Answer:
        """The answer, or an error, which leave on a tick if rows were looked at."""
        try:
            answer = execute(text)
        except Exception as error:
            self._wait()
            # A name for what is raised would hold its own frames, and with them the session.
            raise _of_statement(text, reportable(error), trial=self._trial) from None
        self._wait()
        return Answer.of_trial(answer) if self._trial else answer

    def _wait(self) -> None:
        """Wait for a tick if rows were looked at; from then on the statement is not interrupted."""
        if self._leaving is not None:
            wait_to_leave(self._started, self._leaving, self._unit_seconds)
            self._interrupts.ignore()
            self._leaving, self._unit_seconds = None, 0.0


class _Interrupts:
    """SIGINT while a statement looks at rows: before the tick it raises KeyboardInterrupt.

    A second one right after the first raises nothing, as it would show when the first was noticed;
    a later one does, as Python ignores what is raised in a finalizer. Interrupts after the tick are
    raised at the end. In other threads, and where somebody has set another handler, all is left as
    it is.

    A stop waits for the end in any case.
    """

    def __init__(self) -> None:
        self._held = self._raises = self._came = False
        self._stops = self._stopped = False
        """Whether stops come here, and whether one did."""
        self._raised = -math.inf
        """When an interrupt was raised last."""

    def __enter__(self) -> None:
        self._came = False

    def hold(self) -> None:
        """From here on interrupts come here; the first of them is raised."""
        if threading.current_thread() is not threading.main_thread():
            return
        if not self._held and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._held = True
            signal.signal(signal.SIGINT, self._interrupt)
        if not self._stops and signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL:
            self._stops, self._stopped = True, False
            signal.signal(signal.SIGTSTP, self._stop)
        self._raises = True

    def ignore(self) -> None:
        """From here on interrupts wait for the end of the statement."""
        self._raises = False

    def __exit__(self, kind: object, *_: object) -> None:
        if self._stops:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            self._stops = False
            if self._stopped:
                os.kill(os.getpid(), signal.SIGTSTP)
        if self._held:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._held = False
            if self._came and kind is not KeyboardInterrupt:
                raise KeyboardInterrupt

    def _stop(self, _: int, __: FrameType | None) -> None:
        self._stopped = True

    def _interrupt(self, _: int, __: FrameType | None) -> None:
        if not self._raises:
            self._came = True
        elif time.monotonic() - self._raised > _ONE_INTERRUPT:
            self._raised = time.monotonic()
            raise KeyboardInterrupt


class _Alone:
    """A lock that refuses its own thread: what holds it would wait for itself for ever.

    A signal handler, or a function that an answer calls, may run in the middle of a statement.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._held = False

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._held:
            self._lock.release()
            raise UsageError(
                "the session is answering a statement, and its own thread asks another",
                hint="a signal handler or a callback can ask when the answer is there",
            )
        self._held = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._held = False
        self._lock.release()

    def locked(self) -> bool:
        """Whether a statement is being answered."""
        return self._held


def _of_statement(text: str, error: DpdbError, *, trial: bool) -> DpdbError:
    """The error as one of this statement: of all of it, if the error knows no other place."""
    error.place = error.place or Place(1, 1)
    error.statement = text or error.statement
    return of_trial(error) if trial else error
