"""Fifty clients at the desk of a server: answers a second, and how long each waits."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from bench_tools import SAMPLE, met, milliseconds, show

from dpdb.ledger.book.corrections import open_book
from dpdb.ledger.book.entries import Charge
from dpdb.ledger.custodian import verified
from dpdb.policy.reading.reader import read_policy
from dpdb.server.desk import Opening, WorkerDesk
from dpdb.server.messages import Action, Request
from dpdb.session.budget_overview import open_budget

SECONDS = 10.0
CLIENTS = 50
WORKERS = (1, 2)
_COUNT = "SELECT COUNT(*) FROM people WHERE {}"
KINDS: dict[str, tuple[Callable[[int], str], int]] = {
    "new counts": (lambda number: _COUNT.format(f"income > {number}"), 150),
    "free repeats": (lambda _: _COUNT.format("age > 20"), 1_000),
}
"""The statement of each number, and the goal of answers a second."""


def run(directory: Path, seconds: float) -> None:
    """Measure the section and print its table."""
    rows = []
    for workers in WORKERS:
        path = directory / f"{workers}.toml"
        path.write_text(
            f'[budget]\nname = "bench"\nepsilon = 10_000\nqueries = 1_000_000\n'
            f'[tables.people]\npath = "{SAMPLE}"\n[tables.people.columns]\n'
            'age = { type = "integer", bounds = [18, 65] }\n'
            'income = { type = "number", bounds = [0, 1_000_000] }\n'
        )
        open_budget(read_policy(path))
        for name, (statement, goal) in KINDS.items():
            taken, paid, busy = asyncio.run(_load(path, workers, statement, seconds))
            rate, charged = len(taken) / seconds, _charged(path)
            agrees = "yes" if _PAID.setdefault(path, 0) + paid == charged else "NO"
            _PAID[path] += paid
            waits = (f"{value:.3f}" for value in (statistics.median(taken), max(taken)))
            work = milliseconds(busy / len(taken))
            rows.append(
                (f"{name}, {workers}", f"{rate:.0f}", *waits, work, met(rate >= goal), agrees)
            )
    show(
        f"serve: {CLIENTS} clients at a lasting ledger, {seconds:.0f} s each; seconds of waiting",
        ("what, workers", "a second", "median", "worst", "CPU ms", "goal", "verified"),
        rows,
        "CPU ms: of front and workers for an answer, whatever else the machine does.\n"
        "goal: 150 new counts a second, and 1,000 repeats.\n"
        "verified: whether `budget verify` agrees, and all that was told to be paid was charged.",
    )


_PAID: dict[Path, int] = {}
"""The queries that were told to be paid for, of each policy."""


async def _load(
    path: Path, workers: int, statement: Callable[[int], str], seconds: float
) -> tuple[list[float], int, float]:
    """The seconds that each answer took, how many were paid for, and the seconds of work."""
    desk = await WorkerDesk.open(Opening([str(path)]), workers)
    taken, paid, numbers = list[float](), 0, count()

    async def client(name: str, until: float) -> None:
        nonlocal paid
        while (started := time.perf_counter()) < until:
            text = statement(next(numbers))
            reply = await desk.ask(Request(name, Action.EXECUTE, text, epsilon="0.01"))
            assert reply.error is None, reply.body
            paid += reply.paid
            taken.append(time.perf_counter() - started)

    async def clients(until: float) -> None:
        await asyncio.gather(*(client(f"client {i}", until) for i in range(CLIENTS)))

    await clients(time.perf_counter() + 2)  # columns are read, and repeats are paid for
    taken.clear()
    before = _busy(desk)
    await clients(time.perf_counter() + seconds)
    work = _busy(desk) - before
    await desk.close()
    return taken, paid, work


def _busy(desk: WorkerDesk) -> float:
    """The CPU seconds of this process and of the workers so far."""
    stats = [
        Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2] for number in desk.processes
    ]
    ticks = (int(part) for stat in stats for part in stat.split()[11:13])
    return time.process_time() + sum(ticks) / os.sysconf("SC_CLK_TCK")


def _charged(path: Path) -> int:
    """The queries that the ledger has, once each of its entries is verified."""
    lasting = read_policy(path).lasting
    assert lasting is not None
    charges = (sealed.entry.event for sealed in verified(open_book(lasting)))
    return sum(event.queries for event in charges if isinstance(event, Charge))
