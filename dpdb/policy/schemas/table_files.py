"""The registry of storages: how the columns of a table are found, whatever the storage.

All of it is public. A storage has a `Schema` here, and a source of its rows in
`engines.sources.opening`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import assert_never

from dpdb.errors import DataFileError
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.csv.csv_format import COMMA, CsvFormat, separator_by_name
from dpdb.policy.csv.csv_header import Header, read_header
from dpdb.policy.csv.csv_stream import CsvStream, encoding_of, open_csv
from dpdb.policy.csv.packing import unpacked_name
from dpdb.policy.schemas.stored_types import (
    StoredColumn,
    column_positions,
    frame_columns,
    names_in_file,
)
from dpdb.policy.storage import ServerTable, Storage, file_kind, is_pattern, within_file
from dpdb.records import dataclass

# ruff: noqa: PLC0415 - what reads other than CSV is optional, and takes long to import

_BY_WORD = (
    "the types of a frame follow from its rows, and are public by its owner's word; a policy "
    "declares types"
)


@dataclass(frozen=True)
class Schema:
    """The functions that find the tables and columns of one storage."""

    found: Callable[[Table], Table]
    """The table with its columns, given where it is."""
    check: Callable[[Table], None]
    """Raises DataFileError where a table is missing, or lacks columns that are declared."""
    names: Callable[[Path], Sequence[str]] | None = None
    """The names of all tables of a file; None where it is one table if none is named."""


def schema_of(storage: Storage) -> Schema:
    """The schema of a storage."""
    match storage:
        case Storage.CSV:
            return Schema(_csv_table, _check_csv)
        case Storage.PARQUET:
            return Schema(_typed(_columns_in_parquet), _check_parquet)
        case Storage.DUCKDB:
            return _of_types(_columns_in_duckdb, _tables_in_duckdb)
        case Storage.SQLITE:
            from dpdb.policy.schemas.database_files import sqlite_columns, sqlite_tables

            return _of_types(sqlite_columns, sqlite_tables)
        case Storage.JSON:
            return Schema(_json_table, _check_json)
        case Storage.EXCEL:
            from dpdb.policy.schemas.workbook import sheet_columns

            return _of_types(sheet_columns)
        case Storage.POSTGRESQL:
            from dpdb.policy.schemas.postgres_server import columns_on_server

            return _of_types(columns_on_server)
        case Storage.FRAME:
            return _of_types(frame_columns)
        case Storage.TRIAL:  # the policy declares all columns
            return Schema(lambda table: table, lambda _: None)
        case Storage.SPARK:
            from dpdb.policy.schemas.spark_cluster import check_spark, columns_in_spark

            return Schema(_typed(columns_in_spark), check_spark)
        case unknown:
            assert_never(unknown)


def check_file(table: Table) -> None:
    """Raise DataFileError where a table is missing, or lacks columns that are declared."""
    if table.in_spark and table.storage not in (Storage.PARQUET, Storage.SPARK):
        raise DataFileError(
            f"{table.place} is not read by Spark: it reads Parquet files and its own"
        )
    schema_of(table.storage).check(table)


def undeclared_tables(
    path: Path, form: CsvFormat | None = None, names: Sequence[str] = ()
) -> tuple[Table, ...]:
    """The tables of a file that no policy declares.

    Of the columns of a CSV file, which is written as `form` says, only the names are known; where
    it has no header they are `names`. A file with types says of what type its columns are, and
    those of types that no policy can declare are left out.
    """
    return tuple(map(found_columns, places(path, form, names)))


def found_columns(table: Table) -> Table:
    """A table that no policy declares, with its columns."""
    return schema_of(table.storage).found(table)


def places(
    path: Path,
    form: CsvFormat | None = None,
    names: Sequence[str] = (),
    also: tuple[Path, ...] = (),
) -> tuple[Table, ...]:
    """The tables of a file, or the one of a file and others, without their columns."""
    path, inner = within_file(path)
    kind = file_kind(path)
    if kind.value.inner and also:
        raise DataFileError(f"a {kind.value.label} file is not one of several of a table")
    of_file = schema_of(kind).names
    if inner:
        return (Table(inner, path, (), stored_as=inner),)
    if of_file is not None:
        within = of_file(path)
        if not within:
            raise DataFileError(f"{path} has no tables", hint="views of it are not read")
        return tuple(Table(name, path, ()) for name in within)
    if {file_kind(each) for each in also} - {kind}:
        raise DataFileError(f"a table has files of one kind, not {kind.value.label} and others")
    named = path.absolute().parent if is_pattern(path) else unpacked_name(path)
    columns = tuple(Column(name, Kind.TEXT, guessed=True) for name in names)
    return (Table(named.stem, path, columns, csv=form or CsvFormat(), also=also),)


def server_place(server: ServerTable) -> Table:
    """The table of a server, without its columns."""
    return Table(server.table, Path(server.table), (), server=server)


def _typed(columns: Callable[[Table], tuple[StoredColumn, ...]]) -> Callable[[Table], Table]:
    """The function that gives a table its stored columns, but for those that cannot be read."""

    def found(table: Table) -> Table:
        asked = (each.undeclared for each in columns(table))
        return replace(table, columns=tuple(column for column in asked if column is not None))

    return found


def _of_types(
    columns: Callable[[Table], tuple[StoredColumn, ...]],
    names: Callable[[Path], Sequence[str]] | None = None,
) -> Schema:
    """The schema of a storage that says of what types the columns of a table are."""

    def check(table: Table) -> None:
        names_in_file(table, columns(table))

    return Schema(_typed(columns), check, names)


def _columns_in_parquet(table: Table) -> tuple[StoredColumn, ...]:
    from dpdb.policy.schemas.database_files import parquet_columns

    return parquet_columns(table.files[0], table.place)


def _check_parquet(table: Table) -> None:
    from dpdb.policy.schemas.database_files import parquet_columns

    for path in table.files:
        names_in_file(table, parquet_columns(path, table.place))
    if table.in_spark:
        from dpdb.policy.schemas.spark_cluster import names_whole_units, require_spark

        require_spark(table)
        names_whole_units(table, _columns_in_parquet(table))


def _tables_in_duckdb(path: Path) -> list[str]:
    from dpdb.policy.schemas.database_files import duckdb_tables, open_duckdb

    with open_duckdb(path) as connection:
        return duckdb_tables(connection)


def _columns_in_duckdb(table: Table) -> tuple[StoredColumn, ...]:
    from dpdb.policy.schemas.database_files import duckdb_columns, open_duckdb

    with open_duckdb(table.path) as connection:
        return duckdb_columns(connection, table)


def _json_table(table: Table) -> Table:
    """The table, if its columns are known: the keys of a row are that row's alone."""
    if table.files and table.columns:
        return table
    raise DataFileError(
        f"{table.place} has no header, so a policy names its columns",
        hint=f"dpdb init {table.place} drafts one",
    )


