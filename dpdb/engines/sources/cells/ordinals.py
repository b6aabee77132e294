"""Builders for cells of numbers, dates and timestamps."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cells.codes import (
    CodeParts,
    CodeTable,
    DeclaredNumbers,
    code_type,
    joined,
    repeated,
)
from dpdb.engines.sources.cells.distinct import Meanings
from dpdb.engines.sources.cells.formatted import FormattedBuilder
from dpdb.engines.sources.cells.grids import Floats, grid_of, nearest
from dpdb.engines.sources.cells.plain import plain_dates, plain_numbers, plain_timestamps
from dpdb.engines.sources.cells.records import Cells, Places
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.csv.csv_format import Punctuation
from dpdb.policy.numbers import exact_number
from dpdb.policy.timestamps import read_timestamp
from dpdb.vectors import grammar
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.vector import Bools, outside


class OrdinalBuilder(FormattedBuilder):
    """For numbers, dates and timestamps: a cell is a double before it is anything else."""

    def __init__(self, column: Column, punctuation: Punctuation, *, exact: bool) -> None:
        self._kind = column.kind
        self._punctuation = punctuation
        self._decimal = punctuation.decimal.decode()
        self._exact = exact
        self._meanings = Meanings(self._meaning, np.dtype(np.float64))

    def add(self, column: Cells, places: Places | None = None, typed: Bools | None = None) -> None:
        many = None if self.formatted is None or self._exact else self.formatted.many(column)
        if self.formatted is None or many is None:
            super().add(column, places, typed)
            return
        floats, read = many
        if typed is not None and self._kind.temporal:
            read &= ~typed
        others = np.flatnonzero(~read)
        left = None if typed is None else typed[others]
        cells, numbers = self.formatted.plain(column.among(others), None, left)
        floats[others] = self._floats(cells)[numbers]
        self._append(floats, places)

    def _add(self, column: Cells, places: Places | None) -> None:
        self._append(self._floats(column), places)

    def _floats(self, column: Cells) -> Floats:
        """The values of cells that the grammar reads."""
        if self._kind is Kind.DATE:
            floats, plain = plain_dates(column, self._punctuation.quote)
            whole = plain
        elif self._kind is Kind.TIMESTAMP:
            floats, plain = plain_timestamps(column, self._punctuation.quote)
            whole = plain
        else:
            floats, plain, whole = plain_numbers(column, self._punctuation)
        if self._exact:
            plain &= whole & self._holds(floats)
        others = np.flatnonzero(~plain)
        floats[others] = self._meanings.of(column.among(others))
        return floats

    def add_numbers(self, floats: Floats) -> None:
        """Append numbers, dates in days or timestamps in microseconds; NULL is not finite.

        For an `exact` column they are whole numbers.
        """
        if self.formatted is not None and not self._kind.temporal:
            floats = self.formatted.numbers(floats)
        lost = self._exact and ~self._holds(floats)
        self._append(np.where(lost, np.nan, floats))

    def _meaning(self, raw: bytes) -> float:
        """The value of one cell, the same as vectors of plain cells are read; NaN for none."""
        text = grammar.text(raw, self._punctuation.quote)
        value: float | None
        if self._kind is Kind.DATE:
            value = grammar.date(text)
        elif self._kind is Kind.TIMESTAMP:
            value = read_timestamp(text)
        else:
            text = grammar.with_point(text, self._decimal)
            value = grammar.number(text)
        if value is None:
            return math.nan
        if self._exact:
            written = value if self._kind.temporal else exact_number(text.strip(grammar.SPACE))
            return value if self._kept(value) == written else math.nan
        return value

    @abstractmethod
    def holds_multiples(self, step: Fraction) -> bool:
        """Whether multiples of `step` can be added as integers, with the same result."""

    @abstractmethod
    def add_multiples(self, multiples: NDArray[Any], null: Bools) -> None:
        """Append such multiples, of at most 64 bits with a sign; `null` says which are NULL."""

    @abstractmethod
    def _append(self, floats: Floats, places: Places | None = None) -> None:
        """Append cells that are read, or those at `places`; the array is given away."""

    @abstractmethod
    def _holds(self, floats: Floats) -> Bools:
        """Mask of whole numbers that the column surely holds as they are."""

    @abstractmethod
    def _kept(self, value: float) -> Fraction | None:
        """The number as the column keeps it; None for NULL."""

    @abstractmethod
    def finish(self) -> Numbers | Codes: ...


class NumbersBuilder(OrdinalBuilder):
    """Clamps to the bounds and rounds to the grid."""

    def __init__(self, column: Column, punctuation: Punctuation, *, exact: bool) -> None:
        super().__init__(column, punctuation, exact=exact)
        self._nullable = column.nullable
        self._grid = grid = grid_of(column)
        self._filler = 0 if grid is None else int(grid.units(np.array([grid.filler]))[0])
        self._units: list[NDArray[Any]] = []
        self._null: list[Bools] = []

    def holds_multiples(self, step: Fraction) -> bool:
        if self.formatted is not None or self._grid is None or (self._exact and step != 1):
            return False
        return self._grid.holds_multiples(step)

    def add_multiples(self, multiples: NDArray[Any], null: Bools) -> None:
        assert self._grid is not None
        if self._exact:
            null = null | outside(multiples, (self._grid.lowest, self._grid.highest))
        units = self._grid.clamped(multiples)
        np.copyto(units, self._filler, where=null)
        self._units.append(units)
        if self._nullable:
            self._null.append(null)

    def _append(self, floats: Floats, places: Places | None = None) -> None:
        null = ~np.isfinite(floats)
        floats = np.where(null, 0.0 if self._grid is None else self._grid.filler, floats)
        units = floats if self._grid is None else self._grid.units(floats)
        self._units.append(repeated(units, places))
        if self._nullable:
            self._null.append(repeated(null, places))

    def _holds(self, floats: Floats) -> Bools:
        if self._grid is None:
            return np.ones(len(floats), dtype=np.bool_)
        if self._grid.step != 1:
            return np.zeros(len(floats), dtype=np.bool_)
        return (self._grid.lowest <= floats) & (floats <= self._grid.highest)

    def _kept(self, value: float) -> Fraction | None:
        return Fraction(value) if self._grid is None else self._grid.value(value)

    def finish(self) -> Numbers:
        grid = self._grid
        units = joined(self._units, np.dtype(np.float64) if grid is None else grid.dtype)
        null = joined(self._null, np.dtype(np.bool_)) if self._nullable else None
        if grid is None:
            return Numbers(units, None, null, self._filler)
        return Numbers(units, grid.step, null, self._filler, (grid.lowest, grid.highest))


class ChoiceBuilder(OrdinalBuilder):
    """Looks numbers up among the declared ones."""

    def __init__(self, column: Column, punctuation: Punctuation, *, exact: bool) -> None:
        assert column.values is not None
        super().__init__(column, punctuation, exact=exact)
        self._values = column.values
        self._step = column.step
        numbers = np.array([float(value) for value in column.values], dtype=np.float64)
        self._order = np.argsort(numbers, kind="stable")
        self._sorted = numbers[self._order]
        self._missing = len(column.values) if column.nullable else 0
        self._dtype = code_type(column.values)
        self._table = CodeTable.of(column.values, column.step, self._missing, self._dtype)
        self._parts = CodeParts(column.values)

    def holds_multiples(self, step: Fraction) -> bool:
        plain = not self._exact and self.formatted is None
        return plain and self._table is not None and step == self._step

    def add_multiples(self, multiples: NDArray[Any], null: Bools) -> None:
        assert self._table is not None
        self._parts.add(DeclaredNumbers(multiples, null, self._table))

    def _append(self, floats: Floats, places: Places | None = None) -> None:
        if self._kind.whole and self._table is not None:
            codes = self._table.of_doubles(nearest(floats, self._step))
        else:
            place, known = self._found(floats)
            codes = np.where(known, self._order[place], self._missing).astype(self._dtype)
        self._parts.add(Codes(repeated(codes, places), self._values))

    def _found(self, floats: Floats) -> tuple[NDArray[np.intp], Bools]:
        """The places of numbers among the sorted ones, and which are there."""
        numbers = floats
        if self._kind.whole:
            numbers = nearest(floats, self._step) * float(self._step)
        places = np.searchsorted(self._sorted, numbers).clip(max=len(self._sorted) - 1)
        return places, self._sorted[places] == numbers

    def _holds(self, floats: Floats) -> Bools:
        return np.ones(len(floats), dtype=np.bool_)

    def _kept(self, value: float) -> Fraction | None:
        [place], [known] = self._found(np.array([value]))
        return Fraction(self._values[self._order[place]]) if known else None

    def finish(self) -> Codes:
        return self._parts.finish()
