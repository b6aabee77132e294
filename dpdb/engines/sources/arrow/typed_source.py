"""The columns of a table that are made of batches of typed values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow
from pyarrow import types

from dpdb.engines.protocol import Progress, Witness
from dpdb.engines.sources.arrow.texts import ArrowTexts, within_length
from dpdb.engines.sources.arrow.values import (
    cells,
    days,
    is_long_decimal,
    is_text,
    moments,
    multiples,
    null_of,
    numbers,
    repeated_cells,
    sizes_of,
    step_of,
    texts_of,
    whole_numbers,
)
from dpdb.engines.sources.cells.builders import Builder, builders_of, finished
from dpdb.engines.sources.cells.grids import grid_of
from dpdb.engines.sources.cells.ordinals import OrdinalBuilder
from dpdb.engines.sources.protocol import FileSource, Loaded, Names, Partition, Version, Written
from dpdb.engines.sources.read_ahead import read_ahead
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.cell_format import PLAIN
from dpdb.policy.csv.csv_format import NO_QUOTES
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.grammar import LONGEST

BATCH = 1 << 19
"""The rows of a batch."""
_FEW = 2**16
"""Texts of which a column has no more are read as places in a dictionary."""


@dataclass(frozen=True, repr=False)
class TypedColumns:
    """A builder for each column that is read."""

    columns: tuple[Column, ...]
    exact: frozenset[str]
    """The names of those that name a unit or a row."""
    builders: dict[str, Builder]

    @classmethod
    def of(cls, table: Table, names: Collection[str]) -> TypedColumns:
        """Builders that have no rows yet."""
        columns = tuple(column for column in table.columns if column.name in names)
        return cls(columns, table.identifiers, builders_of(table, names, NO_QUOTES))

    def add(self, batch: pyarrow.RecordBatch) -> int:
        """Give every builder the values of its column; returns the number of rows."""
        for column in self.columns:
            values = batch.column(column.name)
            add_values(self.builders[column.name], column, values, exact=column.name in self.exact)
        return int(batch.num_rows)

    def finish(self) -> dict[str, Numbers | Codes]:
        """The columns of all batches that were added since they were last asked for."""
        return finished(self.builders)

    def block(self) -> dict[str, Numbers | Codes]:
        """The same for what is not kept: codes are looked up if they are asked for."""
        return {name: builder.finish() for name, builder in self.builders.items()}


def names_of_texts(table: Table, names: Collection[str]) -> frozenset[str]:
    """The columns of texts among these that stay as they are stored where blocks are read."""
    return (
        frozenset(
            column.name
            for column in table.columns
            if column.kind is Kind.TEXT
            and column.values is None
            and column.cells == PLAIN
            and column.name in names
        )
        - table.identifiers
    )


def batch_rows(table: Table, names: Collection[str]) -> int:
    """The rows of a batch of these columns: half as many with texts, which take more room."""
    return BATCH // 2 if names_of_texts(table, names) else BATCH


def stored_texts(
    table: Table, names: Collection[str], batch: pyarrow.RecordBatch
) -> dict[str, Numbers | Codes]:
    """The columns called `names` in one batch, which hold texts."""
    return {
        column.name: ArrowTexts(
            within_length(texts_of(batch.column(column.name)), column.length),
            nullable=column.nullable,
        )
        for column in table.columns
        if column.name in names
    }


def has_few_values(column: Column) -> bool:
    """Whether a column has few values that are not NULL, as its declaration alone says."""
    if column.values is not None or column.kind is Kind.BOOLEAN:
        return True
    grid = grid_of(column) if column.kind.ordinal else None
    return grid is not None and grid.highest - grid.lowest < _FEW


def add_values(builder: Builder, column: Column, values: pyarrow.Array, *, exact: bool) -> None:
    """Append values to a column; how follows from its declaration and their type alone.

    What no other way is exact for is added as the text of a cell.
    """
    if is_text(values.type) and has_few_values(column):
        values = values.dictionary_encode()
    kind = values.type
    if is_text(kind) and types.is_dictionary(kind):
        builder.add(*repeated_cells(values))
        return
    if is_text(kind) or not column.kind.ordinal or is_long_decimal(kind):
        builder.add(cells(values))
        return
    assert isinstance(builder, OrdinalBuilder)
    if column.kind is Kind.DATE:
        builder.add_numbers(days(values))
    elif column.kind is Kind.TIMESTAMP and not exact:
        builder.add_numbers(moments(values))
    elif (step := step_of(kind)) is not None and builder.holds_multiples(step):
        builder.add_multiples(*multiples(values))
    elif not exact:
        builder.add_numbers(numbers(values))
    elif types.is_integer(kind) and column.kind is Kind.INTEGER:
        builder.add_numbers(whole_numbers(values))
    else:
        builder.add(cells(values))


def _written(texts: pyarrow.Array) -> Written:
    long = np.greater(sizes_of(texts), LONGEST) & ~null_of(texts)
    return Written(cells(texts).written(), int(np.count_nonzero(long)))


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

    def partitions(self, table: Table, names: Collection[str]) -> list[Partition]:
        """The partitions of the rows; by default there is one."""
        return [Partition()]

    @abstractmethod
    def batches(self, table: Table, names: Collection[str], partition: Partition) -> Batches:
        """The columns called `names`, under these names: some rows of a partition at a time."""


@dataclass(frozen=True)
class TypedSource(FileSource):
    """Reads the rows of a table from files whose columns have types."""

    table: Table
    reader: BatchReader

    def files(self) -> tuple[Path, ...]:
        return self.reader.files(self.table)

    def load(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Loaded:
        version = self.witnessed(witness)
        columns = TypedColumns.of(self.table, names)
        rows = 0 if names else self.reader.rows(self.table)
        if names:
            for batch in read_ahead(self.batches(names, progress)):
                rows += columns.add(batch)
        self.check(version)
        return Loaded(columns.finish(), rows, version)

    def batches(self, names: Collection[str], progress: Progress | None = None) -> Batches:
        """All rows, some at a time."""
        done, rows = 0, 1 if progress is None else max(self.reader.rows(self.table), 1)
        for partition in self.reader.partitions(self.table, names):
            for batch in self.reader.batches(self.table, names, partition):
                yield batch
                done += batch.num_rows
                if progress is not None:
                    progress(min(done / rows, 1.0))

    def blocks(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Iterator[Loaded]:
        version = self.witnessed(witness)
        return self._blocks(read_ahead(self.batches(names, progress)), names, version)

    def partitions(
        self, names: Collection[str], witness: Witness | None = None
    ) -> Sequence[Partition]:
        version = self.witnessed(witness)
        found = self.reader.partitions(self.table, names) if names else [Partition()]
        return [replace(each, version=version) for each in found]

    def read(
        self,
        partition: Partition,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Iterator[Loaded]:
        assert partition.version is not None
        if partition.groups:  # While a thread works on it, others read.
            batches = self.reader.batches(self.table, names, partition)
        else:
            batches = read_ahead(self.batches(names, progress))
        return self._blocks(batches, names, partition.version, partition)

    def _blocks(
        self,
        batches: Batches,
        names: Collection[str],
        version: Version,
        only: Partition | None = None,
    ) -> Iterator[Loaded]:
        """A block of each batch; of no columns one block, whose rows are counted."""
        if not names:
            yield Loaded({}, self.reader.rows(self.table), version)
        texts = names_of_texts(self.table, names)
        columns = TypedColumns.of(self.table, {*names} - texts)
        for batch in batches if names else ():
            rows = columns.add(batch)
            stored = stored_texts(self.table, texts, batch)
            yield Loaded({**columns.block(), **stored}, rows, version)
        self.check(version, only)

    def written(self) -> Iterator[tuple[Written, ...]]:
        names = [column.name for column in self.table.columns]
        for batch in self.batches(names):
            yield tuple(_written(texts_of(column)) for column in batch.columns)
