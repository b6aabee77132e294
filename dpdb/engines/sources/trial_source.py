"""Made-up rows into columns: every cell is read as a CSV file's cell is."""

from __future__ import annotations

from dpdb.engines.protocol import Progress, Witness
from dpdb.engines.sources.cells.builders import builders_of
from dpdb.engines.sources.cells.records import Cells
from dpdb.engines.sources.protocol import NO_DATA, Loaded, Names, Source
from dpdb.errors import UsageError
from dpdb.policy.catalog import MadeUp, Table
from dpdb.policy.csv.csv_format import NO_QUOTES
from dpdb.records import dataclass


@dataclass(frozen=True, repr=False)
class TrialSource(Source):
    """Reads the made-up rows of a table, and opens no file."""

    table: Table
    made_up: MadeUp

    def load(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Loaded:
        self._refuse(witness)
        cells = self.made_up.cells(self.table.name)
        columns = {}
        for name, builder in builders_of(self.table, names, NO_QUOTES).items():
            builder.add(Cells.of([(cell or "").encode() for cell in cells[name]]))
            columns[name] = builder.finish()
        return Loaded(columns, len(next(iter(cells.values()))), NO_DATA)

    def digest(self, key: bytes) -> str:
        raise UsageError("made-up rows have no digest: no budget is for them")

    def _refuse(self, witness: Witness | None) -> None:
        """Refuse a witness: made-up rows are never what a lasting budget is for."""
        if witness is not None:
            raise UsageError("made-up rows are not the data of a budget")
