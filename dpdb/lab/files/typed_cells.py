"""The values of a file with typed columns as the cells that would write them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow
from pyarrow import compute

from dpdb.engines.sources.arrow.typed_source import TypedSource
from dpdb.engines.sources.arrow.values import cells, texts_of
from dpdb.engines.sources.opening import open_source
from dpdb.policy.catalog import Table
from dpdb.records import dataclass
from dpdb.vectors.grammar import LONGEST


@dataclass(frozen=True, repr=False)
class TypedCells:
    """Some values of one column."""

    written: list[bytes]
    """The cells; one that is too long is empty."""
    too_long: int


def typed_cells(table: Table) -> Iterator[tuple[TypedCells, ...]]:
    """The cells of each declared column, some rows at a time."""
    source = open_source(table)
    assert isinstance(source, TypedSource)
    names = [column.name for column in table.columns]
    for batch in source.reader.batches(table, names):
        yield tuple(_cells(texts_of(column)) for column in batch.columns)


def _cells(texts: pyarrow.Array) -> TypedCells:
    lengths = compute.binary_length(texts).fill_null(0).to_numpy()
    return TypedCells(cells(texts).written(), int(np.count_nonzero(lengths > LONGEST)))
