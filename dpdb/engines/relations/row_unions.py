"""UNION ALL of rows: those of several SELECTs, in columns wide enough for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpdb.engines.relations.leaves import BOOLEANS
from dpdb.engines.sources.cells.grids import grid_of
from dpdb.engines.units.keys import Owners, all_translated, named_numbers, translated
from dpdb.engines.values.grid_values import made_column, on_grid
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Literal
from dpdb.plan.logical.row_tables import RowUnion
from dpdb.plan.ranges.grids import Grid
from dpdb.policy.catalog import Column, Kind, Value
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import Bools, TextVector, Vector


@dataclass(frozen=True, repr=False)
class PassedRows:
    """The rows of a source that pass a condition: the columns read, and the owners."""

    frame: Frame
    owners: Owners

    def __len__(self) -> int:
        return len(self.owners.numbers)

    @property
    def names(self) -> Numbers | Codes:
        """The column that names the unit of each row."""
        owners = self.owners
        return owners.names if owners.rows is None else owners.names.taken(owners.rows)


def columns_of_all(table: RowUnion, parts: Sequence[PassedRows]) -> dict[str, Numbers | Codes]:
    """The columns of a table, with the rows of one part after those of the part before."""
    columns: dict[str, Numbers | Codes] = {}
    for at, column in enumerate(table.columns):
        expressions = (part.columns[at] for part in table.parts)
        held = [_held(column, *each) for each in zip(expressions, parts, strict=True)]
        columns[column.name] = one_after_the_other(held)
    return columns


def owners_of_all(parts: Sequence[PassedRows]) -> Owners:
    """The owners of the rows of all parts."""
    numbers = np.concatenate([part.owners.numbers for part in parts])
    return Owners(numbers, one_after_the_other([part.names for part in parts]))


def one_after_the_other(columns: Sequence[Numbers | Codes]) -> Numbers | Codes:
    """Columns of one type, concatenated."""
    stored = [column for column in columns if isinstance(column, StoredTexts)]
    if len(stored) == len(columns):
        return stored[0].followed_by(stored[1:])
    coded = [column for column in columns if isinstance(column, Codes)]
    if len(coded) == len(columns):
        values = _all_values([column.values for column in coded])
        return Codes(np.concatenate(all_translated(coded, values)), values)
    numbers = [column for column in columns if isinstance(column, Numbers)]
    if len(numbers) == len(columns):
        units = np.concatenate([column.units for column in numbers])
        held = numbers[0].held if len({column.held for column in numbers}) == 1 else None
        return Numbers(units, numbers[0].step, _nulls(numbers), numbers[0].filler, held)
    # Of two columns that name units one has declared values, and the other has none.
    named_values = [named_numbers(column) for column in columns]
    named: Bools = np.concatenate([there for _, there in named_values])
    values_of_all = np.where(named, np.concatenate([values for values, _ in named_values]), 0.0)
    return Numbers(values_of_all.astype(np.int64), Fraction(1), ~named, 0)


def _all_values(dictionaries: Sequence[Sequence[Value]]) -> Sequence[Value]:
    """The values of all dictionaries; texts that differ are sorted."""
    if all(dictionary == dictionaries[0] for dictionary in dictionaries):
        return dictionaries[0]
    return tuple(sorted({value for each in dictionaries for value in each}))


def _nulls(columns: Sequence[Numbers]) -> Bools | None:
    if all(column.null is None for column in columns):
        return None
    return np.concatenate(
        [np.zeros(len(c.units), dtype=np.bool_) if c.null is None else c.null for c in columns]
    )


def _held(column: Column, expression: Expr, part: PassedRows) -> Numbers | Codes:
    """The value of an expression in each row, as the column holds it."""
    if column.values is not None:
        return _among(column.values, expression, part)
    if column.kind in (Kind.TEXT, Kind.BOOLEAN):
        return _codes(expression, part)
    grid = grid_of(column)
    if grid is None:
        vector = evaluate(expression, part.frame)
        assert isinstance(vector, Vector)
        values, null = vector.values, vector.null
    else:
        steps = Grid(grid.step, grid.lowest, grid.highest)
        found = on_grid(expression, steps, part.frame, len(part))
        values, null = found.values.astype(np.int64), found.null
    missing = np.zeros(1, dtype=np.bool_) if null is None else null
    return made_column(
        column, np.broadcast_to(values, len(part)), np.broadcast_to(missing, len(part))
    )


def _among(values: tuple[Value, ...], expression: Expr, part: PassedRows) -> Codes:
    """A column with declared values, or a constant, as codes of these values."""
    if isinstance(expression, ColumnRef):
        held = part.frame.columns[expression.column.name]
        assert isinstance(held, Codes)
        return Codes(translated(held, values), values)
    assert isinstance(expression, Literal)
    code = len(values) if expression.value is None else values.index(expression.value)
    return Codes(np.full(len(part), code, dtype=np.int64), values)


def _codes(expression: Expr, part: PassedRows) -> Codes:
    """The values of an expression that is a text or a boolean."""
    vector = evaluate(expression, part.frame)
    if isinstance(vector, TextVector):
        texts = tuple(sorted(set(vector.dictionary)))
        column = Codes(np.broadcast_to(vector.codes, len(part)), vector.dictionary)
        return Codes(translated(column, texts), texts)
    codes = vector.values.astype(np.int8)
    if vector.null is not None:
        codes = np.where(vector.null, np.int8(len(BOOLEANS)), codes)
    return Codes(np.broadcast_to(codes, len(part)), BOOLEANS)
