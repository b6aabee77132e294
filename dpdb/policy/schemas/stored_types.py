"""The types of columns in files, on servers and in frames, what a policy may declare, and cells.

The types of Parquet and DuckDB come as types of Apache Arrow, through which such files are read.
The types that pandas infers tell rows: one cell `NA` makes numbers of integers, one `x` texts, and
`2j` complex numbers. So each column of a frame is read as every type that a policy can declare,
with NULL for what is no value. Without a policy a frame's types are public by its owner's word.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpdb.errors import DataFileError, UsageError, did_you_mean
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.csv.csv_header import SPACE, distinct_names
from dpdb.policy.frames import HeldFrame
from dpdb.policy.numbers import CALENDAR, iso_date
from dpdb.policy.timestamps import DAY, HOUR, MINUTE, SECOND
from dpdb.records import dataclass

if TYPE_CHECKING:
    import pyarrow


_WHOLE_DOUBLES = 2**53
"""Whole numbers below this are written without a point, also where a column holds floats."""
_MOST_BITS = 1_100
"""The most bits of an integer that can be a number: doubles have 1,024."""


class StoredType(Enum):
    """The type of a stored column, in the words of messages."""

    INTEGER = "integers"
    DECIMAL = "decimals"
    FLOAT = "floating-point numbers"
    TEXT = "texts"
    BOOLEAN = "booleans"
    DATE = "dates"
    TIMESTAMP = "timestamps"
    OTHER = "values of another type"


_NUMBERS = (StoredType.INTEGER, StoredType.DECIMAL, StoredType.FLOAT, StoredType.TEXT)
_READ_AS = {
    Kind.INTEGER: _NUMBERS,
    Kind.NUMBER: _NUMBERS,
    Kind.DATE: (StoredType.DATE, StoredType.TEXT),
    Kind.TIMESTAMP: (StoredType.TIMESTAMP, StoredType.DATE, StoredType.TEXT),
    Kind.BOOLEAN: (StoredType.BOOLEAN, StoredType.INTEGER, StoredType.TEXT),
    Kind.TEXT: (StoredType.TEXT, StoredType.INTEGER, StoredType.BOOLEAN, StoredType.DATE),
}
"""For each declared type the stored ones that are read as it."""

_KINDS = {
    StoredType.INTEGER: Kind.INTEGER,
    StoredType.DECIMAL: Kind.NUMBER,
    StoredType.FLOAT: Kind.NUMBER,
    StoredType.TEXT: Kind.TEXT,
    StoredType.BOOLEAN: Kind.BOOLEAN,
    StoredType.DATE: Kind.DATE,
    StoredType.TIMESTAMP: Kind.TIMESTAMP,
}


@dataclass(frozen=True)
class StoredColumn:
    """A column as its file or server declares it, which is public, as a header is."""

    name: str
    type: StoredType
    free: bool = False
    """Whether the column is read as any declared type: each value as the cell that writes it."""
    guessed: bool = False
    """Whether the values can be of any type where no policy declares one."""

    @property
    def kind(self) -> Kind | None:
        """The type of the column where no policy declares it; None if it cannot be read."""
        return _KINDS.get(self.type)

    @property
    def undeclared(self) -> Column | None:
        """The column where no policy declares it; None if it cannot be read."""
        if self.kind is None:
            return None
        step = SECOND if self.kind is Kind.TIMESTAMP else 1
        return Column(self.name, self.kind, step=Fraction(step), guessed=self.guessed)


def stored_columns(schema: pyarrow.Schema) -> tuple[StoredColumn, ...]:
    """The columns of a schema of Arrow."""
    return tuple(StoredColumn(field.name, stored_type(field.type)) for field in schema)


def column_positions(table: Table, names: Sequence[str]) -> dict[str, int]:
    """The position of each declared column in a record, by the name of the column.

    Names of the header, which have no space around them, are also found in another case.
    """
    exact = {name: position for position, name in enumerate(names)}
    declared = {column.name for column in table.columns}
    # A header name that matches one declared column exactly is not used for another column that
    # differs from it in case.
    folded = {name.casefold(): at for name, at in exact.items() if name not in declared}
    positions = {}
    for column in table.columns:
        position = exact.get(column.name)
        if position is None:
            position = folded.pop(column.name.strip(SPACE).casefold(), None)
        if position is None:
            where = table.place if table.storage.typed else f"{table.place}, line 1"
            raise DataFileError(
                f"{where}: there is no column {column.name}", hint=did_you_mean(column.name, names)
            )
        positions[column.name] = position
    return positions


def names_in_file(table: Table, stored: Sequence[StoredColumn]) -> dict[str, str]:
    """The name in the file or on the server of each declared column.

    Raises DataFileError where it lacks one, or has it of a type that is not read as declared.
    """
    names = [column.name for column in stored]
    positions = column_positions(table, names)
    for column in table.columns:
        in_file = stored[positions[column.name]]
        if names.count(in_file.name) > 1:
            raise DataFileError(f"{table.place}: several columns are called {in_file.name}")
        if not is_read_as(in_file, column.kind):
            raise _unreadable(table, column, in_file)
    return {name: names[at] for name, at in positions.items()}


def is_read_as(stored: StoredColumn, kind: Kind) -> bool:
    """Whether a policy can declare a stored column to be of this type."""
    return stored.free or stored.type in _READ_AS[kind]


def _unreadable(table: Table, column: Column, in_file: StoredColumn) -> DataFileError:
    hint = None if in_file.kind is None else f'declare it as type = "{in_file.kind}"'
    return DataFileError(
        f"{table.place}: {column.name} holds {in_file.type.value}, "
        f"which are not read as type {column.kind}",
        hint=hint,
    )


def stored_type(arrow: pyarrow.DataType) -> StoredType:
    """The stored type of a type of Arrow."""
    from pyarrow import types  # noqa: PLC0415 (it imports numpy)

    if types.is_dictionary(arrow):
        arrow = arrow.value_type
    if types.is_integer(arrow):
        return StoredType.INTEGER
    if types.is_decimal(arrow) and arrow.scale >= 0:
        return StoredType.DECIMAL if arrow.scale else StoredType.INTEGER
    if types.is_floating(arrow):
        return StoredType.FLOAT
    if types.is_boolean(arrow):
        return StoredType.BOOLEAN
    if types.is_date(arrow):
        return StoredType.DATE
    if types.is_timestamp(arrow):
        return StoredType.TIMESTAMP
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    return StoredType.TEXT if any(fits(arrow) for fits in texts) else StoredType.OTHER


def bool_cell(value: bool) -> bytes:
    """The cell that writes a boolean."""
    return b"true" if value else b"false"


def int_cell(value: int) -> bytes:
    """The cell that writes an integer."""
    return b"%d" % value if value.bit_length() <= _MOST_BITS else b""


def float_cell(value: float) -> bytes:
    """The cell that writes a number: a whole one as an integer, as one NULL makes floats of all."""
    if not math.isfinite(value):
        return b""
    if abs(value) < _WHOLE_DOUBLES and value == int(value):
        return b"%d" % int(value)
    return repr(value).encode()


def moment_cell(moment: int) -> bytes:
    """The cell that writes microseconds since 1970: midnight is the day alone."""
    days, time = divmod(moment, DAY)
    if not CALENDAR[0] <= days <= CALENDAR[1]:
        return b""
    if not time:
        return iso_date(days).encode()
    clock = f"{time // HOUR:02}:{time // MINUTE % 60:02}:{time // SECOND % 60:02}"
    fraction = f".{time % SECOND:06}".rstrip("0") if time % SECOND else ""
    return f"{iso_date(days)} {clock}{fraction}".encode()


_BY_KIND = {
    "b": StoredType.BOOLEAN,
    "i": StoredType.INTEGER,
    "u": StoredType.INTEGER,
    "f": StoredType.FLOAT,
    "M": StoredType.TIMESTAMP,
}
"""The stored types of columns by numpy's letter for their kind."""


