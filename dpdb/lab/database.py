"""A database as an attacker sees it: SQL goes in, and an answer comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dpdb.answers.answer import Answer


class Refused(Exception):
    """The database refuses a statement, because of its policy, its budget or its control."""


class Database(Protocol):
    """A `Session`, or something with the same one method."""

    def execute(self, text: str) -> Answer:
        """Answer one statement; for an attack, any refusal is raised as `Refused`."""
        ...


def number(answer: Answer, row: int = 0, column: int = 0) -> float:
    """A cell of an answer as a number; NULL is 0."""
    cell = answer.rows[row][column]
    return float(cell) if isinstance(cell, int | float) else 0.0
