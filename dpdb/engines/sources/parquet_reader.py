"""Batches of rows from Parquet files.

They are read by Arrow rather than by a database, as that keeps bytes which are no UTF-8 for the
grammar of cells. DuckDB would refuse the whole file for one such text, and quote it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow

from dpdb.engines.sources.typed_columns import BATCH, has_few_values
from dpdb.engines.sources.typed_source import Batches, BatchReader
from dpdb.policy.catalog import Table
from dpdb.policy.parquet_file import open_parquet
from dpdb.policy.storage import files_of
from dpdb.policy.stored_types import StoredType, names_in_file, stored_columns


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

    def batches(self, table: Table, names: Collection[str]) -> Batches:
        for path in self.files(table):
            with open_parquet(path, table.path) as file:
                stored = stored_columns(file.schema_arrow)
            held = names_in_file(table, stored)
            read = [held[name] for name in names]
            texts = {column.name for column in stored if column.type is StoredType.TEXT}
            few = {held[column.name] for column in table.columns if has_few_values(column)}
            with open_parquet(path, table.path, texts & few) as file:
                for batch in _whole(file.iter_batches(BATCH, columns=read)):
                    yield pyarrow.record_batch([batch.column(each) for each in read], [*names])


def _whole(pieces: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """Batches of so many rows as are asked for, but for the last.

    Where a dictionary is that of a group of rows, what is read ends with the group.
    """
    waiting: list[pyarrow.RecordBatch] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(each.num_rows for each in waiting) >= BATCH:
            yield _joined(waiting)
            waiting.clear()
    if waiting:
        yield _joined(waiting)


def _joined(pieces: Sequence[pyarrow.RecordBatch]) -> pyarrow.RecordBatch:
    return pieces[0] if len(pieces) == 1 else pyarrow.concat_batches(pieces)
