"""Columns whose values are written as letters, to be hashed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import md5

import numpy as np

from dpdb.engines.memory.md5 import digests, digests_of
from dpdb.policy.catalog import Value
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import Array

_NULL = "~"
_MINUS, _ZERO = b"-0"
_LONGEST = len("-2.2250738585072014e-308")
"""The letters that a double takes at most."""
_HEX = np.array([f"{byte:02x}".encode() for byte in range(256)]).view(np.uint16)
"""The two digits of each byte."""


@dataclass(frozen=True, repr=False)
class Written:
    """A column whose values can be written as text."""

    column: Numbers | Codes
    step: Fraction

    def texts(self, rows: Array) -> list[str]:
        """Its values in some rows, as they are hashed."""
        ends = np.full((len(rows), 1), ord("\n"), dtype=np.uint8)
        letters = np.concatenate([self.letters(rows), ends], axis=1)
        written: str = letters[letters != 0].tobytes().decode()
        return written.split("\n")[:-1]

    def letters(self, rows: Array) -> Array:
        """Its values in some rows as rows of bytes, in which a zero is no letter."""
        if isinstance(self.column, Numbers):
            return _letters_of_numbers(self.column, rows)
        if isinstance(self.column, StoredTexts):
            column = self.column.taken(rows)
            letters = _in_hexadecimal(digests(*column.utf8()))
            letters[column.null] = 0
            letters[column.null, 0] = ord(_NULL)
            return letters
        # Each value is written once, however many of the rows have it.
        codes, place = np.unique(self.column.codes[rows], return_inverse=True)
        values = (*self.column.values, None)
        return _letters_of([values[code] for code in codes.tolist()], self.step)[place]


def _letters_of_numbers(column: Numbers, rows: Array) -> Array:
    """The letters of a column of numbers in some rows."""
    units = column.units[rows]
    letters = _in_decimals(units) if column.step is None else _digits(units)
    if column.null is not None:
        null = column.null[rows]
        letters[null] = 0
        letters[null, 0] = ord(_NULL)
    return letters


def _in_decimals(doubles: Array) -> Array:
    """Doubles with the fewest digits that tell them apart."""
    return doubles.astype(f"S{_LONGEST}").view(np.uint8).reshape(-1, _LONGEST)


def _digits(numbers: Array) -> Array:
    """Whole numbers as decimal digits, with zeros between the sign and the first one."""
    width = len(str(np.iinfo(numbers.dtype).max))
    letters = np.zeros((len(numbers), 1 + width), dtype=np.uint8)
    letters[numbers < 0, 0] = _MINUS
    left = np.abs(numbers.astype(np.int64))
    for place in range(width, 0, -1):
        rest = left // 10
        digit = (left - rest * 10).astype(np.uint8) + np.uint8(_ZERO)
        # The last digit stands alone where the number is zero.
        letters[:, place] = digit if place == width else digit * (left > 0)
        left = rest
    return letters


def _letters_of(values: Sequence[Value | None], step: Fraction) -> Array:
    """The letters of different values of one kind, of which NULL is the last."""
    texts = [value for value in values if isinstance(value, str)]
    if not texts:
        written = [text_of(value, step).encode() for value in values]
        width = max(map(len, written), default=1)
        return np.array(written, dtype=f"S{width}").view(np.uint8).reshape(-1, width)
    letters = np.zeros((len(values), 32), dtype=np.uint8)
    letters[:, 0] = ord(_NULL)
    letters[: len(texts)] = _in_hexadecimal(digests_of([*map(utf8, texts)]))
    return letters


def _in_hexadecimal(found: Array) -> Array:
    return _HEX.take(found).view(np.uint8)


def text_of(value: Value | None, step: Fraction = Fraction(1)) -> str:
    """A value as it is hashed; numbers in multiples of a step."""
    match value:
        case None:
            return _NULL
        case bool():
            return str(int(value))
        case str():
            return hashed(value).hex()
    return str(Fraction(value) / step)


def hashed(text: str) -> bytes:
    """The md5 of a text's UTF-8."""
    return md5(utf8(text), usedforsecurity=False).digest()


def utf8(text: str) -> bytes:
    """A text as it is hashed."""
    # Nothing that a row holds may raise, be it no proper text.
    return text.encode("utf-8", "surrogatepass")
