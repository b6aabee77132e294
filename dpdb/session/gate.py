"""The gate of a session: what leaves through it says nothing of a row, nor does the time it takes.

Statements that look at no row leave at once: repeats, EXPLAIN, SHOW, SET and refusals. How long
these take follows from the statements so far, their noisy answers and the policy.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

from dpdb.answers.answer import Answer
from dpdb.errors import DpdbError, Place, reportable
from dpdb.session.tick import wait_for_tick


class Gate:
    """Lets one statement into a session at a time, and its answer or its error out."""

    def __init__(self, *, timed: bool) -> None:
        self._timed = timed
        self._lock = Lock()
        self._ticks = False

    def opens_on_tick(self) -> None:
        """From here on the time of the statement may depend on rows, so it leaves on a tick."""
        self._ticks = self._timed

    def answer(self, text: str, execute: Callable[[str], Answer]) -> Answer:
        """The answer to the statement `text`; raises DpdbError, which says what statement failed.

        Where several statements are planned together `text` is empty, and the error says which one
        it was.

        The next statement is let in when this one has left: otherwise its time would tell when this
        one's answer was ready.
        """
        started = time.monotonic()
        with self._lock:
            self._ticks = False
            try:
                return execute(text)
            except Exception as error:
                raise _of_statement(text, reportable(error)) from None
            finally:
                if self._ticks:
                    wait_for_tick(started)


def _of_statement(text: str, error: DpdbError) -> DpdbError:
    """The error as one of this statement: of all of it, if the error knows no other place."""
    error.place = error.place or Place(1, 1)
    error.statement = text or error.statement
    return error
