"""The console: what dot commands act on, at the prompt and in a batch of statements."""

from __future__ import annotations

import errno
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dpdb.answers.answer import Answer
from dpdb.answers.formats.footer import footer
from dpdb.answers.formats.render import FORMATS, Format, as_vertical
from dpdb.errors import DpdbError, UsageError, paid_for, printable
from dpdb.interfaces.console.entries import Command, Sql
from dpdb.interfaces.console.settings import ShellSettings
from dpdb.interfaces.console.terminal import fitted, is_too_wide, tell, width
from dpdb.ledger.protocol import FREE
from dpdb.policy.catalog import Policy
from dpdb.policy.output_files import OutputFile, files_of_policy

if TYPE_CHECKING:
    from dpdb.session.connect import AnySession


Entry = Command | Sql | DpdbError
"""An entry of a file: a command, a statement, or an error for a text that is neither."""


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
        bounded: Collection[str] = (),
        restricted: bool = False,
        force: bool = False,
    ):
        self.restricted = restricted
        """Whether nothing that is typed leads to other files and programs."""
        self.policy = policy
        self.settings = settings
        self._inputs = (*inputs, *files_of_policy(policy))
        """The data, the policies, the statements and the ledger: no answer may overwrite them."""
        self._bounded = bounded
        """The columns whose bounds come from the command line."""
        self._force = force
        """Whether answers may take the place of files that dpdb did not write."""
        self.answer: Answer | None = None
        """The last answer to a query."""
        self.file: OutputFile | None = None
        """The file that answers go to; None for standard output."""
        self.lost = False
        """Whether an answer is not where it was to go."""
        self.reading: tuple[Path, ...] = ()
        """The files of statements that are being read, the outermost first."""
        self.typed: list[str] = []
        """The entries typed in this session."""
        self.pending = ""
        """The text that the next entry begins with."""
        self._once = False
        """Whether the file is for one answer alone."""

    @property
    @abstractmethod
    def session(self) -> AnySession:
        """The session that answers statements."""

    @abstractmethod
    def execute(self, statement: Sql) -> bool:
        """Run one statement and show its answer or its error; returns whether it succeeded."""

    @abstractmethod
    def fail(self, error: DpdbError) -> None:
        """Show an error that no statement made."""

    def asked(self) -> bool:
        """Build a query by questions and run it, where somebody can be asked."""
        raise NotImplementedError

    def edited(self, text: str) -> str:
        """The text after its user has edited it, where somebody sits at a terminal."""
        raise NotImplementedError

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

    @property
    def format(self) -> Format:
        """The format that the setting `mode` names."""
        return FORMATS[self.settings["mode"]]

    def answer_text(self, answer: Answer) -> str:
        """The answer in the format that is set; in a window, what is for people fits."""
        screen = self.format.screen(answer, self._bounded, self.room or 80)
        if screen is not None:
            return screen
        intervals = self.settings.is_on("intervals")
        shown, below = self.format(answer, intervals=intervals), footer(answer)
        if self.room is None or not self.format.fits_windows:
            return shown
        table = shown.removesuffix(below)
        if answer.rows and is_too_wide(table):
            vertical = as_vertical(answer, intervals=intervals)
            table = fitted(vertical.removesuffix(below), self.room)
        return table + fitted(below, self.room)

    def shown(self, answer: Answer) -> str:
        """The answer as text; an error on the way says that it was paid for, if it was."""
        with paid_for(charged=not answer.explain and answer.cost != FREE):
            return self.answer_text(answer)

    def show(self, text: str) -> None:
        """Print to standard output, or into the file that answers go to.

        An answer that cannot be written there was paid for all the same, and is shown here.
        """
        if self.file is None:
            _print(text)
            return
        try:
            self.file.write(f"{text}\n".encode("utf-8", "backslashreplace"))
        except OSError as error:
            self.lost = True
            tell(f"cannot write {printable(str(self.file.path))}: {error.strerror}")
            self.redirect("")
            tell("answers are shown here again")
            _print(text)
        if self._once:
            self.redirect("")

    def redirect(self, name: str, *, once: bool = False) -> None:
        """Send answers, or with `once` the next one, to the file `name`; "" is here again.

        The file takes its place when answers go elsewhere.
        """
        kept = (*self._inputs, *self.reading)
        file = OutputFile(Path(name), kept, force=self._force) if name else None
        before, self.file, self._once = self.file, file, once
        if before is not None:
            try:
                before.close()
            except UsageError as error:
                self.lost = True
                self.fail(error)


def _print(text: str) -> None:
    """Print to standard output; where it takes no answer, an answer is shown beside it."""
    try:
        print(text, flush=True)
    except OSError as error:
        if error.errno != errno.EPIPE:
            tell(text)
        raise OutputLost(error.errno, error.strerror) from error
