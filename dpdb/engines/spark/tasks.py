"""What a task of Spark does: of its rows it returns what they come to, and no row."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow

from dpdb.engines.sources.protocol import NO_DATA, Loaded
from dpdb.engines.sources.typed_columns import TypedColumns
from dpdb.engines.streams.found import Found, add_part
from dpdb.engines.streams.parts import Part
from dpdb.plan.expressions import Slot
from dpdb.plan.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.vectors.vector import AnyVector

RETURNED = "found binary"
"""The column of what tasks return, as Spark declares it."""


@dataclass(frozen=True, repr=False)
class Task:
    """Adds the rows that a task is given to its own copy of `found`.

    Where a table has a unit, a task is given all rows of its units.
    """

    plan: Plan
    table: Table
    names: tuple[str, ...]
    slots: Mapping[Slot, AnyVector]
    found: Found

    # numpy's warnings about overflow and the like would tell of rows.
    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """One value: the number of rows and what they were added to; none where there is no row."""
        rows = 0
        with np.errstate(all="ignore"):
            for loaded in self._loaded(batches):
                self.add(loaded)
                rows += loaded.rows
        if rows:
            packed = zlib.compress(pickle.dumps((rows, self.found)), level=1)
            yield pyarrow.record_batch([pyarrow.array([packed], pyarrow.binary())], ["found"])

    def add(self, loaded: Loaded) -> None:
        """Add rows of which no unit has others."""
        add_part(self.found, Part.of(self.plan, loaded, self.slots), self.plan)

    def no_rows(self) -> Loaded:
        """The columns of a table that has no row."""
        return Loaded(TypedColumns.of(self.table, self.names).finish(), 0, NO_DATA)

    def _loaded(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[Loaded]:
        columns = TypedColumns.of(self.table, self.names)
        if self.table.unit is not None:
            rows = sum(map(columns.add, batches))
            if rows:
                yield Loaded(columns.finish(), rows, NO_DATA)
            return
        for batch in batches:
            rows = columns.add(batch)
            if rows:
                yield Loaded(columns.finish(), rows, NO_DATA)


def unpacked(packed: bytes) -> tuple[int, Found]:
    """What a task returned: a number of rows, and what they were added to."""
    rows, found = pickle.loads(zlib.decompress(packed))  # noqa: S301 - dpdb's own tasks made it
    return rows, found
