"""The console: what dot commands act on, at the prompt and in a batch of statements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, TextIO

from dpdb.answers.answer import Answer
from dpdb.answers.formats.render import FORMATS
from dpdb.errors import DpdbError, UsageError
from dpdb.interfaces.shell.entries import Sql
from dpdb.interfaces.shell.settings import Settings
from dpdb.interfaces.shell.terminal import tell
from dpdb.policy.catalog import Policy


class Console(ABC):
    """Runs statements, and shows their answers here or in a file."""

    interactive: ClassVar[bool]
    """Whether somebody types, and can be asked."""

    def __init__(self, policy: Policy, settings: Settings, inputs: Iterable[Path] = ()):
        self.policy = policy
        self.settings = settings
        beside = (path for table in policy.tables
                  for path in (table.path, table.path.with_suffix(".toml")))  # fmt: skip
        self._inputs = (*inputs, *beside)
        """The data and the policies, which no answer may overwrite."""
        self.answer: Answer | None = None
        """The last answer to a query."""
        self.file: TextIO | None = None
        """The file that answers go to; None for standard output."""
        self.reading: tuple[Path, ...] = ()
        """The files of statements that are being read, the outermost first."""
        self._once = False
        """Whether the file is for one answer alone."""

    @abstractmethod
    def execute(self, statement: Sql) -> bool:
        """Run one statement and show its answer or its error; returns whether it succeeded."""

    @abstractmethod
    def fail(self, error: DpdbError) -> None:
        """Show an error that no statement made."""

    def answer_text(self, answer: Answer) -> str:
        """The answer as text, in the mode that is set."""
        intervals = self.settings.is_on("intervals")
        return FORMATS[self.settings["mode"]](answer, intervals=intervals)

    def show(self, text: str) -> None:
        """Print to standard output, or into the file that answers go to."""
        try:
            print(text, file=self.file, flush=True)
        except OSError as error:
            if self.file is None:
                raise
            self.redirect("")
            tell(f"answers are shown here again: {error.strerror}")
        if self._once:
            self.redirect("")

    def redirect(self, name: str, *, once: bool = False) -> None:
        """Send answers, or with `once` the next one, to the file `name`; "" is here again."""
        file = self._opened(name) if name else None
        if self.file is not None:
            with suppress(OSError):  # what could not be written was said
                self.file.close()
        self.file, self._once = file, once

    def _opened(self, name: str) -> TextIO:
        path = Path(name)
        try:
            path = path.expanduser()
            kept = (each for each in self._inputs if each.exists())
            if path.exists() and any(path.samefile(each) for each in kept):
                raise UsageError(f"{name} is data or a policy, and is not overwritten")
            return path.open("w", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {name}: {error.strerror}") from None
        except (ValueError, RuntimeError):  # a NUL, or nobody's home
            raise UsageError(f"{name} is not the name of a file") from None
