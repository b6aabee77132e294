"""What an attacker holds of a database: a way to ask, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dpdb.answers.answer import Answer


class Refused(Exception):
    """The database does not answer this: outside the policy, the budget or its control."""


class Database(Protocol):
    """A `Session`, or something that looks like one: text goes in, an answer comes out."""

    def execute(self, text: str) -> Answer:
        """Answer one statement; where an attack asks, what fails is `Refused`."""
        ...


def number(answer: Answer, row: int = 0, column: int = 0) -> float:
    """A cell of an answer as a number; NULL is 0."""
    cell = answer.rows[row][column]
    return float(cell) if isinstance(cell, int | float) else 0.0