def _check_json(table: Table) -> None:
    assert table.files


def _csv_table(table: Table) -> Table:
    """The table of CSV files; only the names of its columns are known."""
    if not table.csv.header:
        return table
    names = header_of(table).names
    columns = tuple(Column(name, Kind.TEXT, guessed=True) for name in names)
    return replace(table, columns=columns)


def _check_csv(table: Table) -> None:
    for path in table.paths:
        if not path.is_file() and not is_pattern(path):
            raise DataFileError(f"there is no file {path}")
    for path in table.files:
        column_positions(table, header_of(table, path).names)


def header_of(table: Table, path: Path | None = None) -> Header:
    """The header of one of a table's files, the first unless `path` says which.

    Where it has none, the columns are those declared.
    """
    path = table.files[0] if path is None else path
    named = table.named(path)
    if table.csv.header:
        return read_header(path, table.csv, named)
    encoding, mark = encoding_of(path, table.csv, named)
    separator = table.csv.separator or separator_by_name(path) or COMMA
    names = tuple(column.name for column in table.columns)
    return Header(names, encoding, mark, 0, table.csv.punctuation(separator))


def open_table(table: Table, header: Header, path: Path) -> AbstractContextManager[CsvStream]:
    """A CSV file of a table, to be read from its first byte after the marks."""
    named = table.named(path)
    return open_csv(path, header.encoding, header.mark, named, table.csv.lines)


def remarks(table: Table) -> list[str]:
    """Notes for whoever asks about a table, on how its header or its frame is read.

    Notes on the names themselves are left out where a policy declares them.
    """
    if table.frame is not None and not table.frame.declared:
        return [f"{table.name}: {_BY_WORD}"]
    if table.storage is not Storage.CSV:
        return []
    header = header_of(table)
    undeclared = any(column.guessed for column in table.columns)
    said = (*header.guesses, *header.oddities) if undeclared else header.guesses
    return [f"{table.path}: {remark}" for remark in said]
