"""Conditions on texts of a file are tested as they are stored, and mean the same."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest import mock

import pyarrow
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.arrow.texts import ArrowTexts
from dpdb.engines.statistics import gathered
from dpdb.engines.streams import StreamEngine
from dpdb.policy.catalog import Column, Kind, Policy, Table
from tests.support.exactly import raw
from tests.support.streams import SmallBlocks
from tests.support.typed_files import write_typed

HELD = [b"ab", b"", None, b"b", b"abab", b"a\xffb", b"ab\xc3", b"\xc3\xa4b", b"a\0b", b" ab ", b"aab",
        "a\N{REPLACEMENT CHARACTER}b".encode(), b"ab" + b"x" * 10_000, b"x" * 10_000, b"%", b"AB",
        b"\xe2\x82ab", "a\N{GRINNING FACE}".encode()]  # fmt: skip
TESTED = [
    "c = 'ab'", "c <> 'ab'", "'äb' = c", "c = ''", "c <> ''", "c IN ('ab', 'b', '')", "c IS NULL",
    "c NOT IN ('ab', 'aab')", "c LIKE 'ab'", "c LIKE 'a%'", "c LIKE '%b'", "c LIKE 'ab%ab'",
    "c LIKE '%'", "c LIKE '%ab%'", "c NOT LIKE '%ä%'", "c = 'ab' OR NOT c LIKE '%a%'",
    "c LIKE 'a\N{GRINNING FACE}%'", "c LIKE ''", "STARTS_WITH(c, 'ab')", "NOT ENDS_WITH(c, 'b')",
    "CONTAINS(c, 'bab')", "NOT CONTAINS(c, 'a')",
]  # fmt: skip
CODED = [
    "c = 'a\N{REPLACEMENT CHARACTER}b'", "c LIKE '%\N{REPLACEMENT CHARACTER}%'", "c LIKE 'a_b'",
    "c LIKE '%a%b%'", "c < 'ab'", "UPPER(c) = 'AB'", "c IN ('ab', NULL)", "c || 'x' = 'abx'",
    "STARTS_WITH(LOWER(c), 'a')", "CONTAINS(c, '')", "ENDS_WITH(c, '\N{REPLACEMENT CHARACTER}')",
]  # fmt: skip
COUNTED = "SELECT COUNT(*), COUNT(c), COUNT(DISTINCT c) FROM t WHERE {}"


@pytest.fixture(params=[False, True])
def policy(tmp_path: Path, request: pytest.FixtureRequest) -> Policy:
    """A file whose texts are bytes of any kind, in a column that may have NULL or not."""
    texts = pyarrow.array(HELD * 2, pyarrow.binary())
    parts = pyarrow.StringArray.from_buffers(len(texts), *texts.buffers()[1:], texts.buffers()[0])
    numbers = [None if at % 7 == 6 else at % 5 for at in range(len(texts))]
    path = write_typed(tmp_path, "t", pyarrow.table({"c": parts, "g": numbers}))
    columns = (
        Column("c", Kind.TEXT, nullable=request.param),
        Column("g", Kind.INTEGER, Fraction(0), Fraction(4)),
    )
    return Policy((Table("t", path, columns),))


@pytest.mark.parametrize("engine", [SmallBlocks, StreamEngine])
def test_conditions_mean_the_same(policy: Policy, engine: type[StreamEngine]) -> None:
    memory = MemoryEngine()
    for condition in TESTED + CODED:
        text = COUNTED.format(condition)
        assert raw(text, policy, engine()) == raw(text, policy, memory), condition


def test_no_dictionary_is_made_of_what_is_looked_for_in_bytes(policy: Policy) -> None:
    """Which conditions these are follows from their text."""
    made = mock.PropertyMock(side_effect=AssertionError("a dictionary is made"))
    with mock.patch.object(ArrowTexts, "_coded", made):
        for condition in TESTED:
            raw(COUNTED.format(condition), policy, StreamEngine())
        for condition in CODED:
            with pytest.raises(AssertionError, match="a dictionary is made"):
                raw(f"SELECT COUNT(*) FROM t WHERE {condition}", policy, StreamEngine())


@pytest.mark.parametrize("waiting", [0, 8])
@pytest.mark.parametrize("engine", [SmallBlocks, StreamEngine])
def test_different_texts_are_counted_by_cell(
    policy: Policy, engine: type[StreamEngine], waiting: int
) -> None:
    """However many parts wait before they are put together; groups of declared keys, and none."""
    text = "SELECT g, COUNT(DISTINCT c), COUNT(DISTINCT c) FILTER (WHERE g > 1) FROM t GROUP BY g"
    with mock.patch.object(gathered, "FEW", waiting):
        for asked in (text, "SELECT COUNT(DISTINCT c) FROM t WHERE c LIKE 'q%'"):
            assert raw(asked, policy, engine()) == raw(asked, policy, MemoryEngine())


@pytest.mark.parametrize("limit", [1, 3, 9])
def test_the_same_rows_of_a_unit_count(policy: Policy, limit: int) -> None:
    """Of which texts are hashed that are no proper ones."""
    policy = Policy((replace(policy.tables[0], unit="g", rows_per_unit=limit),))
    text = COUNTED.format("c IS NOT NULL OR g > 2")
    assert raw(text, policy, SmallBlocks()) == raw(text, policy, MemoryEngine())


def test_texts_of_rows_that_no_cap_leaves_out_are_not_looked_at(policy: Policy) -> None:
    made = mock.PropertyMock(side_effect=AssertionError("a dictionary is made"))
    policy = Policy((replace(policy.tables[0], unit="g", rows_per_unit=99),))
    with mock.patch.object(ArrowTexts, "_coded", made):
        raw("SELECT COUNT(c) FROM t", policy, SmallBlocks())
