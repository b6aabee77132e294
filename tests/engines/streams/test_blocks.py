"""What a stream holds, and that nobody can see where its blocks end."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.csv_source import CsvSource
from dpdb.engines.statistics import accumulators
from dpdb.engines.statistics.rank_windows import RungCounts
from dpdb.engines.statistics.statistics import Statistics
from dpdb.engines.streams import StreamEngine
from dpdb.engines.units.caps import PlanRows
from dpdb.errors import DataFileError, PolicyError
from dpdb.interfaces.cli.main import main
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.statistics import Ranks
from dpdb.session.backends import open_engine
from tests.engines.conformance.test_engine import (
    CAPS,
    HEADER,
    HOSTILE,
    POLICY,
    ROWS,
    STATEMENTS,
    results,
    shown,
    table,
)
from tests.support.exactly import planned, raw, write
from tests.support.streams import SmallBlocks

HELD = [*ROWS * 3, *HOSTILE[7:], *(row.replace("ann", "zoë") for row in ROWS)]
ASKED = """
    SELECT COUNT(*), COUNT(DISTINCT who), SUM(x) FROM t; SELECT MEDIAN(x), MIN(y), MODE(g) FROM t;
    SELECT who, COUNT(*) FROM t GROUP BY who; SELECT g, AVG(x) FROM t GROUP BY g;
    SELECT VARIANCE(y) FROM t WHERE x > 1
"""


def no_columns(*_: object) -> None:
    raise AssertionError("the columns of a table that is streamed were loaded")


@pytest.mark.parametrize("block", [1, 10**6])
@pytest.mark.parametrize("cap", ["rows", "two"])
def test_blocks_of_any_size_add_up_to_the_same(tmp_path: Path, block: int, cap: str) -> None:
    """Bit by bit and in the same types, without the table's columns being loaded."""
    policy, memory = table(tmp_path, HELD, CAPS[cap]), MemoryEngine()
    added = [text for text in STATEMENTS if "SUM(DISTINCT" not in text]
    for text in added[block % 2 :: 2]:
        plan = planned(text, policy, memory)
        expected = [shown(result) for result in results(plan, memory)]
        with mock.patch.object(MemoryEngine, "_loaded", no_columns):
            found = [shown(result) for result in results(plan, SmallBlocks(block=block))]
        assert found == expected, text


def test_what_units_come_to_adds_up_and_sums_of_different_values_do_not(tmp_path: Path) -> None:
    """Parts have whole units, and the same values as others."""
    policy, memory = table(tmp_path, HELD, CAPS["two"]), MemoryEngine()
    text = "SELECT g, SUM(x, contribution_bounds_per_group => (2, 9)) FROM t GROUP BY g"
    plan = planned(text, policy, memory)
    expected = [shown(result) for result in results(plan, memory)]
    with mock.patch.object(MemoryEngine, "_loaded", no_columns):
        assert [shown(result) for result in results(plan, SmallBlocks())] == expected
    text = "SELECT SUM(DISTINCT x), AVG(DISTINCT y) FROM t"
    assert raw(text, policy, SmallBlocks()) == raw(text, policy, memory)


@pytest.mark.parametrize("cap", CAPS)
def test_a_block_or_a_part_is_evaluated_at_a_time(tmp_path: Path, cap: str) -> None:
    """Blocks have at most so many rows, and what counts of units is looked at in blocks, too."""
    policy, rows = table(tmp_path, HELD, CAPS[cap]), list[int]()

    def watched(plan: Plan, of: PlanRows) -> Statistics:
        rows.append(of.rows)
        return Statistics(plan, of)

    plan = planned("SELECT SUM(x) FROM t", policy)
    with mock.patch("dpdb.engines.statistics.accumulators.Statistics", watched):
        SmallBlocks().exact(plan, {})
    [counted] = MemoryEngine().exact(planned("SELECT COUNT(*) FROM t", policy), {})
    assert sum(rows) == np.asarray(counted.cells).sum()
    assert max(rows) <= 7


