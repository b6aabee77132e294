"""Files with typed columns: whatever their kind, batches of values become the same columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Protocol

import pyarrow

from dpdb.engines.protocol import Progress, Witness
from dpdb.engines.sources.file_versions import digest_of, version_of
from dpdb.engines.sources.protocol import Loaded, Source, Version, has_changed
from dpdb.engines.sources.read_ahead import read_ahead
from dpdb.engines.sources.typed_columns import (
    TypedColumns,
    names_of_texts,
    stored_texts,
)
from dpdb.policy.catalog import Table

Batches = Generator[pyarrow.RecordBatch, None, None]
"""Some rows at a time."""


class BatchReader(Protocol):
    """Reads files of one kind; raises DataFileError where it cannot."""

    @abstractmethod
    def files(self, table: Table) -> tuple[Path, ...]:
        """All files that the rows are in, in the order in which they are read."""

    @abstractmethod
    def rows(self, table: Table) -> int:
        """The number of rows."""

    @abstractmethod
    def batches(self, table: Table, names: Collection[str]) -> Batches:
        """The columns called `names`, under these names: some rows at a time."""

    def strands(self, table: Table, names: Collection[str], _most: int) -> list[Batches]:
        """The batches of `batches`, each in one of several strands; there is only one by default.

        Threads can read several strands at once, which share what is still to be read.
        """
        return [self.batches(table, names)]


@dataclass(frozen=True)
class TypedSource(Source):
    """Reads the rows of a table from files whose columns have types."""

    table: Table
    reader: BatchReader

    def load(
        self,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Loaded:
        version = self._witnessed(witness)
        columns = TypedColumns.of(self.table, names)
        rows = 0 if names else self.reader.rows(self.table)
        if names:
            told = self._told(progress)
            for batch in read_ahead(self.reader.batches(self.table, names)):
                rows += columns.add(batch)
                told(batch.num_rows)
        self._check(version)
        return Loaded(columns.finish(), rows, version)

    def blocks(
        self,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Iterator[Loaded]:
        [blocks] = self.strands(names, 1, progress, witness)
        return blocks

    def strands(
        self,
        names: Collection[str],
        most: int,
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> list[Iterator[Loaded]]:
        version = self._witnessed(witness)
        if not names:
            return [self._counted(version)]
        told, strands = self._told(progress), self.reader.strands(self.table, names, most)
        # Of several threads one reads while another works.
        read = strands if len(strands) > 1 else map(read_ahead, strands)
        return [self._strand(batches, names, version, told) for batches in read]

    def _counted(self, version: Version) -> Iterator[Loaded]:
        yield Loaded({}, self.reader.rows(self.table), version)
        self._check(version)

    def _strand(
        self,
        batches: Batches,
        names: Collection[str],
        version: Version,
        told: Callable[[int], None],
    ) -> Iterator[Loaded]:
        texts = names_of_texts(self.table, names)
        columns = TypedColumns.of(self.table, {*names} - texts)
        for batch in batches:
            rows = columns.add(batch)
            stored = stored_texts(self.table, texts, batch)
            yield Loaded({**columns.block(), **stored}, rows, version)
            told(rows)
        self._check(version)

    def digest(self, key: bytes) -> str:
        return digest_of(self.reader.files(self.table), self.table.path, key)

    def _witnessed(self, witness: Witness | None) -> Version:
        """The version of the files, whose digest the witness has been shown."""
        version = self._version()
        if witness is not None:
            witness.check(self.table.name, self.digest(witness.key))
        return version

    def _version(self) -> Version:
        return version_of(self.reader.files(self.table), self.table.path)

    def _check(self, version: Version) -> None:
        """Refuse what was read if the files have become others meanwhile."""
        if self._version() != version:
            raise has_changed(self.table)

    def _told(self, progress: Progress | None) -> Callable[[int], None]:
        """What is told how many rows have been read, by any thread; `progress` hears how far."""
        if progress is None:
            return lambda _: None
        done, rows, lock = 0, max(self.reader.rows(self.table), 1), Lock()

        def told(more: int) -> None:
            nonlocal done
            with lock:
                done += more
                progress(min(done / rows, 1.0))

        return told
