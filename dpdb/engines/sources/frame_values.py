"""Values of data frames, and the cells that would write them.

Each value is read as the cell of a CSV file is that writes it, whatever type its column is declared
as. Plain arrays of numbers go to numbers without cells, which comes to the same.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cells.builders import Builder
from dpdb.engines.sources.cells.grids import Floats
from dpdb.engines.sources.cells.ordinals import OrdinalBuilder
from dpdb.engines.sources.cells.records import Cells, Places
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.cell_format import PLAIN
from dpdb.policy.numbers import CALENDAR
from dpdb.policy.schemas.stored_types import bool_cell, float_cell, int_cell, moment_cell
from dpdb.policy.timestamps import DAY, TIMESTAMPS
from dpdb.records import dataclass
from dpdb.vectors.grammar import LONGEST
from dpdb.vectors.vector import Bools, outside

_WHOLE_DOUBLES = 2**53 - 1
"""Whole numbers up to this are each a double of its own."""
_NUMBERS = (np.integer, np.floating)
"""The types of numpy's numbers that pandas makes floats of, or objects."""
_ZONES = ("datetime", "zoneinfo", "pytz", "dateutil")
"""The modules whose time zones are asked for their offset: others run code of somebody's own."""


_EPOCH, _MICROSECOND = datetime.datetime(1970, 1, 1), datetime.timedelta(microseconds=1)


class Values(Protocol):
    """Values of one column of a frame."""

    def within(self, rows: slice) -> Values:
        """The values of these rows."""

    def add_to(self, builder: Builder, column: Column, *, exact: bool) -> None:
        """Append the values to a column."""

    def written(self, *, exact: bool = False) -> list[bytes]:
        """The cell that writes each value; empty for what is missing, too long or unknown.

        With `exact`, so is that of a number which pandas may have rounded: one NULL among integers
        makes floats of all.
        """

    def typed(self) -> Bools:
        """Whether each value is a date or a timestamp, which no format of cells is for."""

    def raw(self) -> Iterator[bytes]:
        """Bytes that tell the values apart from others of the same number and type."""


@dataclass(frozen=True, repr=False, eq=False)
class PlainValues(Values):
    """Integers, floating-point numbers or booleans."""

    values: NDArray[Any]
    null: Bools | None = None
    """None for a plain array of numpy, whose type changes where a value is missing."""

    def within(self, rows: slice) -> PlainValues:
        return PlainValues(self.values[rows], None if self.null is None else self.null[rows])

    def add_to(self, builder: Builder, column: Column, *, exact: bool) -> None:
        kind = self.values.dtype.kind
        numeric = column.kind in (Kind.INTEGER, Kind.NUMBER) and kind in "iuf" and _is_plain(column)
        if not numeric or (exact and (kind == "f" or column.kind is Kind.NUMBER)):
            builder.add(Cells.of(self.written(exact=_is_exact(column, exact=exact))))
            return
        assert isinstance(builder, OrdinalBuilder)
        # Adding zero makes -0.0 the same zero as 0.0.
        doubles: Floats = self.values.astype(np.float64) + 0.0
        if exact:
            most = _WHOLE_DOUBLES if self.null is None else 2**53
            doubles[outside(self.values, (-most, most))] = np.nan
        if self.null is not None:
            doubles[self.null] = np.nan
        builder.add_numbers(doubles)

    def written(self, *, exact: bool = False) -> list[bytes]:
        write = {"b": bool_cell, "f": float_cell}.get(self.values.dtype.kind, int_cell)
        values = self.values.astype(np.float64) if write is float_cell else self.values
        cells = [*map(write, values.tolist())]
        if self.null is not None:
            return _without(cells, self.null)
        large = outside(values, (-_WHOLE_DOUBLES, _WHOLE_DOUBLES))
        return _without(cells, large) if exact and write is not bool_cell else cells

    def typed(self) -> Bools:
        return np.zeros(len(self.values), dtype=np.bool_)

    def raw(self) -> Iterator[bytes]:
        null = np.zeros(len(self.values), dtype=np.bool_) if self.null is None else self.null
        yield np.where(null, self.values.dtype.type(0), self.values).tobytes()
        yield null.tobytes()


