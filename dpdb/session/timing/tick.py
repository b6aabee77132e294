"""The moments at which answers leave, so that they tell little about the rows.

Let T be the most time that the rows of one unit can add to a statement. An answer that is ready
after t seconds leaves at the first tick after t + U, where U is uniform on [0, tick) and secret.
The moment of the answer is a function of t + U. So the moments on two files that differ in one unit
have a total variation distance of at most T / tick, wherever t lies. The tick is ten times T at
least. Without U, whoever adds public work until t lies just before a tick learns from one answer
which of the two files is there.

Ticks are counted from the beginning of the statement: on a clock that all statements share, small
differences would add up until they are seen.

Where the policy says `timing = "noisy"`, answers leave after a noisy delay instead
(`privacy.delays`), of which a session has as many as it has queries.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable
from typing import Protocol

from dpdb.errors import BudgetExceeded
from dpdb.ledger.protocol import QueryLimit
from dpdb.privacy.delays import DELTA, EPSILON, STEPS, delay_law
from dpdb.privacy.noise.protocols import Noise

TICK = 0.01
"""The length of the shortest tick in seconds."""
_MULTIPLES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The lengths of ticks, as multiples of the shortest. One statement alone has ten at most; those
that are planned together, or that wait for others of a server, can have more.
"""
_LEAST = 0.001
"""The least T in seconds, whatever the plan: the shortest tick is ten times as long."""
_TICKS_TO_DROP = 50
"""The shortest ticks in one tick of a statement that is interrupted."""
_SECRETS = 2**53
"""The steps in which U is drawn."""
_SECOND, _MILLISECOND = 10**9, 10**6
"""In nanoseconds. Noisy moments are rounded up to milliseconds."""

Leaving = Callable[[float, float], float]
"""When an answer leaves that is ready after so many seconds, to which a unit adds at most so many.

Both moments are seconds since the statement began.
"""


def wait_to_leave(started: float, leaving: Leaving, unit_seconds: float) -> None:
    """Sleep until an answer leaves that is ready now; `started` is of the monotonic clock."""
    elapsed = time.monotonic() - started
    time.sleep(max(leaving(elapsed, max(unit_seconds, _LEAST)) - elapsed, 0.0))


def wait_to_drop(started: float) -> None:
    """Sleep until an interrupted statement ends, as an answer does, on a longer tick.

    An interrupt is noticed when the step ends that it comes in. Of which step that is, the files
    have a say, and a step can be longer than T.
    """
    tick, share = TICK * _TICKS_TO_DROP, _secret()
    wait_to_leave(started, lambda elapsed, _: _on_tick(elapsed, tick, share), 0.0)


class Moments(Protocol):
    """Decides when answers leave for which rows were looked at."""

    @property
    def limits(self) -> tuple[QueryLimit, ...]:
        """The limits that SHOW BUDGET shows."""
        ...

    def check(self) -> None:
        """Raise BudgetExceeded where no more answers may leave."""
        ...

    def drawn(self) -> Leaving:
        """Draw the secrets of an answer, before rows are looked at; raises as `check` does."""
        ...

    def notes(self, unit_seconds: float) -> tuple[str, ...]:
        """EXPLAIN's notes on when a statement's answer leaves."""
        ...


class Ticks:
    """Answers leave on ticks; any number of them may."""

    limits: tuple[QueryLimit, ...] = ()

    def check(self) -> None:
        """There is no limit."""

    def drawn(self) -> Leaving:
        """The first tick after t + U."""
        share = _secret()

        def leaving(elapsed: float, unit_seconds: float) -> float:
            needed = (each for each in _MULTIPLES if each * _LEAST >= unit_seconds)
            return _on_tick(elapsed, TICK * next(needed, _MULTIPLES[-1]), share)

        return leaving

    def notes(self, _: float) -> tuple[str, ...]:
        """None: ticks are short."""
        return ()


class NoisyMoments:
    """Answers leave after noisy delays, of which there are as many as a session has queries."""

    def __init__(self, answers: int, noise: Noise) -> None:
        self._answers, self._noise = answers, noise
        self._drawn = 0

    @property
    def limits(self) -> tuple[QueryLimit, ...]:
        """The number of answers whose moments are (EPSILON, DELTA)-private together."""
        name = f"answers at noisy moments (epsilon {EPSILON}, delta {float(DELTA):g})"
        return (QueryLimit(name, self._answers, self._drawn),)

    def check(self) -> None:
        """Raise BudgetExceeded where all delays have been drawn."""
        if self._drawn >= self._answers:
            raise BudgetExceeded(
                f"the noisy moments of this session are for {self._answers} answers, and all have "
                "been given",
                hint="repeats, and what follows from earlier answers, are free and leave at once",
            )

    def drawn(self) -> Leaving:
        self.check()
        self._drawn += 1
        law = delay_law(self._answers)
        delay = law.delay(int(self._noise.gaussian(law.variance, 1)[0]))

        def leaving(elapsed: float, unit_seconds: float) -> float:
            step = _step(unit_seconds)
            steps = -(-math.ceil(elapsed * _SECOND) // step) + delay
            return -(-steps * step // _MILLISECOND) * _MILLISECOND / _SECOND

        return leaving

    def notes(self, unit_seconds: float) -> tuple[str, ...]:
        """The law of the delay."""
        law, step = delay_law(self._answers), _step(max(unit_seconds, _LEAST)) / _MILLISECOND
        mean, deviation = law.offset * step, math.sqrt(law.variance) * step
        return (
            f"the answer leaves at a noisy moment: {mean:.0f} ms after it is ready in the mean,"
            f" standard deviation {deviation:.0f} ms",
        )


def _step(unit_seconds: float) -> int:
    """The nanoseconds of one step of noisy delays."""
    return math.ceil(unit_seconds / STEPS * _SECOND)


def _on_tick(ready: float, tick: float, share: float) -> float:
    """The first tick after `ready` and this share of a tick."""
    return math.ceil((ready + share * tick) / tick) * tick


def _secret() -> float:
    """A secret that is uniform on [0, 1)."""
    return secrets.randbelow(_SECRETS) / _SECRETS
