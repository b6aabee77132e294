"""Desks that tests ask, and clients that ask one while its workers are killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pyarrow
import pyarrow.parquet

from dpdb.ledger.book.entries import Charge
from dpdb.policy.reading.reader import read_policy
from dpdb.server.desk import WorkerDesk
from dpdb.server.messages import Action, Reply, Request
from dpdb.server.processes import Opening
from dpdb.session import budget_overview
from tests.support.lasting import book_of, folder_in_memory, opened_shop, verify

POLICY = """
[budget]
name = "shared"
epsilon = 1000
queries = 1_000_000
{analysts}
[tables.t.columns]
a = {{ type = "integer", bounds = [0, 999_999] }}
"""
ROWS = "a\n" + "5\n" * 100
COUNT = "SELECT COUNT(*) FROM t WHERE a > {}"
NEW = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.01) COUNT(*) FROM t WHERE a > {}"
T = TypeVar("T")


@dataclass(frozen=True)
class Asking:
    """A desk, and the loop that it runs in."""

    runner: asyncio.Runner
    desk: WorkerDesk
    policy: Path

    def run(self, asked: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(asked)

    def ask(self, analyst: str, text: str, action: Action = Action.EXECUTE, **more: Any) -> Reply:
        return self.run(self.desk.ask(Request(analyst, action, text, **more)))

    def rows(self, analyst: str, text: str) -> Any:
        reply = self.ask(analyst, text)
        assert reply.error is None, reply.body
        return json.loads(reply.body)["rows"]


@contextmanager
def asking(sources: str, workers: int = 1) -> Iterator[Asking]:
    with asyncio.Runner() as runner:
        desk = runner.run(WorkerDesk.open(Opening([sources], workers=workers)))
        yield Asking(runner, desk, Path(sources))
        runner.run(desk.close())


def charges_of(path: Path) -> dict[str, list[Fraction]]:
    """What each analyst was charged, once `budget verify` agrees with all of the ledger."""
    charged: dict[str, list[Fraction]] = {}
    for sealed in verify(book_of(path)):
        if isinstance(sealed.entry.event, Charge):
            charged.setdefault(sealed.entry.who, []).append(sealed.entry.event.loss.epsilon)
    return charged


@contextmanager
def pooled_shop() -> Iterator[Path]:
    """A policy whose table two more processes read for each worker, and whose budget is open."""
    with folder_in_memory() as folder:
        rows = pyarrow.table({"a": range(3_000_000)})
        pyarrow.parquet.write_table(rows, folder / "t.parquet", row_group_size=300_000)
        path, table = folder / "t.toml", '[tables.t]\npath = "t.parquet"\nworkers = 2\n'
        path.write_text(POLICY.format(analysts="").replace("[tables", f"{table}[tables", 1))
        budget_overview.open_budget(read_policy(path))
        yield path


def children_of(process: int) -> list[int]:
    """The processes that a process has begun."""
    listed = Path("/proc").glob(f"{process}/task/*/children")
    return [int(each) for file in listed for each in file.read_text().split()]


def killed_under_load(kills: int, random: Random, *, pool: bool = False) -> int:
    """Six clients ask while workers are killed; each was charged for all that it was told.

    With a pool the processes that read rows for a worker are killed, too. The number of charges
    that nobody was told of.
    """
    told = dict.fromkeys((f"client {i}" for i in range(6)), 0)

    async def client(desk: WorkerDesk, name: str, ended: asyncio.Event) -> None:
        numbers = count(list(told).index(name), len(told))
        while not ended.is_set():
            text = NEW.format(next(numbers))
            reply = await desk.ask(Request(name, Action.EXECUTE, text))
            assert reply.error in (None, "OutOfResources"), reply.body
            told[name] += reply.paid and reply.error is None

    async def load(path: Path) -> None:
        ended = asyncio.Event()
        desk = await WorkerDesk.open(Opening([str(path)], workers=2))
        async with asyncio.TaskGroup() as clients:
            for name in told:
                clients.create_task(client(desk, name, ended))
            for number in range(kills):
                before = sum(told.values())
                while sum(told.values()) < before + len(told) or None in desk.processes:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(random.random() / 20)
                process = desk.processes[number % 2]
                assert process is not None
                also = children_of(process) if pool else []
                os.kill(random.choice([process, *also]), signal.SIGKILL)
            ended.set()
        await desk.close()

    with pooled_shop() if pool else opened_shop(POLICY.format(analysts=""), ROWS) as path:
        asyncio.run(load(path))
        charged = {name: len(charges) for name, charges in charges_of(path).items()}
    assert all(0 < told[name] <= charged[name] <= told[name] + kills for name in told)
    return sum(charged.values()) - sum(told.values())
