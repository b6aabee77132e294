"""How the cells of one column are gathered: the builder for each declaration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.builder import Builder, code_type, joined
from dpdb.engines.sources.cell_meanings import Meanings
from dpdb.engines.sources.code_parts import CodeParts
from dpdb.engines.sources.coded_texts import coded_texts
from dpdb.engines.sources.csv_records import Cells, Places
from dpdb.engines.sources.distinct_cells import DistinctCells
from dpdb.engines.sources.ordinal_builders import ChoiceBuilder, NumbersBuilder
from dpdb.engines.sources.quoted_cells import within_quotes
from dpdb.engines.sources.repeated_cells import RepeatedCodes, repeated, used
from dpdb.policy.catalog import LONGEST_TEXT, Column, Kind, Table, Value
from dpdb.policy.csv_format import ORDINARY, Punctuation
from dpdb.vectors import grammar
from dpdb.vectors.columns import Codes


def builder(column: Column, *, exact: bool = False, punctuation: Punctuation = ORDINARY) -> Builder:
    """The builder for a column declared like this, in a file with this punctuation.

    An `exact` column names privacy units. There a cell that loses anything on the way
    is NULL, so that no two people become one: a number that is rounded or clamped, a
    text with bytes that are not UTF-8. So is a missing cell, even where none may be.
    """
    if exact:
        column = replace(column, nullable=True)
    if column.kind.ordinal and column.values is None:
        return NumbersBuilder(column, punctuation, exact=exact)
    if column.kind.ordinal:
        return ChoiceBuilder(column, punctuation, exact=exact)
    if column.values is not None or column.kind is Kind.BOOLEAN:
        return _WordBuilder(column, punctuation, exact=exact)
    return _TextBuilder(column, punctuation, exact=exact)


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


class _WordBuilder:
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

    def add(self, column: Cells, places: Places | None = None) -> None:
        if places is None:
            self._parts.add(Codes(self._meanings.of(column), self._values))
            return
        codes = self._meanings.of_different(column)
        self._parts.add(RepeatedCodes(places, codes, self._values))

    def finish(self) -> Codes:
        return self._parts.finish()


class _TextBuilder:
    """Numbers the distinct cells as they come; in the end those of one text get the same code."""

    def __init__(self, column: Column, punctuation: Punctuation, *, exact: bool) -> None:
        self._nullable = column.nullable
        self._length = column.length
        self._quote = punctuation.quote
        self._exact = exact
        self._cells = DistinctCells()
        self._parts: list[NDArray[np.uint32]] = []

    def add(self, column: Cells, places: Places | None = None) -> None:
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
