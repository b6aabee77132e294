"""Long checks in parts: each has a seed of its own and runs on whichever core is free."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

PART = 500
"""So many examples a part at most, unless a check says otherwise: some seconds' work."""
T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """Some of a check's examples, and the seed that they are drawn from."""

    seed: int
    examples: int

    def __str__(self) -> str:
        return f"seed {self.seed}"

    def each(self, examples: st.SearchStrategy[T], check: Callable[[T], None]) -> None:
        """Hold every example against `check`; one that fails is made smaller, and shown."""

        @seed(self.seed)
        @settings(
            max_examples=self.examples,
            database=None,
            derandomize=False,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(examples)
        def held(example: T) -> None:
            check(example)

        held()


def parts(examples: int, most: int = PART) -> list[Part]:
    """The parts of a check of so many examples: their seeds are 1, 2, …"""
    number = math.ceil(examples / most)
    return [Part(at + 1, min(most, examples - at * most)) for at in range(number)]
