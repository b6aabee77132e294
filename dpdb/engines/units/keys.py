"""Columns that name things: which of their values are equal, within one table and between two.

A cell that is NULL names nothing. Neither does a whole number past the limit, which was clamped to
it and cannot be told from others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpdb.errors import DataFileError
from dpdb.policy.catalog import Table
from dpdb.policy.numbers import MAGNITUDE_LIMIT
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import Array, Bools

Columns = Mapping[str, Numbers | Codes]

NONE = -1
"""Stands for no row, and for no unit."""


def is_text(column: Numbers | Codes) -> bool:
    """Whether the values are texts; those of other kinds are listed, so that there are some."""
    if isinstance(column, StoredTexts):
        return True
    return isinstance(column, Codes) and all(isinstance(v, str) for v in column.values[:1])


def named_numbers(column: Numbers | Codes) -> tuple[Array, Bools]:
    """The whole numbers that a column holds, as doubles, and where it names one."""
    if isinstance(column, Codes):
        values = np.array([*map(float, column.values), 0.0])
        return values[column.codes], ~column.null
    values = column.units * float(column.step or 1)
    named = np.abs(values) < MAGNITUDE_LIMIT
    return values, named if column.null is None else named & ~column.null


def rows_named(wanted: Numbers | Codes, keys: Numbers | Codes) -> Array:
    """For each cell of `wanted` the row where `keys`, in which no value repeats, holds its value.

    NONE where it names no row.
    """
    if is_text(keys):
        assert isinstance(wanted, Codes)
        assert isinstance(keys, Codes)
        row_of = np.full(len(keys.values) + 1, NONE, dtype=np.int32)
        row_of[keys.codes] = np.arange(len(keys.codes), dtype=np.int32)
        row_of[-1] = NONE
        return np.asarray(row_of[translated(wanted, keys.values)])
    values, named = named_numbers(keys)
    rows = np.flatnonzero(named)
    rows = rows[np.argsort(values[rows])].astype(np.int32)
    ascending = values[rows]
    looked_for, names = named_numbers(wanted)
    places = np.searchsorted(ascending, looked_for)
    there = names & (np.append(ascending, np.inf)[places] == looked_for)
    return np.where(there, np.append(rows, np.int32(NONE))[places], np.int32(NONE))


def translated(column: Codes, values: Sequence[object]) -> Array:
    """For each row the place of its value among other `values`; their number if it is not there."""
    [codes] = all_translated([column], values)
    return codes


def all_translated(columns: Sequence[Codes], values: Sequence[object]) -> list[Array]:
    """The columns as `translated` gives them, with the places of the values looked up once."""
    if all(column.values == values for column in columns):
        return [column.codes for column in columns]
    code_of, missing = {value: code for code, value in enumerate(values)}, len(values)
    tables = ([*(code_of.get(v, missing) for v in column.values), missing] for column in columns)
    return [
        np.array(table, dtype=np.int32)[column.codes]
        for column, table in zip(columns, tables, strict=True)
    ]


def declared_of(table: Table) -> frozenset[str]:
    """The columns of whose values together the policy says something."""
    return frozenset((*table.key, *(name for name, _ in table.at_most)))


def check_declarations(table: Table, columns: Columns) -> None:
    """Raise DataFileError where a value of the key repeats, or has more rows than `at_most`.

    What a policy declares of keys is what privacy and exact answers rest on, so that a session on
    other data is no session of this policy. The value is not told.
    """
    if repeats(table, columns):
        named = ", ".join(f"{table.name}.{name}" for name in table.key)
        raise DataFileError(f"{named} is declared a unique key, but a value repeats")
    for name, most in table.at_most:
        if most_rows(columns[name]) > most:
            raise DataFileError(
                f"{table.name}.{name} is declared at_most {most}, but a value has more rows"
            )


def repeats(table: Table, columns: Columns) -> int:
    """The number of rows of a table whose key another row has, too."""
    if not table.key:
        return 0
    codes, there = _held(columns[table.key[0]])
    for name in table.key[1:]:
        more, also = _held(columns[name])
        codes, more = (np.unique(each, return_inverse=True)[1] for each in (codes, more))
        codes, there = codes * (int(more.max(initial=0)) + 1) + more, there & also
    chosen = codes[there]
    return len(chosen) - len(np.unique(chosen))


def most_rows(column: Numbers | Codes) -> int:
    """The greatest number of rows that share a value."""
    values, there = _held(column)
    return int(np.unique(values[there], return_counts=True)[1].max(initial=0))


def _held(column: Numbers | Codes) -> tuple[Array, Bools]:
    """For each row a number that stands for its value, and whether it has one."""
    if isinstance(column, Codes):
        return column.codes, ~column.null
    there = np.ones(len(column.units), dtype=bool) if column.null is None else ~column.null
    return column.units, there
