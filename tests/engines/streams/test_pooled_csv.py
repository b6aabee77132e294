"""Processes that share CSV files come to what one process comes to."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpdb.engines import streams
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.passes import pool as pools
from dpdb.engines.passes.pool import Pool
from dpdb.engines.sources import csv_source
from dpdb.engines.sources.cells import cuts
from dpdb.engines.sources.csv_source import CsvSource
from dpdb.engines.streams import StreamEngine
from dpdb.errors import DataFileError, PolicyError
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
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


def policy_of(folder: Path, texts: list[str], more: str = "", mark: bytes = b"") -> Policy:
    for number, text in enumerate(texts):
        (folder / f"t{number}.csv").write_bytes(mark + b"g,x,word\n" + text.encode())
    (folder / "t.toml").write_text(TABLE + more + COLUMNS)
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
    pool.end()


def test_a_file_that_changes_between_ranges_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, pool, wait = policy_of(tmp_path, [QUOTED, QUOTED]), Pool(2), pools.wait

    def changed(busy: Any) -> Any:
        os.utime(tmp_path / "t1.csv", ns=(0, 0))
        return wait(busy)

    assert pool.is_ready(60)
    monkeypatch.setattr(pools, "wait", changed)
    plan = planned("SELECT SUM(x) FROM t", policy)
    with pytest.raises(DataFileError, match="has changed since it was first read"):
        Pooled(tables=policy.tables, given=pool).exact(plan, {})
    assert not pool.holds(2)


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
    for more in ('comment = "#"', "skip = 1", 'encoding = "latin-1"', 'unit = "word"'):
        assert pool_of(policy_of(tmp_path, ["g,x,word\n"], more)) is None, more
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(b"g,x,word\n1,2,3\n"))
    packed = replace(plain.tables[0], path=tmp_path / "p.csv.gz")
    assert pool_of(replace(plain, tables=(packed,))) is None


def test_workers_are_for_csv_files_that_are_read_anew(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text((TABLE + COLUMNS).replace('engine = "stream"\n', ""))
    with pytest.raises(PolicyError, match='and CSV files whose engine is "stream"'):
        read_policy(tmp_path / "t.toml")
