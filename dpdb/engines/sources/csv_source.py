"""CSV files into columns: those that are asked for, each cell by itself.

A cell's value is a function of its own bytes and of its column's declaration.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from hmac import HMAC
from pathlib import Path

from dpdb.engines.protocol import Progress, Witness
from dpdb.engines.sources.cells.builders import RecordColumns
from dpdb.engines.sources.cells.cuts import ranges
from dpdb.engines.sources.cells.records import Block, blocks
from dpdb.engines.sources.protocol import (
    PIECE,
    Loaded,
    Names,
    Partition,
    Source,
    Version,
    has_changed,
    keyed,
    marks,
    version_of,
)
from dpdb.engines.sources.read_ahead import read_ahead
from dpdb.policy.catalog import Table
from dpdb.policy.csv.csv_format import EVERY_LINE, UTF8
from dpdb.policy.csv.csv_header import Header
from dpdb.policy.csv.csv_stream import CsvStream
from dpdb.policy.csv.packing import packing_of
from dpdb.policy.schemas.stored_types import column_positions
from dpdb.policy.schemas.table_files import header_of, open_table
from dpdb.records import dataclass


@dataclass(frozen=True)
class CsvSource(Source):
    """Reads the CSV files of a table, one after the other."""

    table: Table

    def load(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Loaded:
        columns, rows, version = RecordColumns({}, {}), 0, Version()
        for file in self._files(names, progress, witness, shared=len(names)):
            columns, version = file.columns(columns), file.version
            if names:
                cut = read_ahead(block.cut() for block in file.records)
                rows += sum(map(columns.add_in_threads, cut))
            else:
                rows += sum(block.rows for block in file.records)
        return Loaded(columns.finish(), rows, version)

    def blocks(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Iterator[Loaded]:
        columns = RecordColumns({}, {})
        for file in self._files(names, progress, witness):
            columns = file.columns(columns)
            for block in file.records:
                rows = columns.add(block)
                yield Loaded(columns.finish(), rows, file.version)

    def cut(self, witness: Witness | None = None) -> Sequence[Partition]:
        version = version_of(self.table.files, self.table.place)
        found = _cut(self.table, version)
        if witness is not None:
            witness.check(self.table.name, self.digest(witness.key))
        return found

    def read(
        self,
        partition: Partition,
        names: Names,
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Iterator[Loaded]:
        if partition.version is None:
            yield from self.blocks(names, progress, witness)
            return
        path, version = partition.path, partition.version
        header = _header(self.table, path, version)
        positions = column_positions(self.table, header.names)
        read = {name: at for name, at in positions.items() if name in names}
        columns = RecordColumns.of(self.table, read, header.punctuation)
        with open_table(self.table, header, path) as stream:
            part = _Range(stream, *partition.groups)
            for block in blocks(part, len(header.names), header.punctuation):
                rows = columns.add(block)
                yield Loaded(columns.finish(), rows, version)
        if version_of(self.table.files, self.table.place) != version:
            raise has_changed(self.table)

    def digest(self, key: bytes) -> str:
        seen = []
        for path in self.table.files:
            header = header_of(self.table, path)
            with open_table(self.table, header, path) as stream:
                seen.append(keyed(key))
                stream.hash = seen[-1]
                while stream.read(PIECE):
                    pass
        return _digest(seen, key)

    def _files(
        self,
        names: Collection[str],
        progress: Progress | None,
        witness: Witness | None,
        *,
        shared: int = 1,
    ) -> Iterator[_OpenFile]:
        """Each file, to be read to its end; the witness is asked when the last one has been.

        Threads share so many columns of a block.
        """
        paths, seen = self.table.files, list[HMAC]()
        version = version_of(paths, self.table.place)
        for at, path in enumerate(paths):
            header = header_of(self.table, path)
            positions = column_positions(self.table, header.names)
            read = {name: at for name, at in positions.items() if name in names}
            with open_table(self.table, header, path) as stream:
                if marks(os.fstat(stream.file.fileno())) != marks(path.stat()):
                    raise has_changed(self.table)
                if witness is not None:
                    seen.append(keyed(witness.key))
                    stream.hash = seen[-1]
                stream.read(header.length)
                records = _records(stream, header, shared, progress, (at, len(paths)))
                yield _OpenFile(self.table, header, read, records, version)
        if version_of(paths, self.table.place) != version:
            raise has_changed(self.table)
        if witness is not None:
            witness.check(self.table.name, _digest(seen, witness.key))


@dataclass(frozen=True, repr=False)
class _OpenFile:
    """A file that stands before its first record, and what is to be read of it."""

    table: Table
    header: Header
    positions: dict[str, int]
    """The places of the columns that are read, by their names."""
    records: Iterator[Block]
    version: Version
    """The version of all files of the table."""

    def columns(self, before: RecordColumns) -> RecordColumns:
        """The builders of the file before, or new ones, for the columns at their places here."""
        if before.builders:
            return RecordColumns(before.builders, self.positions)
        return RecordColumns.of(self.table, self.positions, self.header.punctuation)


def can_be_cut(table: Table) -> bool:
    """Whether processes can share the CSV files of a table: records are read from their bytes.

    Units with names need the numbers of rows, and nobody knows how many are before a cut.
    """
    return (
        table.unit is None
        and table.csv.lines == EVERY_LINE
        and not any(map(packing_of, table.files))
        and all(header_of(table, path).encoding == UTF8 for path in table.files)
    )


@lru_cache(maxsize=2**6)
def _header(table: Table, path: Path, _: Version) -> Header:
    """The header of a version of a file: all its ranges are read with one."""
    return header_of(table, path)


@lru_cache(maxsize=2**3)
def _cut(table: Table, version: Version) -> tuple[Partition, ...]:
    """The partitions of a version of a table's files; `first` is a number of bytes."""
    found, before = list[Partition](), 0
    for file, path in enumerate(table.files):
        header = header_of(table, path)
        start = header.mark + header.length
        with open_table(table, header, path) as stream:
            size = os.fstat(stream.file.fileno()).st_size
            cut = ranges(stream.at, start, max(size, start), header.punctuation)
        found += [Partition(before + each[0], file, path, each, version) for each in cut]
        before += size
    return tuple(found)


@dataclass(repr=False)
class _Range:
    """The bytes of a file from one place to another."""

    stream: CsvStream
    place: int
    stop: int

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        text = self.stream.at(self.place, min(size, self.stop - self.place))
        self.place += len(text)
        return text


def _digest(seen: Sequence[HMAC], key: bytes) -> str:
    """The digest of a file, or that of the digests of several."""
    if len(seen) == 1:
        return seen[0].hexdigest()
    together = keyed(key)
    for each in seen:
        together.update(each.digest())
    return together.hexdigest()


def _records(
    stream: CsvStream,
    header: Header,
    shared: int,
    progress: Progress | None,
    place: tuple[int, int],
) -> Iterator[Block]:
    """The records after the header, while `progress` is told how far all files are read.

    The file stands at `place`: its number, from 0, among so many.
    """
    number, files = place
    for block in blocks(stream, len(header.names), header.punctuation, shared=shared):
        yield block
        if progress is not None:
            progress((number + stream.fraction) / files)
