"""Other processes come to the same, one partition at a time, and none is left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import dpdb
from dpdb.engines import streams
from dpdb.engines.loop import Work, run
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.passes import pool as pools
from dpdb.engines.passes.pool import Pool, Processes
from dpdb.engines.sources.arrow import typed_source
from dpdb.engines.sources.protocol import NO_DATA, Loaded, Partition
from dpdb.engines.statistics import accumulators, rank_windows
from dpdb.engines.statistics.rank_windows import AllValues
from dpdb.engines.streams import StreamEngine
from dpdb.engines.units import capped_rows
from dpdb.errors import STAYS_PAID, DataFileError, InternalError, OutOfResources
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy, Table
from dpdb.policy.reading.reader import read_policy
from dpdb.server.messages import Action, Reply, Request
from dpdb.server.processes import Opening
from dpdb.server.worker import serve
from tests.support.exactly import planned, raw

POLICY = """
[tables.t]
path = "t.parquet"
workers = 2
{unit}
[tables.t.columns]
g = {{ type = "integer", values = [1, 2, 3] }}
x = {{ type = "integer", bounds = [0, 1000] }}
word = {{ type = "text" }}
who = {{ type = "text" }}
"""
STATEMENTS = [
    "SELECT COUNT(*) FROM t",
    "SELECT AVG(x), VARIANCE(x) FROM t WHERE word > 'b'",
    "SELECT g, COUNT(DISTINCT word), COUNT(DISTINCT x) FROM t GROUP BY g",
    "SELECT g, MEDIAN(x), MIN(x), MODE(g) FROM t GROUP BY g",
]
OF_UNITS = [*STATEMENTS, "SELECT g, COUNT(DISTINCT who), SUM(x) FROM t WHERE x > 5 GROUP BY g"]
UNIT = 'unit = "who"\nrows_per_unit = 2'


def policy_of(folder: Path, rows: int, unit: str = "") -> Policy:
    """Rows in row groups of three."""
    chance = np.random.default_rng(rows)
    words = ["b", None, "a", "čeněk", "zz", ""]
    columns = {
        "g": pyarrow.array(chance.integers(0, 4, rows), pyarrow.int64()),
        "x": pyarrow.array(chance.integers(0, 1100, rows), pyarrow.int64()),
        "word": pyarrow.array([words[at] for at in chance.integers(0, 6, rows)], pyarrow.string()),
        "who": pyarrow.array([f"u{at}" for at in chance.integers(0, 9, rows)], pyarrow.string()),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "t.parquet", row_group_size=3)
    (folder / "t.toml").write_text(POLICY.format(unit=unit))
    budget = Budget(Fraction(10_000), Fraction(1, 10), 100_000)
    return replace(read_policy(folder / "t.toml"), budget=budget)


@pytest.fixture(autouse=True)
def partitions_of_a_row_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_source, "BATCH", 2)


@dataclass
class Pooled(StreamEngine):
    """Goes over all tables with a pool that is there; those of units in several turns."""

    given: Pool | None = None

    def pool(self, *_: object) -> Pool | None:
        return self.given

    def size(self, table: Table) -> int:
        return 2 * capped_rows.MEMORY


@pytest.mark.parametrize(
    ("workers", "rows", "unit"), [(1, [14], UNIT), (2, [14], ""), (5, [0, 1, 14], UNIT)]
)
def test_processes_come_to_what_memory_comes_to(
    tmp_path: Path, workers: int, rows: list[int], unit: str
) -> None:
    """Words of units and hashes of texts are random, and the same in all processes.

    Windows of ranks hold all values, so that they can be compared.
    """
    pool = Pool(workers)
    assert pool.is_ready(60)
    for number, text in product(rows, OF_UNITS if unit else STATEMENTS):
        policy = policy_of(tmp_path, number, unit)
        with (
            mock.patch.object(accumulators, "_reach", return_value=2**40),
            mock.patch.object(accumulators, "RungCounts", AllValues),
            mock.patch.object(rank_windows, "BUCKETS", 8),
        ):
            found = raw(text, policy, Pooled(tables=policy.tables, given=pool))
        assert found == raw(text, policy, MemoryEngine(tables=policy.tables)), text
    pool.end()


def test_processes_gather_the_same_rows_of_two_units(tmp_path: Path) -> None:
    """Owners are texts, whose words are random; a name can be in both columns."""
    policy_of(tmp_path, 14)
    path = tmp_path / "t.toml"
    owners = 'unit = { person = ["who", "word"] }\nrows_per_unit = 2'
    path.write_text('[privacy]\nunits = ["person"]\n' + POLICY.format(unit=owners))
    policy, pool = read_policy(path), Pool(2)
    assert pool.is_ready(60)
    pooled = Pooled(tables=policy.tables, given=pool)
    assert pooled.fills(policy.tables[0])
    for text in ("COUNT(*), SUM(x)", "AVG(x)", "COUNT(*) FILTER (WHERE word > 'b')"):
        asked = f"SELECT g, {text} FROM t WHERE x > 5 GROUP BY g"
        assert raw(asked, policy, pooled) == raw(asked, policy, MemoryEngine(tables=policy.tables))
    pool.end()


@pytest.mark.parametrize(("workers", "begun"), [(1, [8]), (2, [4]), (5, [])])
def test_workers_of_a_server_share_the_memory_of_pools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, begun: list[int]
) -> None:
    """Half of 1 GiB is for eight processes of 64 MiB, those of all workers together."""
    policy_of(tmp_path, 14)
    served, limit = tmp_path / "t.toml", tmp_path / "memory.max"
    served.write_text(served.read_text().replace("workers = 2", ""))
    limit.write_text(f"{2**30}\n")
    monkeypatch.setattr(pools, "Path", lambda _: limit)
    monkeypatch.setattr(pools, "_MEMORY", 2**26)
    monkeypatch.setattr(pools, "processors", lambda most: most)
    for size in ("POOLED", "STARTED"):
        monkeypatch.setattr(streams, size, 0)
    started = list[int]()
    monkeypatch.setattr(pools, "started", started.append)
    asked = Request("eve", Action.EXECUTE, "SELECT COUNT(DISTINCT word) FROM t")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(Opening([str(served)], workers=workers).line + b"1 0 " + asked.line)
        ours.shutdown(socket.SHUT_WR)
        serve(theirs)
        replies = ours.recv(2**16).splitlines()
    assert [Reply.read(each.partition(b" ")[2]).error for each in replies] == [None, None]
    assert started == begun


@dataclass
class Numbers(Work[Loaded, list[int]]):
    """The first row of each partition; it can end the process that sends it."""

    kills: bool = False
    found: list[int] = field(default_factory=list)

    def copy(self) -> Numbers:
        return Numbers(self.kills)

    def add(self, rows: Loaded) -> None:
        self.found.append(rows.first)

    def join(self, other: Numbers) -> None:
        self.found += other.found

    def result(self) -> list[int]:
        return sorted(self.found)

    def __getstate__(self) -> dict[str, Any]:
        if self.kills and self.found:
            os.kill(os.getpid(), signal.SIGKILL)
        return vars(self)


@dataclass
class Made:
    """A source of partitions of a row, of which one may fail."""

    fails: str = ""

    def read(self, partition: Partition, _: object) -> Iterator[Loaded]:
        if partition.first == 5:
            if self.fails == "read":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.fails == "cell":
                raise ValueError("cell 1234")
            if self.fails == "warn":
                np.full(1, 1e300) * np.full(1, 1e300)
        yield Loaded({}, 1, NO_DATA)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.fails == "task":
            os.kill(os.getpid(), signal.SIGKILL)


TEN = [Partition(first) for first in range(10)]


def go_over(pool: Pool, fails: str = "", *, kills: bool = False) -> list[int]:
    assert pool.is_ready(60)
    source: Any = Made(fails)
    return run(Numbers(kills), Processes(pool, source, frozenset(), TEN))


def have_ended(pool: Pool) -> bool:
    return None not in [process.returncode for process in pool.processes]


def test_a_process_that_is_killed_fails_the_pass_and_ends_the_pool() -> None:
    """While it reads its task, or a partition, or sends what it has found."""
    for fails, kills in (("task", False), ("read", False), ("", True)):
        pool = Pool(1)
        with pytest.raises(OutOfResources, match="a process that read the table has ended"):
            go_over(pool, fails, kills=kills)
        assert have_ended(pool)
        assert not pool.holds(1)


def test_no_word_of_an_error_comes_from_a_cell(capfd: pytest.CaptureFixture[str]) -> None:
    pool = Pool(2)
    assert go_over(pool, "warn") == [*range(10)]
    for process in pool.processes:
        shown = {os.readlink(f"/proc/{process.pid}/fd/{number}") for number in range(3)}
        assert shown == {"/dev/null"}
    with pytest.raises(InternalError, match="dpdb failed to answer this statement"):
        go_over(pool, "cell")
    assert have_ended(pool)
    assert capfd.readouterr() == ("", "")


def test_signals_to_all_processes_of_a_service_are_left_to_the_one_that_began_them() -> None:
    pool = Pool(1)
    assert pool.is_ready(60)
    [process] = pool.processes
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process.send_signal(number)
    assert go_over(pool) == [*range(10)]
    assert os.getpgid(process.pid) == process.pid


def test_ctrl_c_at_any_message_ends_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = pools.wait
    for at in (0, 11):
        pool, calls = Pool(2), iter(range(100))

        def interrupted(busy: Any, calls: Any = calls, at: int = at) -> Any:
            if next(calls) == at:
                raise KeyboardInterrupt
            return wait(busy)[:1]

        monkeypatch.setattr(pools, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            go_over(pool)
        assert have_ended(pool)


def test_a_file_that_changes_between_partitions_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, pool, wait = policy_of(tmp_path, 47), Pool(2), pools.wait

    def changed(busy: Any) -> Any:
        os.utime(tmp_path / "t.parquet", ns=(0, 0))
        return wait(busy)

    assert pool.is_ready(60)
    monkeypatch.setattr(pools, "wait", changed)
    plan = planned("SELECT SUM(x) FROM t", policy)
    with pytest.raises(DataFileError, match="has changed since it was first read"):
        Pooled(tables=policy.tables, given=pool).exact(plan, {})
    assert have_ended(pool)


def test_a_statement_that_loses_a_process_is_charged_and_the_next_has_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy_of(tmp_path, 47)
    session, used, wait = dpdb.connect(tmp_path / "t.toml", epsilon=9, queries=9), [], pools.wait

    def lost(busy: Any) -> Any:
        for process in used[-1].processes:
            process.kill()
            process.wait()
        return wait(busy)

    def watched(pool: Pool, *given: Any) -> Processes:
        used.append(pool)
        return Processes(pool, *given)

    monkeypatch.setattr(pools, "Processes", watched)
    session.execute("SELECT COUNT(word) FROM t")
    assert not used  # until they have started, threads go over the table
    engine: Any = session._backends._engine
    first = engine._pool
    assert first.is_ready(60)
    monkeypatch.setattr(pools, "wait", lost)
    with pytest.raises(OutOfResources, match="has ended before it was done") as raised:
        session.execute("SELECT SUM(x) FROM t")
    assert raised.value.hint == f"{STAYS_PAID}; the next statement begins others"
    assert session.balance.epsilon_left == 7
    monkeypatch.setattr(pools, "wait", wait)
    session.execute("SELECT MIN(x) FROM t")
    assert engine._pool is not first
    assert engine._pool.is_ready(60)
    session.execute("SELECT MAX(x) FROM t")
    assert used == [first, engine._pool]
    second = used.pop()
    assert second.holds(2)
    second.end()


SCRIPT = """
import dpdb, sys, time
from dpdb.engines.sources.arrow import typed_source
print("begun")
typed_source.BATCH = 2
db = dpdb.connect({path!r}, epsilon=1000)
db.execute("SELECT COUNT(word) FROM t")
pool = db._backends._engine._pool
assert pool.is_ready(60)
print(round(db.execute("SELECT COUNT(*) FROM t", epsilon=900).scalar()))
print(*[process.pid for process in pool.processes], flush=True)
sys.stdin.read(1)
"""


@pytest.mark.parametrize("killed", [False, True])
def test_a_script_runs_once_and_leaves_no_process(tmp_path: Path, killed: bool) -> None:
    """A script without a guard that ends, or `-c`, which is killed."""
    policy_of(tmp_path, 47)
    written = SCRIPT.format(path=str(tmp_path / "t.toml"))
    (tmp_path / "script.py").write_text(written)
    asked = ["-c", written] if killed else [str(tmp_path / "script.py")]
    with subprocess.Popen(
        [sys.executable, *asked], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as script:
        assert script.stdout is not None
        lines = [script.stdout.readline().strip() for _ in range(3)]
        assert lines[:2] == ["begun", "47"]
        if killed:
            script.kill()
        script.communicate("\n" if not killed else None, timeout=30)
    left = [*map(int, lines[2].split())]
    assert len(left) == 2
    until = time.monotonic() + 30
    while any(Path(f"/proc/{pid}/fd").exists() and _runs(pid) for pid in left):
        assert time.monotonic() < until
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    """Whether a process runs; one that has ended may still be listed until it is asked for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Clock:
    """A process that takes a given time for each partition."""

    now: ClassVar[int] = 0

    def __init__(self) -> None:
        self.until = 0
        self.last = False

    def send_bytes(self, _: bytes) -> None:
        pass

    def send(self, given: Partition | None) -> None:
        self.until = Clock.now + (0 if given is None else given.file)
        self.last = given is None

    def recv(self) -> Numbers | None:
        return Numbers() if self.last else None

    @classmethod
    def wait(cls, busy: list[Clock]) -> list[Clock]:
        first = min(busy, key=lambda each: each.until)
        cls.now = first.until
        return [first]


def ended_after(times: tuple[int, ...], workers: int) -> int:
    Clock.now = 0
    given: Any = type("Clocks", (), {"connections": [Clock() for _ in range(workers)]})
    source: Any = Made()
    partitions = [Partition(file=each) for each in times]
    run(Numbers(), Processes(given, source, frozenset(), partitions))
    return Clock.now


def test_a_pass_ends_later_by_no_more_than_partitions_are_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The theorem of `dpdb.engines.loop`, for all passes of four partitions up to some length."""
    monkeypatch.setattr(pools, "wait", Clock.wait)
    for workers in (2, 3):
        ended = {times: ended_after(times, workers) for times in product(range(5), repeat=4)}
        assert ended[1, 1, 1, 3] == {2: 4, 3: 4}[workers]
        for times in product(range(3), repeat=4):
            for more in product(range(3), repeat=4):
                longer = tuple(map(sum, zip(times, more, strict=True)))
                assert 0 <= ended[longer] - ended[times] <= sum(more)
