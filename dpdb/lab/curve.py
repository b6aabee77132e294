"""What ε buys: the success of an attack at every ε, beside the error of an honest answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dpdb.lab.attack import Attack
from dpdb.lab.database import number
from dpdb.lab.defences import Protected, Unprotected
from dpdb.lab.scenario import Scenario
from dpdb.lab.transcript import Showing
from dpdb.lab.trial import known_rate, scales
from dpdb.records import dataclass

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0)


@dataclass(frozen=True)
class Point:
    """One ε."""

    epsilon: float
    rate: float
    """The success rate of the attack."""
    ceiling: float | None
    """The highest rate that ε allows."""
    error: float | None
    """By what part of it the honest answer, bought with all of ε, can be off (95 %)."""


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
        rates.append(rate.rate)
    return tuple(
        Point(epsilon, rate, attack.ceiling(epsilon), error)
        for epsilon, rate, error in zip(EPSILONS, rates, _errors(attack, seed), strict=True)
    )


def _errors(attack: Attack, seed: int) -> list[float | None]:
    """The relative error of the attack's honest question at each ε, if it has one."""
    if not attack.honest:
        return [None] * len(EPSILONS)
    scenario = attack.scenario(np.random.default_rng(seed))
    with TemporaryDirectory(prefix="dpdb-lab-") as folder:
        truth = number(Unprotected().open(scenario, Path(folder), 0).execute(attack.honest))
        return [_margin(attack.honest, scenario, epsilon, Path(folder)) / truth
                for epsilon in EPSILONS]  # fmt: skip


def _margin(honest: str, scenario: Scenario, epsilon: float, folder: Path) -> float:
    """How far the answer can be off, with 95 % probability: EXPLAIN says so."""
    database = Protected(epsilon, 1).open(scenario, folder, 0)
    [release] = database.execute(f"EXPLAIN {honest}").releases
    assert release.margin is not None
    return release.margin
