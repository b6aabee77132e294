"""Modules that are slow to import are imported while the prompt is already there.

That happens in a thread, because Ctrl-C reaches only the main thread: after an import that was
broken off, numpy cannot be imported again.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from threading import Event, Thread


class Preload(Thread):
    """Imports the modules that plan and price first, then those that answer."""

    def __init__(self) -> None:
        super().__init__(name="preload")
        self._can_plan = Event()
        self._leaving = Event()

    @property
    def can_plan(self) -> bool:
        """Whether the modules that plan are imported, so that a session can be made at once."""
        return self._can_plan.is_set()

    def run(self) -> None:
        # What cannot be imported here is told by the statement that needs it.
        with suppress(ImportError, MemoryError, OSError):
            import_module("dpdb.session.session")
            self._can_plan.set()
            for name in (
                "dpdb.engines.memory",
                "dpdb.answers.tables.rows",
                "dpdb.privacy.noise.exponential",
            ):
                if not self._leaving.is_set():
                    import_module(name)

    def begin(self) -> None:
        """Start the thread, unless it was started before; where none starts, import all now."""
        if self.ident is not None or self.can_plan:
            return
        try:
            self.start()
        except RuntimeError:
            self.run()

    def finish(self) -> None:
        """Wait until all modules are imported; Ctrl-C ends the wait, not the import."""
        self.begin()
        self._wait()

    def leave(self) -> None:
        """Begin no other import, and wait for the present one: none may run while Python ends."""
        self._leaving.set()
        self._wait()

    def _wait(self) -> None:
        if self.ident is not None:
            self.join()
