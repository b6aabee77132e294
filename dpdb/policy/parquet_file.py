"""Parquet files: opened, and what they say of their columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.errors import DataFileError
from dpdb.policy.catalog import Table
from dpdb.policy.storage import files_of
from dpdb.policy.stored_types import StoredColumn, names_in_file, stored_columns

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData, ParquetFile

_BUFFER = 1 << 16
"""The bytes that are read ahead of a column: a large group of rows is never held whole, and what is
read stays in the cache until it is decoded."""


@contextmanager
def open_parquet(
    path: Path,
    named: Path,
    dictionaries: Collection[str] = (),
    metadata: FileMetaData | None = None,
) -> Iterator[ParquetFile]:
    """One file; messages call it `named`. Texts of some columns are read as `dictionaries`.

    What the file says of itself need not be read again where it is given as `metadata`.

    Where it is no Parquet file, or fails while it is read, DataFileError is raised. What the
    library says of that is not passed on, as it could quote values.
    """
    try:
        import pyarrow  # noqa: PLC0415 (it imports numpy)
        import pyarrow.parquet  # noqa: PLC0415
    except ModuleNotFoundError:
        raise DataFileError(
            f"{named} is a Parquet file, and the package pyarrow is not installed",
            hint='pip install "dpdb[parquet]"',
        ) from None
    try:
        with pyarrow.parquet.ParquetFile(
            path,
            buffer_size=_BUFFER,
            pre_buffer=False,
            read_dictionary=[*dictionaries],
            metadata=metadata,
        ) as file:
            yield file
    except pyarrow.ArrowMemoryError:
        raise
    except (pyarrow.ArrowException, OSError):
        raise DataFileError(f"{named} cannot be read as a Parquet file") from None


def parquet_columns(path: Path) -> tuple[StoredColumn, ...]:
    """The columns of a file, or of the first that matches a pattern."""
    with open_parquet(files_of(path)[0], path) as file:
        return stored_columns(file.schema_arrow)


def check_parquet(table: Table) -> None:
    """Raise DataFileError where one of a table's files does not have the declared columns."""
    for path in files_of(table.path):
        with open_parquet(path, table.path) as file:
            names_in_file(table, stored_columns(file.schema_arrow))
