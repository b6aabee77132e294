"""An attack: a guess at a secret, made with nothing but SQL.

An attack is a class. Its `scenario` invents the data and keeps the truth for scoring; its `run`
gets a database to ask and nothing else. Its file may import this module, `dpdb.lab.database`,
`dpdb.lab.scenario`, `dpdb.lab.foils` and what is in `dpdb.lab.attacks`, but nothing of dpdb below
the session; a test checks that.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from dpdb.answers.answer import Answer
from dpdb.errors import UsageError
from dpdb.lab.database import Database, Defence, Protected, Unprotected
from dpdb.lab.scenario import DataFile, Scenario
from dpdb.records import dataclass

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.figures import Figure


@dataclass(frozen=True)
class Guess:
    """The attacker's guess, and how it follows from the answers."""

    value: object
    because: str


@dataclass(frozen=True)
class Exchange:
    """A statement and its answer, or the reason of its refusal."""

    sql: str
    answer: Answer | None
    refusal: str | None = None


@dataclass(frozen=True)
class Showing:
    """A run of an attack against a defence, with the truth beside the guess."""

    defence: Defence
    exchanges: tuple[Exchange, ...]
    guess: Guess
    truth: object
    hits: int
    tries: int


PROTECTED_AT = (0.1, 1.0, 5.0)
"""The ε at which an attack is tried, unless others are given."""


Scenes = Callable[["np.random.Generator"], Scenario]
"""Draws a scenario with a generator of random numbers."""

Scales = Sequence[float]
"""The scale of the noise of each release that an attack's questions are answered with, in turn.

Exact answers have no scale.
"""


@dataclass(frozen=True)
class StudentTask:
    """Something for a class to try, with the solution that the teacher's page has."""

    question: str
    solution: str
    answer: float | None = None
    """The number that is asked for, if it is one; a share in per cent."""
    near: float = 0.5
    """The distance from the answer within which a number is right."""


class Attack(ABC):
    """An attack, its story, and the game by which it is scored."""

    place: ClassVar[int] = 99
    """Its place in the list of attacks."""
    title: str
    source: str
    """The paper or book that describes it."""
    secret: str
    idea: str
    remedy: str
    """The remedy: what differential privacy does about the attack, and what it does not."""
    tasks: tuple[StudentTask, ...] = ()
    """For a class to try next."""

    honest: str = ""
    """A question that harms nobody; the pages show how well it is answered at each ε."""
    notice: str = ""
    """Who may see the report; everybody, if it is empty."""
    queries: int = 1
    """The query limit of protected sessions: each query gets ε divided by this."""
    trials: int = 200
    """Number of runs if the success rate has to be counted."""
    model_trials: int = 10_000
    """Number of trials against a model of the database, if there is one."""
    guesses: int = 1
    """Number of guesses that a run makes."""
    off: Defence = Unprotected()
    foils: tuple[Defence, ...] = ()
    """Other defences, which should have stopped it and do not."""
    worlds: int | None = 2
    """The number of equally likely truths; None if the secret is not drawn from a list."""
    distance: int = 1
    """The number of privacy units in which two of these worlds differ."""

    @property
    def name(self) -> str:
        """The name on the command line: that of the class, in lower case with hyphens."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(self).__name__).lower()

    @abstractmethod
    def scenario(self, rng: np.random.Generator) -> Scenario:
        """Data and a secret, drawn anew for each trial."""

    @abstractmethod
    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        """Guess the secret; the session may be used only to execute SQL."""

    def score(self, guess: object, truth: object) -> tuple[int, int]:
        """Number of right guesses, and of all guesses."""
        return int(guess == truth), 1

    def chance(self, defence: Defence, scales: Scales) -> float | None:
        """The success rate, worked out from the noise; None if nobody has worked it out."""
        return None

    def simulate(
        self, defence: Defence, scales: Scales, rng: np.random.Generator, trials: int
    ) -> int | None:
        """The right guesses in so many trials of a model of the database; None without a model.

        The model answers as the defence does, without its SQL, and so many thousand times faster.
        """
        return None

    def figures(self, showings: Sequence[Showing]) -> Sequence[Figure]:
        """Pictures of what happened in the runs shown, beside the success rates."""
        return ()

    def on(self, file: DataFile) -> tuple[Attack, Scenes]:
        """The attack and its scenarios on a given file; an error if it needs its own data."""
        raise UsageError(
            f"{self.name} makes its own data, and cannot be tried on {file.table.name}",
            hint="--data goes with differencing and membership",
        )

    def defences(self, epsilons: Sequence[float] = PROTECTED_AT) -> tuple[Defence, ...]:
        """The defences that the attack is tried against, in the order of the story."""
        protected = (Protected(epsilon, self.queries) for epsilon in epsilons)
        return self.off, *self.foils, *protected

    @property
    def baseline(self) -> float | None:
        """The success rate of a guess without any answer."""
        return None if self.worlds is None else 1 / self.worlds

    def ceiling(self, epsilon: float) -> float | None:
        """The highest success rate that ε-differential privacy allows.

        Let m worlds be equally likely and d units apart. No answer is more than e^(dε) times as
        likely in one world as in another, so the best guess is right with probability at most
        e^(dε) / (e^(dε) + m - 1). For membership, where m = 2 and d = 1, that is e^ε / (1 + e^ε).
        """
        if self.worlds is None:
            return None
        return 1 / (1 + (self.worlds - 1) * math.exp(-epsilon * self.distance))
