"""The values of a typed column, batch by batch, as what builders take: numbers, or texts of cells.

A value means what the cell of a CSV file would that writes it. So a text is a cell, whatever the
column is declared as; and a number is the double that is nearest to it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import compute, types

from dpdb.engines.sources.cells.grids import Floats
from dpdb.engines.sources.cells.records import MARGIN, Cells, Places
from dpdb.policy.numbers import CALENDAR
from dpdb.policy.timestamps import DAY, SECOND, TIMESTAMPS
from dpdb.vectors.grammar import LONGEST
from dpdb.vectors.vector import Bools, outside

_WHOLE_DOUBLES = 2**53
"""Whole numbers up to this are doubles, and so are powers of ten below 10^23."""
_SHORT_WORD, _LONGEST_WORD = 9, 18
"""The most digits of decimals that are held in 32 and in 64 bits."""
TEXTS = pyarrow.large_string()
"""The type of all texts here: they have 64 bits for their places, so any number can be together."""
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""The units of timestamps."""


def is_text(kind: pyarrow.DataType) -> bool:
    """Whether values of this type are texts."""
    held = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(held) or types.is_large_string(held) or types.is_string_view(held))


def is_long_decimal(kind: pyarrow.DataType) -> bool:
    """Whether values of this type are decimals that 64 bits do not hold."""
    return bool(types.is_decimal(kind) and kind.precision > _LONGEST_WORD)


def texts_of(array: pyarrow.Array) -> pyarrow.Array:
    """The values as texts; NULL where they are NULL, or no cell can write them."""
    if types.is_date(array.type):
        array = _written_dates(array)
    if types.is_timestamp(array.type):  # in UTC
        array = array.cast(pyarrow.int64()).cast(pyarrow.timestamp(array.type.unit))
    return compute.cast(array, TEXTS)


def cells(array: pyarrow.Array) -> Cells:
    """The values as cells without quotes; NULL, and what is too long for a cell, are empty."""
    texts = texts_of(array)
    raw, bounds = bytes_of(texts)
    starts, ends = bounds[:-1] + MARGIN, bounds[1:] + MARGIN
    ends = np.where(null_of(texts) | (ends - starts > LONGEST), starts, ends)
    return Cells(b"\n" * MARGIN + raw.tobytes() + b"\n", starts, ends)


def repeated_cells(array: pyarrow.DictionaryArray) -> tuple[Cells, Places]:
    """The cells of a dictionary's texts and an empty one, and each row's place among them."""
    texts = pyarrow.concat_arrays([texts_of(array.dictionary), pyarrow.nulls(1, TEXTS)])
    return cells(texts), places_of(array)


def places_of(array: pyarrow.DictionaryArray) -> NDArray[Any]:
    """The place of each row's value in the dictionary; that past its end where it is NULL."""
    places = values_of(array.indices).astype(np.int32)
    np.copyto(places, len(array.dictionary), where=null_of(array.indices))
    return places


def step_of(kind: pyarrow.DataType) -> Fraction | None:
    """The step of which values of this type are multiples that fit 64 bits; None for others."""
    if types.is_decimal(kind) and not is_long_decimal(kind) and kind.scale >= 0:
        return Fraction(1, 10**kind.scale)
    return Fraction(1) if types.is_integer(kind) and kind != pyarrow.uint64() else None


def multiples(array: pyarrow.Array) -> tuple[NDArray[Any], Bools]:
    """Values as multiples of the step of their type, and which are NULL: those mean nothing."""
    plain = _decimal_words(array) if types.is_decimal(array.type) else values_of(array)
    return plain, null_of(array)


def numbers(array: pyarrow.Array) -> Floats:
    """Integers, decimals of at most 18 digits or floating-point numbers as the nearest doubles.

    NULL is not a number.
    """
    decimal = types.is_decimal(array.type)
    # Adding zero makes -0.0 the same zero as 0.0.
    doubles: Floats = (_decimals(array) if decimal else values_of(array).astype(np.float64)) + 0.0
    doubles[null_of(array)] = np.nan
    return doubles


def whole_numbers(array: pyarrow.Array) -> Floats:
    """Integers as doubles; not a number where they are NULL, or are no double."""
    plain = values_of(array)
    exact = (plain >= -_WHOLE_DOUBLES) & (plain <= _WHOLE_DOUBLES)
    doubles: Floats = plain.astype(np.float64)
    doubles[~exact | null_of(array)] = np.nan
    return doubles


