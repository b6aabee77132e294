"""CAST: total conversions between the types."""

from __future__ import annotations

import numpy as np

from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import MAGNITUDE_LIMIT
from dpdb.policy.timestamps import DAY, TIMESTAMPS, iso_text, read_day, read_timestamp
from dpdb.vectors import grammar
from dpdb.vectors.vector import (
    AnyVector,
    Array,
    TextVector,
    Vector,
    distinct,
    either,
    one_zero,
    outside,
    truth,
)


def cast(vector: AnyVector, source: Kind, target: Kind) -> AnyVector:
    """The values converted to `target`; NULL where they cannot be."""
    if isinstance(vector, TextVector):
        return _read(vector, target)
    if source.temporal and target.temporal:
        return _days(vector) if target is Kind.DATE else _midnights(vector)
    match target:
        case Kind.TEXT:
            return _written(vector, source)
        case Kind.BOOLEAN:
            return truth(vector.values != 0, vector.null)
        case Kind.INTEGER | Kind.DATE:
            whole = np.rint(_doubles(vector))
            lost = np.abs(whole) > MAGNITUDE_LIMIT
            return Vector(one_zero(np.where(lost, 0.0, whole)), either(vector.null, lost))
    return Vector(_doubles(vector), vector.null)


def _days(timestamps: Vector) -> Vector:
    """The dates of timestamps; NULL where the calendar has none."""
    lost = outside(timestamps.values, TIMESTAMPS)
    days = np.where(lost, 0.0, timestamps.values).astype(np.int64) // DAY
    return Vector(days.astype(np.float64), either(timestamps.null, lost))


def _midnights(dates: Vector) -> Vector:
    """The midnights with which dates begin; NULL where they are no timestamps."""
    first, last = TIMESTAMPS
    days = np.rint(dates.values)  # A noisy mean is not whole, and shown as the nearest date.
    lost = outside(days, (first // DAY, last // DAY))
    return Vector(np.where(lost, 0.0, days) * DAY, either(dates.null, lost))


def _doubles(vector: Vector) -> Array:
    """True as 1 and false as 0."""
    return vector.values.astype(np.float64, copy=False)


def _read(vector: TextVector, target: Kind) -> AnyVector:
    match target:
        case Kind.NUMBER:
            return vector.look_up(grammar.number, Kind.NUMBER)
        case Kind.INTEGER:
            return cast(vector.look_up(grammar.number, Kind.NUMBER), Kind.NUMBER, Kind.INTEGER)
        case Kind.DATE:
            return vector.look_up(read_day, Kind.DATE)
        case Kind.TIMESTAMP:
            return vector.look_up(read_timestamp, Kind.TIMESTAMP)
        case Kind.BOOLEAN:
            return vector.look_up(grammar.boolean, Kind.BOOLEAN)
    return vector


def _written(vector: Vector, source: Kind) -> TextVector:
    """Numbers, dates, timestamps and booleans as text, each by itself.

    Each double is written once. Doubles are distinguished by their bits, as numbers that are
    equal for numpy can differ as text.
    """
    bits, codes = distinct(_doubles(vector).view(np.int64))
    texts = [_text(value, source) for value in bits.view(np.float64).tolist()]
    missing = np.array([not text for text in texts], dtype=np.bool_)[codes]
    null = missing if vector.null is None else missing | vector.null
    return TextVector(np.where(null, len(texts), codes), tuple(texts))


def _text(value: float, kind: Kind) -> str:
    match kind:
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case Kind.DATE | Kind.TIMESTAMP:
            return _temporal_text(int(value), kind)
        case Kind.INTEGER:
            return str(int(value))
    return repr(value)


def _temporal_text(value: int, kind: Kind) -> str:
    """A date or timestamp as text; the empty string, which stands for NULL, where none is."""
    try:
        return iso_text(value, kind)
    except OverflowError:
        return ""
