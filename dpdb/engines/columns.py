"""How the cells of one column are held, and how they are gathered block by block.

Whatever a builder does to a cell depends on the cell and on the column's
declaration, never on the other cells: nothing is inferred, nothing raises.
"""

from __future__ import annotations

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpdb.engines import cells
from dpdb.policy import EPOCH, MAGNITUDE_LIMIT, Column, Kind, Value

Floats = NDArray[np.float64]
"""Numbers, or dates in days; not finite where a cell is neither."""

_REMEMBERED = 1 << 16
_DATE_LIMITS = (
    Fraction(datetime.date.min.toordinal() - EPOCH.toordinal()),
    Fraction(datetime.date.max.toordinal() - EPOCH.toordinal()),
)


@dataclass(frozen=True, repr=False, eq=False)
class Numbers:
    """A column of integers, numbers or dates.

    `units` are whole multiples of `step`, in the narrowest type that holds the
    bounds; without a step (numbers without bounds) they are the numbers
    themselves, as doubles. `null` is None where no cell can be NULL; what `units`
    hold where a cell is NULL means nothing.
    """

    units: NDArray[Any]
    step: Fraction | None
    null: NDArray[np.bool_] | None

    def within(self, rows: slice) -> Numbers:
        """Some of the rows."""
        null = None if self.null is None else self.null[rows]
        return Numbers(self.units[rows], self.step, null)

    def __repr__(self) -> str:
        return "Numbers(...)"


@dataclass(frozen=True, repr=False, eq=False)
class Codes:
    """A column of texts or booleans, or of any kind with declared values.

    `codes` index `values`; one past the end means NULL. Values stand in the order
    in which they are declared; texts found in the file are sorted, and private.
    """

    codes: NDArray[Any]
    values: tuple[Value, ...]

    def within(self, rows: slice) -> Codes:
        """Some of the rows."""
        return Codes(self.codes[rows], self.values)

    def __repr__(self) -> str:
        return "Codes(...)"


class Builder(Protocol):
    """Gathers the cells of one column."""

    def add(self, texts: Sequence[str]) -> None:
        """Append cells as they are written; an empty text is a missing cell."""

    def finish(self) -> Numbers | Codes:
        """The column of all cells added."""


def builder(column: Column) -> Builder:
    """The builder for a column declared like this."""
    if column.kind.ordinal:
        return _NumbersBuilder(column) if column.values is None else _ChoiceBuilder(column)
    if column.values is not None or column.kind is Kind.BOOLEAN:
        return _WordBuilder(column)
    return _TextBuilder(column)


class OrdinalBuilder(ABC):
    """For integers, numbers and dates: a cell is a double before it is anything else."""

    def __init__(self, column: Column) -> None:
        read = cells.date if column.kind is Kind.DATE else cells.number
        self._meanings = _Meanings(lambda text: math.nan if (x := read(text)) is None else x)

    def add(self, texts: Sequence[str]) -> None:
        self.add_floats(self._meanings.of(texts, np.dtype(np.float64)))

    @abstractmethod
    def add_floats(self, floats: Floats) -> None:
        """Append cells that are read already."""

    @abstractmethod
    def finish(self) -> Numbers | Codes: ...


class _NumbersBuilder(OrdinalBuilder):
    """Clamps to the bounds and rounds to the grid."""

    def __init__(self, column: Column) -> None:
        super().__init__(column)
        self._nullable = column.nullable
        self._grid = _grid(column)
        self._units: list[NDArray[Any]] = []
        self._null: list[NDArray[np.bool_]] = []

    def add_floats(self, floats: Floats) -> None:
        null = ~np.isfinite(floats)
        if self._grid is None:
            # Adding zero makes -0.0 the same zero as 0.0.
            self._units.append(np.where(null, 0.0, floats) + 0.0)
        else:
            self._units.append(self._grid.units(np.where(null, self._grid.filler, floats)))
        if self._nullable:
            self._null.append(null)

    def finish(self) -> Numbers:
        grid = self._grid
        units = _joined(self._units, np.dtype(np.float64) if grid is None else grid.dtype)
        null = _joined(self._null, np.dtype(np.bool_))
        return Numbers(units, grid.step if grid else None, null if self._nullable else None)


class _ChoiceBuilder(OrdinalBuilder):
    """Looks numbers up among the declared ones."""

    def __init__(self, column: Column) -> None:
        assert column.values is not None
        super().__init__(column)
        self._values = column.values
        self._integer = column.kind is Kind.INTEGER
        numbers = np.array([float(value) for value in column.values], dtype=np.float64)
        self._order = np.argsort(numbers, kind="stable")
        self._sorted = numbers[self._order]
        self._missing = len(column.values) if column.nullable else 0
        self._codes: list[NDArray[Any]] = []

    def add_floats(self, floats: Floats) -> None:
        numbers = np.rint(floats) if self._integer else floats
        places = np.searchsorted(self._sorted, numbers).clip(max=len(self._sorted) - 1)
        known = self._sorted[places] == numbers
        codes = np.where(known, self._order[places], self._missing)
        self._codes.append(codes.astype(_code_type(self._values)))

    def finish(self) -> Codes:
        return Codes(_joined(self._codes, _code_type(self._values)), self._values)


