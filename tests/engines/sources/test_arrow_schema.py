"""Columns are read in the types that are worked on, and hold the same."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pyarrow
import pyarrow.parquet
import pytest

from dpdb.engines.sources.arrow.readers import ParquetReader, with_types_to_read
from dpdb.engines.sources.arrow.typed_source import TypedSource
from dpdb.engines.sources.opening import open_source
from dpdb.policy.catalog import Column, Kind, Table
from tests.support.csv_files import ordinal, plain

X = ordinal(Kind.NUMBER, -1000, 1000, step="0.01")


def written(path, *, digits=9, as_integers=True, stored=True):
    """A table with a file of three rows, among whose columns are decimals of so many digits."""
    decimals = [Decimal("1.25"), Decimal("-99999.99"), None]
    rows = pyarrow.table(
        {
            "before": pyarrow.array([{"a": 1, "b": 2}] * 3),
            "x": pyarrow.array(decimals, pyarrow.decimal128(digits, 2)),
            "long": pyarrow.array([1, 2, 3], pyarrow.decimal128(38, 0)),
            "t": pyarrow.array(["a", "b", "a"]).dictionary_encode(),
            "u": ["a", None, ""],
        },
        # So much that a length takes several bytes.
        metadata={"note": "n" * 20_000},
    )
    pyarrow.parquet.write_table(
        rows, path, store_decimal_as_integer=as_integers, store_schema=stored, row_group_size=2
    )
    return Table("t", path, (X,)), rows


@pytest.mark.parametrize(("digits", "bits"), [(7, 32), (9, 32), (10, 64), (18, 64)])
@pytest.mark.parametrize("stored", [False, True])
def test_integers_are_read_as_they_are(tmp_path, digits, bits, stored):
    table, rows = written(tmp_path / "t.parquet", digits=digits, stored=stored)
    batches = list(TypedSource(table, ParquetReader()).batches(["x"]))
    assert {batch.column("x").type.bit_width for batch in batches} == {bits}
    found = [value.as_py() for batch in batches for value in batch.column("x")]
    assert found == rows["x"].to_pylist()
    held = open_source(table).load(["x"]).columns["x"]
    assert plain(held) == [125, -100_000, None]


def test_integers_of_too_many_digits_are_read_as_they_are(tmp_path):
    """What a file declares of its values may be wrong; it is no row that decides what is read."""
    integers = pyarrow.array([2**31 - 1, -(2**31), 999], pyarrow.int32())
    held = pyarrow.Array.from_buffers(pyarrow.decimal32(3, 2), 3, integers.buffers())
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"x": held}), path, store_decimal_as_integer=True)
    wide = ordinal(Kind.NUMBER, -(10**9), 10**9, step="0.01")
    found = open_source(Table("t", path, (wide,))).load(["x"]).columns["x"]
    assert plain(found) == [2**31 - 1, -(2**31), 999]


@pytest.mark.parametrize("stored", [False, True])
def test_texts_have_long_places(tmp_path, stored):
    """A dictionary has few texts, and stays as it is."""
    table, rows = written(tmp_path / "t.parquet", stored=stored)
    u, t = Column("u", Kind.TEXT), Column("t", Kind.TEXT, values=("a", "b"))
    batches = list(TypedSource(replace(table, columns=(u, t)), ParquetReader()).batches(["u", "t"]))
    assert {batch.column("u").type for batch in batches} == {pyarrow.large_string()}
    assert {batch.column("t").type.value_type for batch in batches} == {pyarrow.string()}
    for name in "ut":
        found = [value.as_py() for batch in batches for value in batch.column(name)]
        assert found == rows[name].to_pylist()


def test_other_columns_are_what_they_were(tmp_path):
    table, rows = written(tmp_path / "t.parquet")
    metadata = with_types_to_read(pyarrow.parquet.read_metadata(table.path), ["x", "t"])
    found = pyarrow.parquet.ParquetFile(table.path, metadata=metadata).read()
    assert found.schema.field("x").type == pyarrow.decimal32(9, 2)
    assert found.drop_columns("x").equals(rows.drop_columns("x"))


@pytest.mark.parametrize("digits", [9, 18, 38])
def test_bytes_are_left_alone(tmp_path, digits):
    """There can be more of them than the digits need, and what they hold can be too long."""
    table, _ = written(tmp_path / "t.parquet", digits=digits, as_integers=False)
    metadata = pyarrow.parquet.read_metadata(table.path)
    assert with_types_to_read(metadata, ["x"]) is metadata
    assert plain(open_source(table).load(["x"]).columns["x"]) == [125, -100_000, None]


def test_what_is_not_read_is_left_alone(tmp_path):
    table, _ = written(tmp_path / "t.parquet")
    metadata = pyarrow.parquet.read_metadata(table.path)
    assert with_types_to_read(metadata, ["t", "long"]) is metadata
