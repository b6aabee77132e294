"""A data frame in memory into columns: its values are read where they are, and never written."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from dpdb.engines.protocol import Progress, Witness
from dpdb.engines.sources.cells.builders import Builder, builders_of, finished
from dpdb.engines.sources.frame_values import Coded, Moments, Objects, PlainValues, Values
from dpdb.engines.sources.protocol import Loaded, Names, Source, Version, Written, keyed
from dpdb.policy.catalog import Table
from dpdb.policy.csv.csv_format import NO_QUOTES
from dpdb.policy.frames import HeldFrame
from dpdb.policy.schemas.stored_types import frame_columns, names_in_file
from dpdb.records import dataclass

# ruff: noqa: PLC0415 - pyarrow is optional

BATCH = 1 << 18
"""The rows of a block."""
_VERSION = Version((0,))
"""The version of a frame: what is read of it stays in memory."""


@dataclass(frozen=True, repr=False)
class FrameSource(Source):
    """Reads the frame of a table."""

    table: Table
    frame: HeldFrame

    def load(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Loaded:
        if witness is not None:
            witness.check(self.table.name, self.digest(witness.key))
        builders, held = builders_of(self.table, names, NO_QUOTES), self._held(names)
        for rows in self._slices():
            self._add(held, rows, builders)
        return Loaded(finished(builders), self._rows, _VERSION)

    def blocks(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Iterator[Loaded]:
        if witness is not None:
            witness.check(self.table.name, self.digest(witness.key))
        builders, held = builders_of(self.table, names, NO_QUOTES), self._held(names)
        for rows in self._slices():
            self._add(held, rows, builders)
            columns = {name: each.finish() for name, each in builders.items()}
            yield Loaded(columns, rows.stop - rows.start, _VERSION)

    def digest(self, key: bytes) -> str:
        seen = keyed(key)
        for name, values in self._held([column.name for column in self.table.columns]).items():
            seen.update(f"{name}\0{self._rows}\0".encode())
            for rows in self._slices():
                for part in values.within(rows).raw():
                    seen.update(len(part).to_bytes(8, "big"))
                    seen.update(part)
        return seen.hexdigest()

    def written(self) -> Iterator[tuple[Written, ...]]:
        held = self._held([column.name for column in self.table.columns])
        for rows in self._slices():
            yield tuple(Written(values.within(rows).written()) for values in held.values())

    @property
    def _rows(self) -> int:
        first = next(iter(self.frame.others.values()), self.frame.data)
        return len(first)

    def _slices(self) -> Iterator[slice]:
        for start in range(0, self._rows, BATCH):
            yield slice(start, min(start + BATCH, self._rows))

    def _add(self, held: dict[str, Values], rows: slice, builders: dict[str, Builder]) -> None:
        for column in self.table.columns:
            if column.name in builders:
                exact = column.name in self.table.identifiers
                values = held[column.name].within(rows)
                values.add_to(builders[column.name], column, exact=exact)

    def _held(self, names: Collection[str]) -> dict[str, Values]:
        """The values of declared columns, in the order of the policy."""
        stored, data = frame_columns(self.table), self.frame.data
        others = [*self.frame.others.values()]
        in_frame = names_in_file(self.table, stored)
        places = {column.name: place for place, column in enumerate(stored)}
        held = dict[str, Values]()
        for column in self.table.columns:
            if column.name in names:
                at = places[in_frame[column.name]]
                if at >= len(stored) - len(others):
                    held[column.name] = Objects(others[at - len(stored)])
                elif self.frame.is_pandas:
                    held[column.name] = _of_pandas(data.iloc[:, at].array)
                else:
                    held[column.name] = _of_arrow(data.column(at))
        return held


def _of_arrow(column: Any) -> Values:  # noqa: ANN401
    from dpdb.engines.sources.arrow.frame_values import ArrowValues

    return ArrowValues(column)


def _of_pandas(column: Any) -> Values:  # noqa: ANN401
    """The values of an array of pandas."""
    pandas: Any = sys.modules["pandas"]
    dtype = column.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        return Coded.of(_of_pandas(column.categories.array), column.codes)
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return Moments.of(column.tz_convert("UTC").tz_localize(None).to_numpy(), zoned=True)
    if isinstance(dtype, pandas.StringDtype | pandas.ArrowDtype):
        if getattr(dtype, "storage", "pyarrow") == "pyarrow":
            import pyarrow

            held = pyarrow.array(column)
            if isinstance(held, pyarrow.Array):
                held = pyarrow.chunked_array([held])
            return _of_arrow(held)
        return Objects(column.to_numpy(dtype=object))
    masked = (pandas.arrays.IntegerArray, pandas.arrays.FloatingArray, pandas.arrays.BooleanArray)
    if isinstance(column, masked):
        zero = False if dtype.kind == "b" else 0
        plain = column.to_numpy(dtype=dtype.numpy_dtype, na_value=zero)
        return PlainValues(plain, np.asarray(column.isna()))
    plain = column.to_numpy()
    if plain.dtype.kind == "O":
        return Objects(plain)
    plain = plain.astype(plain.dtype.newbyteorder("="), copy=False)
    match plain.dtype.kind:
        case "M":
            return Moments.of(plain)
        case "c":  # one complex number makes such of all
            return PlainValues(np.where(plain.imag == 0, plain.real, np.nan))
        case "b" | "i" | "u" | "f":
            return PlainValues(plain)
    return Objects([None] * len(plain))
