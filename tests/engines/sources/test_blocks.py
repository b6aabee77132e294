"""Rows that are read block by block: the same as those that are read whole."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.engines.sources.cells import records
from dpdb.engines.sources.csv_source import CsvSource
from dpdb.policy.catalog import Column, Kind, Table
from tests.support.csv_files import Remembering, anywhere, integer, plain, quoted


@given(
    st.lists(st.tuples(st.sampled_from(["1", "", "x", "-7"]), st.text('ab\n"é', max_size=3))),
    st.sampled_from([1, 9, 40]),
)
@settings(anywhere, max_examples=25)
def test_blocks_put_together_are_the_table(path, rows, size):
    """The same rows in the same order, wherever they are cut."""
    lines = [f"{number},{quoted(text)}\n" for number, text in rows]
    path.write_text("x,t\n" + "".join(lines), encoding="utf-8", newline="")
    source = CsvSource(Table("t", path, (integer(), Column("t", Kind.TEXT))))
    whole = source.load(["x", "t"])
    with patch.object(records, "BLOCK", size):
        blocks = list(source.blocks(["x", "t"]))
    assert {block.version for block in blocks} <= {whole.version}
    assert sum(block.rows for block in blocks) == whole.rows == len(rows)
    for name, column in whole.columns.items():
        assert [cell for block in blocks for cell in plain(block.columns[name])] == plain(column)


def test_a_witness_is_asked_before_blocks_end(path):
    path.write_text("x\n1\n2\n")
    source = CsvSource(Table("t", path, (integer(),)))
    witness = Remembering()
    blocks = source.blocks(["x"], None, witness)
    assert [block.rows for block in blocks] == [2]
    assert witness.seen == [("t", source.digest(witness.key))]
    source.load([], None, witness)
    assert witness.seen[1:] == witness.seen[:1]