@pytest.mark.parametrize("select", ["MAX(x)", "MIN(y)", "MAX(x) FILTER (WHERE y < 0.5)"])
@pytest.mark.parametrize("rest", ["", " WHERE x > 1", " GROUP BY g", " WHERE x > 1 GROUP BY g"])
def test_as_many_values_stand_beyond_each_rung(tmp_path: Path, select: str, rest: str) -> None:
    """Those of rows that do not count, or are NULL, are not among them."""
    policy = table(tmp_path, HELD, 'engine = "stream"')
    plan = planned(f"SELECT {select} FROM t{rest}", policy)
    [release] = plan.exact_releases
    assert isinstance(release.statistic, Ranks)
    made = RungCounts(release.statistic, plan.cells if plan.keys else 1)
    with mock.patch.object(accumulators, "_accumulator", return_value=made):
        [found] = StreamEngine().exact(plan, {})
    [expected] = MemoryEngine().exact(plan, {})
    rungs = np.array(release.statistic.rungs)
    side = "right" if rungs[0] < rungs[-1] else "left"
    for window, cell in zip(found.cells, expected.cells, strict=True):
        assert len(window) == len(cell)
        assert window.searchsorted(rungs, side=side).tolist() == (
            np.asarray(cell).searchsorted(rungs, side).tolist()
        )


def test_only_named_columns_are_read(tmp_path: Path) -> None:
    policy, read = table(tmp_path, HELD), []

    def blocks(self: CsvSource, names: frozenset[str], *rest: object) -> object:
        read.append(set(names))
        return original(self, names, *rest)  # type: ignore[arg-type]

    original = CsvSource.blocks
    with mock.patch.object(CsvSource, "blocks", blocks):
        raw("SELECT COUNT(*) FROM t", policy, SmallBlocks())
        raw("SELECT SUM(x) FROM t WHERE y > 0 GROUP BY g", policy, SmallBlocks())
    assert read == [set(), {"x", "y", "g"}]


def test_a_table_that_changes_between_two_queries_is_refused(tmp_path: Path) -> None:
    policy, engine = table(tmp_path, HELD, 'engine = "stream"'), StreamEngine()
    plan = planned("SELECT COUNT(*) FROM t", policy)
    engine.exact(plan, {})
    os.utime(policy.tables[0].path, ns=(0, 0))
    with pytest.raises(DataFileError, match="has changed since it was first read"):
        engine.exact(plan, {})


def test_a_table_of_more_rows_than_sums_hold_is_refused(tmp_path: Path) -> None:
    policy = table(tmp_path, HELD, 'engine = "stream"')
    plan = planned("SELECT COUNT(*) FROM t", policy)
    few = mock.patch("dpdb.engines.streams.MAX_ROWS", 3)
    with few, pytest.raises(DataFileError, match=r"has more than \d+ rows"):
        StreamEngine().exact(plan, {})


def test_a_table_without_a_row_has_zero_of_everything(tmp_path: Path) -> None:
    policy = table(tmp_path, [])
    for text in STATEMENTS[::3]:
        assert raw(text, policy, SmallBlocks()) == raw(text, policy, MemoryEngine())


@pytest.mark.parametrize(
    ("written", "streamed"),
    [("", False), ('engine = "memory"', False), ('engine = "stream"', True)],
)
def test_the_policy_says_which_tables_are_streamed(
    tmp_path: Path, written: str, streamed: bool
) -> None:
    policy = write(tmp_path, "t", HEADER, POLICY.format(unit=written))
    assert StreamEngine().streams(policy.tables[0]) is streamed
    assert isinstance(open_engine(policy), StreamEngine) is streamed


def test_an_engine_that_is_not_there_is_a_mistake_of_the_policy(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r'line 3: .*: engine is "memory", "stream" or "spark"$'):
        write(tmp_path, "t", HEADER, POLICY.format(unit='engine = "duckdb"'))


def test_answers_are_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Through the command line, with the noise of one seed."""
    answers = []
    for engine in ("memory", "stream"):
        policy = POLICY.format(unit=f'engine = "{engine}"')
        table_of = write(tmp_path, "t", "\n".join([HEADER.strip(), *ROWS]), policy)
        options = ["--epsilon", "500", "--delta", "1e-3", "--queries", "9", "--json"]
        path = str(table_of.tables[0].path.with_suffix(".toml"))
        main([path, "--teach", "--seed", "4", *options, "-c", ASKED])
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]
    assert answers[0].count('"rows": [[') == 5
