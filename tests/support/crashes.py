"""A session that is killed in the middle of a statement, wherever that is."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpdb.engines.sources.csv_source import CsvSource
from dpdb.ledger.lasting import LastingLedger
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session import budget_overview
from dpdb.session.session import Session
from tests.support.lasting import verify
from tests.support.ledger_trials import forked

POLICY = """
[budget]
name = "crashes"
epsilon = 1000
queries = 1_000_000
[tables.t.columns]
a = { type = "integer", bounds = [0, 9] }
"""
AVERAGE = "SELECT AVG(a) FROM t WHERE a > 2"


@dataclass(frozen=True)
class Crashes:
    """A small file with an open budget, and a page on which a child writes what it does."""

    policy: Policy
    page: Path

    @classmethod
    def in_folder(cls, folder: Path) -> Crashes:
        (folder / "t.csv").write_text("a\n" + "5\n" * 100)
        (folder / "t.toml").write_text(POLICY)
        policy = read_policy(folder / "t.toml")
        budget_overview.open_budget(policy)
        # What is imported here is not imported again by each child.
        repr(Session(replace(policy, lasting=None)).execute(AVERAGE))
        return cls(policy, folder / "page")

    def calls(self) -> int:
        """How many calls of functions it takes to answer."""
        self.killed_at(0)
        return int(self.page.read_text())

    def killed_at(self, call: int, *, looking: bool = False) -> tuple[int, int]:
        """Answer in a process that dies with its `call`-th call of a function; 0 is never.

        With `looking` it dies when it first looks at rows.
        Returns how many charges there are of it, and how many times it had looked at rows. What it
        has shown is kept.
        """
        before, kept = self._charged(), self._kept()
        self.page.write_bytes(b"")

        def answer() -> None:
            session, calls, whole = Session(self.policy), 0, CsvSource.load
            session.execute("SET repeats = 'fresh'")

            def count(_: object, event: str, __: object) -> None:
                nonlocal calls
                calls += event in ("call", "c_call")
                if calls == call:
                    os.kill(os.getpid(), signal.SIGKILL)

            def load(*arguments: Any) -> Any:
                self.page.write_text("looked")
                if looking:
                    os.kill(os.getpid(), signal.SIGKILL)
                return whole(*arguments)

            CsvSource.load = load  # this is a child of its own
            sys.setprofile(count)
            repr(session.execute(AVERAGE))
            self.page.write_text(str(calls))

        os.waitpid(forked(answer), 0)
        assert self._kept() - kept >= int(self.page.read_text().isdigit())
        return self._charged() - before, int(bool(self.page.read_bytes()))

    def _charged(self) -> int:
        return len(verify(LastingLedger.open(self.policy).book)) - 1

    def _kept(self) -> int:
        ledger = LastingLedger.open(self.policy)
        return len([*ledger.book.walk_kept(ledger.pinned.key)])
