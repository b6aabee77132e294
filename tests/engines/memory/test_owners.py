"""Units have the same numbers in all tables, however their names are held."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpdb.engines.units.keys import UnitNumbers, rows_named
from dpdb.vectors.columns import Codes, Numbers

NULL = None
Column = Numbers | Codes


def numbers(*values: float | None) -> Numbers:
    units = np.array([0 if value is None else value for value in values], dtype=np.int64)
    null = np.array([value is None for value in values], dtype=bool)
    return Numbers(units, Fraction(1), null, 0)


def codes(*values: int | str | None) -> Codes:
    held = tuple(sorted({value for value in values if value is not None}))  # type: ignore[type-var]
    places = [len(held) if value is None else held.index(value) for value in values]
    return Codes(np.array(places, dtype=np.uint8), held)


COLUMNS = {
    "whole numbers": (numbers(5, NULL, 3, 5, 2**53), numbers(3, 9, 5, NULL, -(2**53), 4)),
    "listed numbers": (codes(5, NULL, 3, 5, NULL), numbers(3, 9, 5, NULL, NULL, 4)),
    "numbers, then listed": (numbers(5, NULL, 3, 5, NULL), codes(3, 9, 5, NULL, NULL, 4)),
    "texts": (codes("5", NULL, "3", "5", NULL), codes("3", "9", "5", NULL, NULL, "4")),
}


@pytest.mark.parametrize("held", COLUMNS)
def test_units_are_numbered_together(held: str) -> None:
    """The first column names 5, 3 and 5 again, the second 3, 9, 5 and 4."""
    one, other = COLUMNS[held]
    known = UnitNumbers()
    first, second, again = known.of(one), known.of(other), known.of(one)
    assert first.dtype == second.dtype == np.int32
    assert first.tolist() == again.tolist()
    assert first[[1, 4]].tolist() == second[[3, 4]].tolist() == [-1] * 2
    assert first[0] == first[3] == second[2]
    assert first[2] == second[0]
    assert sorted({*first.tolist(), *second.tolist()}) == [-1, 0, 1, 2, 3]


@pytest.mark.parametrize("held", COLUMNS)
def test_the_row_that_is_named(held: str) -> None:
    one, other = COLUMNS[held]
    assert rows_named(one, other).tolist() == [2, -1, 0, 2, -1]
    assert rows_named(numbers(1, NULL), numbers()).tolist() == [-1, -1]
    assert rows_named(codes("a", NULL), codes()).tolist() == [-1, -1]
    assert rows_named(codes(), codes("a")).tolist() == []


def test_no_units_at_all() -> None:
    known = UnitNumbers()
    assert known.of(numbers(NULL)).tolist() == known.of(codes(NULL)).tolist() == [-1]
    assert known.of(numbers()).tolist() == []
