"""The source of a table, by its storage; `policy.schemas.table_files` finds the columns."""

from __future__ import annotations

from dataclasses import field
from typing import assert_never

from dpdb.engines.sources.csv_source import CsvSource
from dpdb.engines.sources.protocol import Source
from dpdb.engines.sources.server_moment import ServerMoment
from dpdb.policy.catalog import Table
from dpdb.policy.storage import Storage
from dpdb.records import dataclass

# ruff: noqa: PLC0415 - what reads other than CSV is optional, and takes long to import


@dataclass(frozen=True, repr=False)
class Sources:
    """The sources of tables that are read together; those of one server at one moment."""

    _moments: dict[str, ServerMoment] = field(default_factory=dict)
    """By the address of the server."""

    def of(self, table: Table) -> Source:
        """The source that the policy names for a table; nothing is read yet."""
        match table.storage:
            case Storage.CSV:
                return CsvSource(table)
            case Storage.PARQUET | Storage.DUCKDB as storage:
                from dpdb.engines.sources.arrow.readers import DuckDBReader, ParquetReader
                from dpdb.engines.sources.arrow.typed_source import TypedSource

                reader = ParquetReader() if storage is Storage.PARQUET else DuckDBReader()
                return TypedSource(table, reader)
            case Storage.SQLITE | Storage.JSON | Storage.EXCEL as storage:
                from dpdb.engines.sources import cell_source as cells

                readers = {Storage.SQLITE: cells.SqliteReader, Storage.JSON: cells.JsonReader}
                return cells.CellSource(table, readers.get(storage, cells.WorkbookReader)())
            case Storage.FRAME:
                from dpdb.engines.sources.frame_source import FrameSource

                assert table.frame is not None
                return FrameSource(table, table.frame)
            case Storage.TRIAL:
                from dpdb.engines.sources.trial_source import TrialSource

                assert table.made_up is not None
                return TrialSource(table, table.made_up)
            case Storage.SPARK:
                from dpdb.engines.sources.arrow.readers import SparkSource

                return SparkSource(table)
            case Storage.POSTGRESQL:
                from dpdb.engines.sources.postgres_source import PostgresSource

                assert table.server is not None
                moment = self._moments.setdefault(table.server.address, ServerMoment())
                return PostgresSource(table, table.server, moment)
            case unknown:
                assert_never(unknown)


def open_source(table: Table) -> Source:
    """The source of a table that is read by itself."""
    return Sources().of(table)
