"""An attack in a student's file, played from the process that has the data and the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from dpdb.lab.attack import Attack, Guess
from dpdb.lab.classroom.box import NOWHERE, Box, Process, StudentFile
from dpdb.lab.classroom.messages import (
    LONGEST,
    LONGEST_TEXT,
    OF_THE_WAY,
    Fields,
    Unfit,
    description,
    plain,
    scenario,
    text_of,
)
from dpdb.lab.database import Database
from dpdb.lab.scenario import Scenario

if TYPE_CHECKING:
    import numpy as np


T = TypeVar("T")
MOST_GUESSES = 1000
"""In one run. Intervals of success rates take time that grows with all guesses."""


class Referee(Protocol):
    """A source of secrets that counts right guesses; any `Attack` is one."""

    def scenario(self, rng: np.random.Generator) -> Scenario: ...

    def score(self, guess: object, truth: object) -> tuple[int, int]: ...


class AttackFile(Attack):
    """An attack that a student's file runs.

    Each run is in a new process of the `box`, which never has the data or the truth. They come
    from the `referee`: an attack of the catalogue, or the same file in another box.
    """

    def __init__(self, told: Fields, referee: Referee, box: Box):
        """`told` are the attributes of an attack that have a value of their own."""
        self._name, self._referee, self._box = box.file.name, referee, box
        vars(self).update(told)
        self.title, self.source = self.title or self._name, self.source or f"{self._name}.py"

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self._name

    def scenario(self, rng: np.random.Generator) -> Scenario:
        return self._referee.scenario(rng)

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        with self._box.process() as player:
            done = player.ask(["run", _seed(rng)], session)

        def guess() -> Guess:
            because = text_of(done["because"], "because")
            return Guess(plain(done["value"]), because[:LONGEST_TEXT])

        return checked(self._box.file, guess)

    def score(self, guess: object, truth: object) -> tuple[int, int]:
        try:
            return self._referee.score(guess, truth)
        except (AssertionError, ArithmeticError, LookupError, TypeError, ValueError):
            # An attack of the catalogue counts on guesses of the kind that it makes itself.
            raise self._box.file.error("its guess is not of the kind that is asked for") from None


class Dealer:
    """The scenarios and the score of a student's own game, from a process that does not play."""

    def __init__(self, file: StudentFile, process: Process):
        self._file, self._process = file, process

    def scenario(self, rng: np.random.Generator) -> Scenario:
        """Data and a secret."""
        dealt = self._process.ask(["deal", _seed(rng)], longest=LONGEST)
        return checked(self._file, lambda: scenario(dealt))

    def score(self, guess: object, truth: object) -> tuple[int, int]:
        """Number of right guesses, and of all guesses."""
        return checked(self._file, lambda: self._counted(guess, truth))

    def _counted(self, guess: object, truth: object) -> tuple[int, int]:
        match self._process.ask(["count", plain(guess), plain(truth)]):
            case [int(hits), int(tries)] if 0 <= hits <= tries and 0 < tries <= MOST_GUESSES:
                return hits, tries
        raise Unfit(
            "score returns (right guesses, guesses), two whole numbers, "
            f"the second from 1 to {MOST_GUESSES}"
        )


@contextmanager
def opened(
    file: StudentFile, seconds: int, *, task: Attack | None = None, shown: int = NOWHERE
) -> Iterator[Attack]:
    """The attack in a file; with `task`, its data, secret and score are those of that attack."""
    with ExitStack() as boxes:
        box = boxes.enter_context(Box(file, seconds, shown))
        with box.process() as process:
            described = process.ask(["describe"])
        told = checked(file, lambda: description(described))
        if task is None:
            other = boxes.enter_context(Box(file, seconds, shown))
            dealer = Dealer(file, boxes.enter_context(other.process()))
            yield AttackFile(told, dealer, box)
        else:
            yield AttackFile(of_task(told, task), task, box)


def of_task(told: Fields, task: Attack) -> Fields:
    """The attributes of a task; of the student's there are the way to ask and its queries left."""
    of_the_way = (*OF_THE_WAY, "queries")
    own = {part: getattr(task, part) for part in told if part not in of_the_way}
    return {**told, **own, "foils": ()}


def checked(file: StudentFile, read: Callable[[], T]) -> T:
    """The result of `read` on a message; a wrong message is an error in the student's file."""
    try:
        return read()
    except Unfit as unfit:
        raise file.error(str(unfit)) from None
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise file.error("it sent what cannot be read") from None


def _seed(rng: np.random.Generator) -> int:
    """A seed for another process, from which nothing follows about the seeds of this one."""
    return int(rng.integers(2**62))
