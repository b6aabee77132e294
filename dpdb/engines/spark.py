"""The engine for tables that outgrow one machine: each task of Spark evaluates its own rows.

Spark is asked for rows and evaluates no expression. What the rows of a task come to is added up
here, so a query means the same as on one machine. Of its rows a task returns what they come to, and
no row.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow

from dpdb.engines.loop import Runner, Work, run
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.passes.blocks import whole_units
from dpdb.engines.sources.arrow.readers import ParquetReader, SparkSource
from dpdb.engines.sources.arrow.typed_source import TypedColumns
from dpdb.engines.sources.opening import open_source
from dpdb.engines.sources.protocol import NO_DATA, Loaded, Version, version_of
from dpdb.engines.statistics.accumulators import adds_up
from dpdb.engines.streams import StreamEngine, can_stream
from dpdb.engines.units.caps import PlanRows
from dpdb.engines.units.keys import declared_of
from dpdb.errors import DataFileError
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.policy.schemas.spark_cluster import quoted, rows_in_spark, spark_errors
from dpdb.records import dataclass
from dpdb.vectors.vector import AnyVector

Result = TypeVar("Result")

RETURNED = "found binary"
"""The column of what tasks return, as Spark declares it."""


@dataclass(frozen=True, repr=False)
class Task(Generic[Result]):
    """Adds the rows that a task is given to its own copy of a work, for a plan.

    Where a table has a unit, a task is given all rows of its units.
    """

    work: Work[PlanRows, Result]
    plan: Plan
    table: Table
    names: tuple[str, ...]
    slots: Mapping[Slot, AnyVector]

    @classmethod
    def of(
        cls, work: Work[PlanRows, Result], plan: Plan, slots: Mapping[Slot, AnyVector]
    ) -> Task[Result]:
        """The task for a work, and the columns that its rows have."""
        table = plan.table
        assert isinstance(table, Table)
        # Which of a unit's rows count depends on all declared columns.
        names = [column.name for column in table.columns]
        if table.unit is None:
            # A batch without columns would not say how many rows it has.
            names = [name for name in names if name in plan.column_names] or names[:1]
        return cls(work, plan, table, tuple(names), slots)

    # numpy's warnings about overflow and the like would tell of rows.
    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """A single value, the number of rows and their work; none where there is no row."""
        rows = 0
        with np.errstate(all="ignore"):
            for loaded in self._loaded(batches):
                self.add(loaded)
                rows += loaded.rows
        if rows:
            packed = zlib.compress(pickle.dumps((rows, self.work)), level=1)
            yield pyarrow.record_batch([pyarrow.array([packed], pyarrow.binary())], ["found"])

    def add(self, loaded: Loaded) -> None:
        """Add rows of which no unit has others."""
        self.work.add(whole_units(self.plan, self.slots, loaded))

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


@dataclass
class SparkEngine(StreamEngine):
    """Sends what is to be worked out to where the rows are, and joins what comes back.

    Where each row is a unit, tasks have any rows. Otherwise rows are first brought together by
    the column that names their unit. Joins, tables that are made of others, public tables, rows of
    two units and what teaching shows are left to the engines of one machine.
    """

    def goes_over(self, plan: Plan) -> bool:
        """Whether the plan can be worked out from parts of its table, which a cluster has."""
        return self._has_tasks(plan) or super().goes_over(plan)

    def go_over(
        self,
        work_of: Callable[[Plan], Work[PlanRows, Result]],
        plan: Plan,
        slots: Mapping[Slot, AnyVector],
    ) -> Result:
        if not self._has_tasks(plan):
            return super().go_over(work_of, plan, slots)
        return run(work_of(plan), Tasks(self, plan, slots))

    def _has_tasks(self, plan: Plan) -> bool:
        table = plan.table
        return isinstance(table, Table) and table.in_spark and can_stream(table) and adds_up(plan)


@dataclass(frozen=True, repr=False)
class Tasks(Runner[PlanRows]):
    """The rows of a plan's table, which Spark's tasks go over."""

    engine: SparkEngine
    plan: Plan
    slots: Mapping[Slot, AnyVector]

    def each(self, work: Work[PlanRows, Result]) -> None:
        """Add all rows of the table to a work, and those of tasks to copies of it."""
        task = Task.of(work.copy(), self.plan, self.slots)
        table = task.table
        if declared_of(table):  # what is declared of the values together
            MemoryEngine.rows(self.engine, table)
        before = self._version(table)
        frame = rows_in_spark(table)
        with spark_errors(table):
            if table.unit is not None:
                frame = frame.repartition(quoted(table.unit))
            returned = frame.select(*map(quoted, task.names)).mapInArrow(task, RETURNED)
            packed = [bytes(row[0]) for row in returned.collect()]
        work.add(whole_units(self.plan, self.slots, task.no_rows()))
        rows = 0
        for each in packed:
            own, found = unpacked(each)
            rows += own
            work.join(found)
        if table.server is None and rows != ParquetReader().rows(table):
            raise DataFileError(f"Spark does not read all rows of {table.place}")
        self.engine.check(table, before, rows)
        self.engine.check(table, self._version(table), rows)

    def _version(self, table: Table) -> Version:
        """The version of the table's files, whose digest the witness has been shown."""
        source, witness = open_source(table), self.engine.witness
        if table.name not in self.engine.versions and witness is not None:
            witness.check(table.name, source.digest(witness.key))
        if isinstance(source, SparkSource):
            return source.version()
        return version_of(ParquetReader().files(table), table.place)


def unpacked(packed: bytes) -> tuple[int, Any]:
    """The value that a task returned: a number of rows, and the work that they were added to."""
    rows, work = pickle.loads(zlib.decompress(packed))  # noqa: S301 - dpdb's own tasks made it
    return rows, work
