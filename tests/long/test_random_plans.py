"""Random plans over hostile tables: each kind of storage comes to the same exact numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import strategies as st

from dpdb.errors import DpdbError
from dpdb.plan.physical.plan import Plan
from dpdb.plan.planner import plan
from dpdb.policy.catalog import Table
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.sql.selects.statements import Select, statement
from tests.engines.conformance.test_engine import shown
from tests.engines.streams.test_random_plans import innermost
from tests.long.neighbours import Neighbouring, neighbouring
from tests.long.parts import Part
from tests.long.statements import ASKED
from tests.support.exactly import EPSILON
from tests.support.postgres import Server, running_server
from tests.support.storages import POSTGRESQL, in_storage
from tests.support.streams import SmallBlocks

TABLES = 8
"""So many are asked in each part."""
Move = Callable[[Table, Path], Table]
"""Writes the rows of a table into a folder or elsewhere, to be read from there."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


@dataclass(frozen=True)
class Twins:
    """A table in memory, and elsewhere, where an engine goes over its blocks."""

    pair: Neighbouring
    other: Table
    stream: SmallBlocks

    def check(self, asked: Plan) -> None:
        """Hold the exact results against each other, to the bit and to the type."""
        memory, there = self.pair.engines[0], replace(asked, table=self.other)
        expected = [shown(result) for result in memory.exact(asked, {})]
        assert [shown(result) for result in self.stream.exact(there, {})] == expected


def all_twins(folder: Path, chance: Random, move: Move) -> list[Twins]:
    """A few random tables."""
    found = []
    for at in range(TABLES):
        pair = neighbouring(folder / str(at), chance)
        other = move(pair.policy.tables[0], folder / str(at))
        found.append(Twins(pair, other, SmallBlocks(block=chance.choice([2, 7, 50]))))
    return found


def compare(part: Part, folder: Path, move: Move) -> str:
    """Hold random plans against tables in memory and elsewhere; says what became of them."""
    twins, outcomes = all_twins(folder, Random(part.seed), move), Counter[str]()

    def check(example: tuple[Twins, str]) -> None:
        here, text = example
        policy, memory = here.pair.policy, here.pair.engines[0]
        try:
            found = statement(text, policy)
            assert isinstance(found, Select)
            asked = plan(found.query, policy, BudgetShare(EPSILON), memory.rows)
        except DpdbError as error:
            outcomes[type(error).__name__] += 1
            return
        for each in innermost(asked):
            here.check(each)
            outcomes["the same"] += 1

    part.each(st.tuples(st.sampled_from(twins), ASKED), check)
    assert outcomes["the same"] > outcomes.total() // 2
    return f"{part}: {dict(outcomes)}"


@pytest.mark.examples(10_000, 8)
def test_random_plans_come_to_the_same_in_parquet_files(part: Part, tmp_path: Path, tried) -> None:
    tried(compare(part, tmp_path, partial(in_storage, kind="parquet")))


@pytest.mark.examples(1_000, 3)
def test_random_plans_come_to_the_same_in_duckdb_files(part: Part, tmp_path: Path, tried) -> None:
    """To open such a file takes longer than all else."""
    tried(compare(part, tmp_path, partial(in_storage, kind="duckdb")))


@pytest.mark.examples(2_000, 4)
def test_random_plans_come_to_the_same_on_a_server(
    part: Part, tmp_path: Path, server: Server, tried
) -> None:
    tried(compare(part, tmp_path, partial(in_storage, kind=POSTGRESQL, server=lambda: server)))
