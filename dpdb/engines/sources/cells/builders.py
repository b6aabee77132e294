"""Builders that gather the cells of one column, block by block.

Whatever a builder does to a cell depends on the cell and on the column's
declaration, never on the other cells: nothing is inferred, nothing raises.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cells.codes import (
    CodeParts,
    RepeatedCodes,
    code_type,
    joined,
    repeated,
    used,
)
from dpdb.engines.sources.cells.distinct import DistinctCells, Meanings, coded_texts
from dpdb.engines.sources.cells.formatted import FormattedBuilder, FormattedCells
from dpdb.engines.sources.cells.ordinals import ChoiceBuilder, NumbersBuilder
from dpdb.engines.sources.cells.plain import within_quotes
from dpdb.engines.sources.cells.records import Block, Cells, Places
from dpdb.engines.sources.read_ahead import side_by_side
from dpdb.policy.catalog import LONGEST_TEXT, Column, Kind, Table, Value
from dpdb.policy.csv.csv_format import NO_QUOTES, ORDINARY, Punctuation
from dpdb.records import dataclass
from dpdb.vectors import grammar
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.vector import Bools

_FEW = 2**12
"""Rows of which the cells are read sooner than another thread begins."""


class Builder(Protocol):
    """Gathers the cells of one column."""

    def add(self, column: Cells, places: Places | None = None, typed: Bools | None = None) -> None:
        """Append the cells of a block, or those at `places` among them; an empty one is missing.

        `typed` says which of a data frame's cells are no texts, but dates or timestamps.
        """

    def finish(self) -> Numbers | Codes:
        """The column of all cells added since it was last asked for."""


def builder(column: Column, *, exact: bool = False, punctuation: Punctuation = ORDINARY) -> Builder:
    """The builder for a column declared like this, in a file with this punctuation.

    An `exact` column names privacy units. There a cell that loses anything on the way
    is NULL, so that no two people become one: a number that is rounded or clamped, a
    text with bytes that are not UTF-8. So is a missing cell, even where none may be.
    """
    if exact:
        column = replace(column, nullable=True)
    formatted = FormattedCells.of(column, punctuation)
    if formatted is not None and column.kind is not Kind.TEXT:
        punctuation = NO_QUOTES  # that of cells once they are rewritten
    kind: type[NumbersBuilder | ChoiceBuilder | _WordBuilder | _TextBuilder]
    if column.kind.ordinal:
        kind = NumbersBuilder if column.values is None else ChoiceBuilder
    elif column.values is not None or column.kind is Kind.BOOLEAN:
        kind = _WordBuilder
    else:
        kind = _TextBuilder
    made = kind(column, punctuation, exact=exact)
    made.formatted = formatted
    return made


def builders_of(
    table: Table, names: Collection[str], punctuation: Punctuation
) -> dict[str, Builder]:
    """Builders that have no rows yet, for the columns of a table that are called `names`."""
    return {
        column.name: builder(
            column, exact=column.name in table.identifiers, punctuation=punctuation
        )
        for column in table.columns
        if column.name in names
    }


def finished(builders: Mapping[str, Builder]) -> dict[str, Numbers | Codes]:
    """The columns of all cells that were added since they were last asked for.

    What stays in memory is looked up now: codes take less of it than what they come from.
    """
    columns = {name: builder.finish() for name, builder in builders.items()}
    return {
        name: Codes(column.codes, column.values) if isinstance(column, Codes) else column
        for name, column in columns.items()
    }


class _WordBuilder(FormattedBuilder):
    """Looks texts and booleans up among the declared ones."""

    def __init__(self, column: Column, punctuation: Punctuation, *, exact: bool) -> None:
        self._values = (False, True) if column.values is None else column.values
        missing = len(self._values) if column.nullable else 0
        code_of: dict[Value | None, int] = {v: code for code, v in enumerate(self._values)}
        read: Callable[[str], Value | None] = (
            grammar.boolean if column.kind is Kind.BOOLEAN else lambda text: text or None
        )

        def code(raw: bytes) -> int:
            if exact and not grammar.is_whole(raw):
                return missing
            return code_of.get(read(grammar.text(raw, punctuation.quote)), missing)

        self._meanings = Meanings(code, code_type(self._values))
        self._parts = CodeParts(self._values)

    def _add(self, column: Cells, places: Places | None) -> None:
        if places is None:
            self._parts.add(Codes(self._meanings.of(column), self._values))
            return
        codes = self._meanings.of_different(column)
        self._parts.add(RepeatedCodes(places, codes, self._values))

    def finish(self) -> Codes:
        return self._parts.finish()


class _TextBuilder(FormattedBuilder):
    """Numbers the distinct cells as they come; in the end those of one text get the same code."""

    def __init__(self, column: Column, punctuation: Punctuation, *, exact: bool) -> None:
        self._nullable = column.nullable
        self._length = column.length
        self._quote = punctuation.quote
        self._exact = exact
        self._cells = DistinctCells()
        self._parts: list[NDArray[np.uint32]] = []

    def _add(self, column: Cells, places: Places | None) -> None:
        if places is not None:
            column, places = used(column, places)
        column = within_quotes(column, self._quote)
        self._parts.append(repeated(self._cells.numbers(column).astype(np.uint32), places))

    def finish(self) -> Codes:
        cells, self._cells = self._cells, DistinctCells()
        found, code_of_cell = coded_texts(cells, self._quote, self._text)
        values: Sequence[str] = found
        if self._length < LONGEST_TEXT:
            values, code_of_text = self._within_length(found)
            code_of_cell = code_of_text[code_of_cell]
        parts = [code_of_cell.take(part) for part in self._parts]
        self._parts.clear()
        return Codes(joined(parts, code_of_cell.dtype), values)

    def _within_length(self, texts: Sequence[str]) -> tuple[tuple[str, ...], NDArray[Any]]:
        """The texts that are not too long, and for each text the code of what the column holds."""
        instead = None if self._nullable else ""
        held = [text if len(text.encode()) <= self._length else instead for text in texts]
        values = tuple(dict.fromkeys(text for text in held if text is not None))
        code_of = dict(zip((*values, None), range(len(values) + 1), strict=True))
        codes = [code_of[text] for text in (*held, None)]
        return values, np.array(codes, dtype=np.min_scalar_type(len(values)))

    def _text(self, raw: bytes) -> str | None:
        text = grammar.text(raw, self._quote)
        if (self._nullable and not text) or (self._exact and not grammar.is_whole(raw)):
            return None
        return text


@dataclass(frozen=True, repr=False)
class RecordColumns:
    """A builder for each column that is read, and the column's place in a record."""

    builders: dict[str, Builder]
    positions: Mapping[str, int]

    @classmethod
    def of(
        cls, table: Table, positions: Mapping[str, int], punctuation: Punctuation
    ) -> RecordColumns:
        """Builders that have no cells yet, for the columns at these places."""
        return cls(builders_of(table, positions, punctuation), positions)

    def add(self, block: Block) -> int:
        """Give every builder the cells of its column; returns the number of rows."""
        for name in self.builders:
            self._add(name, block)
        return block.rows

    def add_in_threads(self, block: Block) -> int:
        """Do the same, with two columns at a time unless the rows are few."""
        columns = [partial(self._add, name, block) for name in self.builders]
        side_by_side(columns if block.rows > _FEW else [partial(self.add, block)])
        return block.rows

    def _add(self, name: str, block: Block) -> None:
        self.builders[name].add(block.column(self.positions[name]))

    def finish(self) -> dict[str, Numbers | Codes]:
        """The columns of all records that were added since they were last asked for."""
        return {name: builder.finish() for name, builder in self.builders.items()}
