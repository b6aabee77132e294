"""A table of a Spark cluster into columns: for what is not evaluated where the rows are."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from hashlib import sha256

from dpdb.engines.protocol import Progress, Witness
from dpdb.engines.sources.arrow.typed_source import TypedColumns
from dpdb.engines.sources.protocol import Loaded, Source, Version
from dpdb.errors import DataFileError
from dpdb.policy.catalog import Table
from dpdb.policy.schemas.spark_cluster import rows_in_spark, spark_errors
from dpdb.records import dataclass


@dataclass(frozen=True, repr=False)
class SparkSource(Source):
    """Collects the rows of a table.

    Spark promises no order of rows. So all declared columns are read at once, and belong together.
    """

    table: Table

    def load(
        self,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Loaded:
        if witness is not None:
            self.digest(witness.key)
        version, frame = self.version(), rows_in_spark(self.table)
        if not names:
            with spark_errors(self.table):
                return Loaded({}, frame.count(), version)
        with spark_errors(self.table):
            read = frame.toArrow()
        columns = TypedColumns.of(self.table, [column.name for column in self.table.columns])
        rows = sum(map(columns.add, read.to_batches()))
        return Loaded(columns.finish(), rows, version)

    def blocks(
        self,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Iterator[Loaded]:
        yield self.load(names, progress, witness)

    def digest(self, key: bytes) -> str:
        raise DataFileError(
            f"{self.table.place}: a budget that lasts is for data that can be recognized, "
            "which a table in Spark cannot",
            hint='name its Parquet files, with engine = "spark"',
        )

    def version(self) -> Version:
        """By the names of the files that Spark has the table in."""
        frame = rows_in_spark(self.table)
        with spark_errors(self.table):
            files = sorted(frame.inputFiles())
        return Version((int.from_bytes(sha256("\n".join(files).encode()).digest(), "big"),))
