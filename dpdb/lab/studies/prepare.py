"""A data file written anew as Parquet: what its columns hold, before bounds and values cut it.

The file that is written is as private as the one that was read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

from dpdb.engines.sources.opening import open_source
from dpdb.engines.sources.protocol import Loaded
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.output_files import written
from dpdb.vectors.columns import Codes, Numbers

_GROUP_ROWS = 1 << 20
"""The rows that are written together: each block of them can be read by itself."""
_TYPES = {
    Kind.INTEGER: pyarrow.int64(),
    Kind.NUMBER: pyarrow.float64(),
    Kind.DATE: pyarrow.date32(),
    Kind.TIMESTAMP: pyarrow.timestamp("us", "UTC"),
    Kind.BOOLEAN: pyarrow.bool_(),
    Kind.TEXT: pyarrow.string(),
}


def prepare(table: Table, output: Path) -> None:
    """Write the declared columns of a table into a new Parquet file that its owner alone can read.

    Any policy that declares the same types and identifiers reads from it what it reads from the
    table's own file. Raises UsageError where there is a file already, or it cannot be written.
    """
    held = replace(table, columns=tuple(map(_unlimited, table.columns)))
    schema = pyarrow.schema([(column.name, _TYPES[column.kind]) for column in held.columns])
    with (
        written(output, [table.path], new=True, mode=0o600) as file,
        pyarrow.parquet.ParquetWriter(file, schema) as writer,
    ):
        for rows in _groups(held, schema):
            writer.write_table(rows, row_group_size=_GROUP_ROWS)


def _unlimited(column: Column) -> Column:
    """The column without what changes values of its type."""
    return replace(
        column, lower=None, upper=None, step=Fraction(1), values=None, values_from=None,
        nullable=True, tight=False,
    )  # fmt: skip


def _groups(table: Table, schema: pyarrow.Schema) -> Iterator[pyarrow.Table]:
    """The rows of a table, those together that are to be written together."""
    waiting: list[pyarrow.RecordBatch] = []
    for block in open_source(table).blocks(schema.names):
        waiting.append(_batch(block, table, schema))
        if sum(batch.num_rows for batch in waiting) >= _GROUP_ROWS:
            yield pyarrow.Table.from_batches(waiting)
            waiting = []
    yield pyarrow.Table.from_batches(waiting, schema)


def _batch(block: Loaded, table: Table, schema: pyarrow.Schema) -> pyarrow.RecordBatch:
    arrays = [_array(block.columns[column.name], column.kind) for column in table.columns]
    return pyarrow.record_batch(arrays, schema=schema)


def _array(column: Numbers | Codes, kind: Kind) -> pyarrow.Array:
    """A column as Arrow has it."""
    if isinstance(column, Numbers):
        units = column.units.astype(np.int32) if kind is Kind.DATE else column.units
        return pyarrow.array(units, _TYPES[kind], mask=column.null)
    codes = pyarrow.array(column.codes, pyarrow.int64(), mask=column.codes == len(column.values))
    return pyarrow.array(column.values, _TYPES[kind]).take(codes)
