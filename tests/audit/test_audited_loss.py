"""The loss that can be seen in draws from neighbouring files is never above the charge.

An event that is likely on one and not on the other gives a lower bound of ε (Clopper and Pearson
1934). Each audit is shown noise of half the scale, too, which it has to catch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest

from dpdb.answers.estimates import point
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.protocol import Exact
from dpdb.plan.logical.query import NO_OPTIONS, Options
from dpdb.plan.physical.plan import Plan
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.privacy.noise import exponential
from dpdb.session.purchases.executor import Executor
from dpdb.vectors.vector import Vector
from tests.support.audited import COLUMNS, Draws, noise
from tests.support.brute import ADD_REMOVE, REPLACE, Row, World, world

pytestmark = pytest.mark.usefixtures("in_memory")

ALPHA = 1e-6


@pytest.fixture(scope="module", autouse=True)
def _weighed_once() -> Iterator[None]:
    """The weights that a value is selected by follow from the table: all draws have the same."""
    weigh = exponential.pieces
    known: dict[object, Any] = {}

    def pieces(values: Any, *rest: Any) -> Any:
        asked = (tuple(values.tolist()), *rest)
        if asked not in known:
            known[asked] = weigh(values, *rest)
        return known[asked]

    with mock.patch.object(exponential, "pieces", pieces):
        yield


# ------------------------------------------------------------------------- the lower bound


def log_tails(successes: int, trials: int, probability: float) -> float:
    """log P(X >= successes) for a binomial X, summed from its terms."""
    k = np.arange(successes, trials + 1)
    terms = (
        _LOG_FACTORIAL[trials]
        - _LOG_FACTORIAL[k]
        - _LOG_FACTORIAL[trials - k]
        + k * math.log(probability)
        + (trials - k) * math.log1p(-probability)
    )
    largest = terms.max()
    return float(largest + math.log(np.exp(terms - largest).sum()))


TRIALS = 20_000
_LOG_FACTORIAL = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, 4 * TRIALS + 1)))))


def at_least(successes: int, trials: int, alpha: float) -> float:
    """The Clopper-Pearson lower bound: the largest p at which so many are that unlikely."""
    if successes == 0:
        return 0.0
    low, high = 0.0, successes / trials
    for _ in range(50):
        middle = (low + high) / 2
        if log_tails(successes, trials, middle) < math.log(alpha):
            low = middle
        else:
            high = middle
    return low


def at_most(successes: int, trials: int, alpha: float) -> float:
    return 1 - at_least(trials - successes, trials, alpha)


def epsilon_at_least(event: Draws, neighbours: Draws) -> float:
    """A lower bound on ε from how often an event fixed beforehand happened on two tables.

    With probability at least 1 - ALPHA it is right, as both bounds are: P >= p and Q <= q, so
    that ε >= ln(P/Q) >= ln(p/q).
    """
    p = at_least(int(event.sum()), len(event), ALPHA / 2)
    q = at_most(int(neighbours.sum()), len(neighbours), ALPHA / 2)
    return math.log(p / q) if p > 0 else 0.0


def audit(sample: Callable[[int, int], Draws], trials: int = TRIALS) -> float:
    """The best lower bound on ε over thresholds, which are chosen on draws of their own.

    `sample(table, number)` draws outputs on one of two neighbouring tables. The events are
    "above" or "below" a threshold, either table in the numerator.
    """
    draws = [sample(table, trials).astype(np.float64) for table in (0, 1)]
    thresholds = np.unique(np.quantile(np.concatenate(draws), np.linspace(0.01, 0.99, 99)))
    best, choice = -math.inf, None
    for threshold in thresholds.tolist():
        for sign in (1, -1):
            rates = [np.mean(sign * each >= sign * threshold) + 1 / trials for each in draws]
            for numerator in (0, 1):
                # What the interval will cost, roughly: five standard deviations.
                value = math.log(rates[numerator] / rates[1 - numerator]) - 5 * sum(
                    math.sqrt((1 - min(rate, 1)) / rate / trials) for rate in rates
                )
                if value > best:
                    best, choice = value, (threshold, sign, numerator)
    assert choice is not None
    threshold, sign, numerator = choice
    fresh = [sample(table, 2 * trials).astype(np.float64) for table in (0, 1)]
    happened = [sign * each >= sign * threshold for each in fresh]
    return epsilon_at_least(happened[numerator], happened[1 - numerator])


def test_clopper_and_pearson() -> None:
    """Their defining equation, a case with a closed form, and a value from published tables."""
    for successes, trials in ((1, 10), (70, 100), (5000, 20_000), (10, 10)):
        bound = at_least(successes, trials, 0.025)
        assert math.isclose(log_tails(successes, trials, bound), math.log(0.025), abs_tol=1e-6)
    assert math.isclose(at_least(10, 10, 0.05), 0.05 ** (1 / 10), rel_tol=1e-9)
    assert math.isclose(at_most(0, 10, 0.05), 1 - 0.05 ** (1 / 10), rel_tol=1e-9)
    assert at_least(0, 10, 0.05) == 0
    assert math.isclose(at_least(8, 10, 0.025), 0.4439, abs_tol=5e-5)
    assert math.isclose(at_most(8, 10, 0.025), 0.9748, abs_tol=5e-5)


def test_the_audit_finds_what_is_there() -> None:
    """Randomised response tells the truth with odds e^ε: the bound is below ε, and close."""
    random = np.random.default_rng(1)
    for epsilon in (0.5, 1.0, 2.0):
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))

        def respond(table: int, number: int, truth: float = truth) -> Draws:
            return (random.random(number) < (truth if table else 1 - truth)).astype(np.int64)

        assert 0.85 * epsilon < audit(respond) <= epsilon


# ------------------------------------------------------------------------- audits


def halved(planned: Plan) -> Plan:
    """A broken plan: all noise at half the scale, selections with twice the weight."""
    releases = tuple(
        replace(
            release, mechanism=replace(release.mechanism, epsilon=2 * release.mechanism.epsilon)
        )
        for release in planned.releases
    )
    return replace(planned, releases=releases)


def sampler(
    here: World, planned: Plan, tables: tuple[list[Row], list[Row]], seed: int
) -> Callable[[int, int], Draws]:
    """Draws the query's answer many times: exact results once, then noise and post-processing.

    A query of one cell, so that many draws can be post-processed like many cells.
    """
    exact = [here.exact(planned, rows) for rows in tables]
    releaser = Executor(MemoryEngine(None), noise(seed), teach=False, reading=nullcontext)
    [estimate] = planned.estimates

    def sample(table: int, number: int) -> Draws:
        draws = []
        for release, cells in zip(planned.releases, exact[table], strict=True):
            [cell] = cells
            selected = isinstance(release.mechanism, Exponential)
            many = Exact([cell] * number if selected else np.array([cell] * number))
            draws.append(releaser._draw(release, many, np.zeros(0)))
        found = point(estimate, planned, draws)
        assert isinstance(found, Vector)
        assert found.null is None
        return found.values

    return sample


def column(name: str, lower: int, upper: int) -> Column:
    return Column(name, Kind.INTEGER, Fraction(lower), Fraction(upper))


def rows(*cells: object) -> list[Row]:
    return [(str(cell),) for cell in cells]


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables, and how much of ε the best threshold is sure to show."""

    sql: str
    relation: Neighbors
    one: list[Row]
    other: list[Row]
    power: float
    broken: float = 0
    """How many ε are sure to show with noise of half the scale; 0 if none above ε."""
    epsilon: int = 1
    trials: int = TRIALS
    options: Options = NO_OPTIONS

    def __str__(self) -> str:
        noise = self.options.mechanism or ""
        return f"{noise} {self.sql[7:-7]} {self.relation} {len(self.one)} {len(self.other)}"

    def audited(
        self, seed: int, breaking: Callable[[Plan], Plan] = lambda planned: planned
    ) -> float:
        """The lower bound found, in units of the charge."""
        here = world([column("x", -2, 5)], self.relation)
        planned = here.plan(
            self.sql, Fraction(self.epsilon), rows=len(self.one), options=self.options
        )
        assert planned.loss.epsilon == self.epsilon
        sample = sampler(here, breaking(planned), (self.one, self.other), seed)
        return audit(sample, self.trials) / self.epsilon


