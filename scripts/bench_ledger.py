"""Three processes that charge one ledger: in a file, and in PostgreSQL."""

from __future__ import annotations

import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path

from bench_tools import ROOT, met, show

from dpdb.ledger.custodian import book_of, open_budget, verified
from dpdb.ledger.lasting import LastingLedger
from dpdb.policy.budget import Budget, LastingBudget, LedgerServer, ledger_at
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure

sys.path.append(str(ROOT))
from tests.support.postgres import running_server

PROCESSES = 3
ROUNDS = 3
GOAL = 500
"""The charges a second in PostgreSQL, of all processes together."""


def run(directory: Path, seconds: float) -> None:
    """Measure the section and print its table."""
    told = {"file": 0, "PostgreSQL": 0}
    with running_server("") as server:
        policies = {
            "file": _opened(directory, directory / "bench.ledger"),
            "PostgreSQL": _opened(directory, ledger_at(server.address())),
        }
        for _ in range(ROUNDS):
            for name, policy in policies.items():
                told[name] += _charged_by_all(policy, seconds / ROUNDS)
        agree = {name: told[name] == len([*verified(book_of(policy))]) - 1
                 for name, policy in policies.items()}  # fmt: skip
    rows = []
    for name, charges in told.items():
        goal = met(charges / seconds >= GOAL) if name == "PostgreSQL" else ""
        times = f"{charges / told['file']:.2f}"
        rows.append((name, f"{charges / seconds:.0f}", times, goal, "yes" if agree[name] else "NO"))
    show(
        f"ledger: charges of {PROCESSES} processes, {seconds:.0f} s each",
        ("ledger", "a second", "× file", f">= {GOAL}", "verified"),
        rows,
        "verified: `budget verify` agrees, and what was granted is what was charged.",
    )


def _opened(directory: Path, place: Path | LedgerServer) -> Policy:
    column = Column("x", Kind.INTEGER, Fraction(0), Fraction(9))
    lasting = LastingBudget("bench", place, key=directory / "bench.key")
    policy = Policy(
        (Table("t", Path("t.csv"), (column,)),), Budget(Fraction(10_000), queries=10**9),
        lasting=lasting,
    )  # fmt: skip
    open_budget(policy, "bench", "00" * 32, {})
    return policy


def _charged_by_all(policy: Policy, seconds: float) -> int:
    """The charges that the processes are granted in so many seconds."""
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, spawned) as processes:
        list(processes.map(_ready, range(PROCESSES)))
        until = time.time() + 1
        return sum(
            processes.map(
                _charges, [policy] * PROCESSES, [until] * PROCESSES, [seconds] * PROCESSES
            )
        )


def _ready(_: int) -> None:
    time.sleep(0.5)  # so that each process takes one


def _charges(policy: Policy, begin: float, seconds: float) -> int:
    """The charges of one process from a moment on."""
    ledger, loss, granted = LastingLedger.open(policy), ComposedLoss.of(pure(Fraction(1, 1000))), 0
    time.sleep(max(begin - time.time(), 0))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ledger.charge(loss, None)
        granted += 1
    return granted
