"""Trials of an attack: the first run is shown, and all are counted."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dpdb.answers.answer import Answer
from dpdb.errors import DpdbError
from dpdb.lab.attack import Attack, Scenes
from dpdb.lab.binomial import interval
from dpdb.lab.database import Database, Refused
from dpdb.lab.defences import Defence
from dpdb.lab.transcript import Exchange, Showing

Progress = Callable[[Attack, Defence], None]


@dataclass
class Wire:
    """The database that an attack gets: it answers statements and records every exchange."""

    _database: Database
    exchanges: list[Exchange] = field(default_factory=list)

    def execute(self, text: str) -> Answer:
        """Answer one statement, or raise `Refused`."""
        try:
            answer = self._database.execute(text)
        except DpdbError as error:
            self.exchanges.append(Exchange(text, None, error.message))
            raise Refused(error.message) from None
        self.exchanges.append(Exchange(text, answer))
        return answer


@dataclass(frozen=True)
class Game:
    """An attack, its scenarios and the defence that it is tried against."""

    attack: Attack
    scenes: Scenes
    defence: Defence


@dataclass(frozen=True)
class Rate:
    """The success rate of an attack against one defence."""

    defence: Defence
    hits: int
    tries: int
    low: float
    high: float
    """The ends of the 95 % interval."""
    ceiling: float | None
    """The highest rate that the ε claimed by the defence allows; None if there is none."""

    @property
    def rate(self) -> float:
        """The share of guesses that were right."""
        return self.hits / self.tries


@dataclass(frozen=True)
class Trials:
    """An attack against each of its defences: the first run of each, and the rates."""

    attack: Attack
    number: int
    seed: int
    showings: tuple[Showing, ...]
    rates: tuple[Rate, ...]


def run_trials(
    attack: Attack,
    defences: Sequence[Defence],
    number: int,
    seed: int,
    *,
    scenes: Scenes | None = None,
    progress: Progress | None = None,
) -> Trials:
    """Try `attack` on each of `defences`; trial i draws the same secret for all."""
    scenes = scenes or attack.scenario
    showings, rates = [], []
    with TemporaryDirectory(prefix="dpdb-lab-") as directory:
        for defence in defences:
            if progress:
                progress(attack, defence)
            game = Game(attack, scenes, defence)
            first = run_once(game, Path(directory), seed, 0)
            hits, tries = first.hits, first.tries
            for trial in range(1, number):
                again = run_once(game, Path(directory), seed, trial)
                hits, tries = hits + again.hits, tries + again.tries
            showings.append(first)
            ceiling = None if defence.epsilon is None else attack.ceiling(defence.epsilon)
            rates.append(Rate(defence, hits, tries, *interval(hits, tries), ceiling))
    return Trials(attack, number, seed, tuple(showings), tuple(rates))


def run_once(game: Game, directory: Path, seed: int, trial: int) -> Showing:
    """One run: a scenario is drawn, a session opened, and the attack guesses once."""
    attack, defence = game.attack, game.defence
    scenario = game.scenes(_generator(seed, trial, attack.name, "scenario"))
    noise = int(_generator(seed, trial, attack.name, defence.label).integers(2**62))
    wire = Wire(defence.open(scenario, directory, noise))
    guess = attack.run(wire, _generator(seed, trial, attack.name, "attack"))
    hits, tries = attack.score(guess.value, scenario.truth)
    return Showing(defence, tuple(wire.exchanges), guess, scenario.truth, hits, tries)


def _generator(seed: int, trial: int, *purpose: str) -> np.random.Generator:
    """A generator of random numbers for one purpose; the same arguments give the same numbers."""
    return np.random.default_rng([seed, trial, *(zlib.crc32(word.encode()) for word in purpose)])
