"""Answers with other numbers in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dpdb.answers.answer import Answer
from dpdb.answers.record import Cell, ReleaseReport
from dpdb.lab.database import Database


@dataclass(frozen=True)
class Altered:
    """A database whose numbers are changed on the way out."""

    database: Database
    change: Callable[[float], float]
    drawn: tuple[ReleaseReport, ...] = ()
    """What the answers say of their noise."""

    def execute(self, text: str) -> Answer:
        """Answer one statement."""
        answer = self.database.execute(text)
        if not answer.query:
            return answer
        rows = tuple(tuple(map(self._cell, row)) for row in answer.rows)
        return replace(answer, rows=rows, releases=self.drawn)

    def _cell(self, cell: Cell) -> Cell:
        if isinstance(cell, int | float) and not isinstance(cell, bool):
            return self.change(cell)
        return cell
