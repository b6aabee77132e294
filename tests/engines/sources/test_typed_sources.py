"""Files with typed columns: their blocks, versions and digests, and what a connection may do."""

from __future__ import annotations

import pickle

import duckdb
import pyarrow
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.arrow import readers as duckdb_reader
from dpdb.engines.sources.arrow import readers as parquet_reader
from dpdb.engines.sources.arrow import typed_source
from dpdb.engines.sources.opening import open_source
from dpdb.errors import DataFileError
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.schemas import database_files as duckdb_file
from dpdb.policy.schemas.database_files import open_duckdb
from tests.support.csv_files import Remembering, integer, plain
from tests.support.typed_files import KINDS, write_typed

COLUMNS = (integer(), Column("t", Kind.TEXT))


def rows(number):
    return pyarrow.table({"x": range(number), "t": [f"t{i % 7}" for i in range(number)]})


@pytest.fixture(params=KINDS)
def source(tmp_path, request):
    return open_source(Table("t", write_typed(tmp_path, "t", rows(9), request.param), COLUMNS))


def batches_of(monkeypatch, number):
    for module in (typed_source, duckdb_reader):
        monkeypatch.setattr(module, "BATCH", number)


def rewritten(source, table):
    """Another table in the place of the one that the source reads."""
    kind = "parts" if "*" in source.table.path.name else source.table.path.suffix[1:]
    folder = source.table.path.parent.parent if kind == "parts" else source.table.path.parent
    write_typed(folder, "t", table, kind)


@pytest.mark.parametrize(("kind", "number"), [("parquet", 50), ("parts", 50), ("duckdb", 5000)])
def test_blocks_put_together_are_the_table(tmp_path, monkeypatch, kind, number):
    batches_of(monkeypatch, 2048 if kind == "duckdb" else 7)
    table = Table("t", write_typed(tmp_path, "t", rows(number), kind), COLUMNS)
    source, seen = open_source(table), []
    whole = source.load(["x", "t"], seen.append)
    blocks = list(source.blocks(["x", "t"]))
    assert seen == sorted(seen)
    assert seen[-1] == 1
    assert len(blocks) > 1
    assert {block.version for block in blocks} == {whole.version}
    for name, column in whole.columns.items():
        assert [cell for block in blocks for cell in plain(block.columns[name])] == plain(column)


@pytest.mark.parametrize(("most", "cut"), [(7, [6, 4]), (64, [10])])
def test_a_block_is_not_cut_where_a_dictionary_ends(tmp_path, monkeypatch, most, cut):
    """There are three rows in each group of rows, which has a dictionary of its own."""
    batches_of(monkeypatch, most)
    few = Column("t", Kind.TEXT, values=("t1", "t2"))
    table = Table("t", write_typed(tmp_path, "t", rows(10)), (integer(), few))
    blocks = list(open_source(table).blocks(["x", "t"]))
    assert [block.rows for block in blocks] == cut
    assert [cell for block in blocks for cell in plain(block.columns["t"])] == [
        text if text in few.values else None for text in (f"t{i % 7}" for i in range(10))
    ]


def test_partitions_have_all_rows(tmp_path, monkeypatch):
    """In any order, and in another process; with texts there are more of them."""
    batches_of(monkeypatch, 8)
    source = open_source(Table("t", write_typed(tmp_path, "t", rows(11)), COLUMNS))
    assert [each.first for each in source.partitions(["x"])] == [0, 6]
    partitions = pickle.loads(pickle.dumps(source.partitions(["x", "t"])))
    blocks = {each.first: [*source.read(each, ["x", "t"])] for each in reversed(partitions)}
    assert {first: plain(block.columns["x"]) for first, [block] in blocks.items()} == {
        0: [0, 1, 2], 3: [3, 4, 5], 6: [6, 7, 8], 9: [9, 10]}  # fmt: skip


def test_partitions_of_files_are_numbered_together(tmp_path, monkeypatch):
    """Each file is looked at once, until it changes; each partition opens its own."""
    opened, original = [], parquet_reader.open_parquet
    monkeypatch.setattr(
        parquet_reader, "open_parquet", lambda *rest: opened.append(rest[0]) or original(*rest)
    )
    source = open_source(Table("t", write_typed(tmp_path, "t", rows(9), "parts"), COLUMNS))
    both = ["a.parquet", "b.parquet"]
    for number, looks in ((9, both), (9, []), (8, both)):
        opened.clear()
        first = 0
        for partition in source.partitions(["x"]):
            assert partition.first == first
            first += sum(block.rows for block in source.read(partition, ["x"]))
        assert first == number
        assert [path.name for path in opened] == [*looks, *both]
        if not looks:
            rewritten(source, rows(8))


