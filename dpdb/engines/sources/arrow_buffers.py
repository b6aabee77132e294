"""Arrow's arrays as numpy's and back, by the memory that they are held in.

Arrow's own way to numpy would import pandas.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import compute, types

from dpdb.engines.sources.csv_records import Places
from dpdb.vectors.vector import Bools


def values_of(array: pyarrow.Array) -> NDArray[Any]:
    """The values of an array of numbers; what stands for NULL means nothing."""
    kind, held = array.type, array.buffers()[1] or b""
    letter = "f" if types.is_floating(kind) else "i" if types.is_signed_integer(kind) else "u"
    values = np.frombuffer(held, f"{letter}{kind.byte_width}")
    return values[array.offset : array.offset + len(array)]


def null_of(array: pyarrow.Array) -> Bools:
    """Which values are NULL."""
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


def looked_up(table: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """What a table holds at each place, of which none is beyond its ends.

    Arrow takes places of 32 bits as they are, and numpy would make 64 of them first.
    """
    words = table.view(f"u{table.itemsize}")
    found = compute.take(_array(words), _array(places), boundscheck=False)
    return values_of(found).view(table.dtype)


def _array(values: NDArray[Any]) -> pyarrow.Array:
    """Integers without NULL."""
    kind, held = pyarrow.from_numpy_dtype(values.dtype), pyarrow.py_buffer(values)
    return pyarrow.Array.from_buffers(kind, len(values), [None, held])


def _unpacked(bits: NDArray[np.uint8], array: pyarrow.Array) -> Bools:
    """The bits of the values of an array, which may begin anywhere among them."""
    first, skipped = divmod(array.offset, 8)
    unpacked = np.unpackbits(bits[first:], count=skipped + len(array), bitorder="little")
    return unpacked[skipped:].view(np.bool_)