class _WordBuilder:
    """Looks texts and booleans up among the declared ones."""

    def __init__(self, column: Column) -> None:
        self._values = (False, True) if column.values is None else column.values
        missing = len(self._values) if column.nullable else 0
        code_of = {value: code for code, value in enumerate(self._values)}
        read = cells.boolean if column.kind is Kind.BOOLEAN else _text
        self._meanings = _Meanings(
            lambda text: missing if (value := read(text)) is None else code_of.get(value, missing)
        )
        self._codes: list[NDArray[Any]] = []

    def add(self, texts: Sequence[str]) -> None:
        self._codes.append(self._meanings.of(texts, _code_type(self._values)))

    def finish(self) -> Codes:
        return Codes(_joined(self._codes, _code_type(self._values)), self._values)


class _TextBuilder:
    """Numbers the distinct texts as they come, and puts them in order at the end."""

    def __init__(self, column: Column) -> None:
        self._nullable = column.nullable
        self._ids = _Ids()
        self._parts: list[NDArray[np.uint32]] = []

    def add(self, texts: Sequence[str]) -> None:
        ids = map(self._ids.__getitem__, texts)
        self._parts.append(np.fromiter(ids, np.uint32, len(texts)))

    def finish(self) -> Codes:
        values = tuple(sorted(text for text in self._ids if text or not self._nullable))
        code_of_id = np.full(len(self._ids), len(values), _code_type(values))
        ids = np.fromiter(map(self._ids.__getitem__, values), np.uint32, len(values))
        code_of_id[ids] = np.arange(len(values))
        parts = [code_of_id[part] for part in self._parts]
        return Codes(_joined(parts, code_of_id.dtype), values)


class _Ids(dict[str, int]):
    """Numbers texts from 0 as they are first asked for."""

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        return number


class _Meanings(dict[str, float]):
    """Remembers what texts mean: most columns repeat few."""

    def __init__(self, read: Callable[[str], float]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> float:
        meaning = self[text] = self._read(text)
        return meaning

    def of(self, texts: Sequence[str], dtype: np.dtype[Any]) -> NDArray[Any]:
        """The meanings of all of these."""
        meanings = np.fromiter(map(self.__getitem__, texts), dtype, len(texts))
        if len(self) > _REMEMBERED:
            self.clear()
        return meanings


@dataclass(frozen=True)
class _Grid:
    """The multiples of `step` from `lowest` to `highest`, both in steps."""

    step: Fraction
    lowest: int
    highest: int
    bounds: tuple[float, float]
    filler: float
    """Stands for what cannot be read."""

    @property
    def dtype(self) -> np.dtype[Any]:
        return _narrowest(self.lowest, self.highest)

    def units(self, numbers: Floats) -> NDArray[Any]:
        """The nearest multiples, halves to even, kept on the grid."""
        # Clamped before, so that nothing overflows, and after, for bounds off the grid.
        steps = _nearest(np.clip(numbers, *self.bounds), self.step)
        return np.clip(steps, self.lowest, self.highest).astype(self.dtype)


def _grid(column: Column) -> _Grid | None:
    """The grid of a column; None for numbers without bounds."""
    bounds = column.bounds
    if bounds is None and column.kind is Kind.NUMBER:
        return None
    limits = (-MAGNITUDE_LIMIT * column.step, MAGNITUDE_LIMIT * column.step)
    lower, upper = bounds or (_DATE_LIMITS if column.kind is Kind.DATE else limits)
    return _Grid(
        step=column.step,
        lowest=math.ceil(lower / column.step),
        highest=math.floor(upper / column.step),
        bounds=(float(lower), float(upper)),
        filler=float(lower) if bounds else 0.0,
    )


def _nearest(numbers: Floats, step: Fraction) -> Floats:
    """`numbers / step` rounded to the nearest integer, halves to even, exactly."""
    if step == 1:
        return np.rint(numbers)
    steps = numbers * float(step.denominator) / float(step.numerator)
    nearest = np.rint(steps)
    # Each of the four roundings so far was off by at most a relative 2^-53. Where
    # that leaves open on which side of a half we are, fractions decide.
    open_ = np.abs(np.abs(steps - nearest) - 0.5) <= np.abs(steps) * 2.0**-50
    if open_.any():
        distinct, place = np.unique(numbers[open_], return_inverse=True)
        decided = [round(Fraction(number) / step) for number in distinct.tolist()]
        nearest[open_] = np.array(decided, dtype=np.float64)[place]
    return nearest


def _text(text: str) -> str | None:
    return text or None


def _joined(parts: list[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _code_type(values: tuple[Value, ...]) -> np.dtype[Any]:
    return np.min_scalar_type(len(values))


def _narrowest(lowest: int, highest: int) -> np.dtype[Any]:
    """The first integer type that holds both; never uint64, which mixes badly with int64."""
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32"):
        limits = np.iinfo(name)
        if limits.min <= lowest and highest <= limits.max:
            return np.dtype(name)
    return np.dtype(np.int64)
