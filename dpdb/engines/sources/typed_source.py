"""Files with typed columns: whatever their kind, batches of values become the same columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow

from dpdb.engines.protocol import Progress, Witness
from dpdb.engines.sources.file_versions import digest_of, version_of
from dpdb.engines.sources.protocol import Loaded, Source, Version, has_changed
from dpdb.engines.sources.read_ahead import read_ahead
from dpdb.engines.sources.typed_columns import TypedColumns
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
        rows = sum(columns.add(batch) for batch in self._batches(names, progress))
        self._check(version)
        return Loaded(columns.finish(), rows if names else self.reader.rows(self.table), version)

    def blocks(
        self,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Iterator[Loaded]:
        version = self._witnessed(witness)
        if not names:
            yield Loaded({}, self.reader.rows(self.table), version)
        columns = TypedColumns.of(self.table, names)
        for batch in self._batches(names, progress):
            rows = columns.add(batch)
            yield Loaded(columns.finish(), rows, version)
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

    def _batches(
        self, names: Collection[str], progress: Progress | None
    ) -> Iterator[pyarrow.RecordBatch]:
        """The batches of rows, while `progress` is told how far they are read."""
        if not names:
            return
        done, rows = 0, self.reader.rows(self.table) if progress is not None else 0
        for batch in read_ahead(self.reader.batches(self.table, names)):
            yield batch
            done += batch.num_rows
            if progress is not None:
                progress(min(done / max(rows, 1), 1.0))
