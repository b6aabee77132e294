"""The types of columns in files and on servers, what a policy may declare of them, and their cells.

Those of Parquet and DuckDB come as types of Apache Arrow, through which these files are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.errors import DataFileError, did_you_mean
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.csv.csv_header import SPACE
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
    """Whether it is read as every declared type: each value as the cell that would write it."""
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