FEW = 4000
BY_L1 = [Options(mechanism=kind) for kind in NoiseKind if not kind.is_euclidean]
"""Every noise without δ; `test_hockey_stick.py` has the rest."""
PAIRS = [
    Pair("SELECT COUNT(*) FROM t", ADD_REMOVE, rows(), rows(5), 0.9, 1.5),
    Pair("SELECT COUNT(x) FROM t", ADD_REMOVE, rows("", ""), rows("", "", 5), 0.9, 1.5),
    Pair("SELECT COUNT(*) FROM t WHERE x > 0", REPLACE, rows(0), rows(5), 0.9, 1.5),
    Pair("SELECT COUNT(DISTINCT x) FROM t", ADD_REMOVE, rows(5, 5), rows(5, 5, 3), 0.9, 1.5),
    Pair("SELECT SUM(x) FROM t", ADD_REMOVE, rows(), rows("1e9"), 0.9, 1.5),
    *(Pair("SELECT SUM(x) FROM t", ADD_REMOVE, rows(), rows(5), 0.9, 1.5, options=each)
      for each in BY_L1),
    *(Pair("SELECT SUM(x) FROM t", REPLACE, rows(-2, ""), rows(5, ""), 0.9, 1.5, options=each)
      for each in BY_L1),
    Pair("SELECT AVG(COALESCE(x, 0)) FROM t", REPLACE, rows(5, 1), rows(-2, 1), 0.9, 1.5),
    # Neither sum nor count is seen alone, so that less than their ε shows.
    Pair("SELECT AVG(x) FROM t", ADD_REMOVE, rows(), rows(5), 0.3),
    Pair("SELECT AVG(x) FROM t", ADD_REMOVE, rows(5), rows(5, -2), 0.3),
    Pair("SELECT VAR_POP(x) FROM t", ADD_REMOVE, rows(1), rows(1, 5), 0.2),
    # The worst threshold for tables of up to five values; MAX and MIN use half of their ε.
    Pair("SELECT MEDIAN(x) FROM t", ADD_REMOVE, rows(-2), rows(-2, 3), 0.5, 1.1, 2, FEW),
    Pair("SELECT MEDIAN(x) FROM t", REPLACE, rows(-2, -1), rows(-1, 5), 0.5, 0, 2, FEW // 2),
    Pair("SELECT MAX(x) FROM t", ADD_REMOVE, rows(0, 1, 5), rows(0, 1, 3, 5), 0.2, 0, 4, FEW),
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_audit(pair: Pair) -> None:
    """No more than the charge is found, and no less than is known to be there."""
    assert pair.power < pair.audited(seed=1) <= 1


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.broken], ids=str)
def test_the_audit_catches_noise_of_half_the_scale(pair: Pair) -> None:
    assert pair.audited(seed=2, breaking=halved) > pair.broken > 1


