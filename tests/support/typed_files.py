"""Small files with typed columns, and what they are loaded as."""

from __future__ import annotations

import duckdb
import pyarrow
import pyarrow.parquet

from dpdb.engines.sources.opening import open_source
from dpdb.policy.catalog import Table

KINDS = ("parquet", "parts", "duckdb")


def write_typed(folder, name, table, kind="parquet"):
    """A file with the rows of an Arrow table, or several; returns the path that a policy names."""
    if kind == "duckdb":
        fresh = folder / f"{name}.fresh"  # there may be one of that name, which is open
        with duckdb.connect(str(fresh)) as connection:
            connection.register("rows", table)
            connection.execute(f'CREATE TABLE "{name}" AS FROM rows')
        return fresh.replace(folder / f"{name}.duckdb")
    if kind == "parquet":
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet", row_group_size=3)
        return folder / f"{name}.parquet"
    (folder / name).mkdir(exist_ok=True)
    half = len(table) // 2
    for part, rows in (("a", table[:half]), ("b", table[half:])):
        pyarrow.parquet.write_table(rows, folder / name / f"{part}.parquet")
    return folder / name / "*.parquet"


def load_values(folder, values, *columns, kind="parquet"):
    """The columns of a file whose Arrow columns are given by name."""
    path = write_typed(folder, "t", pyarrow.table(values), kind)
    return open_source(Table("t", path, columns)).load([column.name for column in columns]).columns
