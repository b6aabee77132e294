"""Batches of rows from a table of a DuckDB file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow

from dpdb.engines.sources.typed_columns import BATCH
from dpdb.engines.sources.typed_source import Batches, BatchReader
from dpdb.policy.catalog import Table
from dpdb.policy.duckdb_file import duckdb_columns, open_duckdb, rows_of
from dpdb.policy.names import quoted
from dpdb.policy.storage import files_of
from dpdb.policy.stored_types import names_in_file


class DuckDBReader(BatchReader):
    """Reads a table in the order in which DuckDB keeps its rows."""

    def files(self, table: Table) -> tuple[Path, ...]:
        # Rows that are not yet in the file are in the log beside it.
        log = table.path.with_name(f"{table.path.name}.wal")
        return (*files_of(table.path), *([log] if log.exists() else []))

    def rows(self, table: Table) -> int:
        with open_duckdb(table.path) as connection:
            [(number,)] = rows_of(connection, table).count("*").fetchall()
        return int(number)

    def batches(self, table: Table, names: Collection[str]) -> Batches:
        with open_duckdb(table.path) as connection:
            held = names_in_file(table, duckdb_columns(connection, table))
            listed = ", ".join(quoted(held[name]) for name in names)
            reader = rows_of(connection, table).project(listed).to_arrow_reader(BATCH)
            for batch in reader:
                yield pyarrow.record_batch(batch.columns, [*names])