def test_a_partition_of_another_version_is_refused(tmp_path):
    source = open_source(Table("t", write_typed(tmp_path, "t", rows(9)), COLUMNS))
    [partition] = source.partitions(["x"])
    rewritten(source, rows(8))
    with pytest.raises(DataFileError, match="has changed"):
        list(source.read(partition, ["x"]))


def test_rows_are_counted_alone(source):
    assert source.load([]).rows == 9
    assert [block.rows for block in source.blocks([])] == [9]


def test_a_witness_sees_the_bytes(source):
    witness = Remembering()
    source.load(["x"], None, witness)
    list(source.blocks(["x"], None, witness))
    assert witness.seen == [("t", source.digest(witness.key))] * 2
    assert source.digest(b"another") != witness.seen[0][1]
    rewritten(source, rows(8))
    assert source.digest(witness.key) != witness.seen[0][1]


def test_a_file_that_has_changed_is_refused(source):
    engine = MemoryEngine()
    engine._loaded(source.table, frozenset(["x"]))
    blocks = source.blocks(["x"])
    assert plain(next(blocks).columns["x"])[0] == 0
    rewritten(source, rows(8))
    with pytest.raises(DataFileError, match="has changed since it was first read"):
        engine._loaded(source.table, frozenset(["x", "t"]))
    # What is read ahead may have met a file of several while it was being written.
    with pytest.raises(
        DataFileError, match=r"has changed since it was first read|cannot be read as"
    ):
        list(blocks)


def test_a_file_that_is_spoilt_says_nothing_of_what_is_in_it(source):
    for path in source.reader.files(source.table):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataFileError, match="cannot be read as a") as caught:
        source.load(["x"])
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('{}')",
        "ATTACH '{}'",
        "COPY file.main.t TO '{}'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET threads = 4",
        "DELETE FROM file.main.t",
    ],
)
def test_a_connection_reads_its_file_and_nothing_else(tmp_path, statement):
    path = write_typed(tmp_path, "t", rows(2), "duckdb")
    (tmp_path / "o'ther").write_text("secret")
    with pytest.raises(DataFileError, match="cannot be read"), open_duckdb(path) as connection:
        connection.execute(statement.format(str(tmp_path / "o'ther").replace("'", "''")))
    with open_duckdb(path) as connection:
        assert connection.execute("SELECT current_setting('temp_directory')").fetchone() == ("",)
        assert connection.execute("SELECT count(*) FROM file.main.t").fetchone() == (2,)


def test_a_log_beside_a_file_is_part_of_it(tmp_path):
    path = write_typed(tmp_path, "t", rows(2), "duckdb")
    source = open_source(Table("t", path, COLUMNS))
    before = source.digest(b"key")
    with duckdb.connect(str(path), config={"checkpoint_threshold": "1GB"}) as connection:
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        connection.execute("INSERT INTO t VALUES (7, 'new')")
    assert path.with_name("t.duckdb.wal").exists()
    assert source.load(["x"]).rows == 3
    assert source.digest(b"key") != before


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_more_bytes_than_their_column_has_are_missing(tmp_path, kind, nullable):
    """Whether all rows are read at once or block by block."""
    texts = pyarrow.table({"t": ["abc", "abcd", "", None, "äb", "äbc", "abc"]})
    column = Column("t", Kind.TEXT, nullable=nullable, length=3)
    source = open_source(Table("t", write_typed(tmp_path, "t", texts, kind), (column,)))
    lost = None if nullable else ""
    expected = ["abc", lost, lost, lost, "äb", lost, "abc"]
    assert plain(source.load(["t"]).columns["t"]) == expected
    blocks = [block.columns["t"] for block in source.blocks(["t"])]
    assert [cell for block in blocks for cell in plain(block)] == expected
    null = [cell for block in blocks for cell in block.null.tolist()]
    assert null == [cell is None for cell in expected]


@pytest.mark.parametrize("row", [0, 45_000])
def test_a_text_that_memory_does_not_hold_is_null(tmp_path, monkeypatch, row):
    """Of a block with such a text more memory is used, before its first rows or after them."""
    monkeypatch.setattr(duckdb_file, "_LIMIT", "50MB")
    monkeypatch.setattr(duckdb_reader, "BATCH", 2048)
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        long = f"CASE WHEN i = {row} THEN repeat('a', 60 << 20) ELSE 't' || i END"
        connection.execute(f"CREATE TABLE t AS SELECT i AS x, {long} AS t FROM range(60000) r(i)")
    columns = open_source(Table("t", path, COLUMNS)).load(["x", "t"]).columns
    assert plain(columns["x"]) == [*range(60_000)]
    assert plain(columns["t"]) == [None if i == row else f"t{i}" for i in range(60_000)]
