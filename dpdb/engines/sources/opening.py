"""Which source a table's rows are read from."""

from __future__ import annotations

from dpdb.engines.sources.csv_source import CsvSource
from dpdb.engines.sources.protocol import Source
from dpdb.policy.catalog import Table
from dpdb.policy.file_kinds import FileKind

# ruff: noqa: PLC0415 - what reads files with types is optional, and takes long to import


def open_source(table: Table) -> Source:
    """The source that the policy names for a table; nothing is read yet."""
    match table.file_kind:
        case FileKind.CSV:
            return CsvSource(table)
        case FileKind.PARQUET:
            from dpdb.engines.sources.parquet_reader import ParquetReader
            from dpdb.engines.sources.typed_source import TypedSource

            return TypedSource(table, ParquetReader())
        case FileKind.DUCKDB:
            from dpdb.engines.sources.duckdb_reader import DuckDBReader
            from dpdb.engines.sources.typed_source import TypedSource

            return TypedSource(table, DuckDBReader())
