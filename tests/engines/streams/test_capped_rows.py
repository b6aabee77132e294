"""Which rows of units count in a stream, and what is read to find it out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.csv_source import CsvSource
from dpdb.engines.sources.protocol import Loaded
from dpdb.engines.streams import StreamEngine
from dpdb.engines.units import capped_rows
from dpdb.engines.units.capped_rows import RowBits
from dpdb.engines.units.row_hashes import UnitKey
from dpdb.plan.expressions.expressions import Slot
from dpdb.policy.catalog import Kind, Table
from dpdb.vectors.columns import Codes
from dpdb.vectors.vector import Vector
from tests.engines.conformance.test_engine import CAPS, table
from tests.support.exactly import planned, raw
from tests.support.streams import SmallBlocks

ALL = {"who", "g", "x", "y", "z", "d", "q", "b", "huge"}
FEW = [f"u{number % 3},a,{number},,,,,," for number in range(4)]
MANY = [f"u{number % 3},b,{number},,,,,," for number in range(40)]


def test_bits_are_those_that_were_set() -> None:
    rows, bits = np.random.default_rng(5).random(99) < 0.5, RowBits.none_of(99)
    for half in np.array_split(np.flatnonzero(rows), 2):
        bits.set(half)
    for first in range(len(rows)):
        for number in range(len(rows) - first):
            assert bits.among(first, number).tolist() == rows[first : first + number].tolist()


def test_a_text_has_the_same_words_in_all_blocks() -> None:
    columns = Codes(np.array([0, 1, 0]), ("ann", "bob")), Codes(np.array([1, 0]), ("čeněk", "ann"))
    key = UnitKey()
    one, other = map(key.words, columns)
    assert len(one) == 2
    for ours, theirs in zip(one, other, strict=True):
        assert ours[0] == ours[2] == theirs[0]
        assert len({*ours.tolist(), *theirs.tolist()}) == 3
    assert key.hashes(one)[0] == key.hashes(other)[0]


class Sized(StreamEngine):
    """Streams a small file as if it were a large one."""

    def size(self, table: Table) -> int:
        return 2 * capped_rows.MEMORY

    def turns(self, table: Table) -> int:
        return 3


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The columns of each pass over a file."""
    passes, original = list[set[str]](), CsvSource.blocks

    def blocks(self: CsvSource, names: frozenset[str], *rest: object) -> Iterator[Loaded]:
        passes.append(set(names))
        return original(self, names, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(CsvSource, "blocks", blocks)
    return passes


@pytest.mark.parametrize("rows", [[], FEW, MANY])
def test_what_is_read_follows_from_the_plan_and_the_size(
    tmp_path: Path, read: list[set[str]], rows: list[str]
) -> None:
    """Whether no unit has more rows than count, or all have; a further plan reads its own.

    Rows are capped in three turns, and units gathered in three.
    """
    policy = table(tmp_path, rows, CAPS["two"] + '\nengine = "stream"')
    engine = Sized()
    for text, passes in {
        "SELECT SUM(x) FROM t WHERE y > 0": [ALL] * 3 + [{"x"}],
        "SELECT g, AVG(x) FROM t WHERE y > 0 GROUP BY g": [{"g", "x"}],
        "SELECT COUNT(DISTINCT who) FROM t WHERE y > 0": [{"who"}],
        "SELECT SUM(x, contribution_bounds_per_group => (2, 9)) FROM t WHERE y > 0": [{"who", "x"}]
        * 3,
        "SELECT COUNT(*) FROM t": [{"who"}] * 3 + [set()],
        "SELECT COUNT(DISTINCT who) FROM t": [{"who"}],
    }.items():
        read.clear()
        raw(text, policy, engine)
        assert read == passes, text


def test_a_filter_with_a_noisy_value_is_tested_for_each_plan(tmp_path: Path) -> None:
    """What is kept of one plan does not serve another one with another value."""
    policy = table(tmp_path, FEW, CAPS["two"] + '\nengine = "stream"')
    asked = planned("SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)", policy)
    engine, slot = Sized(), Slot("subquery", 0, Kind.NUMBER)
    found = [engine.exact(asked, {slot: Vector(np.array([value]))}) for value in (-1.0, 2.0)]
    assert [exact.cells.tolist() for [exact] in found] == [[4], [1]]


def test_rows_of_the_same_hash_are_in_the_order_of_numbers_without_a_step(tmp_path: Path) -> None:
    policy = table(tmp_path, [f"ann,a,1,,{9 - row},,,," for row in range(9)], CAPS["two"])
    text = "SELECT SUM(CLAMP(z, 0, 9)) FROM t"
    assert raw(text, policy, SmallBlocks()) == raw(text, policy, MemoryEngine())


@pytest.mark.parametrize("cap", ["one", "two"])
@pytest.mark.parametrize("memory", [100, 2**20])
def test_rows_are_capped_in_turns_and_buckets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cap: str, memory: int
) -> None:
    """The same rows count, whatever turn and bucket their units are in."""
    rows = [f"u{row % 7},{'abc'[row % 3]},{row % 5},{row % 4},{row},,,," for row in range(90)]
    policy, engine = table(tmp_path, rows, CAPS[cap]), SmallBlocks(block=20)
    monkeypatch.setattr(capped_rows, "MEMORY", memory)
    for text in (
        "SELECT g, SUM(x), COUNT(*) FROM t WHERE y > 0 GROUP BY g",
        "SELECT SUM(x) FROM t",
    ):
        plan = planned(text, policy)
        found = StreamEngine.exact(engine, plan, {})
        expected = MemoryEngine().exact(plan, {})
        assert [each.cells.tolist() for each in found] == [each.cells.tolist() for each in expected]
