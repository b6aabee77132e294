"""A CSV file into columns: those that are asked for, each cell by itself.

A cell's value is a function of its own bytes and of its column's declaration.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from dpdb.engines.protocol import Progress, Witness
from dpdb.engines.sources.cells.builders import RecordColumns
from dpdb.engines.sources.cells.records import Block, blocks
from dpdb.engines.sources.protocol import PIECE, Loaded, Source, Version, keyed, marks
from dpdb.engines.sources.read_ahead import read_ahead
from dpdb.policy.catalog import Table
from dpdb.policy.csv.csv_header import Header
from dpdb.policy.csv.csv_stream import CsvStream, open_csv
from dpdb.policy.schemas.stored_types import column_positions
from dpdb.policy.schemas.table_files import header_of
from dpdb.records import dataclass


@dataclass(frozen=True)
class CsvSource(Source):
    """Reads the CSV file of a table."""

    table: Table

    def load(
        self,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Loaded:
        with self._opened(names, progress, witness, shared=len(names)) as file:
            columns = file.columns()
            if names:
                rows = sum(map(columns.add_in_threads, file.cut_ahead()))
            else:
                rows = sum(block.rows for block in file.records)
        return Loaded(columns.finish(), rows, file.version)

    def blocks(
        self,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Iterator[Loaded]:
        with self._opened(names, progress, witness) as file:
            columns = file.columns()
            for block in file.records:
                rows = columns.add(block)
                yield Loaded(columns.finish(), rows, file.version)

    def digest(self, key: bytes) -> str:
        header = header_of(self.table)
        with open_csv(self.table.path, header.encoding, header.mark) as stream:
            stream.hash = seen = keyed(key)
            while stream.read(PIECE):
                pass
        return seen.hexdigest()

    @contextmanager
    def _opened(
        self,
        names: Collection[str],
        progress: Progress | None,
        witness: Witness | None,
        *,
        shared: int = 1,
    ) -> Iterator[_OpenFile]:
        """The file, to be read to its end; the witness is asked when it has been.

        Threads share so many columns of a block.
        """
        header = header_of(self.table)
        positions = column_positions(self.table, header.names)
        read = {name: at for name, at in positions.items() if name in names}
        with open_csv(self.table.path, header.encoding, header.mark) as stream:
            version = Version(marks(os.fstat(stream.file.fileno())))
            seen = None if witness is None else keyed(witness.key)
            stream.hash = seen
            stream.read(header.length)
            records = _records(stream, header, shared, progress)
            yield _OpenFile(self.table, header, read, records, version)
        if witness is not None and seen is not None:
            witness.check(self.table.name, seen.hexdigest())


@dataclass(frozen=True, repr=False)
class _OpenFile:
    """A file that stands before its first record, and what is to be read of it."""

    table: Table
    header: Header
    positions: dict[str, int]
    """Of the columns that are read, by their names."""
    records: Iterator[Block]
    version: Version

    def cut_ahead(self) -> Iterator[Block]:
        """The records, which a thread cuts into cells while those before them are in use."""
        return read_ahead(block.cut() for block in self.records)

    def columns(self) -> RecordColumns:
        """A builder for each of the columns."""
        return RecordColumns.of(self.table, self.positions, self.header.punctuation)


def _records(
    stream: CsvStream, header: Header, shared: int, progress: Progress | None
) -> Iterator[Block]:
    """The records after the header, while `progress` is told how far they are read."""
    for block in blocks(stream, len(header.names), header.punctuation, shared=shared):
        yield block
        if progress is not None:
            progress(stream.fraction)
