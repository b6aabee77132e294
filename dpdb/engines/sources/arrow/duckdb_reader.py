"""Batches of rows from a table of a DuckDB file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow

from dpdb.engines.protocol import MAX_ROWS
from dpdb.engines.sources.arrow.typed_source import BATCH, Batches, BatchReader
from dpdb.policy.catalog import Table
from dpdb.policy.names import quoted
from dpdb.policy.schemas.columnar_files import duckdb_columns, open_duckdb, rows_of
from dpdb.policy.schemas.stored_types import names_in_file
from dpdb.policy.storage import files_of
from dpdb.vectors.grammar import LONGEST

_TEXTS = ("VARCHAR", "JSON")


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
        done = 0
        try:
            for batch in _batches(table, names, done):
                yield batch
                done += batch.num_rows
        except MemoryError:
            # One block of the file can hold texts of gigabytes.
            yield from _batches(table, names, done, limited=False)


def _batches(table: Table, names: Collection[str], first: int, *, limited: bool = True) -> Batches:
    """The columns called `names` from a row on."""
    with open_duckdb(table.path, limited=limited) as connection:
        held = names_in_file(table, duckdb_columns(connection, table))
        rows = rows_of(connection, table)
        kinds = dict(zip(rows.columns, map(str, rows.types), strict=True))
        listed = ", ".join(_cell(held[name], kinds[held[name]]) for name in names)
        read = rows.limit(MAX_ROWS, first) if first else rows
        for batch in read.project(listed).to_arrow_reader(BATCH):
            yield pyarrow.record_batch(batch.columns, [*names])


def _cell(name: str, kind: str) -> str:
    """A column in SQL; another text, that is too long as well, stands for each that is."""
    cell = quoted(name)
    if kind not in _TEXTS:
        return cell
    return f"CASE WHEN strlen({cell}) > {LONGEST} THEN repeat('x', {LONGEST + 1}) ELSE {cell} END"
