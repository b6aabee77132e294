"""Codes of declared values: looked up in tables, repeated, gathered batch by batch."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cells.grids import CLOSE, Floats, narrowest
from dpdb.engines.sources.cells.records import Cells, Places
from dpdb.policy.catalog import Value
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes
from dpdb.vectors.vector import Bools


def repeated(values: NDArray[Any], places: Places | None) -> NDArray[Any]:
    """For each row the value at its place; without places the values themselves."""
    if places is None:
        return values
    return looked_up(values, places)


def looked_up(table: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """`table[places]`; no place is beyond the ends of the table.

    Arrow takes places of 32 bits as they are; numpy makes 64 bits of them first.
    """
    try:
        import pyarrow  # noqa: PLC0415 (optional)
        from pyarrow import compute  # noqa: PLC0415
    except ModuleNotFoundError:
        return table.take(places)
    words, places = (
        pyarrow.Array.from_buffers(
            pyarrow.from_numpy_dtype(each.dtype), len(each), [None, pyarrow.py_buffer(each)]
        )
        for each in (table.view(f"u{table.itemsize}"), places)
    )
    found = compute.take(words, places, boundscheck=False)
    return np.frombuffer(found.buffers()[1] or b"", table.dtype)[found.offset :][: len(found)]


def used(cells: Cells, places: Places) -> tuple[Cells, Places]:
    """The cells that have a place, and the same places among these alone."""
    there = np.zeros(len(cells), dtype=np.bool_)
    there[places] = True
    return cells.among(np.flatnonzero(there)), (np.cumsum(there) - 1)[places]


class RepeatedCodes(Codes):
    """Codes that are looked up by the place of each row's cell when they are first asked for.

    Which rows have one declared value is found without codes.
    """

    def __init__(self, places: Places, table: NDArray[Any], values: tuple[Value, ...]) -> None:
        self._places = places
        self._table = table
        self._values = values

    @property
    def values(self) -> tuple[Value, ...]:
        return self._values

    @cached_property
    def codes(self) -> NDArray[Any]:
        return repeated(self._table, self._places)

    def within(self, rows: slice) -> RepeatedCodes:
        return RepeatedCodes(self._places[rows], self._table, self._values)

    def with_code(self, code: int) -> Bools:
        # Several cells may mean one value: however many do, each row is looked up once.
        return repeated(self._table == code, self._places)


def joined(parts: list[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    """All parts in one array of a type that they have; afterwards there are none."""
    whole = np.concatenate(parts) if len(parts) > 1 else [*parts, np.empty(0, dtype)][0]
    parts.clear()
    return whole


def code_type(values: tuple[Value, ...]) -> np.dtype[Any]:
    """The type of codes of these values, and of one more."""
    return np.min_scalar_type(len(values))


_WIDEST = 2**20
"""The most steps from the least declared number to the greatest."""


@dataclass(frozen=True, repr=False)
class CodeTable:
    """The codes of numbers that are counted in steps."""

    values: tuple[Value, ...]
    """The declared numbers, and what they are in steps."""
    steps: tuple[int, ...]
    missing: int
    """The code of all other numbers, and of NULL."""
    codes: NDArray[Any]
    """The codes of all numbers from one below the least declared one to one above the greatest."""

    @classmethod
    @lru_cache(maxsize=2**6)
    def of(
        cls, values: tuple[Value, ...], step: Fraction, missing: int, dtype: np.dtype[Any]
    ) -> CodeTable | None:
        """The table of declared values, in which all others have the code `missing`.

        None where a value is no multiple of the step, or they are far apart, or so far from zero
        that two multiples could have the same nearest double.
        """
        steps = [Fraction(value) / step for value in values]
        lowest, highest = int(min(steps)), int(max(steps))
        if any(number.denominator != 1 for number in steps) or highest - lowest >= _WIDEST:
            return None
        if max(-lowest, highest) > CLOSE:
            return None
        codes = np.full(highest - lowest + 3, missing, dtype)
        codes[[int(number) - lowest + 1 for number in steps]] = range(len(steps))
        return cls(values, tuple(map(int, steps)), missing, codes)

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The numbers of the first code and of the last: beyond all that are declared."""
        first = min(self.steps) - 1
        return first, first + len(self.codes) - 1

    @cached_property
    def _word(self) -> np.dtype[Any]:
        """A type of both ends, and of what is between them."""
        return np.promote_types(np.int32, narrowest(*self.ends))

    def places(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The places of integers of at most 64 bits with a sign; of those beyond, an end's."""
        word = np.promote_types(numbers.dtype, self._word)
        places: NDArray[Any] = np.clip(numbers.astype(word, copy=False), *self.ends)
        places -= self.ends[0]
        return places

    def of_doubles(self, numbers: Floats) -> NDArray[Any]:
        """The codes of doubles that are whole, or not finite."""
        first, last = self.ends
        # What is not a number becomes the first end.
        near = np.fmin(np.fmax(numbers, first), last) - first
        return self.codes.take(near.astype(np.intp))


class DeclaredNumbers(Codes):
    """Numbers of a batch, whose codes are looked up when they are first asked for.

    Which of them are one declared number is found without codes.
    """

    def __init__(self, numbers: NDArray[Any], null: Bools, table: CodeTable) -> None:
        self._numbers = numbers
        self._null = null
        self._table = table

    @property
    def values(self) -> tuple[Value, ...]:
        return self._table.values

    @cached_property
    def codes(self) -> NDArray[Any]:
        places = self._table.places(self._numbers)
        np.copyto(places, 0, where=self._null)
        return repeated(self._table.codes, places)

    def within(self, rows: slice) -> DeclaredNumbers:
        return DeclaredNumbers(self._numbers[rows], self._null[rows], self._table)

    def with_code(self, code: int) -> Bools:
        if code == self._table.missing:
            return super().with_code(code)
        equal = self._numbers == self._table.steps[code]
        # True is greater than false alone: the number is equal, and the cell is not NULL.
        return np.asarray(np.greater(equal, self._null, out=equal))


class CodeParts:
    """Codes of the same values; those of one part alone stay as they are held."""

    def __init__(self, values: tuple[Value, ...]) -> None:
        self._values = values
        self._parts: list[Codes] = []

    def add(self, part: Codes) -> None:
        """Append a part."""
        if self._parts:
            # Where there are several parts, plain codes are the narrowest way to hold each.
            self._parts[-1] = Codes(self._parts[-1].codes, self._values)
        self._parts.append(part)

    def finish(self) -> Codes:
        """All parts that were added since they were last asked for."""
        parts, self._parts = self._parts, []
        if len(parts) == 1:
            return parts[0]
        return Codes(joined([part.codes for part in parts], code_type(self._values)), self._values)
