"""The budget that belongs to the data rather than to a session, as a policy names it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

SUFFIX = ".ledger"
LONGEST_NAME = 100


@dataclass(frozen=True)
class LastingBudget:
    """A named budget: what is spent of it is kept in a ledger, a file, for good."""

    name: str
    ledger: Path
    queries_in_all: int | None = None
    """The most queries of all sessions together; None where only each session has a limit."""
    analysts: tuple[tuple[str, Fraction], ...] | None = None
    """For each analyst the most ε of the whole; None where anyone may ask for all of it."""
    anchor: Path | None = None
    """A file elsewhere that tells an older copy of the ledger; None where there is none."""
    window: int | None = None
    """After how many days the budget is renewed; None where it is for good."""

    @property
    def duration(self) -> str:
        """How long one ε has to last, in words."""
        match self.window:
            case None:
                return "for good"
            case 1:
                return "every day"
        return f"every {self.window} days"


def is_name(text: object) -> bool:
    """Whether a text can be the name of a budget, or of an analyst."""
    return isinstance(text, str) and 0 < len(text) <= LONGEST_NAME and text.isprintable()
