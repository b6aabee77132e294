"""Processes that share CSV files come to what one process comes to."""

from __future__ import annotations

import gzip
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from dpdb.engines import streams
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.passes import pool as pools
from dpdb.engines.passes.pool import Pool
from dpdb.engines.passes.shared_loads import SharedCsv
from dpdb.engines.sources import csv_source
from dpdb.engines.sources.cells import cuts
from dpdb.engines.sources.csv_source import CsvSource
from dpdb.engines.sources.protocol import Loaded
from dpdb.engines.streams import StreamEngine
from dpdb.errors import DataFileError, OutOfResources
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session.backends import open_engine
from dpdb.vectors.columns import Numbers
from tests.engines.streams.test_pool import Pooled
from tests.support.csv_files import Remembering
from tests.support.exactly import planned, raw

TABLE = """
[tables.t]
path = "t*.csv"
engine = "stream"
workers = 2
"""
COLUMNS = """
[tables.t.columns]
g = { type = "integer", values = [1, 2, 3] }
x = { type = "number", bounds = [0, 1000], step = 0.01 }
word = { type = "text" }
"""
OTHER_COLUMNS = """
[tables.t.columns]
g = { type = "text", null = ["2"] }
x = { type = "boolean" }
word = { type = "text", values = ["b", "w1", "\\n2"] }
"""
STATEMENTS = [
    "SELECT COUNT(*) FROM t",
    "SELECT g, SUM(x), COUNT(DISTINCT word), COUNT(x) FROM t GROUP BY g",
    "SELECT COUNT(*) FROM t WHERE word LIKE '%,%' OR word IS NULL OR word > 'b'",
]
QUOTED = "".join(f'{n % 4},{n}.25,"a ""{n % 7}"",\n,"\n"2",,"",\n' for n in range(60))
FILES = {
    "plain": ["".join(f"{n % 4},{n}.5,w{n % 9}\n" for n in range(200))],
    "CRLF": ["".join(f"{n % 4},{n},b\r\n" for n in range(150))],
    "CR": ["".join(f"{n % 4},{n},b\r" for n in range(150))],
    "quotes everywhere": [QUOTED],
    "a quote that nothing closes": ['1,2,"' + "x,y\n" * 6000],
    "quotes alone": ['"' * 500],
    "commas and quotes": [',"' * 300 + "\n1,2,3"],
    "several, with empty ones": ["", QUOTED, "", "1,2,3\n\n\n3,2", "1,5,no end"],
    "nothing": [""],
    "two empty": ["", ""],
}


def policy_of(
    folder: Path, texts: list[str], more: str = "", mark: bytes = b"", columns: str = COLUMNS
) -> Policy:
    for number, text in enumerate(texts):
        (folder / f"t{number}.csv").write_bytes(mark + b"g,x,word\n" + text.encode())
    (folder / "t.toml").write_text(TABLE + more + columns)
    budget = Budget(Fraction(10_000), Fraction(1, 10), 100_000)
    return replace(read_policy(folder / "t.toml"), budget=budget)


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cuts, "PIECE", 64)
    monkeypatch.setattr(cuts, "RANGE", 2)
    yield
    csv_source._cut.cache_clear()


