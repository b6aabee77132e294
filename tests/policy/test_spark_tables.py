"""What a policy says of tables in Spark, which is known without Spark."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

import pyarrow
import pyarrow.parquet
import pytest

from dpdb.errors import DataFileError, InvalidOption, PolicyError
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.reading.reader import read_policy
from dpdb.policy.schemas.spark_cluster import names_whole_units
from dpdb.policy.schemas.stored_types import StoredColumn, StoredType
from dpdb.policy.storage import ServerTable, Storage, server_table
from dpdb.session.connect import connect

POLICY = '[tables.t]\n{}\n[tables.t.columns]\nx = {{ type = "integer" }}\n'


@pytest.mark.parametrize(
    ("source", "address", "schema", "table"),
    [
        ("spark:///?table=db.people", "spark://", "db", "people"),
        ("spark:///", "spark://", "", "t"),
        ("spark://a:7077,b:7077?table=c.db.people", "spark://a:7077,b:7077", "c.db", "people"),
    ],
)
def test_an_address_names_a_cluster_and_a_table(
    source: str, address: str, schema: str, table: str
) -> None:
    named = server_table(source, "t")
    assert named == ServerTable(address, schema, table)
    assert server_table(named.source) == named


@pytest.mark.parametrize("source", ["spark:///db?table=t", "spark:///?table=t&x=1"])
def test_an_address_has_no_more_than_that(source: str) -> None:
    with pytest.raises(InvalidOption, match="spark://HOST:PORT"):
        server_table(source)


@pytest.mark.parametrize(
    ("written", "in_spark"),
    [
        ('path = "t.parquet"', False),
        ('path = "t.parquet"\nengine = "spark"', True),
        ('source = "spark:///"', True),
        ('source = "spark:///"\nengine = "memory"', False),
    ],
)
def test_the_policy_says_what_is_in_spark(tmp_path: Path, written: str, in_spark: bool) -> None:
    (tmp_path / "t.toml").write_text(POLICY.format(written))
    [table] = read_policy(tmp_path / "t.toml").tables
    assert table.in_spark is in_spark
    assert (table.storage is Storage.SPARK) == ("source" in written)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('path = "t.csv"\nengine = "spark"', "Spark reads Parquet files"),
        ('engine = "spark"', "Spark reads Parquet files"),
        ('source = "postgresql:///d"\nengine = "spark"', "Spark reads Parquet files"),
        ('source = "spark:///"\nengine = "stream"', 'has the engine "spark" or "memory"'),
    ],
)
def test_other_engines_and_kinds_are_refused(tmp_path: Path, written: str, said: str) -> None:
    (tmp_path / "t.toml").write_text(POLICY.format(written))
    with pytest.raises(PolicyError, match=said):
        read_policy(tmp_path / "t.toml")


@pytest.mark.parametrize(
    ("kind", "stored", "whole"),
    [
        (Kind.INTEGER, StoredType.INTEGER, True),
        (Kind.INTEGER, StoredType.DECIMAL, True),
        (Kind.TEXT, StoredType.TEXT, True),
        (Kind.INTEGER, StoredType.TEXT, False),
        (Kind.BOOLEAN, StoredType.TEXT, False),
        (Kind.INTEGER, StoredType.FLOAT, False),
    ],
)
def test_two_values_may_not_name_one_unit(kind: Kind, stored: StoredType, whole: bool) -> None:
    table = Table("t", Path("t.parquet"), (Column("who", kind),), unit="who", engine="spark")
    columns = (StoredColumn("who", stored),)
    if whole:
        names_whole_units(table, columns)
        return
    with pytest.raises(DataFileError, match=r"several could name the same unit"):
        names_whole_units(table, columns)


def test_spark_is_missed_before_a_query_is_asked(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), tmp_path / "t.parquet")
    (tmp_path / "t.toml").write_text(POLICY.format('path = "t.parquet"\nengine = "spark"'))
    with (
        mock.patch.dict(sys.modules, {"pyspark": None, "pyspark.sql": None}),
        pytest.raises(DataFileError, match="pyspark is not installed"),
    ):
        connect(tmp_path / "t.toml")
