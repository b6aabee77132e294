"""The rows of an answer as vectors, for what is computed from them, and joins of such rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpdb.answers.record import Cell, CellAccuracy, CellColumn, Detail
from dpdb.plan.expressions.expressions import Compare, Expr, Slot, conjuncts, slots
from dpdb.plan.logical.derived import AnswerJoin
from dpdb.plan.logical.query import Ordering
from dpdb.plan.relations.relations import Equality, JoinKind
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import CALENDAR
from dpdb.policy.timestamps import TIMESTAMPS, iso_text
from dpdb.records import dataclass
from dpdb.vectors.evaluate import Frame, evaluate, true_rows
from dpdb.vectors.keys import Matches, sort_keys, spread
from dpdb.vectors.vector import AnyVector, Array, Bools, TextVector, Vector, constant, either

RowIndices = npt.NDArray[np.intp]
"""The indices of rows, in the order of an answer."""
Ends = tuple[Vector, Vector]
"""The lower and the upper ends of intervals."""


class Accuracy(NamedTuple):
    """The accuracy of a column's values."""

    ends: Ends
    only_noise: Bools | None = None
    """For each row, whether its interval is as wide as its bounds; None where none can be."""
    unknown: Bools | None = None
    """For each row of a quantile, whether its interval is as wide as its bounds.

    That width is a draw of its own, and the value may be good: none is said to be only noise.
    """

    def take(self, rows: RowIndices) -> Accuracy:
        """The accuracy in these rows."""
        low, high = (end.take(rows) for end in self.ends)
        flags = (None if each is None else each[rows] for each in (self.only_noise, self.unknown))
        return Accuracy((low, high), *flags)


@dataclass(frozen=True, repr=False)
class NoisyColumn:
    """A column of an answer: a value for each row, or a constant for all."""

    values: AnyVector
    kind: Kind
    accuracy_detail: Detail[Accuracy | None] = Detail.of(None)

    @property
    def accuracy(self) -> Accuracy | None:
        """The accuracy of the values; None without intervals."""
        return self.accuracy_detail.value

    def take(self, rows: RowIndices) -> NoisyColumn:
        """The column in these rows."""

        def accuracy() -> Accuracy | None:
            return None if self.accuracy is None else self.accuracy.take(rows)

        return NoisyColumn(self.values.take(rows), self.kind, Detail(accuracy))


@dataclass(frozen=True, repr=False)
class NoisyTable:
    """The rows of an answer."""

    columns: tuple[NoisyColumn, ...]
    rows: int

    def take(self, rows: RowIndices) -> NoisyTable:
        """These rows, in their order."""
        return NoisyTable(tuple(column.take(rows) for column in self.columns), len(rows))

    def by_slot(self, before: int = 0) -> dict[Slot, AnyVector]:
        """The columns by their slots, which begin after the `before` columns of another table."""
        return {
            Slot("column", index, column.kind): column.values
            for index, column in enumerate(self.columns, before)
        }

    def cells(self, *, unrounded: bool = False) -> tuple[CellColumn, ...]:
        """The shown cells; `unrounded` in teaching mode, where counts may have fractions."""
        return tuple(self._shown(column, unrounded=unrounded) for column in self.columns)

    def _shown(self, column: NoisyColumn, *, unrounded: bool) -> CellColumn:
        values = shown(column.values, column.kind)
        if unrounded:
            return CellColumn(_unrounded(values, column.kind, self.rows))

        def accuracy() -> CellAccuracy | None:
            return None if column.accuracy is None else self._accuracy(column.accuracy, column.kind)

        return CellColumn(_cells(values, column.kind, self.rows), Detail(accuracy))

    def _accuracy(self, accuracy: Accuracy, kind: Kind) -> CellAccuracy:
        low, high = (_cells(shown(end, kind), kind, self.rows) for end in accuracy.ends)
        flags = (
            None if each is None else tuple(each.tolist())
            for each in (accuracy.only_noise, accuracy.unknown)
        )  # fmt: skip
        return CellAccuracy((low, high), *flags)


def shown(vector: AnyVector, kind: Kind) -> AnyVector:
    """The vector as it is shown: dates are whole days, timestamps whole microseconds.

    A value outside the calendar is NULL.
    """
    if not kind.temporal or isinstance(vector, TextVector):
        return vector
    first, last = CALENDAR if kind is Kind.DATE else TIMESTAMPS
    whole = np.rint(vector.values)
    outside = ~((whole >= first) & (whole <= last))
    return Vector(np.where(outside, 0.0, whole), either(vector.null, outside))


def order_keys(order: Sequence[Ordering], frame: Frame, number: int) -> list[Array]:
    """The numbers by which ORDER BY sorts the rows of a frame, in ascending order."""
    terms = ((each, each.expression) for each in order)
    pairs = ((each, shown(evaluate(term, frame), term.kind)) for each, term in terms)
    return [key for each, vector in pairs for key in sort_keys(vector, number, each)]


def in_order(order: Sequence[Ordering], frame: Frame, rows: RowIndices, number: int) -> RowIndices:
    """Some of the `number` rows of a frame, as ORDER BY sorts them."""
    keys = [key[rows] for key in order_keys(order, frame, number)]
    # The last of the keys is the first to be sorted by.
    return rows[np.lexsort(keys[::-1])] if keys else rows


