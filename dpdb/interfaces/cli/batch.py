"""A batch: statements and dot commands from arguments, files or a pipe, and the exit code."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.errors import PERHAPS, STAYS_PAID, DpdbError, SetupError, reportable
from dpdb.interfaces.console.commands import KNOWN, run
from dpdb.interfaces.console.console import Console, Entry
from dpdb.interfaces.console.entries import Sql, entries
from dpdb.interfaces.console.scripts import statements
from dpdb.interfaces.console.settings import ShellSettings
from dpdb.interfaces.console.terminal import tell, tell_error
from dpdb.policy.catalog import Policy
from dpdb.policy.output_files import OutputFile

if TYPE_CHECKING:
    from dpdb.session.connect import AnySession


class Batch(Console):
    """The console of a batch: answers alone on standard output, everything else on stderr."""

    interactive = False

    def __init__(
        self,
        policy: Policy,
        settings: ShellSettings,
        session: AnySession,
        inputs: Iterable[Path],
        *,
        bounded: Collection[str] = (),
        restricted: bool = False,
        force: bool = False,
    ):
        super().__init__(
            policy, settings, inputs, bounded=bounded, restricted=restricted, force=force
        )
        self.code = 0
        """The gravest exit code so far."""
        self._session = session
        self._begun: set[OutputFile | None] = set()
        """The outputs that have an answer, so that a blank line comes before the next one."""
        self._hopeless = False
        """Whether something other than a statement failed, so that none can succeed."""

    def run_all(self, todo: Iterable[Entry], *, stop: bool, planned: bool = False) -> None:
        """Run entries, `planned` together first; with `stop` up to the first that fails."""
        try:
            for entry in self.planned(todo, now=planned):
                if not run(self, entry) and (stop or self._hopeless):
                    return
        except EOFError:  # .quit
            return

    @property
    def session(self) -> AnySession:
        return self._session

    def execute(self, statement: Sql) -> bool:
        started, queries = time.monotonic(), 0
        try:
            queries = self._session.balance.queries_left
            answer = self._session.execute(statement.text)
            shown = self.shown(answer)
        except Exception as error:
            self._refuse(statement, reportable(error))
            return False
        except KeyboardInterrupt:
            if self._session.is_remote:
                tell(f"cancelled; {PERHAPS}")
                raise
            spent = self._session.balance.queries_left < queries
            tell(f"cancelled; {STAYS_PAID if spent else 'nothing was spent'}")
            raise
        if answer.query and not answer.explain:
            self.answer = answer
        self.show(shown)
        if self.settings.is_on("timer"):
            tell(f"{time.monotonic() - started:.2f} s")
        return True

    def _refuse(self, statement: Sql, error: DpdbError) -> None:
        # In a variable of the frame that it came through, the error would keep the session alive,
        # and with it the transaction on a server.
        self.code = max(self.code, error.exit_code)
        self._hopeless = isinstance(error, SetupError)
        self._report(*statement.presentable(error))

    def fail(self, error: DpdbError) -> None:
        self.code = max(self.code, error.exit_code)
        self._report(error.statement, error)

    def show(self, text: str) -> None:
        spaced = self.file in self._begun and self.format.spaced
        self._begun.add(self.file)
        super().show(f"\n{text}" if spaced else text)

    def _report(self, text: str, error: DpdbError) -> None:
        """Print an error to stderr, and among the answers where their format writes errors."""
        if self.format.error is not None:
            super().show(self.format.error(text, error))
        tell_error(text, error)


def scripted(options: list[tuple[str, str]]) -> Iterator[Entry]:
    """The entries of -c and -f in the order given; without any, those of standard input."""
    for option, value in options or [("-f", "-")]:
        yield from entries(value) if option == "-c" else statements(value, KNOWN)
