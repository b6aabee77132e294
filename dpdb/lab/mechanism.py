"""A mechanism to be audited: a function of a list of values, which may draw random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dpdb.records import dataclass

if TYPE_CHECKING:
    import numpy as np

Values = Sequence[float]
Function = Callable[[list[float], float, "np.random.Generator"], object]
"""From values, ε and a generator of random numbers to a number, or a tuple of numbers."""


@dataclass(frozen=True)
class Mechanism:
    """A function that is said to be ε-differentially private."""

    function: Function
    epsilon: float = 1.0
    values: Values = (0, 1, 1, 0, 1, 1, 0, 1)
    """The last one is of the person who is there or not."""

    def outputs(self, runs: int, rng: np.random.Generator) -> list[list[object]]:
        """What comes out in so many runs: first with the person, then without."""
        return [
            [self.function(list(values), self.epsilon, rng) for _ in range(runs)]
            for values in (self.values, self.values[:-1])
        ]
