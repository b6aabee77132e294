"""Batches of rows from Parquet files.

They are read by Arrow rather than by a database, as that keeps bytes which are no UTF-8 for the
grammar of cells. DuckDB would refuse the whole file for one such text, and quote it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow

from dpdb.engines.sources.typed_columns import BATCH
from dpdb.engines.sources.typed_source import BatchReader
from dpdb.policy.catalog import Table
from dpdb.policy.file_kinds import files_of
from dpdb.policy.parquet_file import open_parquet
from dpdb.policy.stored_types import names_in_file, stored_columns


class ParquetReader(BatchReader):
    """Reads one Parquet file, or those that match a pattern, one after the other."""

    def files(self, table: Table) -> tuple[Path, ...]:
        return files_of(table.path)

    def rows(self, table: Table) -> int:
        total = 0
        for path in self.files(table):
            with open_parquet(path, table.path) as file:
                total += file.metadata.num_rows
        return total

    def batches(self, table: Table, names: Collection[str]) -> Iterator[pyarrow.RecordBatch]:
        for path in self.files(table):
            with open_parquet(path, table.path) as file:
                held = names_in_file(table, stored_columns(file.schema_arrow))
                read = [held[name] for name in names]
                for batch in file.iter_batches(BATCH, columns=read):
                    yield pyarrow.record_batch([batch.column(each) for each in read], [*names])
