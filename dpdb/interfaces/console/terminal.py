"""The terminal: its width, messages beside the answers, progress, and the type of `ask`."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from dpdb.errors import DpdbError, display_width, error_text, folded

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer


Ask = Callable[[str, "Completer | None"], str]
"""Asks a question and completes the reply; Ctrl-C and Ctrl-D raise KeyboardInterrupt."""


def tell(text: str) -> None:
    """Print a message to stderr, so that stdout has answers alone."""
    print(text, file=sys.stderr, flush=True)


def tell_error(statement: str, error: DpdbError) -> None:
    """Print an error to stderr; at a terminal its lines are folded to fit."""
    tell(error_text(statement, error, width() if sys.stderr.isatty() else None))


def width() -> int:
    """The present width of the window, in columns."""
    return shutil.get_terminal_size().columns


def height() -> int:
    """The present height of the window, in lines."""
    return shutil.get_terminal_size().lines


def paged(text: str) -> None:
    """Show a text in $PAGER, or less, which prints a text that fits the window."""
    import pydoc  # noqa: PLC0415 (slow, and for this alone)

    os.environ.setdefault("LESS", "FRX")
    pydoc.pager(text)


def is_too_wide(text: str) -> bool:
    """Whether a line of `text` does not fit into the window."""
    return max(map(display_width, text.split("\n"))) > width()


def fitted(text: str, columns: int) -> str:
    """`text` with its lines folded; what follows `name = ` stays to the right of it."""
    lines = []
    for line in text.split("\n"):
        name, equals, _ = line.partition(" = ")
        lines += folded(line, columns, hanging=" " * display_width(name + equals) if equals else "")
    return "\n".join(lines)


def cut(text: str, columns: int) -> str:
    """`text`, cut to fit into `columns` and then ended by an ellipsis."""
    if display_width(text) <= columns:
        return text
    start, used = "", 0
    for character in text:
        used += display_width(character)
        if used >= columns:
            break
        start += character
    return f"{start}…"


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
