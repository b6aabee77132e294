"""What a run of the command line leaves behind, and statements that it is often asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.csv"
COUNT = "SELECT COUNT(*) FROM people"
MEAN = "SELECT AVG(income) FROM people WHERE age >= 40"
Make = Callable[..., Path]
"""Of the fixture `make`: content, policy and name to the path of a CSV file."""


@dataclass(frozen=True)
class Ran:
    """What a run of the command line left behind."""

    code: int
    out: str
    err: str

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The lines of `--json`."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def rows(self) -> list[list[Any]]:
        """The rows of the only answer."""
        [answer] = self.answers
        return answer["rows"]


Run = Callable[..., Ran]
"""Of the fixture `run`: words of the command line to what they leave behind."""