def test_the_audit_catches_an_average_over_the_exact_number() -> None:
    """A9: Δ = (U - L)/n with the n of the table at hand, where a row may come or go."""
    random = np.random.default_rng(3)

    def sample(table: int, number: int) -> Draws:
        values = ([5], [5, -2])[table]
        return np.mean(values) + random.laplace(0, 7 / len(values), number)

    assert audit(sample) > 1.2


def test_one_person_with_many_rows() -> None:
    """A11: twenty rows of one customer cost no more than was charged, as two of them count."""
    rows_of_one: list[Row] = [("5", "someone")] * 20
    capped = world([column("x", -2, 5), COLUMNS[-1]], unit="u", rows_per_unit=2)
    planned = capped.plan("SELECT COUNT(*) FROM t")
    found = audit(sampler(capped, planned, ([], rows_of_one), seed=4))
    assert 0.9 < found <= 1
    # The same noise on all of her rows:
    sample = sampler(capped, planned, ([], rows_of_one), seed=5)
    assert audit(lambda table, number: sample(table, number) + 18 * table) > 5


def test_a_scale_read_off_the_data_would_be_caught() -> None:
    """A8: ten zeros, and then a five. The noise of dpdb is the same for both, and enough."""
    here = world([column("x", -2, 5)])
    planned = here.plan("SELECT SUM(x) FROM t")
    tables = rows(*[0] * 10), rows(*[0] * 10, 5)
    assert 0.9 < audit(sampler(here, planned, tables, seed=6)) <= 1

    def local(table: int, number: int) -> Draws:
        largest = 5 if table else 1
        return 5 * table + noise(7 + table).laplace(Fraction(largest), number)

    assert audit(local) > 2