def _cells(vector: AnyVector, kind: Kind, rows: int) -> tuple[Cell, ...]:
    """The vector's values as plain Python values, None for NULL."""
    if isinstance(vector, TextVector):
        texts = [*vector.dictionary, None]
        return tuple(texts[code] for code in spread(vector.codes, rows).tolist())
    values, null = spread(vector.values, rows), spread(vector.null, rows)
    match kind:
        case Kind.DATE | Kind.TIMESTAMP:
            different, places = np.unique(values, return_inverse=True)
            texts = [iso_text(int(value), kind) for value in different.tolist()]
            cells: list[Cell] = [texts[place] for place in places.tolist()]
        case Kind.INTEGER:
            cells = _integers(values)
        case _:
            cells = values.tolist()
    if null.any():
        return tuple(None if no else cell for cell, no in zip(cells, null.tolist(), strict=True))
    return tuple(cells)


def _unrounded(vector: AnyVector, kind: Kind, rows: int) -> tuple[Cell, ...]:
    """The vector's values for teaching mode, in which noisy counts have fractions."""
    if kind is not Kind.INTEGER:
        return _cells(vector, kind, rows)
    cells = _cells(vector, Kind.NUMBER, rows)
    return tuple(int(c) if isinstance(c, float) and c.is_integer() else c for c in cells)


def _integers(values: Array) -> list[Cell]:
    """Whole doubles as Python's integers: by way of 64 bits, which is faster, where they fit."""
    if (np.abs(values) < 2.0**63).all():
        return values.astype(np.int64).tolist()  # type: ignore[no-any-return]
    return [int(value) for value in values.tolist()]


_NONE = -1
"""Stands for the row that a row has no match in."""


def joined(join: AnswerJoin, left: NoisyTable, right: NoisyTable) -> NoisyTable:
    """The pairs of rows for which the condition is true, and rows without any in outer joins."""
    first, second = _pairs(join.condition, left, right)
    if join.kind in (JoinKind.LEFT, JoinKind.FULL):
        alone = np.setdiff1d(np.arange(left.rows), first)
        first = np.concatenate([first, alone])
        second = np.concatenate([second, np.full(len(alone), _NONE)])
        order = np.argsort(first, kind="stable")
        first, second = first[order], second[order]
    if join.kind is JoinKind.FULL:
        alone = np.setdiff1d(np.arange(right.rows), second)
        first = np.concatenate([first, np.full(len(alone), _NONE)])
        second = np.concatenate([second, alone])
    return NoisyTable((*_matched(left, first), *_matched(right, second)), len(first))


def _pairs(
    condition: Expr | None, left: NoisyTable, right: NoisyTable
) -> tuple[RowIndices, RowIndices]:
    """The pairs of rows for which the condition is true, in the order of the left side."""
    sides = left.by_slot(), right.by_slot(len(left.columns))
    equal = [pair for each in conjuncts(condition) for pair in _equality(each, len(left.columns))]
    on_left, on_right = (
        [evaluate(pair[side], Frame({}, columns)) for pair in equal]
        for side, columns in enumerate(sides)
    )
    matches = Matches.of(on_right, right.rows)
    first, second = matches.pairs(matches.find(on_left, left.rows))
    if condition is None:
        return first, second
    read = slots(condition, "column")
    frame = {
        slot: values.take(rows)
        for side, rows in zip(sides, (first, second), strict=True)
        for slot, values in side.items()
        if slot.index in read
    }
    kept = true_rows(condition, Frame({}, frame), len(first))
    return first[kept], second[kept]


def _equality(condition: Expr, width: int) -> Iterator[Equality]:
    """The sides of an equality of the first `width` columns and others, if it is one."""
    if isinstance(condition, Compare) and condition.operator == "=":
        one, other = condition.left, condition.right
        for pair in ((one, other), (other, one)):
            read = [slots(each, "column") for each in pair]
            if all(read) and max(read[0]) < width <= min(read[1]):
                yield pair


def _matched(table: NoisyTable, rows: RowIndices) -> tuple[NoisyColumn, ...]:
    """The columns in these rows, NULL where there is none."""
    missing = rows == _NONE
    if not missing.any():
        return table.take(rows).columns
    if not table.rows:
        return tuple(NoisyColumn(constant(None, each.kind), each.kind) for each in table.columns)
    return tuple(_with_nulls(each, np.maximum(rows, 0), missing) for each in table.columns)


def _with_nulls(column: NoisyColumn, rows: RowIndices, missing: Bools) -> NoisyColumn:
    """The column in these rows, NULL where a row is missing."""

    def accuracy() -> Accuracy | None:
        if column.accuracy is None:
            return None
        low, high = (end.take(rows).with_nulls(missing) for end in column.accuracy.ends)
        flags = column.accuracy.only_noise
        return Accuracy((low, high), None if flags is None else flags[rows] & ~missing)

    return NoisyColumn(column.values.take(rows).with_nulls(missing), column.kind, Detail(accuracy))
