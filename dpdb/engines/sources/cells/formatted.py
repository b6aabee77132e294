"""Cells that a declared format rewrites, so that the plain grammar reads them.

Each different cell of a block is rewritten once, by itself. Time follows from the number of
different cells, as that of reading them does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field

import numpy as np

from dpdb.engines.sources.cells.distinct import DistinctCells
from dpdb.engines.sources.cells.grids import Floats
from dpdb.engines.sources.cells.records import Cells, Places
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.cell_format import PLAIN
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
        quote = self.punctuation.quote
        if self.column.kind is Kind.TEXT:  # bytes of other encodings stay as they are
            held = grammar.content(raw, quote)
            return b"" if held in self.null else held
        decimal = self.punctuation.decimal.decode()
        text = self.column.cells.plain(grammar.text(raw, quote), self.column.kind, decimal)
        return text.encode()

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
        if self.formatted is not None:
            column, places = self.formatted.plain(column, places, typed)
        self._add(column, places)

    @abstractmethod
    def _add(self, column: Cells, places: Places | None) -> None:
        """Append cells that the grammar reads."""
