"""What an attack is: a guess at a secret, made with nothing but SQL.

An attack's file holds one class. `scenario` invents the data and keeps the
truth for scoring; `run` is given a database to ask and nothing else. It may
import from here, `dpdb.lab.database`, `dpdb.lab.scenario`, `dpdb.lab.controls`,
`dpdb.lab.mistakes` and `dpdb.lab.least_squares`, and nothing of dpdb below the session: a test
sees to that.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from dpdb.errors import UsageError
from dpdb.lab.database import Database
from dpdb.lab.defences import Defence, Protected, Unprotected
from dpdb.lab.scenario import DataFile, Scenario
from dpdb.lab.transcript import Guess

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.plots.figures import Figure
    from dpdb.lab.transcript import Showing

PROTECTED_AT = (0.1, 1.0, 5.0)
"""The privacy losses at which an attack is tried unless other ones are asked for."""


Scenes = Callable[["np.random.Generator"], Scenario]
"""Where scenarios come from."""


class Attack(ABC):
    """An attack, its story, and the game that it is scored by."""

    place: ClassVar[int] = 99
    """Where it stands in the list."""
    title: ClassVar[str]
    source: ClassVar[str]
    """Who described it."""
    secret: ClassVar[str]
    idea: ClassVar[str]
    stopped: ClassVar[str]
    """What differential privacy does about it, and what it does not."""
    further: ClassVar[tuple[str, ...]] = ()
    """What to try next."""

    queries: ClassVar[int] = 1
    """The query limit of protected sessions: each query gets ε divided by this."""
    trials: ClassVar[int] = 200
    off: ClassVar[Defence] = Unprotected()
    foils: ClassVar[tuple[Defence, ...]] = ()
    """Other defences, which should have stopped it and do not."""
    worlds: int | None = 2
    """How many truths the scenario draws from, all alike; None if that is not the game."""
    distance: ClassVar[int] = 1
    """How many privacy units differ between two of these worlds."""

    @property
    def name(self) -> str:
        """By which the command line knows it: its file's."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    @abstractmethod
    def scenario(self, rng: np.random.Generator) -> Scenario:
        """Data and a secret, drawn anew for each trial."""

    @abstractmethod
    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        """Guess the secret; all that may be done with the session is to execute SQL."""

    def score(self, guess: object, truth: object) -> tuple[int, int]:
        """How many guesses were right, of how many."""
        return int(guess == truth), 1

    def figures(self, showings: Sequence[Showing]) -> Sequence[Figure]:
        """Pictures of what happened in the runs shown, beside the success rates."""
        return ()

    def on(self, file: DataFile) -> tuple[Attack, Scenes]:
        """The attack and its scenarios on a file of one's own, where it suits any file."""
        raise UsageError(
            f"{self.name} makes its own data, and cannot be tried on {file.table.name}",
            hint="--data goes with differencing and membership",
        )

    def defences(self, epsilons: Sequence[float] = PROTECTED_AT) -> tuple[Defence, ...]:
        """What the attack is tried against, in the order of the story."""
        protected = (Protected(epsilon, self.queries) for epsilon in epsilons)
        return self.off, *self.foils, *protected

    @property
    def baseline(self) -> float | None:
        """The success rate of a guess without any answer."""
        return None if self.worlds is None else 1 / self.worlds

    def ceiling(self, epsilon: float) -> float | None:
        """The highest success rate that ε-differential privacy allows.

        With m worlds all alike, d units apart, no answer is more than e^(dε)
        times as likely in one as in another, so the best guess is right with
        probability at most e^(dε) / (e^(dε) + m - 1); for membership, with
        m = 2 and d = 1, that is e^ε / (1 + e^ε).
        """
        if self.worlds is None:
            return None
        return 1 / (1 + (self.worlds - 1) * math.exp(-epsilon * self.distance))