@pytest.mark.parametrize(
    ("workers", "kinds"), [(1, ["CRLF"]), (2, [*FILES][::3]), (5, [*FILES])], ids=str
)
def test_processes_come_to_what_memory_comes_to(
    tmp_path: Path, workers: int, kinds: list[str]
) -> None:
    """A witness is shown the same digest."""
    pool = Pool(workers)
    assert pool.is_ready(60)
    for number, kind in enumerate(kinds):
        texts, folder = FILES[kind], tmp_path / str(number)
        folder.mkdir()
        policy = policy_of(folder, texts, mark=b"\xef\xbb\xbf" * (number % 2))
        sizes = [len(text.encode()) for text in texts]
        assert len(CsvSource(policy.tables[0]).cut()) == sum(-(-max(n, 1) // 128) for n in sizes)
        shown, expected = Remembering(), Remembering()
        pooled = Pooled(witness=shown, tables=policy.tables, given=pool)
        for text in STATEMENTS:
            memory = MemoryEngine(witness=expected, tables=policy.tables)
            assert raw(text, policy, pooled) == raw(text, policy, memory), (kind, text)
        assert [*set(shown.seen)] == [*set(expected.seen)]
        assert len(shown.seen) == 1
        other = policy_of(folder, texts, 'unit = "g"', b"", OTHER_COLUMNS)
        for [table] in (policy.tables, other.tables):
            told = list[float]()
            for names in ([], [column.name for column in table.columns]):
                found = SharedCsv(table, pool).load(names, told.append, shown)
                assert held(found) == held(CsvSource(table).load(names, None, expected)), kind
            assert told == sorted(told[: len(told) // 2]) * 2
            assert told[-1] == 1
        assert shown.seen[-4:] == expected.seen[-4:]
    pool.end()
    ended = Pool(1)
    ended.end()
    assert held(SharedCsv(table, ended).load(names)) == held(found)


def held(loaded: Loaded) -> Any:
    """Texts have codes in no order."""
    columns: dict[str, Any] = {}
    for name, column in loaded.columns.items():
        if isinstance(column, Numbers):
            null = None if column.null is None else column.null.tolist()
            shape = column.step, column.filler, column.held, null
            columns[name] = column.units.dtype, column.units.tolist(), shape
        else:
            values = [*column.values, None]
            columns[name] = column.codes.dtype, [values[code] for code in column.codes]
    return columns, loaded.rows, loaded.version


def test_a_file_that_changes_between_ranges_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, wait = policy_of(tmp_path, [QUOTED, QUOTED]), pools.wait
    pool, other, times = Pool(2), Pool(2), count()

    def changed(busy: Any) -> Any:
        os.utime(tmp_path / "t1.csv", ns=(0, next(times)))
        return wait(busy)

    assert pool.is_ready(60)
    monkeypatch.setattr(pools, "wait", changed)
    plan = planned("SELECT SUM(x) FROM t", policy)
    with pytest.raises(DataFileError, match="has changed since it was first read"):
        Pooled(tables=policy.tables, given=pool).exact(plan, {})
    assert not pool.holds(2)
    with pytest.raises(DataFileError, match="has changed since it was first read"):
        SharedCsv(policy.tables[0], other).load(["x"])
    assert not other.holds(2)


def test_a_load_that_loses_a_process_fails_and_the_next_has_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy's `workers` make the session's engine one that has a pool."""
    policy, wait = policy_of(tmp_path, [QUOTED]), pools.wait
    [table] = policy.tables
    engine = open_engine(replace(policy, tables=(replace(table, engine="memory"),)))
    assert isinstance(engine, StreamEngine)

    def killed(busy: Any) -> Any:
        assert engine._pool is not None
        os.kill(engine._pool.processes[0].pid, signal.SIGKILL)
        engine._pool.processes[0].wait()
        return wait(busy)

    expected = MemoryEngine().rows(table)
    with monkeypatch.context() as patch:
        patch.setattr(pools, "wait", killed)
        with pytest.raises(OutOfResources, match="a process that read the table has ended"):
            engine.rows(replace(table, engine="memory"))
    assert engine.rows(replace(table, engine="memory")) == expected
    assert engine._pool is not None
    assert engine._pool.holds(2)
    engine._pool.end()


def test_files_whose_bytes_are_not_those_of_records_are_read_by_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And such as have units with names. The policy's `workers`, or sizes, are all that counts."""
    begun: Any = type("Begun", (), {"holds": lambda *_: True, "is_ready": lambda *_: True})()
    monkeypatch.setattr(pools, "started", lambda _: begun)
    monkeypatch.setattr(pools, "usual_workers", lambda *_: 2)
    names = frozenset({"x"})

    def pool_of(policy: Policy, workers: int | None = 2) -> Any:
        [table] = policy.tables
        return StreamEngine().pool(replace(table, workers=workers), names, 1)

    plain = policy_of(tmp_path, [QUOTED])
    assert pool_of(plain) is begun
    assert pool_of(plain, 1) is None
    assert pool_of(plain, None) is None
    monkeypatch.setattr(streams, "POOLED", 1)
    assert pool_of(plain, None) is None
    monkeypatch.setattr(streams, "STARTED", 1)
    assert pool_of(plain, None) is begun
    assert isinstance(StreamEngine()._source(replace(plain.tables[0], workers=None)), SharedCsv)
    for more in ('comment = "#"', "skip = 1", 'encoding = "latin-1"', 'unit = "word"'):
        assert pool_of(policy_of(tmp_path, ["g,x,word\n"], more)) is None, more
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(b"g,x,word\n1,2,3\n"))
    packed = replace(plain.tables[0], path=tmp_path / "p.csv.gz")
    assert pool_of(replace(plain, tables=(packed,))) is None
