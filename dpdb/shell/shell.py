"""What the prompt and its dot commands act on: a session, settings, a place for answers."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TextIO

from wcwidth import wcswidth

from dpdb.answer import Answer
from dpdb.errors import DpdbError
from dpdb.ledger import Balance
from dpdb.policy import Neighbors, Policy, decimal
from dpdb.shell import commands
from dpdb.shell.entry import Command, entries
from dpdb.shell.explain import tree
from dpdb.shell.pace import Progress, wait_for_tick
from dpdb.shell.render import FORMATS, error_text
from dpdb.shell.settings import Settings
from dpdb.shell.warming import Warming

if TYPE_CHECKING:
    from dpdb.session import Session

Ask = Callable[[str], str]
"""Puts a question to whoever sits at the terminal."""


class Shell:
    """Runs what is typed, and shows what comes of it."""

    def __init__(
        self, policy: Policy, settings: Settings, *, ask: Ask, bounded: frozenset[str] = frozenset()
    ):
        self.policy = policy
        self.settings = settings
        self.ask = ask
        self.warming = Warming()
        self.answer: Answer | None = None
        """The last answer to a query."""
        self.typed: list[str] = []
        """What was entered in this session."""
        self.file: TextIO | None = None
        """Where `.output` sends answers, if not to the terminal."""
        self.answered = 0
        self._bounded = bounded
        self._progress = Progress()
        self._quote = lru_cache(maxsize=64)(self._explained)

    @cached_property
    def session(self) -> Session:
        """Made when first needed: sqlglot takes longer to import than the prompt to appear."""
        from dpdb.session import Session  # noqa: PLC0415

        return Session(self.policy, progress=self._progress)

    @property
    def balance(self) -> Balance:
        """What is left of the budget."""
        if "session" not in self.__dict__:
            budget = self.policy.budget
            return Balance(budget, budget.epsilon, budget.delta, budget.queries)
        return self.session.execute("SHOW BUDGET").balance

    def quote(self, text: str) -> Answer | DpdbError | None:
        """What EXPLAIN says of a SELECT; None where that is not known yet.

        Under `replace` it may take the number of rows, which is public, but not
        worth loading a file for while somebody types.
        """
        unread = self.policy.neighbors is Neighbors.REPLACE and not self.answered
        if unread or not (text and self.warming.can_plan):
            return None
        return self._quote(text)

    def _explained(self, text: str) -> Answer | DpdbError:
        try:
            return self.session.execute(f"EXPLAIN {text}")
        except DpdbError as error:
            return error

    def run(self, text: str) -> None:
        """Run what was typed, up to the first entry that fails."""
        self.typed.append(text)
        todo = list(entries(text))
        for number, entry in enumerate(todo, 1):
            if isinstance(entry, Command):
                done = commands.run(self, entry)
            else:
                done = self.execute(entry.text)
            if not done:
                self._tell_skipped(len(todo) - number)
                return

    def execute_all(self, texts: Iterable[str]) -> bool:
        """Run statements up to the first that fails, and say whether none did."""
        todo = list(texts)
        for number, text in enumerate(todo, 1):
            if not self.execute(text):
                self._tell_skipped(len(todo) - number)
                return False
        return True

    def _tell_skipped(self, number: int) -> None:
        if number:
            tell(f"not run: the {number} after it")

    def execute(self, text: str, *, confirmed: bool = False) -> bool:
        """Run one statement and show its answer, or what is wrong with it."""
        before = self.balance
        try:
            self.warming.finish()
            if not (confirmed or self._agreed(text)):
                return False
            started = time.monotonic()
            self._progress.restart()
            answer = self.session.execute(text)
            shown = self.shown(answer)
            wait_for_tick(started)
        except DpdbError as error:
            tell(error_text(text, error))
            return False
        except KeyboardInterrupt:
            self._progress.clear()
            tell(_cancelled(before, self.balance))
            return False
        finally:
            self._quote.cache_clear()
        if answer.query and not answer.explain:
            self.answer = answer
            self.answered += 1
        self.show(shown)
        if self.settings.is_on("timer"):
            self.show(f"{time.monotonic() - started:.2f} s")
        return True

    def shown(self, answer: Answer) -> str:
        """The answer in the mode that is set; at the terminal not wider than it."""
        mode = self.settings["mode"]
        if mode == "table" and answer.explain:
            return tree(answer, self.policy, self._bounded)
        shown = FORMATS[mode](answer)
        if mode == "table" and self.file is None and answer.rows and _is_too_wide(shown):
            return FORMATS["vertical"](answer)
        return shown

    def show(self, text: str) -> None:
        """Print to the terminal, or where `.output` says."""
        print(text, file=self.file, flush=True)

    def _agreed(self, text: str) -> bool:
        """Whether a query that takes more than half of what is left may do so."""
        if not self.settings.is_on("confirm"):
            return True
        quote = self.quote(text)
        if not isinstance(quote, Answer):
            return True
        cost, left = quote.cost.epsilon, quote.balance.epsilon_left
        if not left / 2 < cost <= left or not quote.balance.queries_left:
            return True
        question = f"This takes ε {decimal(cost)} of the ε {decimal(left)} left. Run it? [y/N] "
        return is_yes(self.ask(question))

    def farewell(self) -> str:
        """The session in a line."""
        balance = self.balance
        budget = balance.budget
        spent = budget.epsilon - balance.epsilon_left
        queries = budget.queries - balance.queries_left
        return (
            f"{queries} of {budget.queries} queries asked, "
            f"ε {decimal(spent)} of {decimal(budget.epsilon)} spent."
        )


def tell(text: str) -> None:
    """Say what is no answer."""
    print(text, file=sys.stderr, flush=True)


def is_yes(reply: str) -> bool:
    """Whether a reply agrees."""
    return reply.strip().casefold() in ("y", "yes")


def _is_too_wide(text: str) -> bool:
    return max(map(wcswidth, text.split("\n")[:-1])) > shutil.get_terminal_size().columns


def _cancelled(before: Balance, after: Balance) -> str:
    spent = before.epsilon_left - after.epsilon_left
    if before.queries_left == after.queries_left:
        return "cancelled; nothing was spent"
    return f"cancelled; the ε {decimal(spent)} it was debited stays spent"
