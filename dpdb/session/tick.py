"""Answers leave on a tick, so that the moment of an answer tells little about the rows.

Let T be the most time that the rows of one unit can add to a statement. An answer that is ready
after t seconds leaves at the first tick after t + U, where U is uniform on [0, tick) and secret.
The moment of the answer is a function of t + U. So the moments on two files that differ in one unit
have a total variation distance of at most T / tick, wherever t lies. The tick is ten times T at
least. Without U, whoever adds public work until t lies just before a tick learns from one answer
which of the two files is there.

Ticks are counted from the beginning of the statement: on a clock that all statements share, small
differences would add up until they are seen.
"""

from __future__ import annotations

import math
import secrets
import time

from dpdb.plan.plan import Plan

TICK = 0.01
"""The length of the shortest tick in seconds."""
_MULTIPLES = (1, 2, 5, 10)
"""The lengths of ticks, as multiples of the shortest."""
_SHORTEST = 0.01
"""The length of the shortest tick in seconds, whatever TICK is set to."""
_TICKS_TO_DROP = 50
"""The shortest ticks in one tick of a statement that is interrupted."""
_STEPS = 2**53
"""The steps in which U is drawn."""


def unit_seconds(_: Plan) -> float:
    """The most seconds that the rows of one unit can add to the work on a plan."""
    return 0.001


def wait_for_tick(started: float, unit_seconds: float = 0.0) -> None:
    """Sleep until the first tick after now + U; ticks are counted from `started`.

    `started` is a time of the monotonic clock.
    """
    needed = 10 * unit_seconds / _SHORTEST
    _wait(started, TICK * next((each for each in _MULTIPLES if each >= needed), _MULTIPLES[-1]))


def wait_to_drop(started: float) -> None:
    """Sleep until an interrupted statement may end, as `wait_for_tick` does, on longer ticks.

    An interrupt is noticed when the step ends that it comes in. Of which step that is, the files
    have a say, and a step can be longer than T.
    """
    _wait(started, TICK * _TICKS_TO_DROP)


def _wait(started: float, tick: float) -> None:
    secret = secrets.randbelow(_STEPS) / _STEPS * tick
    elapsed = time.monotonic() - started
    leaves = math.ceil((elapsed + secret) / tick) * tick
    time.sleep(max(leaves - elapsed, 0.0))
