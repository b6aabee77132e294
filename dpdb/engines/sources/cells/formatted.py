"""Cells that a declared format rewrites, so that the plain grammar reads them.

Dates and numbers of usual formats are read many at a time (`many_formatted`). Of the other cells
of a block each different one is rewritten once, by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field, replace

import numpy as np

from dpdb.engines.sources.cells.distinct import DistinctCells
from dpdb.engines.sources.cells.grids import Floats
from dpdb.engines.sources.cells.many_formatted import equal, is_read_here, many_read
from dpdb.engines.sources.cells.plain import (
    plain_dates,
    plain_numbers,
    plain_timestamps,
    unquoted,
    within_quotes,
)
from dpdb.engines.sources.cells.records import Cells, Places
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.cell_format import PLAIN, CellFormat
from dpdb.policy.csv.csv_format import Punctuation
from dpdb.records import dataclass
from dpdb.vectors import grammar
from dpdb.vectors.vector import Bools


@dataclass(frozen=True, repr=False)
class FormattedCells:
    """The format of a column in a file with some punctuation."""

    column: Column
    punctuation: Punctuation
    null: frozenset[bytes] = field(default_factory=frozenset)

    @classmethod
    def of(cls, column: Column, punctuation: Punctuation) -> FormattedCells | None:
        """The format of a column; None if its cells are plain."""
        if column.cells == PLAIN:
            return None
        null = frozenset(text.encode() for text in column.cells.null)
        return cls(column, punctuation, null)

    def plain(
        self, cells: Cells, places: Places | None, typed: Bools | None = None
    ) -> tuple[Cells, Places]:
        """The different cells as the grammar reads them, and which of them each cell is.

        `typed` says which cells are dates or timestamps of a data frame, in ISO 8601. A date column
        reads these as they are: its format is for texts.
        """
        different = DistinctCells()
        numbers = different.numbers(cells)
        plain = [*map(self.rewritten, different.cells(np.arange(len(different))).written())]
        if typed is not None and self.column.kind.temporal:
            read = np.flatnonzero(typed)
            numbers[read] = len(plain) + np.arange(len(read))
            plain += cells.among(read).written()
        return Cells.of(plain), numbers if places is None else numbers[places]

    def rewritten(self, raw: bytes) -> bytes:
        """A cell, without quotes, as the grammar reads it."""
        decimal = self.punctuation.decimal.decode()
        text = self.column.cells.plain(
            grammar.text(raw, self.punctuation.quote), self.column.kind, decimal
        )
        return text.encode()

    def many(self, cells: Cells) -> tuple[Floats, Bools] | None:
        """The values of cells and which of them are read; None where the format is not for this."""
        kind, form, marks = self.column.kind, self.column.cells, self.punctuation
        inner, bare = unquoted(cells, marks.quote), replace(marks, quote=b"")
        if is_read_here(kind, form, marks):
            values, read = many_read(inner, kind, form, marks.decimal)
        elif form != CellFormat(null=form.null):
            return None
        elif kind is Kind.DATE:
            values, read = plain_dates(inner, b"")
        elif kind is Kind.TIMESTAMP:
            values, read = plain_timestamps(inner, b"")
        else:
            values, read, _ = plain_numbers(inner, bare)
        return values, read & ~self._are_null(inner)

    def _are_null(self, cells: Cells) -> Bools:
        """Mask of cells that are one of the texts which mean NULL."""
        found = np.zeros(len(cells), dtype=np.bool_)
        for text in self.null:
            found |= equal(cells, text)
        return found

    def texts(self, cells: Cells) -> Cells:
        """The cells of a text column, empty where they mean NULL."""
        quote = self.punctuation.quote
        inner = within_quotes(cells, quote)
        null = self._are_null(inner)
        if quote:
            odd = np.flatnonzero(equal(Cells(inner.text, inner.starts, inner.starts + 1), quote))
            held = (grammar.content(raw, quote) for raw in inner.among(odd).written())
            null[odd] = np.fromiter((each in self.null for each in held), np.bool_, len(odd))
        return Cells(inner.text, inner.starts, np.where(null, inner.starts, inner.ends))

    def numbers(self, floats: Floats) -> Floats:
        """Typed numbers, as the cells that write them are read."""
        null = [value for text in self.column.cells.null if (value := grammar.number(text))]
        zero = any(grammar.number(text) == 0 for text in self.column.cells.null)
        lost = np.isin(floats, [*null, 0.0] if zero else null)
        read = floats / 100 if self.column.cells.percent else floats
        return np.where(lost, np.nan, read)


class FormattedBuilder(ABC):
    """A builder whose cells are rewritten first where the column has a format."""

    formatted: FormattedCells | None = None

    def add(self, column: Cells, places: Places | None = None, typed: Bools | None = None) -> None:
        """Append the cells of a block, or those at `places` among them; an empty one is missing.

        `typed` says which of a data frame's cells are no texts, but dates or timestamps.
        """
        if self.formatted is not None and self.formatted.column.kind is Kind.TEXT:
            column = self.formatted.texts(column)
        elif self.formatted is not None:
            column, places = self.formatted.plain(column, places, typed)
        self._add(column, places)

    @abstractmethod
    def _add(self, column: Cells, places: Places | None) -> None:
        """Append cells that the grammar reads."""
