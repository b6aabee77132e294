"""What was typed, kept for the next session, for nobody else to read."""

from __future__ import annotations

import os
from contextlib import suppress

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from dpdb.interfaces.shell.settings import xdg_home


def open_history() -> History:
    """The history in the XDG state directory; of this session only if there can be none."""
    path = xdg_home("STATE", ".local/state") / "history"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made before it is written, so that it is never open to others.
        file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        os.fchmod(file, 0o600)
        os.close(file)
    except OSError:
        return InMemoryHistory()
    return _LenientHistory(path)


class _LenientHistory(FileHistory):
    """A full disk is no reason not to answer."""

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(string)
