"""Codes of declared values whose cells are places in a dictionary."""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest

from dpdb.engines.sources.arrow.values import null_of, repeated_cells
from dpdb.engines.sources.cells.builders import builder
from dpdb.engines.sources.cells.codes import RepeatedCodes, looked_up
from dpdb.policy.catalog import Column, Kind
from tests.support.noted_arrays import Noted

VALUES = ("a", "b", "c", "\N{REPLACEMENT CHARACTER}")
HELD = [b"b", b"x", b"\xff", b"a", b"b", b"\xfe", b"", b"a" * 10_001]
PLACES = [0, 1, 2, 3, None, 4, 5, 6, 7, 0, None]


def _dictionary() -> pyarrow.DictionaryArray:
    """One that has a value twice, and values that mean the same."""
    held = pyarrow.array(HELD, pyarrow.binary())
    texts = pyarrow.StringArray.from_buffers(len(held), *held.buffers()[1:])
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(PLACES, pyarrow.int8()), texts)


@pytest.mark.parametrize("nullable", [False, True])
def test_rows_with_a_value_are_found_as_they_are_by_codes(nullable: bool) -> None:
    building = builder(Column("c", Kind.TEXT, values=VALUES, nullable=nullable))
    building.add(*repeated_cells(_dictionary()))
    column = building.finish()
    found = [column.with_code(code).tolist() for code in range(len(VALUES) + 1)]
    missing = len(VALUES) if nullable else 0
    meant = [1, missing, 3, 0, missing, 1, 3, missing, missing, 1, missing]
    assert column.codes.tolist() == meant
    assert found == [[each == code for each in meant] for code in range(len(VALUES) + 1)]
    assert column.within(slice(4, 6)).codes.tolist() == meant[4:6]


@pytest.mark.parametrize("table", [[1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 0]])
def test_steps_do_not_follow_how_many_cells_mean_a_value(table: list[int]) -> None:
    places = np.array([0, 1, 2, 1], dtype=np.int32).view(Noted)
    column = RepeatedCodes(places, np.array(table, dtype=np.uint8), ("a", "b"))
    Noted.notes.clear()
    found = column.with_code(0)
    assert Noted.notes == []  # One look-up, which is asked of the table.
    assert found.tolist() == [table[place] == 0 for place in (0, 1, 2, 1)]


def test_null_has_a_place_beside_as_many_values_as_there_are_indices() -> None:
    values = tuple(map(str, range(128)))
    indices = pyarrow.array([127, None, 0], pyarrow.int8())
    building = builder(Column("c", Kind.TEXT, values=values))
    building.add(*repeated_cells(pyarrow.DictionaryArray.from_arrays(indices, list(values))))
    assert building.finish().codes.tolist() == [127, 128, 0]


@pytest.mark.parametrize("first", [0, 1, 8, 13, 20])
@pytest.mark.parametrize("values", [[None, 1, 2, None] * 5, [1] * 20])
def test_null_is_found_wherever_an_array_begins(first: int, values: list[int | None]) -> None:
    """Arrow keeps no bits where no value is NULL."""
    array = pyarrow.array(values)
    assert null_of(array[first:]).tolist() == [value is None for value in values[first:]]


@pytest.mark.parametrize("held", [np.bool_, np.uint8, np.int16, np.int32, np.float64])
@pytest.mark.parametrize("word", [np.int32, np.int64])
def test_a_table_is_looked_up_as_numpy_does(held: type, word: type) -> None:
    table, places = np.array([0, 1, 5, -7]).astype(held), np.array([3, 0, 0, 2, 1], dtype=word)
    found = looked_up(table, places[1:])
    assert (found.dtype, found.tolist()) == (table.dtype, table[places[1:]].tolist())
