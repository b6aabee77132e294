"""What a driver tells of a statement, in the same words for each driver."""

from __future__ import annotations

from typing import Any, NamedTuple


class Told(NamedTuple):
    """The answer to a statement."""

    labels: list[str]
    rows: list[Any]
    said: str = ""
    """The notices, with their details."""


class Refused(Exception):
    """An error: its SQLSTATE, its place in the statement, and its message with the hint."""

    def __init__(self, state: str | None, place: int | None, message: str):
        super().__init__(state, place, message)
        self.state, self.place, self.message = state, place, message
