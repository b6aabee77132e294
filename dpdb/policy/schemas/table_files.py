"""The columns of tables as files and servers declare them, whatever the storage.

All of it is public. A storage has its columns found here, and its rows read by
`engines.sources.opening`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import assert_never

from dpdb.errors import DataFileError
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.csv.csv_format import COMMA, CsvFormat, separator_by_name, unpacked_name
from dpdb.policy.csv.csv_header import Header, read_header
from dpdb.policy.csv.csv_stream import encoding_of
from dpdb.policy.schemas.columnar_files import (
    check_duckdb,
    check_parquet,
    duckdb_columns,
    duckdb_tables,
    open_duckdb,
    parquet_columns,
)
from dpdb.policy.schemas.postgres_server import check_server, columns_on_server
from dpdb.policy.schemas.spark_cluster import (
    check_spark,
    columns_in_spark,
    names_whole_units,
    require_spark,
)
from dpdb.policy.schemas.stored_types import StoredColumn, column_positions
from dpdb.policy.storage import ServerTable, Storage, file_kind, is_pattern


def check_file(table: Table) -> None:
    """Raise DataFileError where a table is missing, or lacks columns that are declared."""
    match table.storage:
        case Storage.PARQUET:
            check_parquet(table)
            if table.in_spark:
                require_spark(table)
                names_whole_units(table, parquet_columns(table.path))
        case Storage.DUCKDB:
            check_duckdb(table)
        case Storage.CSV:
            if not table.path.is_file():
                raise DataFileError(f"there is no file {table.path}")
            column_positions(table, header_of(table).names)
        case Storage.POSTGRESQL:
            check_server(table)
        case Storage.SPARK:
            check_spark(table)
        case unknown:
            assert_never(unknown)


def undeclared_tables(
    path: Path, form: CsvFormat | None = None, names: Sequence[str] = ()
) -> tuple[Table, ...]:
    """The tables of a file that no policy declares.

    Of the columns of a CSV file, which is written as `form` says, only the names are known; where
    it has no header they are `names`. A file with types says of what type its columns are, and
    those of types that no policy can declare are left out.
    """
    match file_kind(path):
        case Storage.PARQUET:
            named = path.absolute().parent if is_pattern(path) else path
            return (_typed(Table(named.stem, path, ()), parquet_columns(path)),)
        case Storage.DUCKDB:
            with open_duckdb(path) as connection:
                tables = [Table(name, path, ()) for name in duckdb_tables(connection)]
                if not tables:
                    raise DataFileError(f"{path} has no tables", hint="views of it are not read")
                return tuple(_typed(each, duckdb_columns(connection, each)) for each in tables)
        case Storage.CSV:
            return (undeclared_table(path, form or CsvFormat(), names),)
        case Storage.POSTGRESQL | Storage.SPARK:
            raise AssertionError(path)
        case unknown:
            assert_never(unknown)


def undeclared_server_table(server: ServerTable) -> Table:
    """A table of a server that no policy declares; its columns have the types that it says."""
    table = Table(server.table, Path(server.table), (), server=server)
    match server.storage:
        case Storage.POSTGRESQL:
            return _typed(table, columns_on_server(server))
        case Storage.SPARK:
            return _typed(table, columns_in_spark(table))
        case Storage.CSV | Storage.PARQUET | Storage.DUCKDB:
            raise AssertionError(server)
        case unknown:
            assert_never(unknown)


def undeclared_table(csv: Path, form: CsvFormat, names: Sequence[str]) -> Table:
    """The table of a CSV file of whose columns nothing is known but names."""
    if form.header:
        names = read_header(csv, form).names
    columns = tuple(Column(name, Kind.TEXT, guessed=True) for name in names)
    return Table(unpacked_name(csv).stem, csv, columns, csv=form)


def header_of(table: Table) -> Header:
    """The header of a table's file; where it has none, the columns are those declared."""
    if table.csv.header:
        return read_header(table.path, table.csv)
    encoding, mark = encoding_of(table.path, table.csv)
    separator = table.csv.separator or separator_by_name(table.path) or COMMA
    names = tuple(column.name for column in table.columns)
    return Header(names, encoding, mark, 0, table.csv.punctuation(separator))


def remarks(table: Table) -> list[str]:
    """Notes for whoever asks about a table, on how its header is read.

    Notes on the names themselves are left out where a policy declares them.
    """
    if table.storage.typed:
        return []
    header = header_of(table)
    undeclared = any(column.guessed for column in table.columns)
    said = (*header.guesses, *header.oddities) if undeclared else header.guesses
    return [f"{table.path}: {remark}" for remark in said]


def _typed(table: Table, stored: tuple[StoredColumn, ...]) -> Table:
    """A table with those of its stored columns that can be asked about."""
    columns = (each.undeclared for each in stored)
    return replace(table, columns=tuple(column for column in columns if column is not None))
