"""The progress of a long load, shown at the terminal."""

from __future__ import annotations

import sys
import time

PATIENCE = 0.5
"""The seconds that a load may take before it shows progress."""


class ProgressLine:
    """Shows the progress of a long load on one line of the terminal, and then clears the line."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin a new load: its `PATIENCE` counts from now."""
        self._started = time.monotonic()
        self._shown = False

    def __call__(self, fraction: float) -> None:
        if time.monotonic() - self._started >= PATIENCE:
            self._shown = True
            _line(f"loading {fraction:4.0%}")
        if fraction >= 1:
            self.clear()

    def clear(self) -> None:
        """Clear the line, whether or not the load is complete."""
        if self._shown:
            self._shown = False
            _line("")


def _line(text: str) -> None:
    print(f"\r{text:<14}\r", end="", file=sys.stderr, flush=True)
