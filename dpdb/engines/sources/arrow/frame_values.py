"""Values that a data frame holds as columns of Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow
from pyarrow import compute, types

from dpdb.engines.sources.arrow.typed_source import add_values
from dpdb.engines.sources.arrow.values import (
    TEXTS,
    bools,
    bytes_of,
    cells,
    is_text,
    null_of,
    texts_of,
    values_of,
)
from dpdb.engines.sources.cells.builders import Builder
from dpdb.engines.sources.frame_values import Moments, PlainValues, Values
from dpdb.policy.catalog import Column
from dpdb.policy.schemas.stored_types import StoredColumn, StoredType, is_read_as, stored_type
from dpdb.records import dataclass
from dpdb.vectors.vector import Bools


@dataclass(frozen=True, repr=False, eq=False)
class ArrowValues(Values):
    """Texts, dates, decimals and moments of a time zone, in one chunk or several."""

    values: Any
    """A `pyarrow.ChunkedArray`."""

    def within(self, rows: slice) -> ArrowValues:
        return ArrowValues(self.values[rows])

    def add_to(self, builder: Builder, column: Column, *, exact: bool) -> None:
        for chunk in self.values.chunks:
            _of(chunk).add_to(builder, column, exact=exact)

    def written(self, *, exact: bool = False) -> list[bytes]:
        return [cell for chunk in self.values.chunks for cell in _of(chunk).written()]

    def typed(self) -> Bools:
        chunks = [_of(chunk).typed() for chunk in self.values.chunks]
        return np.concatenate(chunks) if chunks else np.zeros(0, dtype=np.bool_)

    def raw(self) -> Iterator[bytes]:
        for chunk in self.values.chunks:
            yield from _of(chunk).raw()


@dataclass(frozen=True, repr=False, eq=False)
class _Chunk(Values):
    """Values that are neither plain numbers nor moments without a time zone."""

    values: pyarrow.Array

    def within(self, rows: slice) -> _Chunk:
        return _Chunk(self.values[rows])

    def add_to(self, builder: Builder, column: Column, *, exact: bool) -> None:
        if is_read_as(StoredColumn("", stored_type(self.values.type)), column.kind):
            add_values(builder, column, self.values, exact=exact)
        else:
            builder.add(cells(self.values), typed=self.typed())

    def written(self, *, exact: bool = False) -> list[bytes]:
        return cells(self.values).written()

    def typed(self) -> Bools:
        return np.full(len(self.values), types.is_temporal(self.values.type), dtype=np.bool_)

    def raw(self) -> Iterator[bytes]:
        texts = compute.fill_null(texts_of(self.values), "")
        held, bounds = bytes_of(texts)
        yield from (null_of(self.values).tobytes(), np.diff(bounds).tobytes(), held.tobytes())


def _of(chunk: pyarrow.Array) -> Values:
    """The values of one chunk, as numpy has them where it does."""
    kind = chunk.type
    if types.is_dictionary(kind) and not is_text(kind):
        chunk = chunk.dictionary_decode()
        kind = chunk.type
    if types.is_boolean(kind):
        return PlainValues(bools(chunk), null_of(chunk))
    if types.is_integer(kind) or types.is_floating(kind):
        return PlainValues(values_of(chunk), null_of(chunk))
    if types.is_timestamp(kind) and kind.tz is None:
        moments = values_of(chunk.cast(pyarrow.int64())).view(f"M8[{kind.unit}]").copy()
        moments[null_of(chunk)] = "NaT"
        return Moments.of(moments)
    if types.is_decimal(kind) or stored_type(kind) is not StoredType.OTHER:
        return _Chunk(chunk)
    if types.is_binary(kind) or types.is_large_binary(kind):  # pyarrow makes bytes of texts, too
        return _Chunk(chunk.cast(pyarrow.large_binary()).view(TEXTS))
    return _Chunk(pyarrow.nulls(len(chunk), TEXTS))
