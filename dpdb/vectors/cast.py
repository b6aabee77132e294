"""CAST: total conversions between the types."""

from __future__ import annotations

import numpy as np

from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import MAGNITUDE_LIMIT, iso_date
from dpdb.vectors import grammar
from dpdb.vectors.vector import AnyVector, Array, TextVector, Vector, either, one_zero, truth


def cast(vector: AnyVector, source: Kind, target: Kind) -> AnyVector:
    """The values converted to `target`; NULL where they cannot be."""
    if isinstance(vector, TextVector):
        return _read(vector, target)
    match target:
        case Kind.TEXT:
            return _written(vector, source)
        case Kind.BOOLEAN:
            return truth(vector.values != 0, vector.null)
        case Kind.INTEGER | Kind.DATE:
            whole = np.rint(_doubles(vector))
            outside = np.abs(whole) > MAGNITUDE_LIMIT
            return Vector(one_zero(np.where(outside, 0.0, whole)), either(vector.null, outside))
    return Vector(_doubles(vector), vector.null)


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
            return vector.look_up(grammar.date, Kind.DATE)
        case Kind.BOOLEAN:
            return vector.look_up(grammar.boolean, Kind.BOOLEAN)
    return vector


def _written(vector: Vector, source: Kind) -> TextVector:
    """Numbers, dates and booleans as text, each by itself.

    Each double is written once. Doubles are distinguished by their bits, as numbers that are
    equal for numpy can differ as text.
    """
    bits, codes = np.unique(_doubles(vector).view(np.int64), return_inverse=True)
    texts = [_text(value, source) for value in bits.view(np.float64).tolist()]
    missing = np.array([not text for text in texts], dtype=np.bool_)[codes]
    null = missing if vector.null is None else missing | vector.null
    return TextVector(np.where(null, len(texts), codes), tuple(texts))


def _text(value: float, kind: Kind) -> str:
    match kind:
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case Kind.DATE:
            return _date_text(int(value))
        case Kind.INTEGER:
            return str(int(value))
    return repr(value)


def _date_text(days: int) -> str:
    """A date as text; the empty string, which stands for NULL, outside the years 1 to 9999."""
    try:
        return iso_date(days)
    except OverflowError:
        return ""
