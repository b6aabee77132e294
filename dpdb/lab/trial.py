"""Trials of an attack: the first run is shown, and a success rate is known or counted.

A rate is worked out from the noise where the attack knows how, and otherwise counted: in trials
of a fast model of the database if there is one, in runs against the database itself if not. Runs
can be asked for in any case.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from dpdb.answers.answer import Answer
from dpdb.errors import DpdbError
from dpdb.lab.attack import Attack, Exchange, Scales, Scenes, Showing
from dpdb.lab.database import Database, Defence, Protected, Refused, Unprotected, number
from dpdb.records import dataclass


def interval(hits: int, tries: int, confidence: float = 0.95) -> tuple[float, float]:
    """The two-sided interval of Clopper and Pearson [CP34].

    At each end's rate, a number of hits at least as extreme as `hits` has the probability
    (1 - confidence) / 2.
    """
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _solve(lambda p: at_least(hits, tries, p) < tail)
    high = 1.0 if hits == tries else _solve(lambda p: 1 - at_least(hits + 1, tries, p) > tail)
    return low, high


def at_least(hits: int, tries: int, rate: float) -> float:
    """The probability of `hits` or more successes in `tries` at `rate`."""
    if hits <= 0 or rate >= 1:
        return 1.0
    if rate <= 0:
        return 0.0
    numbers = np.arange(hits, tries + 1)
    logs = _log_choose(tries)[hits:] + numbers * math.log(rate)
    logs += (tries - numbers) * math.log1p(-rate)
    return min(float(np.exp(logs).sum()), 1.0)


@lru_cache(maxsize=4)
def _log_choose(tries: int) -> npt.NDArray[np.float64]:
    """log C(tries, k) for every k."""
    logs = np.array([math.lgamma(k + 1) for k in range(tries + 1)])
    return np.asarray(logs[-1] - logs - logs[::-1])


def _solve(below: Callable[[float], bool]) -> float:
    """The rate at which `below` turns from true to false."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if below(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2


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
    """The source of a success rate."""

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
    """Number of runs that were asked for."""
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

    With a `number`, that many runs against the database are counted. Else rates are as exact as
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
    """The rate in `number` runs; `first` is the first of them."""
    hits, tries = first.hits, first.tries
    for trial in range(1, number):
        again = run_once(game, directory, seed, trial)
        hits, tries = hits + again.hits, tries + again.tries
    return Rate.counted(game.defence, hits, tries)


def run_once(game: Game, directory: Path, seed: int, trial: int) -> Showing:
    """A run: a scenario is drawn, a session opened, and the attack guesses once."""
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


EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0)


@dataclass(frozen=True)
class Point:
    """The success and the error at one ε."""

    epsilon: float
    rate: float
    """The success rate of the attack."""
    low: float
    high: float
    """The ends of the 95 % interval of the rate; the rate itself where that is exact."""
    ceiling: float | None
    """The highest rate that ε allows."""
    error: float | None
    """The relative error of the honest answer, bought with all of ε, at 95 %."""


def curve(attack: Attack, showings: Sequence[Showing], seed: int) -> tuple[Point, ...]:
    """A point for each of `EPSILONS`; none where rates can only be counted run by run.

    All noise of dpdb that the lab's attacks meet has a scale in inverse proportion to ε, so one
    private run tells the scales at every ε.
    """
    private = [showing for showing in showings if type(showing.defence) is Protected]
    if not private:
        return ()
    shown, known = private[0].defence.epsilon, scales(private[0])
    assert shown is not None
    rates = []
    for epsilon in EPSILONS:
        noise = [scale * shown / epsilon for scale in known]
        rate = known_rate(attack, Protected(epsilon, attack.queries), noise, seed)
        if rate is None:
            return ()
        rates.append(rate)
    return tuple(
        Point(epsilon, rate.rate, rate.low, rate.high, attack.ceiling(epsilon), error)
        for epsilon, rate, error in zip(EPSILONS, rates, _errors(attack, seed), strict=True)
    )


def _errors(attack: Attack, seed: int) -> list[float | None]:
    """The relative error of the attack's honest question at each ε, if it has one."""
    if not attack.honest:
        return [None] * len(EPSILONS)
    scenario = attack.scenario(np.random.default_rng(seed))
    with TemporaryDirectory(prefix="dpdb-lab-") as folder:
        truth = number(Unprotected().open(scenario, Path(folder), 0).execute(attack.honest))
        errors: list[float | None] = []
        for epsilon in EPSILONS:
            database = Protected(epsilon, 1).open(scenario, Path(folder), 0)
            [release] = database.execute(f"EXPLAIN {attack.honest}").releases
            assert release.margin is not None
            errors.append(release.margin / truth)
        return errors
