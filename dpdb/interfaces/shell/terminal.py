"""The terminal: how wide it is, saying what is no answer, and what puts questions."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable

from prompt_toolkit.completion import Completer
from wcwidth import wcswidth, wcwidth

Ask = Callable[[str, Completer | None], str]
"""Puts a question, with completion of the reply; Ctrl-C and Ctrl-D raise KeyboardInterrupt."""


def tell(text: str) -> None:
    """Say what is no answer."""
    print(text, file=sys.stderr, flush=True)


def width() -> int:
    """How many columns the window has now."""
    return shutil.get_terminal_size().columns


def is_too_wide(text: str) -> bool:
    """Whether a line of `text` does not fit into the window."""
    return max(map(wcswidth, text.split("\n"))) > width()


def cut(text: str, columns: int) -> str:
    """`text`, or as much of it as fits into `columns` with an ellipsis."""
    if wcswidth(text) <= columns:
        return text
    kept, used = "", 0
    for character in text:
        used += wcwidth(character)
        if used >= columns:
            break
        kept += character
    return f"{kept}…"