def frame_columns(table: Table) -> tuple[StoredColumn, ...]:
    """The columns of the frame that a table has its rows in."""
    assert table.frame is not None
    return tuple(_columns(table.frame))


def _columns(frame: HeldFrame) -> Iterator[StoredColumn]:
    data = frame.data
    given = [*(data.columns if frame.is_pandas else data.column_names), *frame.others]
    names, _ = distinct_names([*map(_name, given)])
    if not names:
        raise UsageError("the frame has no columns", hint="an index is none: .reset_index()")
    dtypes = data.dtypes if frame.is_pandas else data.schema.types
    for name, dtype in zip(names, dtypes, strict=False):
        yield _of_pandas(name, dtype) if frame.is_pandas else _of_arrow(name, dtype)
    for name in names[len(dtypes) :]:
        yield StoredColumn(name, StoredType.TEXT, free=True, guessed=True)


def _name(given: object) -> str:
    """The name of a column: a text or a number, or several that are joined."""
    if isinstance(given, tuple):
        return "_".join(_name(each) for each in given if each != "")
    if isinstance(given, str | int) and not isinstance(given, bool):
        return str(given)
    raise UsageError(
        f"a column of the frame is called by a {type(given).__name__}",
        hint="names are texts or whole numbers: df.columns = [...]",
    )


def _of_pandas(name: str, dtype: Any) -> StoredColumn:  # noqa: ANN401
    pandas: Any = sys.modules["pandas"]
    if isinstance(dtype, pandas.CategoricalDtype):
        return _of_pandas(name, dtype.categories.dtype)
    if isinstance(dtype, pandas.ArrowDtype):
        return _of_arrow(name, dtype.pyarrow_dtype)
    if isinstance(dtype, pandas.StringDtype):
        return StoredColumn(name, StoredType.TEXT, free=True)
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return StoredColumn(name, StoredType.TIMESTAMP, free=True)
    if str(dtype) == "object":
        return StoredColumn(name, StoredType.TEXT, free=True, guessed=True)
    if isinstance(dtype, pandas.SparseDtype):
        return _of_pandas(name, dtype.subtype)
    plain = hasattr(dtype, "newbyteorder") or hasattr(dtype, "numpy_dtype")
    stored = _BY_KIND.get(dtype.kind, StoredType.OTHER) if plain else StoredType.OTHER
    return StoredColumn(name, stored, free=True)


def _of_arrow(name: str, dtype: Any) -> StoredColumn:  # noqa: ANN401
    if str(dtype) == "null":
        return StoredColumn(name, StoredType.TEXT, free=True, guessed=True)
    return StoredColumn(name, stored_type(dtype), free=True)
