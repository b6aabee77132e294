"""One pass over a table, whose strands are gone over at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from threading import Lock

from dpdb.engines.sources.protocol import Loaded, Source, Version
from dpdb.engines.values.row_blocks import row_blocks
from dpdb.policy.catalog import Table
from dpdb.records import dataclass


@dataclass(repr=False)
class Reading:
    """What all strands have read of some columns."""

    source: Source
    names: frozenset[str]
    going: int
    """How many strands have not ended."""
    check: Callable[[Table, Version, int], None]
    """Is told the version and the number of all rows before the last strand ends."""
    _rows: int = 0
    _version: Version | None = None
    _lock: Lock = field(default_factory=Lock)

    def strand(self, blocks: Iterator[Loaded], size: int) -> Iterator[Loaded]:
        """The blocks of one strand, cut to at most so many rows; of all there is one at least."""
        for read in blocks:
            self._add(read)
            for cut in row_blocks(read.rows, size):
                columns = {name: column.within(cut) for name, column in read.columns.items()}
                yield Loaded(columns, cut.stop - cut.start, read.version)
                del columns
            del read
        with self._lock:
            self.going -= 1
            is_last = not self.going
        if is_last and self._version is None:
            loaded = self.source.load(self.names)
            self._add(loaded)
            yield loaded
        if is_last:
            assert self._version is not None
            self.check(self.source.table, self._version, self._rows)

    def _add(self, read: Loaded) -> None:
        with self._lock:
            self._rows, self._version = self._rows + read.rows, read.version