@dataclass(frozen=True, repr=False, eq=False)
class Moments(Values):
    """Timestamps in microseconds since 1970-01-01 00:00 UTC."""

    values: NDArray[np.int64]
    zoned: bool = False
    """Whether they have a time zone: then midnight in UTC is no date."""

    @classmethod
    def of(cls, moments: NDArray[Any], *, zoned: bool = False) -> Moments:
        """Moments of numpy, of any unit; what is below a microsecond is cut off."""
        years = moments.astype("datetime64[Y]").astype(np.int64)
        # Beyond what can be written nothing is counted: it would not fit 64 bits.
        missing = np.isnat(moments) | outside(years, (1 - 1970, 9999 - 1970))
        held = np.where(missing, np.datetime64("NaT"), moments)
        return cls(held.astype("datetime64[us]").view(np.int64), zoned)

    def within(self, rows: slice) -> Moments:
        return Moments(self.values[rows], self.zoned)

    def add_to(self, builder: Builder, column: Column, *, exact: bool) -> None:
        if exact or not column.kind.temporal or (self.zoned and column.kind is Kind.DATE):
            builder.add(Cells.of(self.written()), typed=self.typed())
            return
        assert isinstance(builder, OrdinalBuilder)
        if column.kind is Kind.DATE:
            days, rest = np.divmod(self.values, DAY)
            lost = outside(days, CALENDAR) | (rest != 0)
            builder.add_numbers(np.where(lost, np.nan, days))
        else:
            lost = outside(self.values, TIMESTAMPS)
            builder.add_numbers(np.where(lost, np.nan, self.values))

    def written(self, *, exact: bool = False) -> list[bytes]:
        return [*map(_zoned_cell if self.zoned else moment_cell, self.values.tolist())]

    def typed(self) -> Bools:
        return np.ones(len(self.values), dtype=np.bool_)

    def raw(self) -> Iterator[bytes]:
        yield self.values.tobytes()


@dataclass(frozen=True, repr=False, eq=False)
class Objects(Values):
    """Objects of Python, each read by its own type."""

    values: Sequence[object]

    def within(self, rows: slice) -> Objects:
        return Objects(self.values[rows])

    def add_to(self, builder: Builder, column: Column, *, exact: bool) -> None:
        cells = self.written(exact=_is_exact(column, exact=exact))
        builder.add(Cells.of(cells), typed=self.typed())

    def written(self, *, exact: bool = False) -> list[bytes]:
        write = _exact_cell if exact else object_cell
        return [*map(write, self.values)]

    def typed(self) -> Bools:
        return np.fromiter(map(_is_moment, self.values), np.bool_, len(self.values))

    def raw(self) -> Iterator[bytes]:
        cells = self.written()
        yield np.fromiter(map(len, cells), np.int64, len(cells)).tobytes()
        yield b"".join(cells)


@dataclass(frozen=True, repr=False, eq=False)
class Coded(Values):
    """Values by their places among few; past their end there is none."""

    few: Values
    places: Places

    @classmethod
    def of(cls, few: Values, codes: NDArray[Any]) -> Coded:
        """The values with these codes; a negative one stands for none."""
        places = codes.astype(np.intp)
        places[places < 0] = len(few.written())
        return cls(few, places)

    def within(self, rows: slice) -> Coded:
        return Coded(self.few, self.places[rows])

    def add_to(self, builder: Builder, column: Column, *, exact: bool) -> None:
        cells = self.few.written(exact=_is_exact(column, exact=exact))
        typed = np.append(self.few.typed(), False)
        builder.add(Cells.of([*cells, b""]), self.places, typed)

    def written(self, *, exact: bool = False) -> list[bytes]:
        cells = [*self.few.written(exact=exact), b""]
        return [cells[place] for place in self.places.tolist()]

    def typed(self) -> Bools:
        return np.append(self.few.typed(), False)[self.places]

    def raw(self) -> Iterator[bytes]:
        yield from (b"\0".join(self.few.written()), self.places.tobytes())


def _is_plain(column: Column) -> bool:
    """Whether no format rewrites the cells of a column, so that numbers can do without them."""
    return column.cells == PLAIN


