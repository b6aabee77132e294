"""An attack in a student's file, played from the process that has the data and the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from dpdb.lab.attack import Attack, Guess
from dpdb.lab.classroom.messages import (
    STORY,
    CountRight,
    Deal,
    DescribeFile,
    Description,
    Run,
    Unfit,
    description,
    from_json,
    plain,
    scenario,
)
from dpdb.lab.classroom.process import NOWHERE, StudentProcess
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
    """An attack whose `run` is a student's.

    It is played in `player`, a process that never had the data or the truth. They come from
    the `referee`: from another process that runs the same file, or from an attack of the catalogue.
    """

    def __init__(self, name: str, told: Description, referee: Referee, player: StudentProcess):
        self._name, self._referee, self._player = name, referee, player
        self.title = told.story.get("title", name)
        self.source = told.story.get("source", f"{name}.py")
        self.secret, self.idea, self.remedy = (
            told.story.get(part, "") for part in ("secret", "idea", "remedy")
        )
        self.queries, self.trials = told.queries, told.trials
        self.off, self.foils = told.off, told.foils
        self.worlds, self.distance = told.worlds, told.distance

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self._name

    def scenario(self, rng: np.random.Generator) -> Scenario:
        return self._referee.scenario(rng)

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        done = self._player.ask(Run(_seed(rng)), session)

        def guess() -> Guess:
            return Guess(from_json(done["value"]), str(done["because"]))

        return checked(self._player, guess)

    def score(self, guess: object, truth: object) -> tuple[int, int]:
        try:
            return self._referee.score(guess, truth)
        except (AssertionError, ArithmeticError, LookupError, TypeError, ValueError):
            # An attack of the catalogue counts on guesses of the kind that it makes itself.
            raise self._player.error("its guess is not of the kind that is asked for") from None


class Dealer:
    """The scenarios and the score of a student's own game, from a process that does not play."""

    def __init__(self, process: StudentProcess):
        self._process = process

    def scenario(self, rng: np.random.Generator) -> Scenario:
        """Data and a secret."""
        dealt = self._process.ask(Deal(_seed(rng)))
        return checked(self._process, lambda: scenario(dealt))

    def score(self, guess: object, truth: object) -> tuple[int, int]:
        """Number of right guesses, and of all guesses."""
        return checked(self._process, lambda: self._counted(guess, truth))

    def _counted(self, guess: object, truth: object) -> tuple[int, int]:
        match self._process.ask(CountRight(plain(guess), plain(truth))):
            case [int(hits), int(tries)] if 0 <= hits <= tries and 0 < tries <= MOST_GUESSES:
                return hits, tries
        raise Unfit(
            "score returns (right guesses, guesses), two whole numbers, "
            f"the second from 1 to {MOST_GUESSES}"
        )


@contextmanager
def opened(
    path: Path, seconds: int, *, task: Attack | None = None, shown: int = NOWHERE
) -> Iterator[Attack]:
    """The attack in a file; with `task`, its data, secret and score are those of that attack."""
    with ExitStack() as processes:

        def started() -> StudentProcess:
            return processes.enter_context(StudentProcess(path, seconds, shown))

        player = started()
        described = player.ask(DescribeFile())
        told = checked(player, lambda: description(described))
        if task is None:
            yield AttackFile(path.stem, told, Dealer(started()), player)
        else:
            yield AttackFile(path.stem, of_task(told, task), task, player)


def of_task(told: Description, task: Attack) -> Description:
    """The description of a task; of the student's there is only the number of queries left."""
    return Description(
        story={part: getattr(task, part) for part in STORY},
        queries=told.queries,
        trials=task.trials,
        worlds=task.worlds,
        distance=task.distance,
        off=task.off,
        foils=(),
    )


def checked(process: StudentProcess, read: Callable[[], T]) -> T:
    """The result of `read` on a message; a wrong message is an error in the student's file."""
    try:
        return read()
    except Unfit as unfit:
        raise process.error(str(unfit)) from None
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise process.error("it sent what cannot be read") from None


def _seed(rng: np.random.Generator) -> int:
    """A seed for another process, from which nothing follows about the seeds of this one."""
    return int(rng.integers(2**62))
