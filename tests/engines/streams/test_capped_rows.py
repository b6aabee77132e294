"""Which rows of units count in a stream, and what is read to find it out."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.csv_source import CsvSource
from dpdb.engines.sources.protocol import Loaded
from dpdb.engines.streams import capped_rows, least_hashes
from dpdb.engines.streams.engine import StreamEngine
from dpdb.engines.streams.least_hashes import LeastBytes, LeastHashes, Undecided
from dpdb.engines.streams.row_bits import RowBits
from dpdb.engines.streams.unit_counts import UnitCounts
from dpdb.engines.streams.unit_words import by_units, unit_hashes, unit_words
from dpdb.plan.expressions.expressions import Slot
from dpdb.policy.catalog import Kind, Table
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.vector import Array, Vector
from tests.engines.conformance.test_engine import CAPS, table
from tests.support.exactly import planned, raw
from tests.support.streams import SmallBlocks

ALL = {"who", "g", "x", "y", "z", "d", "q", "b", "huge"}
FEW = [f"u{number % 3},a,{number},,,,,," for number in range(4)]
MANY = [f"u{number % 3},b,{number},,,,,," for number in range(40)]


def test_bits_are_those_of_blocks_of_any_length() -> None:
    chance = np.random.default_rng(5)
    blocks = [chance.random(length) < 0.5 for length in (3, 0, 8, 21, 1, 64)]
    rows, bits = np.concatenate(blocks), RowBits.of(iter(blocks))
    taken = np.flatnonzero(rows)[::3]
    bits.remove(taken)
    rows[taken] = False
    assert bits.number == np.count_nonzero(rows)
    for first in range(len(rows)):
        for number in range(len(rows) - first):
            found = bits.within(first, number)
            assert found.tolist() == np.flatnonzero(rows[first : first + number]).tolist()


def test_a_counter_is_never_less_than_the_rows_of_its_units() -> None:
    """As many as 300 rows, of which a byte would lose 256."""
    numbers = np.concatenate([np.full(300, 7), np.arange(1000), np.arange(1000), [-(2**53)]])
    column = Numbers(numbers, Fraction(1), None, 0)
    counts, hashes = UnitCounts(2, size=1), unit_hashes(column)
    for block in np.array_split(hashes, 4):
        counts.add(block)
    overfull = counts.may_be_overfull(hashes)
    assert overfull[numbers == 7].all()
    assert not overfull.all()


def test_parts_have_whole_units_and_all_rows() -> None:
    """Units are told apart by all of their words."""
    first, second = np.random.default_rng(8).integers(0, 9, (2, 400)).astype(np.uint64)
    seen, rows = set[tuple[int, int]](), list[int]()
    parts = [*by_units((first, second), 50)]
    assert len(parts) == 8
    for places, numbers in parts:
        named = [*zip(first[places].tolist(), second[places].tolist(), strict=True)]
        assert len({*zip(numbers.tolist(), named, strict=True)}) == len({*named})
        assert {*numbers.tolist()} == {*range(len({*named}))}
        assert not seen & {*named}
        seen |= {*named}
        rows += places.tolist()
    assert sorted(rows) == [*range(400)]


def test_a_text_has_the_same_words_in_all_blocks() -> None:
    columns = Codes(np.array([0, 1, 0]), ("ann", "bob")), Codes(np.array([1, 0]), ("čeněk", "ann"))
    one, other = map(unit_words, columns)
    assert len(one) == 2
    for ours, theirs in zip(one, other, strict=True):
        assert ours[0] == ours[2] == theirs[0]
        assert len({*ours.tolist(), *theirs.tolist()}) == 3
    assert unit_hashes(columns[0])[0] == unit_hashes(columns[1])[0]


def settled(least: LeastHashes, units: Array, hashes: Array) -> tuple[list[int], Undecided]:
    """The rows that do not count once all are added, twenty at most at a time, and the undecided."""
    over = list[int]()
    for rows in np.array_split(np.arange(len(units)), -(-len(units) // 20)):
        over += least.add(rows, (units[rows],), hashes[rows]).tolist()
    rest, undecided = least.settle()
    return [*over, *rest.tolist()], undecided


@pytest.mark.parametrize("sorted_together", [7, 2**20])
def test_rows_with_the_least_hashes_stay(
    monkeypatch: pytest.MonkeyPatch, sorted_together: int
) -> None:
    """Whatever blocks they come in; of those with the same one the first."""
    monkeypatch.setattr(least_hashes, "SORTED", sorted_together)
    chance = np.random.default_rng(6)
    units, hashes = chance.integers(0, 20, 500), chance.integers(0, 100, 500).astype(np.uint64)
    over, undecided = settled(LeastHashes(3, 500), units, hashes)
    order = np.lexsort((hashes, units)).tolist()
    expected = [row for unit in range(20) for row in [r for r in order if units[r] == unit][3:]]
    assert sorted(over) == sorted(expected)
    assert not len(undecided.rows)


@pytest.mark.parametrize("sorted_together", [7, 2**20])
def test_rows_that_tie_in_their_first_byte_are_undecided(
    monkeypatch: pytest.MonkeyPatch, sorted_together: int
) -> None:
    monkeypatch.setattr(least_hashes, "SORTED", sorted_together)
    chance = np.random.default_rng(7)
    units, hashes = chance.integers(0, 20, 300), chance.integers(0, 40, 300).astype(np.uint8)
    over, undecided = settled(LeastBytes(3, 300), units, hashes)
    found = dict[int, list[int]]()
    for row, number in zip(undecided.rows.tolist(), undecided.units.tolist(), strict=True):
        found.setdefault(number, []).append(row)
    for unit in range(20):
        rows = np.flatnonzero(units == unit)
        last = np.sort(hashes[rows])[2]
        assert {*rows[hashes[rows] > last].tolist()} == {*over} & {*rows.tolist()}
        sure, ties = (hashes[rows] < last).sum(), rows[hashes[rows] == last].tolist()
        if sure + len(ties) > 3:
            [number] = [number for number, own in found.items() if own == ties]
            assert undecided.limits[number] == 3 - sure
            del found[number]
    assert not found


@pytest.mark.parametrize("limit", [1, 5])
def test_of_a_unit_with_most_rows_no_more_are_kept_of_a_block_than_count(limit: int) -> None:
    least = LeastHashes(limit, 100)
    least.add(np.arange(100), (np.zeros(100),), np.arange(100, dtype=np.uint64))
    assert least._number == limit


class Sized(StreamEngine):
    """Streams a small file as if it were a large one."""

    def size(self, table: Table) -> int:
        return 4 * capped_rows.AT_ONCE

    def parts(self, table: Table) -> int:
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

    Before the first filter it is found out which rows are held, of which there may be more.
    """
    policy = table(tmp_path, rows, CAPS["two"] + '\nengine = "stream"')
    engine = Sized()
    for text, passes in {
        "SELECT SUM(x) FROM t WHERE y > 0": [
            *[{"who"}, {"who"}, ALL, *[{"who"}] * 3, ALL],
            {"who", "y"},
            {"who"},
            ALL,
            *[{"who"}] * 3,
            ALL,
            {"x"},
        ],
        "SELECT g, AVG(x) FROM t WHERE y > 0 GROUP BY g": [{"g", "x"}],
        "SELECT COUNT(DISTINCT who) FROM t WHERE y > 0": [{"who"}],
        "SELECT SUM(x, contribution_bounds_per_group => (2, 9)) FROM t WHERE y > 0": [{"who", "x"}]
        * 3,
        "SELECT COUNT(*) FROM t": [*[{"who"}] * 5, set()],
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


def test_rows_are_told_apart_where_the_first_byte_of_their_hashes_is_the_same(
    tmp_path: Path,
) -> None:
    policy = table(tmp_path, [f"u{row % 7},,,,,,,,{row}" for row in range(7_000)], CAPS["two"])
    text = "SELECT SUM(huge) FROM t"
    assert raw(text, policy, SmallBlocks(block=500)) == raw(text, policy, MemoryEngine())


class AtOnce(SmallBlocks):
    """Orders all rows in one pass, as those of a small file are."""

    def size(self, table: Table) -> int:
        return capped_rows.AT_ONCE


@pytest.mark.parametrize("cap", ["one", "two"])
def test_the_rows_of_a_small_file_are_ordered_at_once(
    tmp_path: Path, read: list[set[str]], cap: str
) -> None:
    rows = [f"u{row % 7},{'abc'[row % 3]},{row % 5},{row % 4},{row},,,," for row in range(90)]
    policy, engine = table(tmp_path, rows, CAPS[cap]), AtOnce()
    text = "SELECT g, SUM(x), COUNT(*) FROM t WHERE y > 0 GROUP BY g"
    assert raw(text, policy, engine) == raw(text, policy, MemoryEngine())
    assert read[:3] == [{"who"}, ALL, {"who", "y"}], "all columns have been read already"
    text = "SELECT COUNT(*) FROM t"
    assert raw(text, policy, engine) == raw(text, policy, MemoryEngine())
