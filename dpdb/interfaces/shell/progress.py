"""Time as people see it: a long load shows how far it is."""

from __future__ import annotations

import sys
import time

PATIENCE = 0.5
"""Seconds a load may take before it shows progress."""


class Progress:
    """How far a long load has come, on one line of the terminal that goes away."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Count the patience from now on."""
        self._started = time.monotonic()
        self._shown = False

    def __call__(self, fraction: float) -> None:
        if time.monotonic() - self._started >= PATIENCE:
            self._shown = True
            _line(f"loading {fraction:4.0%}")
        if fraction >= 1:
            self.clear()

    def clear(self) -> None:
        """Take the line away, whether or not the load came to its end."""
        if self._shown:
            self._shown = False
            _line("")


def _line(text: str) -> None:
    print(f"\r{text:<14}\r", end="", file=sys.stderr, flush=True)
