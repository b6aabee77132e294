"""The columns of a table that are made of blocks of records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from dpdb.engines.sources.builder import Builder
from dpdb.engines.sources.column_builders import builders_of
from dpdb.engines.sources.csv_records import Block
from dpdb.engines.sources.read_ahead import side_by_side
from dpdb.policy.catalog import Table
from dpdb.policy.csv_format import Punctuation
from dpdb.vectors.columns import Codes, Numbers


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
        """Do the same, with two columns at a time."""
        side_by_side([partial(self._add, name, block) for name in self.builders])
        return block.rows

    def _add(self, name: str, block: Block) -> None:
        self.builders[name].add(block.column(self.positions[name]))

    def finish(self) -> dict[str, Numbers | Codes]:
        """The columns of all records that were added since they were last asked for."""
        return {name: builder.finish() for name, builder in self.builders.items()}
