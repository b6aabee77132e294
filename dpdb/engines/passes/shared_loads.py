"""CSV files that processes of a pool read into memory, each a range of records at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import partial
from typing import ClassVar

from dpdb.engines.loop import Work, run
from dpdb.engines.passes.pool import Pool, Processes
from dpdb.engines.protocol import Progress, Witness
from dpdb.engines.sources.cells.builders import RecordColumns
from dpdb.engines.sources.csv_source import CsvSource
from dpdb.engines.sources.protocol import Loaded, Names, Partition, Version, has_changed, version_of
from dpdb.engines.sources.read_ahead import begun
from dpdb.policy.schemas.stored_types import column_positions
from dpdb.policy.schemas.table_files import header_of
from dpdb.records import dataclass

_SECONDS = 10
"""The seconds after which a pool that has not started is not waited for."""


@dataclass(frozen=True, repr=False)
class SharedCsv(CsvSource):
    """Loads what one process would. The digest is worked out here, beside the ranges."""

    pool: Pool

    def load(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Loaded:
        digest = None if witness is None else begun(partial(self.digest, witness.key))
        partitions = self.cut()
        if not self.pool.is_ready(_SECONDS):
            return super().load(names, progress, witness)
        version = partitions[0].version
        assert version is not None
        header = header_of(self.table, self.table.files[0])
        positions = column_positions(self.table, header.names)
        read = {name: at for name, at in positions.items() if name in names}
        work = _Whole(
            RecordColumns.of(self.table, read, header.punctuation), version, partitions, progress
        )
        loaded = run(work, Processes(self.pool, _Parts(self.table), frozenset(names), partitions))
        if witness is not None and digest is not None:
            witness.check(self.table.name, digest.result())
        if version_of(self.table.files, self.table.place) != version:
            raise has_changed(self.table)
        return loaded


@dataclass(frozen=True, repr=False)
class _Parts(CsvSource):
    """Reads ranges in a process of the pool."""

    in_parts: ClassVar[bool] = True


@dataclass(repr=False)
class _Whole(Work[Loaded, Loaded]):
    """Joins the parts of ranges as soon as those before them are there."""

    keeps_rows: ClassVar[bool] = True
    columns: RecordColumns
    version: Version
    partitions: Sequence[Partition] = ()
    progress: Progress | None = None
    _waiting: list[Loaded] = field(default_factory=list)
    _joined: int = 0
    _rows: int = 0

    def copy(self) -> _Whole:
        return _Whole(RecordColumns({}, {}), self.version)

    def add(self, rows: Loaded) -> None:
        self._waiting.append(rows)

    def join(self, other: _Whole) -> None:
        self._waiting = sorted((*self._waiting, *other._waiting), key=lambda part: part.first)
        # Several files begin at one place only where all but the last have no rows.
        while self._waiting and self._waiting[0].first == self.partitions[self._joined].first:
            part = self._waiting.pop(0)
            self.columns.join(part.columns)
            self._rows, self._joined = self._rows + part.rows, self._joined + 1
            if self.progress is not None:
                self.progress(self._joined / len(self.partitions))

    def result(self) -> Loaded:
        return Loaded(self.columns.finish(), self._rows, self.version)
