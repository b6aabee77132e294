"""The columns of a table that are made of batches of typed values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

import pyarrow
from pyarrow import types

from dpdb.engines.sources.arrow_cells import (
    cells,
    days,
    is_long_decimal,
    is_text,
    moments,
    multiples,
    numbers,
    repeated_cells,
    step_of,
    texts_of,
    whole_numbers,
)
from dpdb.engines.sources.arrow_texts import ArrowTexts, within_length
from dpdb.engines.sources.builder import Builder, NumberBuilder
from dpdb.engines.sources.column_builders import builders_of
from dpdb.engines.sources.grid_rounding import grid_of
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.csv_format import NO_QUOTES
from dpdb.vectors.columns import Codes, Numbers

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
            _add(self.builders[column.name], column, values, exact=column.name in self.exact)
        return int(batch.num_rows)

    def finish(self) -> dict[str, Numbers | Codes]:
        """The columns of all batches that were added since they were last asked for."""
        # What stays in memory is looked up now: codes take less of it than what they come from.
        return {
            name: Codes(column.codes, column.values) if isinstance(column, Codes) else column
            for name, column in self.block().items()
        }

    def block(self) -> dict[str, Numbers | Codes]:
        """The same for what is not kept: codes are looked up if they are asked for."""
        return {name: builder.finish() for name, builder in self.builders.items()}


def names_of_texts(table: Table, names: Collection[str]) -> frozenset[str]:
    """The columns of texts among these that stay as they are stored where blocks are read."""
    return (
        frozenset(
            column.name
            for column in table.columns
            if column.kind is Kind.TEXT and column.values is None and column.name in names
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


def _add(builder: Builder, column: Column, values: pyarrow.Array, *, exact: bool) -> None:
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
    ordinal = cast("NumberBuilder", builder)
    if column.kind is Kind.DATE:
        ordinal.add_numbers(days(values))
    elif column.kind is Kind.TIMESTAMP and not exact:
        ordinal.add_numbers(moments(values))
    elif (step := step_of(kind)) is not None and ordinal.holds_multiples(step):
        ordinal.add_multiples(*multiples(values))
    elif not exact:
        ordinal.add_numbers(numbers(values))
    elif types.is_integer(kind) and column.kind is Kind.INTEGER:
        ordinal.add_numbers(whole_numbers(values))
    else:
        builder.add(cells(values))
