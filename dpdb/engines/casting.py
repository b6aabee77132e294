"""CAST: total conversions between the types."""

from __future__ import annotations

import datetime

import numpy as np

from dpdb.engines import cells
from dpdb.engines.vectors import AnyVector, TextVector, Vector, doubles, either, truth
from dpdb.policy import EPOCH, MAGNITUDE_LIMIT, Kind


def cast(vector: AnyVector, source: Kind, target: Kind) -> AnyVector:
    """The values as `target`, NULL where they cannot be."""
    if isinstance(vector, TextVector):
        return _read(vector, target)
    match target:
        case Kind.TEXT:
            return _written(vector, source)
        case Kind.BOOLEAN:
            return truth(vector.values != 0, vector.null)
        case Kind.INTEGER | Kind.DATE:
            whole = np.rint(doubles(vector))
            outside = np.abs(whole) > MAGNITUDE_LIMIT
            return Vector(np.where(outside, 0.0, whole), either(vector.null, outside))
    return Vector(doubles(vector), vector.null)


def _read(vector: TextVector, target: Kind) -> AnyVector:
    match target:
        case Kind.NUMBER:
            return vector.look_up(cells.number, np.float64)
        case Kind.INTEGER:
            return cast(vector.look_up(cells.number, np.float64), Kind.NUMBER, Kind.INTEGER)
        case Kind.DATE:
            return vector.look_up(cells.date, np.int64)
        case Kind.BOOLEAN:
            found = vector.look_up(cells.boolean, bool)
            return truth(found.values, found.null)
    return vector


def _written(vector: Vector, source: Kind) -> TextVector:
    """Numbers, dates and booleans as text: each different value is written once."""
    distinct, codes = np.unique(vector.values, return_inverse=True)
    match source:
        case Kind.BOOLEAN:
            texts = ["true" if value else "false" for value in distinct]
        case Kind.DATE:
            texts = [_date_text(int(value)) for value in distinct]
        case Kind.INTEGER:
            texts = [str(int(value)) for value in distinct]
        case _:
            texts = [repr(float(value)) for value in distinct]
    missing = np.array([not text for text in texts], dtype=bool)[codes]
    null = missing if vector.null is None else missing | vector.null
    return TextVector(np.where(null, len(texts), codes), tuple(texts))


def _date_text(days: int) -> str:
    """A date as text; nothing beyond the calendar's years."""
    try:
        return (EPOCH + datetime.timedelta(days=days)).isoformat()
    except OverflowError:
        return ""
