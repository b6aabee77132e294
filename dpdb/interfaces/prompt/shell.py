"""Modules that are slow to import are imported while the prompt is already there.

That happens in a thread, because Ctrl-C reaches only the main thread: after an import that was
broken off, numpy cannot be imported again.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from dpdb.answers.answer import Answer
from dpdb.errors import PERHAPS, DpdbError, UsageError, reportable
from dpdb.interfaces.console.console import Console
from dpdb.interfaces.console.entries import Sql
from dpdb.interfaces.console.settings import ShellSettings
from dpdb.interfaces.console.terminal import Ask, ProgressLine, height, paged, tell, tell_error
from dpdb.ledger.protocol import Balance
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Policy
from dpdb.policy.numbers import decimal

if TYPE_CHECKING:
    from dpdb.session.connect import AnySession


class Preload(Thread):
    """Imports the modules that plan and price first, then those that answer.

    None of them is needed where a server answers.
    """

    def __init__(self, *, remote: bool) -> None:
        super().__init__(name="preload")
        self._remote = remote
        self._can_plan = Event()
        self._leaving = Event()

    @property
    def can_plan(self) -> bool:
        """Whether the modules that plan are imported, so that a session can be made at once."""
        return self._can_plan.is_set()

    def run(self) -> None:
        if self._remote:
            self._can_plan.set()
            return
        # The statement that needs a module tells that it cannot be imported.
        with suppress(ImportError, MemoryError, OSError):
            import_module("dpdb.session.session")
            import_module("dpdb.answers.intervals.noise_tails")  # by which a price has its ±
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


class _Quotes:
    """Prices that a server is asked for while somebody types: the last text first, in a thread."""

    def __init__(self, ask: Callable[[str], Answer | DpdbError]):
        self._ask = ask
        self._known: dict[str, Answer | DpdbError] = {}
        self._wanted: tuple[str, Callable[[], None]] | None = None
        self._lock = Lock()
        self._asking = False

    def of(self, text: str, told: Callable[[], None]) -> Answer | DpdbError | None:
        """The price, or None, and a call of `told` once it is known."""
        with self._lock:
            if text in self._known:
                return self._known[text]
            self._wanted = text, told
            if not self._asking:
                self._asking = True
                Thread(target=self._run, name="prices", daemon=True).start()
        return None

    def forget(self) -> None:
        """Ask for all prices anew, as they may have changed."""
        with self._lock:
            self._known = {}

    def _run(self) -> None:
        while True:
            with self._lock:
                known, wanted, self._wanted = self._known, self._wanted, None
                if wanted is None:
                    self._asking = False
                    return
            text, told = wanted
            quote = self._ask(text)
            known[text] = quote
            told()


class Shell(Console):
    """The console at a terminal: it knows prices beforehand, and asks before large ones."""

    interactive = True

    def __init__(
        self,
        policy: Policy,
        settings: ShellSettings,
        ask: Ask,
        open_session: Callable[[ProgressLine], AnySession],
        *,
        bounded: Collection[str] = (),
        inputs: Iterable[Path] = (),
        restricted: bool = False,
        force: bool = False,
        remote: bool = False,
    ):
        """With `remote` a server answers."""
        super().__init__(
            policy, settings, inputs, bounded=bounded, restricted=restricted, force=force
        )
        self.ask = ask
        self.preload = Preload(remote=remote)
        self._quotes = _Quotes(self._explained) if remote else None
        self._open_session = open_session
        self._loaded = False
        """Whether a query was answered, and so the file is read."""
        self._progress = ProgressLine()
        self.explained = lru_cache(maxsize=64)(self._explained)
        """The answer of EXPLAIN to a SELECT, or the error in it; remembered while one types."""

    @cached_property
    def session(self) -> AnySession:
        """The session, made when first needed, as its imports take longer than the prompt."""
        return self._open_session(self._progress)

    @property
    def on_trial(self) -> bool:
        """Whether the next statement is answered from made-up rows."""
        return self.policy.is_trial or ("session" in self.__dict__ and self.session.on_trial)

    @property
    def balance(self) -> Balance:
        """The budget that is left."""
        if "session" not in self.__dict__:
            return Balance.after(self.policy.budget)
        return self.session.balance

    @property
    def last_balance(self) -> Balance:
        """The budget for the toolbar, for which no server is waited for."""
        return self.session.last_balance if "session" in self.__dict__ else self.balance

    def quote(
        self, text: str, told: Callable[[], None] = lambda: None
    ) -> Answer | DpdbError | None:
        """`explained(text)`, for the toolbar; None where that would take long.

        What a server says comes later, with a call of `told`.
        """
        if not (text and self.preload.can_plan):
            return None
        return self.explained(text) if self._quotes is None else self._quotes.of(text, told)

    def _explained(self, text: str) -> Answer | DpdbError:
        try:
            if self.policy.neighbors is Neighbors.REPLACE and not self._loaded:
                return self.session.quote(text)
            return self.session.execute(f"EXPLAIN {text}")
        except DpdbError as error:
            return error

    def execute(self, statement: Sql, *, confirmed: bool = False) -> bool:
        """Run one statement; without `confirmed`, the user is asked before a large price."""
        before, text = self.balance, statement.text
        try:
            self.preload.finish()
            if not (confirmed or self._agreed(text)):
                return False
            started = time.monotonic()
            self._progress.restart()
            answer = self.session.execute(text)
            shown = self.shown(answer)
        except Exception as error:
            tell_error(*statement.presentable(reportable(error)))
            return False
        except KeyboardInterrupt:
            self._progress.clear()
            tell(f"cancelled; {PERHAPS}" if self._quotes else _cancelled(before, self.balance))
            return False
        finally:
            self.explained.cache_clear()
            if self._quotes is not None:
                self._quotes.forget()
        if answer.query and not answer.explain:
            self.answer = answer
            self._loaded = True
        self.show(shown)
        if self.settings.is_on("timer"):
            tell(f"{time.monotonic() - started:.2f} s")
        return True

    def edited(self, text: str) -> str:
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        with TemporaryDirectory(prefix="dpdb-") as folder:
            path = Path(folder) / "statement.sql"
            path.write_text(text, encoding="utf-8")
            try:
                subprocess.run([*shlex.split(editor), str(path)], check=True)  # noqa: S603 (typed)
            except (OSError, ValueError, subprocess.SubprocessError):
                raise UsageError(f"{editor} failed", hint="EDITOR=nano dpdb FILE.csv") from None
            return path.read_text(encoding="utf-8", errors="replace")

    def show(self, text: str) -> None:
        if self.room and self.settings.is_on("pager") and len(text.split("\n")) >= height():
            paged(text)
        else:
            super().show(text)

    def asked(self) -> bool:
        from dpdb.interfaces.prompt.questions import ask_query  # noqa: PLC0415 (it is rarely used)

        text = ask_query(self.ask, self.policy, self.explained)
        return text is None or self.execute(Sql(text), confirmed=True)

    def fail(self, error: DpdbError) -> None:
        tell_error(error.statement, error)

    def _agreed(self, text: str) -> bool:
        """Whether to run the query; the user is asked where it takes over half of the ε left."""
        if not self.settings.is_on("confirm"):
            return True
        quote = self.explained(text)
        if not isinstance(quote, Answer):
            return True
        cost, left = quote.cost.epsilon, quote.balance.epsilon_left
        if not left / 2 < cost <= left or not quote.balance.queries_left:
            return True
        question = f"This takes ε {decimal(cost)} of the ε {decimal(left)} left. Run it? [y/N] "
        return self.ask(question, None).strip().casefold() in ("y", "yes")

    def summary(self) -> str:
        """The summary of the session: queries and ε spent, in one line."""
        balance = self.balance
        budget = balance.budget
        queries = budget.queries - balance.queries_left
        return (
            f"{queries} of {budget.queries} queries asked, "
            f"ε {decimal(balance.epsilon_spent, 6)} of {decimal(budget.epsilon)} spent."
        )


def _cancelled(before: Balance, after: Balance) -> str:
    spent = after.epsilon_spent - before.epsilon_spent
    if not spent and before.queries_left == after.queries_left:
        return "cancelled; nothing was spent"
    return f"cancelled; the ε {decimal(spent, 6)} it was debited stays spent"
