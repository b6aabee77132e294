"""The console: what dot commands act on, at the prompt and in a batch of statements."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TextIO

from dpdb.answers.answer import Answer
from dpdb.answers.formats.footer import footer
from dpdb.answers.formats.render import FORMATS, as_vertical
from dpdb.errors import DpdbError, UsageError, paid_for
from dpdb.interfaces.shell.entries import Command, Sql
from dpdb.interfaces.shell.settings import ShellSettings
from dpdb.interfaces.shell.terminal import fitted, is_too_wide, tell, width
from dpdb.ledger.protocol import FREE
from dpdb.policy.catalog import Policy
from dpdb.policy.csv_format import unpacked_name
from dpdb.policy.storage import data_files

if TYPE_CHECKING:
    from dpdb.session.session import Session

Entry = Command | Sql | DpdbError
"""What a file has: a command, a statement, or something that is neither, as the error in it."""


class OutputLost(OSError):
    """Standard output takes no answer any more, and so there is nothing left to do."""


class Console(ABC):
    """Runs statements, and shows their answers here or in a file."""

    interactive: ClassVar[bool]
    """Whether somebody types, and can be asked."""

    def __init__(
        self,
        policy: Policy,
        settings: ShellSettings,
        inputs: Iterable[Path] = (),
        *,
        restricted: bool = False,
    ):
        self.restricted = restricted
        """Whether nothing that is typed leads to other files and programs."""
        self.policy = policy
        self.settings = settings
        data = [path for table in policy.tables for path in data_files(table.path)]
        policies = [unpacked_name(path).with_suffix(".toml") for path in data]
        ledgers = [] if policy.lasting is None else [policy.lasting.ledger]
        self._inputs = (*inputs, *data, *policies, *ledgers)
        """The data, the policies, the statements and the ledger: no answer may overwrite them."""
        self.answer: Answer | None = None
        """The last answer to a query."""
        self.file: TextIO | None = None
        """The file that answers go to; None for standard output."""
        self.reading: tuple[Path, ...] = ()
        """The files of statements that are being read, the outermost first."""
        self._once = False
        """Whether the file is for one answer alone."""

    @property
    @abstractmethod
    def session(self) -> Session:
        """The session that answers statements."""

    @abstractmethod
    def execute(self, statement: Sql) -> bool:
        """Run one statement and show its answer or its error; returns whether it succeeded."""

    @abstractmethod
    def fail(self, error: DpdbError) -> None:
        """Show an error that no statement made."""

    def planned(self, todo: Iterable[Entry], *, now: bool = False) -> Iterator[Entry]:
        """The entries of a file; where SET plan = on holds, or `now`, the rest is planned together.

        Where the plan is refused, the error is all that is left.
        """
        waiting = iter(todo)
        for entry in waiting:
            if now or self.session.settings.plans_batches:
                rest = [entry, *waiting]
                refusal = self._plan(rest)
                yield from rest if refusal is None else [refusal]
                return
            yield entry

    def _plan(self, entries: Sequence[Entry]) -> DpdbError | None:
        """Plan the statements among the entries together and show the plan; gives a refusal."""
        statements = []
        for entry in entries:
            if isinstance(entry, DpdbError):
                return entry
            if isinstance(entry, Sql):
                statements.append(entry)
        try:
            answer = self.session.plan([statement.text for statement in statements])
        except DpdbError as error:
            failed = next((each for each in statements if each.text == error.statement), None)
            if failed is None:
                return error
            text, presentable = failed.presentable(error)
            presentable.statement = text
            return presentable
        if answer.rows:
            self.show(self.answer_text(answer))
        return None

    @property
    def room(self) -> int | None:
        """The width of the window that answers are shown in; None for a file or a pipe."""
        shown = self.file is None and sys.stdout.isatty()
        return width() if shown else None

    def answer_text(self, answer: Answer) -> str:
        """The answer as text in the mode that is set; in a window, what is for people fits."""
        mode, intervals = self.settings["mode"], self.settings.is_on("intervals")
        shown, below = FORMATS[mode](answer, intervals=intervals), footer(answer)
        if self.room is None or mode not in ("table", "vertical"):
            return shown
        table = shown.removesuffix(below)
        if (answer.rows or answer.explain) and is_too_wide(table):
            vertical = as_vertical(answer, intervals=intervals)
            table = fitted(vertical.removesuffix(below), self.room)
        return table + fitted(below, self.room)

    def shown(self, answer: Answer) -> str:
        """The answer as text; an error on the way says that it was paid for, if it was."""
        with paid_for(charged=not answer.explain and answer.cost != FREE):
            return self.answer_text(answer)

    def show(self, text: str) -> None:
        """Print to standard output, or into the file that answers go to."""
        try:
            print(text, file=self.file, flush=True)
        except OSError as error:
            if self.file is None:
                raise OutputLost(error.errno, error.strerror) from error
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
                raise UsageError(f"{name} is read by dpdb, and is not overwritten")
            return path.open("w", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {name}: {error.strerror}") from None
        except (ValueError, RuntimeError):  # a NUL, or nobody's home
            raise UsageError(f"{name} is not the name of a file") from None
