"""Fifty clients of a server: answers a second, how long each waits, and what the work is."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count, product
from pathlib import Path
from typing import NamedTuple

from bench_tools import SAMPLE, met, milliseconds, show

from dpdb.ledger.book.book import Book
from dpdb.ledger.book.corrections import open_book
from dpdb.ledger.book.entries import Charge
from dpdb.ledger.custodian import verified
from dpdb.ledger.people import insert, key_of, new_token, new_user
from dpdb.policy.reading.reader import read_policy
from dpdb.server.desk import WorkerDesk
from dpdb.server.messages import Action, Request
from dpdb.server.processes import Opening
from dpdb.session.budget_overview import open_budget

SECONDS = 10.0
CLIENTS = [f"client {i}" for i in range(50)]
_COUNT = "SELECT COUNT(*) FROM people WHERE {}"
KINDS: dict[str, tuple[Callable[[int], str], int]] = {
    "new counts": (lambda number: _COUNT.format(f"income > {number}"), 150),
    "free repeats": (lambda _: _COUNT.format("age > 20"), 1_000),
}
"""The statement of each number, and the goal of answers a second."""
POLICY = """
[budget]
name = "bench"
epsilon = 10_000
queries = 1_000_000
[tables.people]
path = "{SAMPLE}"
[tables.people.columns]
age = {{ type = "integer", bounds = [18, 65] }}
income = {{ type = "number", bounds = [0, 1_000_000] }}
"""
Ask = Callable[[str, str], Awaitable[int]]
"""Sends a client's statement, and gives the queries that the answer was charged."""


class Served(NamedTuple):
    """A server that runs."""

    ask: Ask
    processes: Callable[[], list[int]]
    """The processes of the server, but for this one."""


def run(directory: Path, seconds: float) -> None:
    """Measure the section and print its table."""
    rows = []
    for (name, serve), workers in product({"desk": _desk, "HTTP": _http}.items(), (1, 2)):
        way, paid_in_all = f"{name}, {workers}", 0
        path = directory / f"{way}.toml"
        path.write_text(POLICY.format(SAMPLE=SAMPLE))
        open_budget(read_policy(path))
        for what, (statement, goal) in KINDS.items():
            taken, paid, busy = asyncio.run(_load(serve(path, workers), statement, seconds))
            paid_in_all += paid
            rate = len(taken) / seconds
            waits = (f"{value:.3f}" for value in (statistics.median(taken), max(taken)))
            agrees = "yes" if paid_in_all == _charged(_book(path)) else "NO"
            work = milliseconds(busy / len(taken))
            rows.append(
                (what, way, f"{rate:.0f}", *waits, work, f"{goal:,}", met(rate >= goal), agrees)
            )
    show(
        f"serve: {len(CLIENTS)} clients at a lasting ledger, {seconds:.0f} s each",
        ("what", "way, workers", "a second", "median s", "worst s", "CPU ms", "goal", "met",
         "verified"),
        rows,
        "CPU ms: of front and workers for an answer, whatever else the machine does.\n"
        "verified: `budget verify` agrees, and what was told to be paid for is what was charged.",
    )  # fmt: skip


async def _load(
    serving: AbstractAsyncContextManager[Served], statement: Callable[[int], str], seconds: float
) -> tuple[list[float], int, float]:
    """The seconds that each answer took, the queries that were paid for, and the CPU seconds."""
    taken, paid, numbers = list[float](), 0, count()

    async def client(ask: Ask, name: str, until: float) -> None:
        nonlocal paid
        while (started := time.perf_counter()) < until:
            queries = await ask(name, statement(next(numbers)))
            paid += queries
            taken.append(time.perf_counter() - started)

    async with serving as served:

        async def clients(seconds: float) -> float:
            before, until = _busy(served.processes()), time.perf_counter() + seconds
            await asyncio.gather(*(client(served.ask, name, until) for name in CLIENTS))
            return _busy(served.processes()) - before

        await clients(2)  # columns are read, and repeats are paid for
        taken.clear()
        work = await clients(seconds)
    return taken, paid, work


@asynccontextmanager
async def _desk(path: Path, workers: int) -> AsyncIterator[Served]:
    desk = await WorkerDesk.open(Opening([str(path)], workers=workers))

    async def ask(name: str, text: str) -> int:
        reply = await desk.ask(Request(name, Action.EXECUTE, text, epsilon="0.01"))
        assert reply.error is None, reply.body
        return int(reply.paid)

    yield Served(ask, lambda: [os.getpid(), *(each for each in desk.processes if each)])
    await desk.close()


@asynccontextmanager
async def _http(path: Path, workers: int) -> AsyncIterator[Served]:
    book = _book(path)
    if not book.accounts():
        for name in CLIENTS:
            insert(book, key_of(book), new_user(name, None))
    heads = {name: f"Authorization: Bearer {new_token(book, name)}\r\n" for name in CLIENTS}
    words = ["-m", "dpdb", "serve", str(path), "--http", "127.0.0.1:0", "--workers", str(workers)]
    server = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    place = server.stdout.readline().split("http://")[1].split("/")[0]
    host, port = place.split(":")
    ways = {name: await asyncio.open_connection(host, int(port)) for name in CLIENTS}

    async def ask(name: str, text: str) -> int:
        reader, writer = ways[name]
        body = json.dumps({"statement": text, "epsilon": 0.01})
        head = f"POST /query HTTP/1.1\r\nHost: {place}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}{heads[name]}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        told = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(told.split(b"content-length: ")[1].split(b"\r\n")[0])
        answer = json.loads(await reader.readexactly(length))
        return int(answer["cost"]["queries"])

    def processes() -> list[int]:
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        return [server.pid, *map(int, children)]

    yield Served(ask, processes)
    for _, writer in ways.values():
        writer.close()
    server.terminate()
    server.wait()


def _busy(processes: list[int]) -> float:
    """The CPU seconds of processes so far."""
    stats = [Path(f"/proc/{number}/stat").read_text() for number in processes]
    ticks = (int(part) for stat in stats for part in stat.rpartition(") ")[2].split()[11:13])
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


def _book(path: Path) -> Book:
    lasting = read_policy(path).lasting
    assert lasting is not None
    return open_book(lasting)


def _charged(book: Book) -> int:
    """The queries that the ledger has, once each of its entries is verified."""
    charges = (sealed.entry.event for sealed in verified(book))
    return sum(event.queries for event in charges if isinstance(event, Charge))