def days(array: pyarrow.Array) -> Floats:
    """Dates as days from 1970-01-01; not a number where they are NULL, or no cell can write."""
    return whole_numbers(_written_dates(array).cast(pyarrow.int32()))


def moments(array: pyarrow.Array) -> Floats:
    """Timestamps, or the midnights of dates, in microseconds since 1970-01-01 00:00 UTC.

    They are not numbers where they are NULL, or no cell can write them. What is below a
    microsecond is cut off.
    """
    if types.is_date(array.type):
        midnights = days(array) * DAY
        midnights[outside(midnights, TIMESTAMPS)] = np.nan
        return midnights
    units, per_second = values_of(array.cast(pyarrow.int64())), _PER_SECOND[array.type.unit]
    if per_second > SECOND:
        units, per_second = units // (per_second // SECOND), SECOND
    scale = SECOND // per_second
    ends = -(-TIMESTAMPS[0] // scale), TIMESTAMPS[1] // scale
    found: Floats = units.astype(np.float64) * scale
    found[null_of(array) | outside(units, ends)] = np.nan
    return found


def _written_dates(array: pyarrow.Array) -> pyarrow.Array:
    """The dates that a cell can write, and NULL for others."""
    counted = array.cast(pyarrow.date32(), safe=False).cast(pyarrow.int32())
    plain = values_of(counted)
    missing = null_of(array) | outside(plain, CALENDAR)
    return pyarrow.array(plain, mask=missing, type=pyarrow.int32()).cast(pyarrow.date32())


def _decimals(array: pyarrow.Array) -> Floats:
    """Decimals of at most 18 digits as the nearest doubles."""
    scale, words = array.type.scale, _decimal_words(array)
    # Where both are doubles, their one division rounds correctly ([Cli90] section 3).
    quotients: Floats = words.astype(np.float64) / 10.0**scale
    rounded = np.flatnonzero(np.abs(words) > _WHOLE_DOUBLES)
    quotients[rounded] = [word / 10**scale for word in words[rounded].tolist()]
    return quotients


def _decimal_words(array: pyarrow.Array) -> NDArray[Any]:
    """Decimals of at most 18 digits as multiples of the step of their type."""
    kind, held = array.type, array.buffers()[1] or b""
    # The lowest of the words that a decimal consists of holds all of it.
    word = np.dtype(np.int32 if kind.precision <= _SHORT_WORD else np.int64)
    words = np.frombuffer(held, word)[:: kind.byte_width // word.itemsize]
    return words[array.offset : array.offset + len(array)]


def values_of(array: pyarrow.Array) -> NDArray[Any]:
    """The values of an array of numbers; what stands for NULL means nothing."""
    kind, held = array.type, array.buffers()[1] or b""
    letter = "f" if types.is_floating(kind) else "i" if types.is_signed_integer(kind) else "u"
    values = np.frombuffer(held, f"{letter}{kind.byte_width}")
    return values[array.offset : array.offset + len(array)]


def null_of(array: pyarrow.Array) -> Bools:
    """Mask of values that are NULL."""
    # Where none is, the bits that say so can be missing, or be any: as many others are read then.
    known = array.buffers()[0] if array.null_count else None
    bits = known or b"\xff" * (-(-(array.offset + len(array)) // 8))
    return _unpacked(~np.frombuffer(bits, np.uint8), array)


def bools(array: pyarrow.BooleanArray) -> Bools:
    """Booleans; what stands for NULL means nothing."""
    return _unpacked(np.frombuffer(array.buffers()[1] or b"", np.uint8), array)


def bounds_of(texts: pyarrow.Array) -> Places:
    """Where each text starts among the bytes of all, and where the last one ends."""
    held = texts.buffers()[1] or bytes(8)
    return np.frombuffer(held, np.int64)[texts.offset : texts.offset + len(texts) + 1]


def sizes_of(texts: pyarrow.Array) -> Places:
    """The bytes that each text has, if it is not NULL."""
    return np.diff(bounds_of(texts))


def bytes_of(texts: pyarrow.Array) -> tuple[NDArray[np.uint8], Places]:
    """The bytes of all texts, and where each starts among them and the last one ends."""
    bounds = bounds_of(texts)
    raw = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[bounds[0] : bounds[-1]]
    return raw, bounds - bounds[0]


def _unpacked(bits: NDArray[np.uint8], array: pyarrow.Array) -> Bools:
    """The bits of the values of an array, which may begin anywhere among them."""
    first, skipped = divmod(array.offset, 8)
    unpacked = np.unpackbits(bits[first:], count=skipped + len(array), bitorder="little")
    return unpacked[skipped:].view(np.bool_)
