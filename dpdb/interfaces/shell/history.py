"""The history of entries, in a file that only its owner can read."""

from __future__ import annotations

import os
from contextlib import suppress

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from dpdb.policy.output_files import xdg_home


def open_history() -> History:
    """The history in the XDG state directory; where no file can be made, one in memory."""
    path = xdg_home("STATE", ".local/state") / "history"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The file gets its permissions before it gets any text, so others can never read it.
        file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        os.fchmod(file, 0o600)
        os.close(file)
    except OSError:
        return InMemoryHistory()
    return _LenientHistory(path)


class _LenientHistory(FileHistory):
    """A history whose file cannot be written, as on a full disk, without an error."""

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(string)
