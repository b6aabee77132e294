"""Trials of an attack: the first run is shown, and a success rate is known or counted.

A rate is worked out from the noise where the attack knows how, and otherwise counted: in trials
of a fast model of the database if there is one, in runs against the database itself if not. Runs
can be asked for in any case.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dpdb.answers.answer import Answer
from dpdb.errors import DpdbError
from dpdb.lab.attack import Attack, Scales, Scenes
from dpdb.lab.binomial import interval
from dpdb.lab.database import Database, Refused
from dpdb.lab.defences import Defence
from dpdb.lab.transcript import Exchange, Showing
from dpdb.records import dataclass

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


class Known(StrEnum):
    """How a success rate is known."""

    EXACT = "exact"
    """Worked out from the noise."""
    MODEL = "model"
    """Counted in trials of a model of the database."""
    RUNS = "runs"
    """Counted in runs against the database."""


@dataclass(frozen=True)
class Rate:
    """The success rate of an attack against one defence."""

    defence: Defence
    rate: float
    low: float
    high: float
    """The ends of the 95 % interval; the rate itself where that is exact."""
    known: Known
    hits: int | None = None
    tries: int | None = None
    """The right guesses and all guesses; None where none was counted."""
    ceiling: float | None = None
    """The highest rate that the ε claimed by the defence allows; None if there is none."""

    @classmethod
    def exact(cls, defence: Defence, rate: float) -> Rate:
        """A rate that is worked out."""
        return cls(defence, rate, rate, rate, Known.EXACT)

    @classmethod
    def counted(cls, defence: Defence, hits: int, tries: int, known: Known = Known.RUNS) -> Rate:
        """A rate with its interval."""
        return cls(defence, hits / tries, *interval(hits, tries), known, hits, tries)


@dataclass(frozen=True)
class Trials:
    """An attack against each of its defences: the first run of each, and the rates."""

    attack: Attack
    number: int | None
    """How many runs were asked for."""
    seed: int
    showings: tuple[Showing, ...]
    rates: tuple[Rate, ...]


def run_trials(
    attack: Attack,
    defences: Sequence[Defence],
    number: int | None,
    seed: int,
    *,
    scenes: Scenes | None = None,
    progress: Progress | None = None,
) -> Trials:
    """Try `attack` on each of `defences`; trial i draws the same secret for all.

    With a `number`, so many runs against the database are counted. Without, rates are as exact as
    they can be had.
    """
    scenes = scenes or attack.scenario
    showings, rates = [], []
    with TemporaryDirectory(prefix="dpdb-lab-") as directory:
        for defence in defences:
            if progress:
                progress(attack, defence)
            game = Game(attack, scenes, defence)
            first = run_once(game, Path(directory), seed, 0)
            rate = None if number else known_rate(attack, defence, scales(first), seed)
            if rate is None:
                rate = _counted(game, first, number or attack.trials, Path(directory), seed)
            ceiling = None if defence.epsilon is None else attack.ceiling(defence.epsilon)
            showings.append(first)
            rates.append(replace(rate, ceiling=ceiling))
    return Trials(attack, number, seed, tuple(showings), tuple(rates))


def scales(showing: Showing) -> Scales:
    """The noise of the run: a scale for each release of each answer that was not a repeat."""
    answers = [exchange.answer for exchange in showing.exchanges if exchange.answer is not None]
    releases = [r for answer in answers if not answer.repeat for r in answer.releases]
    return [float(release.scale) for release in releases if release.scale is not None]


def known_rate(attack: Attack, defence: Defence, noise: Scales, seed: int) -> Rate | None:
    """The rate, worked out or counted in trials of a model; None where there is neither."""
    chance = attack.chance(defence, noise)
    if chance is not None:
        return Rate.exact(defence, chance)
    trials = attack.model_trials
    rng = _generator(seed, 0, attack.name, defence.label, "model")
    hits = attack.simulate(defence, noise, rng, trials)
    if hits is None:
        return None
    return Rate.counted(defence, hits, trials * attack.guesses, Known.MODEL)


def _counted(game: Game, first: Showing, number: int, directory: Path, seed: int) -> Rate:
    """The rate in `number` runs, of which the first has been made."""
    hits, tries = first.hits, first.tries
    for trial in range(1, number):
        again = run_once(game, directory, seed, trial)
        hits, tries = hits + again.hits, tries + again.tries
    return Rate.counted(game.defence, hits, tries)


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
