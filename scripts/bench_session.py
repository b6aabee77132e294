"""What a statement costs as its session grows to ten thousand: CPU time and memory."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from bench_tools import SAMPLE, met, milliseconds, show, with_plenty

from dpdb.policy.budget import LastingBudget
from dpdb.policy.reading.reader import read_policy
from dpdb.session.budget_overview import open_budget
from dpdb.session.session import Session

STATEMENTS = 10_000
SPAN = 500
"""So many at the beginning are compared with so many at the end."""
MOST_GROWTH = 1.2
DIFFERENT = 20
"""So many texts are asked in turns where they are repeated."""
_SHAPES = (
    "SELECT COUNT(*) FROM people WHERE income > {0}",
    "SELECT AVG(income) FROM people WHERE net_worth > {0}",
    "SELECT zip, COUNT(*) FROM people WHERE income > {0}.5 GROUP BY zip",
    "SELECT SUM(CLAMP(income, 0, {0} + 1000)) FROM people",
    "SELECT COUNT(*), SUM(age) FROM people WHERE age = 18 + {0} % 48 AND net_worth < {0}",
)


def _another(number: int) -> str:
    return _SHAPES[number % len(_SHAPES)].format(number)


def _repeated(number: int) -> str:
    return _another(number % DIFFERENT)


SESSIONS: dict[str, tuple[Callable[[int], str], bool]] = {
    "different texts": (_another, False),
    "repeated texts": (_repeated, False),
    "different texts, lasting ledger": (_another, True),
    "repeated texts, lasting ledger": (_repeated, True),
}
"""The statement of each number, and whether the budget is kept in a ledger, for good."""


def run(directory: Path) -> None:
    """Measure the section and print its table."""
    rows = []
    for name in SESSIONS:
        # A process of its own has no memory that an earlier session has left to be used again.
        spawned = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, spawned) as process:
            first, last, each = process.submit(_grown, name, directory).result()
        growth = (f"{last / first:.2f}", met(last / first <= MOST_GROWTH))
        rows.append((name, milliseconds(first), milliseconds(last), *growth, f"{each / 1024:.2f}"))
    show(
        f"session: {STATEMENTS:,} statements in a session, medians of CPU time in ms",
        ("what", f"first {SPAN}", f"last {SPAN}", "growth", f"<= {MOST_GROWTH}", "KiB each"),
        rows,
        "KiB each: what the process grows by for each statement after the first.",
    )


def _grown(name: str, directory: Path) -> tuple[float, float, float]:
    """The median CPU seconds of the first and of the last statements, and bytes for each."""
    statement, lasting = SESSIONS[name]
    policy = with_plenty(read_policy(SAMPLE.with_suffix(".toml")))
    if lasting:
        policy = replace(policy, lasting=LastingBudget("bench", directory / f"{name}.ledger"))
        open_budget(policy)
    private = Session(policy)
    private.execute("SET epsilon = 0.1")
    taken, before = [], 0
    for number in range(STATEMENTS):
        if number == SPAN:
            before = _resident()
        started = time.process_time()
        private.execute(statement(number))
        taken.append(time.process_time() - started)
    memory = (_resident() - before) / (STATEMENTS - SPAN)
    return statistics.median(taken[:SPAN]), statistics.median(taken[-SPAN:]), memory


def _resident() -> int:
    """The bytes of memory that the process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
