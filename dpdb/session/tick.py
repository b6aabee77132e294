"""Answers leave on a tick, so that the time one takes tells little about the rows.

Ticks are counted from the beginning of the statement. On a clock that all statements share, or with
several answers in one tick, small differences would add up until they are seen.
"""

from __future__ import annotations

import time

TICK = 0.01
"""The length of a tick in seconds."""


def wait_for_tick(started: float) -> None:
    """Sleep until a whole number of ticks after `started`, a time of the monotonic clock."""
    time.sleep(-(time.monotonic() - started) % TICK)
