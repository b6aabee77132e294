"""The engine for tables that outgrow one machine: each task of Spark evaluates its own rows.

Spark is asked for rows and evaluates no expression. What the rows of a task come to is added up
here, so a query means the same as on one machine. Of its rows a task returns what they come to, and
no row.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

import numpy as np
import pyarrow

from dpdb.engines.protocol import (
    MAX_ROWS,
    CountedValues,
    Exact,
    KeyCounts,
    OpenEngine,
    Progress,
    Witness,
    too_large,
)
from dpdb.engines.sources.arrow.readers import ParquetReader, SparkSource
from dpdb.engines.sources.arrow.typed_source import TypedColumns
from dpdb.engines.sources.opening import open_source
from dpdb.engines.sources.protocol import NO_DATA, Loaded, Version, has_changed, version_of
from dpdb.engines.statistics.accumulators import adds_up, exact_results
from dpdb.engines.statistics.found_keys import UnitedKeys
from dpdb.engines.streams.engine import StreamEngine, can_stream
from dpdb.engines.streams.found import Found, add_part, join
from dpdb.engines.streams.parts import Part
from dpdb.engines.units.keys import declared_of
from dpdb.errors import DataFileError
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.policy.schemas.spark_cluster import quoted, rows_in_spark, spark_errors
from dpdb.records import dataclass
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


@dataclass
class SparkEngine(OpenEngine):
    """Sends what is to be worked out to where the rows are, and joins what comes back.

    Where each row is a unit, tasks have any rows. Otherwise rows are first brought together by
    the column that names their unit. Joins, tables that are made of others, public tables and what
    teaching shows are left to the engines of one machine.
    """

    progress: Progress | None = None
    witness: Witness | None = None
    tables: tuple[Table, ...] = ()
    _local: StreamEngine = field(init=False, repr=False)
    _versions: dict[str, tuple[Version, int]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._local = StreamEngine(self.progress, self.witness, self.tables)

    def rows(self, table: Table) -> int:
        """The number of rows, which is public where it is asked for."""
        return self._local.rows(table)

    @np.errstate(all="ignore")
    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        """The exact result of each of the plan's own releases, in order."""
        if not self._goes_over(plan):
            return self._local.exact(plan, slots)
        return exact_results(plan, lambda waiting: self._pass(_task(plan, slots, waiting)))

    @np.errstate(all="ignore")
    def key_counts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> KeyCounts:
        """The keys that are found in the data, with the number of units of each."""
        if not self._goes_over(plan):
            return self._local.key_counts(plan, slots)
        keys = UnitedKeys()
        self._pass(_task(plan, slots, keys))
        return keys.all()

    def values(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> list[CountedValues]:
        return self._local.values(plan, slots)

    def _goes_over(self, plan: Plan) -> bool:
        """Whether the plan can be worked out from parts of its table, which a cluster has."""
        table = plan.table
        return isinstance(table, Table) and table.in_spark and can_stream(table) and adds_up(plan)

    def _pass(self, task: Task) -> None:
        """Add all rows of the table to what the task has found."""
        table = task.table
        if declared_of(table):  # what is declared of the values together
            self._local.rows(table)
        before = self._version(table)
        frame = rows_in_spark(table)
        with spark_errors(table):
            if table.unit is not None:
                frame = frame.repartition(quoted(table.unit))
            returned = frame.select(*map(quoted, task.names)).mapInArrow(task, RETURNED)
            packed = [bytes(row[0]) for row in returned.collect()]
        task.add(task.no_rows())
        rows = 0
        for each in packed:
            own, found = unpacked(each)
            rows += own
            join(task.found, found)
        if table.server is None and rows != ParquetReader().rows(table):
            raise DataFileError(f"Spark does not read all rows of {table.place}")
        if rows > MAX_ROWS:
            raise too_large(table)
        seen = (self._version(table), rows)
        if before != seen[0] or self._versions.setdefault(table.name, seen) != seen:
            raise has_changed(table)

    def _version(self, table: Table) -> Version:
        """The version of the table's files, whose digest the witness has been shown."""
        source = open_source(table)
        if table.name not in self._versions and self.witness is not None:
            self.witness.check(table.name, source.digest(self.witness.key))
        if isinstance(source, SparkSource):
            return source.version()
        return version_of(ParquetReader().files(table), table.place)


def _task(plan: Plan, slots: Mapping[Slot, AnyVector], found: Found) -> Task:
    table = plan.table
    assert isinstance(table, Table)
    # Which of a unit's rows count depends on all declared columns.
    names = [column.name for column in table.columns]
    if table.unit is None:
        # A batch without columns would not say how many rows it has.
        names = [name for name in names if name in plan.column_names] or names[:1]
    return Task(plan, table, tuple(names), slots, found)
