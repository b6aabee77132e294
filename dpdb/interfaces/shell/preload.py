"""What takes long to import is imported once the prompt is there.

In a thread of its own, because Ctrl-C reaches only the main one: numpy cannot
be imported again after an import that was broken off.
"""

from __future__ import annotations

from importlib import import_module
from threading import Event, Thread


class Preload(Thread):
    """Imports first what plans and prices, then what answers."""

    def __init__(self) -> None:
        super().__init__(name="warming")
        self._can_plan = Event()

    @property
    def can_plan(self) -> bool:
        """Whether a session can be made without a wait."""
        return self._can_plan.is_set()

    def run(self) -> None:
        import_module("dpdb.session.session")
        self._can_plan.set()
        for name in (
            "dpdb.engines.memory.engine",
            "dpdb.answers.rows",
            "dpdb.privacy.noise.exponential",
            "tabulate",
        ):
            import_module(name)

    def begin(self) -> None:
        """Start, if it has not been done."""
        if self.ident is None:
            self.start()

    def finish(self) -> None:
        """Wait until all is there; Ctrl-C ends the wait, not the import."""
        self.begin()
        self.join()