def _is_exact(column: Column, *, exact: bool) -> bool:
    """Whether digits of numbers count, also those that a double lacks."""
    return exact or column.kind is Kind.TEXT or not _is_plain(column)


def _without(cells: list[bytes], null: Bools) -> list[bytes]:
    """The cells, empty where they are NULL."""
    return [b"" if missing else cell for cell, missing in zip(cells, null.tolist(), strict=True)]


def object_cell(value: object) -> bytes:
    """The cell that writes an object of a known type; that of any other is empty.

    No method of an unknown type is called: it could fail for a row, or show an address.
    """
    kind = type(value)
    write = _CELLS.get(kind)
    if write is not None:
        return write(value)
    if issubclass(kind, str):
        return _text_cell(str.__str__(value))
    if kind.__module__ == "numpy" and issubclass(kind, np.generic):
        return _numpy_cell(value)
    if kind is getattr(sys.modules.get("pandas"), "Timestamp", None):
        return _timestamp_cell(value)
    return b""


def _exact_cell(value: object) -> bytes:
    """The cell of an object, as `object_cell` has it; that of a large number is empty."""
    kind = type(value)
    known = kind in (int, float) or (kind.__module__ == "numpy" and issubclass(kind, _NUMBERS))
    number: Any = value if known else 0
    return object_cell(value) if -_WHOLE_DOUBLES <= number <= _WHOLE_DOUBLES else b""


def _is_moment(value: object) -> bool:
    """Whether an object is a date or a timestamp of a known type."""
    kind = type(value)
    if kind in (datetime.date, datetime.datetime, np.datetime64):
        return True
    return kind is getattr(sys.modules.get("pandas"), "Timestamp", None)


def _text_cell(value: str) -> bytes:
    if len(value) > LONGEST:
        return b""
    written = value.encode("utf-8", "surrogatepass")
    return written if len(written) <= LONGEST else b""


def _decimal_cell(value: Decimal) -> bytes:
    if not value.is_finite() or len(value.as_tuple().digits) > LONGEST:
        return b""
    return str(value).encode()


def _datetime_cell(value: datetime.datetime) -> bytes:
    zone = value.tzinfo
    if zone is not None and type(zone).__module__.partition(".")[0] not in _ZONES:
        return b""
    moment = (value.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
    try:
        offset = None if zone is None else value.utcoffset()
    except OverflowError:  # a zone whose clocks change beyond the last day
        return b""
    if offset is None:
        return moment_cell(moment)
    return _zoned_cell(moment - offset // _MICROSECOND)


def _zoned_cell(moment: int) -> bytes:
    """The cell of a moment with an offset: midnight in UTC is no date."""
    cell = moment_cell(moment)
    return cell + b" 00:00:00" if cell and not moment % DAY else cell


def _timestamp_cell(value: Any) -> bytes:  # noqa: ANN401
    """The cell of a `pandas.Timestamp`."""
    [moment] = Moments.of(np.array([value.to_datetime64()])).values.tolist()
    return moment_cell(moment) if value.tzinfo is None else _zoned_cell(moment)


def _complex_cell(value: complex) -> bytes:
    """The cell of a complex number: that of its real part where it is real."""
    return b"" if value.imag else float_cell(value.real)


def _numpy_cell(value: Any) -> bytes:  # noqa: ANN401
    match value.dtype.kind:
        case "b":
            return bool_cell(bool(value))
        case "i" | "u":
            return int_cell(int(value))
        case "f":
            return float_cell(float(value))
        case "c":
            return _complex_cell(complex(value))
        case "M":
            try:
                return Moments.of(np.array([value])).written()[0]
            except OverflowError:  # in attoseconds, say
                return b""
    return b""


_CELLS: dict[type, Callable[[Any], bytes]] = {
    str: _text_cell,
    bytes: lambda value: value if len(value) <= LONGEST else b"",
    bool: bool_cell,
    int: int_cell,
    float: float_cell,
    complex: _complex_cell,
    Decimal: _decimal_cell,
    datetime.datetime: _datetime_cell,
    datetime.date: lambda value: value.isoformat().encode(),
    type(None): lambda value: b"",
}
"""The cells of objects of exactly these types."""
