"""Values of an expression over many rows at once, with SQL's NULL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]


@dataclass(frozen=True, repr=False)
class Vector:
    """Numbers, dates or booleans; a boolean that is NULL is stored as false."""

    values: Array
    null: Bools | None = None

    def take(self, indices: Array) -> Vector:
        """The vector with the rows at `indices`; a constant stays one."""
        null = None if self.null is None else _taken(self.null, indices)
        return Vector(_taken(self.values, indices), null)


@dataclass(frozen=True, repr=False)
class TextVector:
    """Texts as indices into a dictionary; its length stands for NULL."""

    codes: Array
    dictionary: tuple[str, ...]

    @property
    def null(self) -> Bools:
        """Which rows are NULL."""
        return np.asarray(self.codes == len(self.dictionary))

    def take(self, indices: Array) -> TextVector:
        """The vector with the rows at `indices`; a constant stays one."""
        return TextVector(_taken(self.codes, indices), self.dictionary)

    def map(self, function: Callable[[str], str]) -> TextVector:
        """The vector with every text changed."""
        return TextVector(self.codes, tuple(function(text) for text in self.dictionary))

    def look_up(self, function: Callable[[str], Any], dtype: type) -> Vector:
        """What `function` says of every text; None is NULL."""
        answers = [function(text) for text in self.dictionary]
        table: Array = np.array([0 if a is None else a for a in answers] + [0], dtype=dtype)
        missing = np.array([a is None for a in answers] + [True])
        return Vector(table[self.codes], missing[self.codes])

    def texts(self) -> Array:
        """The texts themselves, NULL as the empty string."""
        return np.array([*self.dictionary, ""], dtype=object)[self.codes]


AnyVector = Vector | TextVector


def _taken(array: Array, indices: Array) -> Array:
    return array if len(array) == 1 else array[indices]


def either(first: Bools | None, second: Bools | None) -> Bools | None:
    """Where either is NULL."""
    if first is None or second is None:
        return second if first is None else first
    return first | second


def truth(values: Array, null: Bools | None) -> Vector:
    """A boolean vector, false where it is NULL."""
    return Vector(values if null is None else values & ~null, null)


def finite(values: Array, null: Bools | None) -> Vector:
    """A number vector, NULL where arithmetic left the finite numbers."""
    good = np.isfinite(values)
    if good.all():
        return Vector(values, null)
    return Vector(np.where(good, values, 0.0), either(null, ~good))


def constant(value: bool | int | Fraction | str | None) -> AnyVector:
    """A constant, as a vector of one row that stretches to any length."""
    match value:
        case None:
            return Vector(np.zeros(1), np.ones(1, dtype=bool))
        case str():
            return TextVector(np.zeros(1, dtype=np.int64), (value,))
        case bool():
            return Vector(np.array([value]))
        case int() if abs(value) < 2**63:
            return Vector(np.array([value], dtype=np.int64))
    return Vector(np.array([float(value)]))


def text_merge(parts: list[TextVector]) -> list[TextVector]:
    """The same texts over one common dictionary, without repetitions."""
    index: dict[str, int] = {}
    for part in parts:
        for text in part.dictionary:
            index.setdefault(text, len(index))
    dictionary = tuple(index)
    return [
        TextVector(
            np.array([*(index[text] for text in part.dictionary), len(index)])[part.codes],
            dictionary,
        )
        for part in parts
    ]


def doubles(vector: Vector) -> Array:
    """The numbers in double precision."""
    return vector.values.astype(np.float64, copy=False)


def compare(test: Callable[[Any, Any], Any], left: AnyVector, right: AnyVector) -> Vector:
    """A comparison, NULL where either side is."""
    null = either(left.null, right.null)
    if isinstance(left, TextVector) and isinstance(right, TextVector):
        return truth(np.asarray(test(left.texts(), right.texts()), dtype=bool), null)
    if isinstance(left, Vector) and isinstance(right, Vector):
        a, b = left.values, right.values
        # A constant as a Python number keeps numpy from widening the whole column.
        if len(a) == 1 != len(b):
            a = a[0].item()
        elif len(b) == 1 != len(a):
            b = b[0].item()
        return truth(np.asarray(test(a, b)), null)
    return truth(np.zeros(1, dtype=bool), np.ones(1, dtype=bool))


def alike(vectors: list[AnyVector]) -> list[AnyVector]:
    """Texts over one dictionary; a NULL constant among texts becomes a text."""
    if not any(isinstance(vector, TextVector) for vector in vectors):
        return vectors
    texts = [v if isinstance(v, TextVector) else TextVector(np.zeros(1, int), ()) for v in vectors]
    return list(text_merge(texts))


def choose(condition: Bools, yes: AnyVector, no: AnyVector) -> AnyVector:
    """`yes` where the condition is true, `no` elsewhere."""
    if isinstance(yes, TextVector) and isinstance(no, TextVector):
        return TextVector(np.where(condition, yes.codes, no.codes), yes.dictionary)
    assert isinstance(yes, Vector)
    assert isinstance(no, Vector)
    null = None
    if yes.null is not None or no.null is not None:
        yes_null = False if yes.null is None else yes.null
        null = np.where(condition, yes_null, False if no.null is None else no.null)
    return Vector(np.where(condition, yes.values, no.values), null)
