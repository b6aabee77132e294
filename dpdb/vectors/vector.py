"""Values of an expression over many rows at once, with SQL's NULL.

There is one numeric domain: integers, numbers, dates and timestamps are doubles, and booleans are
booleans, whatever the rows hold. Columns and grids stay within ±2^53, where doubles are exact, and
zero has one sign. Whether a vector has a NULL mask follows from the policy and the expression. So
the value of a row is a function of that row alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpdb.plan.expressions.text_functions import LONGEST_JOINED
from dpdb.policy.catalog import Kind, Value
from dpdb.records import dataclass

Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]


@dataclass(frozen=True, repr=False)
class Vector:
    """Numbers, dates, timestamps or booleans; a boolean that is NULL is stored as false."""

    values: Array
    null: Bools | None = None

    def __post_init__(self) -> None:
        assert self.values.dtype in (np.float64, np.bool_), self.values.dtype

    def take(self, indices: Array) -> Vector:
        """The vector with the rows at `indices`; a constant stays one."""
        null = None if self.null is None else _taken(self.null, indices)
        return Vector(_taken(self.values, indices), null)

    def with_nulls(self, missing: Bools) -> Vector:
        """The vector, NULL in these rows, too."""
        values = np.where(missing, np.zeros(1, self.values.dtype), self.values)
        return Vector(values, missing if self.null is None else missing | self.null)


@dataclass(frozen=True, repr=False)
class TextVector:
    """Texts as indices into a dictionary; the index one past its end stands for NULL."""

    codes: Array
    dictionary: tuple[str, ...]

    @property
    def null(self) -> Bools:
        """Whether each row is NULL."""
        return np.asarray(self.codes == len(self.dictionary))

    def take(self, indices: Array) -> TextVector:
        """The vector with the rows at `indices`; a constant stays one."""
        return TextVector(_taken(self.codes, indices), self.dictionary)

    def with_nulls(self, missing: Bools) -> TextVector:
        """The vector, NULL in these rows, too."""
        codes = np.where(missing, len(self.dictionary), self.codes)
        return TextVector(codes, self.dictionary)

    def map(self, function: Callable[[str], str | None]) -> TextVector:
        """The vector with every text changed; None becomes NULL."""
        changed = [function(text) for text in self.dictionary]
        lost = np.array([text is None for text in changed] + [True])
        codes = np.where(lost[self.codes], len(changed), self.codes)
        return TextVector(codes, tuple(text or "" for text in changed))

    def look_up(self, function: Callable[[str], float | None], kind: Kind) -> Vector:
        """The result of `function` for every text, as a vector of `kind`; None becomes NULL."""
        answers = [function(text) for text in self.dictionary]
        table = array([0 if a is None else a for a in answers] + [0], kind)
        missing = np.array([a is None for a in answers] + [True])
        return Vector(table[self.codes], missing[self.codes])

    def texts(self) -> Array:
        """The texts themselves, NULL as the empty string."""
        return np.array([*self.dictionary, ""], dtype=object)[self.codes]


AnyVector = Vector | TextVector


def _taken(array: Array, indices: Array) -> Array:
    return array if len(array) == 1 else array[indices]


def either(first: Bools | None, second: Bools | None) -> Bools | None:
    """The NULL mask of a result of two values; two values of one column have the same mask."""
    if first is None or second is None:
        return second if first is None else first
    return first if first is second else first | second


def outside(values: Array, ends: tuple[float, float]) -> Bools:
    """Whether each number is less than the first of `ends` or greater than the second."""
    return np.asarray((values < ends[0]) | (values > ends[1]))


def truth(values: Array, null: Bools | None) -> Vector:
    """A boolean vector, false where it is NULL."""
    # A boolean is greater than the mask of NULLs where it is true and not NULL.
    return Vector(values if null is None else np.greater(values, null), null)


def numbers(values: Array, null: Bools | None = None) -> Vector:
    """A vector of doubles that are finite; adding zero makes -0.0 the same zero as 0.0."""
    return Vector(values + 0.0, null)


def one_zero(fresh: Array) -> Array:
    """The same doubles with one zero: adding zero to -0.0 gives 0.0.

    It is done in place, so the array must be one that nothing else holds.
    """
    return np.add(fresh, 0.0, out=fresh)


def finite(values: Array, null: Bools | None) -> Vector:
    """A vector of doubles; NULL where arithmetic gave infinity or NaN.

    It always has a NULL mask, because whether any row needs one depends on the rows.
    """
    lost = ~np.isfinite(values)
    return Vector(one_zero(np.where(lost, 0.0, values)), either(lost, null))


def array(values: Iterable[Value | float], kind: Kind) -> Array:
    """Constants as the vectors of `kind`, not text, hold them: booleans or the nearest doubles."""
    if kind is Kind.BOOLEAN:
        return np.array([*values], dtype=np.bool_)
    return np.array([float(value) for value in values], dtype=np.float64) + 0.0


def constant(value: Value | None, kind: Kind) -> AnyVector:
    """A constant, as a vector of one row that stretches to any length."""
    if kind is Kind.TEXT:
        return TextVector(np.zeros(1, dtype=np.int64), () if value is None else (str(value),))
    if value is None:
        return Vector(array([False], kind), np.ones(1, dtype=np.bool_))
    return Vector(array([value], kind))


def text_merge(parts: list[TextVector]) -> list[TextVector]:
    """The same text vectors over one common dictionary without repetitions."""
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


def distinct(keys: Array) -> tuple[Array, Array]:
    """The distinct numbers among `keys`, ascending, and the place of each key among them.

    `np.unique` sorts places, which takes 0.5 ms for 300,000 equal keys and 7 ms more where one
    differs: an analyst would make all rows equal but one, and learn of it by the time. A sort of
    the keys themselves takes 0.06 ms more, which `plan.cost_table` counts.
    """
    ordered = np.sort(keys)
    different = ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(keys) else ordered
    return different, np.searchsorted(different, keys)


def join(first: TextVector, second: TextVector) -> TextVector:
    """`first || second`; NULL where either is, and where the result would be too long."""
    return _paired(first, second, _join)


def pair(first: TextVector, second: TextVector) -> TextVector:
    """A text for each different pair, such as `2:ab=c` and `-=c`; it is never NULL."""
    return _paired(first, second, _packed)


def _paired(
    first: TextVector, second: TextVector, combine: Callable[[str | None, str | None], str | None]
) -> TextVector:
    """The texts of pairs, each worked out once."""
    width = len(second.dictionary) + 1
    pairs, codes = distinct(first.codes.astype(np.int64) * width + second.codes)
    left, right = [*first.dictionary, None], [*second.dictionary, None]
    texts = [combine(left[each // width], right[each % width]) for each in pairs.tolist()]
    known = [text for text in texts if text is not None]
    missing = np.array([text is None for text in texts], dtype=np.bool_)
    places = np.where(missing, len(known), np.cumsum(~missing) - 1)
    return TextVector(places[codes], tuple(known))


def _packed(first: str | None, second: str | None) -> str:
    before = "-" if first is None else f"{len(first)}:{first}"
    return before + ("-" if second is None else f"={second}")


def _join(first: str | None, second: str | None) -> str | None:
    if first is None or second is None or len(first) + len(second) > LONGEST_JOINED:
        return None
    return first + second


def compare(test: Callable[[Any, Any], Any], left: AnyVector, right: AnyVector) -> Vector:
    """A comparison, NULL where either side is."""
    null = either(left.null, right.null)
    if isinstance(left, TextVector) and isinstance(right, TextVector):
        return truth(np.asarray(test(left.texts(), right.texts()), dtype=bool), null)
    assert isinstance(left, Vector)
    assert isinstance(right, Vector)
    return truth(test(left.values, right.values), null)


def alike(vectors: list[AnyVector]) -> list[AnyVector]:
    """Vectors of one kind; texts over one dictionary."""
    texts = [vector for vector in vectors if isinstance(vector, TextVector)]
    return list(text_merge(texts)) if texts else vectors


def concatenated(vectors: Sequence[AnyVector], rows: Sequence[int]) -> AnyVector:
    """Vectors of one kind, one after the other; each has its number of rows, or is a constant."""
    merged = alike([*vectors])
    texts = [vector for vector in merged if isinstance(vector, TextVector)]
    if texts:
        codes = map(np.broadcast_to, (each.codes for each in texts), rows)
        return TextVector(np.concatenate([*codes]), texts[0].dictionary)
    plain = [vector for vector in merged if isinstance(vector, Vector)]
    values = np.concatenate([*map(np.broadcast_to, (each.values for each in plain), rows)])
    if all(each.null is None for each in plain):
        return Vector(values)
    nulls = (np.False_ if each.null is None else each.null for each in plain)
    return Vector(values, np.concatenate([*map(np.broadcast_to, nulls, rows)]))


def choose(condition: Bools, yes: AnyVector, no: AnyVector) -> AnyVector:
    """`yes` where the condition is true, `no` elsewhere."""
    if isinstance(yes, TextVector) and isinstance(no, TextVector):
        return TextVector(np.where(condition, yes.codes, no.codes), yes.dictionary)
    assert isinstance(yes, Vector)
    assert isinstance(no, Vector)
    return Vector(
        np.where(condition, yes.values, no.values), _chosen_null(condition, yes.null, no.null)
    )


def _chosen_null(condition: Bools, yes: Bools | None, no: Bools | None) -> Bools | None:
    """The NULL mask of the chosen values."""
    if yes is None:
        return None if no is None else np.greater(no, condition)
    if no is None:
        return condition & yes
    return yes if yes is no else np.where(condition, yes, no)


def conjunction(left: Vector, right: Vector) -> Vector:
    """SQL AND: false if either operand is false, even if the other is NULL."""
    true = left.values & right.values
    if left.null is None and right.null is None:
        return Vector(true)
    false = _false(left) | _false(right)
    return Vector(true, ~true & ~false)


def disjunction(left: Vector, right: Vector) -> Vector:
    """SQL OR: true if either operand is true, even if the other is NULL."""
    true = left.values | right.values
    null = either(left.null, right.null)
    return Vector(true, None if null is None else null & ~true)


def is_null(vector: AnyVector) -> Vector:
    """SQL IS NULL: true or false, never NULL."""
    if vector.null is None:
        return Vector(np.zeros(1, dtype=np.bool_))
    return Vector(vector.null)


def _false(vector: Vector) -> Bools:
    """Whether each row is false, and not NULL."""
    return ~vector.values if vector.null is None else ~vector.values & ~vector.null


def plain_values(vector: AnyVector, kind: Kind, places: npt.NDArray[np.intp]) -> list[Value | None]:
    """The values at some places; None for NULL.

    Dates are days, timestamps microseconds, and numbers fractions.
    """
    if isinstance(vector, TextVector):
        texts = [*vector.dictionary, None]
        return [texts[code] for code in vector.codes[places].tolist()]
    values = vector.values[places].tolist()
    read: Callable[[Any], Value] = int
    if kind in (Kind.NUMBER, Kind.BOOLEAN):
        read = Fraction if kind is Kind.NUMBER else bool
    plain: list[Value | None] = [*map(read, values)]
    if vector.null is None:
        return plain
    missing = vector.null[places].tolist()
    return [None if no else value for no, value in zip(missing, plain, strict=True)]
