"""A database whose answers are altered, for defences that change exact answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dpdb.answers.answer import Answer
from dpdb.answers.record import Cell, Detail, ReleaseReport
from dpdb.lab.database import Database
from dpdb.records import dataclass


@dataclass(frozen=True)
class AlteredDatabase:
    """Answers as `database` does, with every number changed by `change`."""

    database: Database
    change: Callable[[float], float]
    releases: tuple[ReleaseReport, ...] = ()
    """The reports of noise that the answers carry."""

    def execute(self, text: str) -> Answer:
        """Answer one statement; only answers to queries are changed."""
        answer = self.database.execute(text)
        if not answer.query:
            return answer
        cells = tuple(
            replace(column, cells=tuple(map(self._cell, column.cells))) for column in answer.cells
        )
        return replace(answer, cells=cells, release_detail=Detail.of(self.releases))

    def _cell(self, cell: Cell) -> Cell:
        if isinstance(cell, int | float) and not isinstance(cell, bool):
            return self.change(cell)
        return cell
