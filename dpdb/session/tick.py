"""The tick on which answers leave, so that how long one took tells little of the rows."""

from __future__ import annotations

import time

TICK = 0.01
"""In seconds."""


def wait_for_tick(started: float) -> None:
    """Sleep to the end of the tick, counted from `started` on the monotonic clock."""
    time.sleep(-(time.monotonic() - started) % TICK)
