"""With δ, too, no more is lost than is charged: Gaussian noise and smooth sensitivity.

Statistically: a lower bound on ε at the δ that was charged, which holds with certainty 1 - 1e-6,
for pairs of neighbouring tables that are worst for the noise at hand. And for smooth noise exactly:
all small tables, all their neighbors, and the distribution of what is released, summed up. Each
is also given noise that is too small, which it must catch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations, product
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import beta, chisquare

from dpdb.answers.estimates import point
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.protocol import Exact
from dpdb.plan.logical.query import Options
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import Release
from dpdb.plan.planner import plan
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.smooth import Smooth
from dpdb.privacy.noise.smooth import statistic_and_scale
from dpdb.privacy.noise.system import SystemNoise
from dpdb.records import dataclass
from dpdb.session.purchases.executor import Executor
from dpdb.sql.selects.binder import bind
from dpdb.sql.text.tokens import read_tokens
from dpdb.vectors.vector import Vector
from tests.support.brute import (
    ADD_REMOVE,
    REPLACE,
    Row,
    World,
    multisets,
    neighbouring,
    tables_in_memory,
    world,
)

Draws = npt.NDArray[np.float64]
Probabilities = npt.NDArray[np.float64]
Sample = Callable[[int, int], Draws]
ALPHA = 1e-6
TRIALS = 15_000
DRAWN = 400
"""So many draws do not fit noise of half the scale."""


@pytest.fixture(autouse=True, scope="module")
def _in_memory() -> Iterator[None]:
    with tables_in_memory():
        yield


COLUMNS = (
    Column("g", Kind.TEXT, values=("a", "b")),
    Column("x", Kind.INTEGER, Fraction(-2), Fraction(5)),
    Column("k", Kind.INTEGER, Fraction(3), Fraction(7), nullable=False),
)
UNIT = Column("u", Kind.TEXT)


def planned_for(here: World, sql: str, options: Options, charge: tuple[float, float]) -> Plan:
    epsilon, delta = map(Fraction, charge)
    rows = len(here.source.rows)
    query = bind(read_tokens(sql), sql, here.policy, options)
    planned = plan(query, here.policy, BudgetShare(epsilon, delta), lambda table: rows)
    assert planned.loss.epsilon == epsilon
    assert planned.loss.delta == delta
    return planned


# ------------------------------------------------------------------------- the lower bound


def epsilon_at_least(event: Draws, neighbours: Draws, delta: float) -> float:
    """A lower bound on ε at δ, from how often an event fixed beforehand happened on two tables.

    P(A) <= e^ε·Q(A) + δ, and with certainty 1 - ALPHA both P >= p and Q <= q of Clopper and
    Pearson (1934) hold: so ε >= ln((p - δ)/q).
    """
    n, hits, others = len(event), int(event.sum()), int(neighbours.sum())
    p = beta.ppf(ALPHA / 2, hits, n - hits + 1) if hits else 0.0
    q = beta.isf(ALPHA / 2, others + 1, n - others) if others < n else 1.0
    return math.log((p - delta) / q) if p > delta else -math.inf


def audit(sample: Sample, delta: float) -> float:
    """The best such bound over thresholds, which are chosen on draws of their own."""
    draws = [sample(table, TRIALS) for table in (0, 1)]
    best, choice = -math.inf, (0.0, 1, 0)
    for threshold in np.unique(np.quantile(np.concatenate(draws), np.linspace(0.005, 0.995, 199))):
        for sign, numerator in product((1, -1), (0, 1)):
            rates = [np.mean(sign * each >= sign * threshold) for each in draws]
            errors = [5 * math.sqrt(rate * (1 - rate) / TRIALS) + 5 / TRIALS for rate in rates]
            p = rates[numerator] - errors[numerator] - delta
            q = rates[1 - numerator] + errors[1 - numerator]
            if p > 0 and math.log(p / q) > best:
                best, choice = math.log(p / q), (float(threshold), sign, numerator)
    threshold, sign, numerator = choice
    fresh = [sample(table, 2 * TRIALS) for table in (0, 1)]
    happened = [sign * each >= sign * threshold for each in fresh]
    return epsilon_at_least(happened[numerator], happened[1 - numerator], delta)


def test_the_audit_finds_what_is_there() -> None:
    """Tells the truth for certain with probability δ, and otherwise with odds e^ε."""
    random = np.random.default_rng(1)
    for epsilon, delta in ((0.5, 0.1), (1.0, 0.01), (2.0, 0.3)):
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))

        def respond(table: int, number: int, delta: float = delta, truth: float = truth) -> Draws:
            told = random.random(number) < (truth if table else 1 - truth)
            certain = random.random(number) < delta
            return np.where(certain, 3 * table - 1, told).astype(float)

        assert 0.75 * epsilon < audit(respond, delta) <= epsilon
        assert audit(respond, 0) > epsilon


# ------------------------------------------------------------------------- audits


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables, and how much of ε the best threshold is sure to show."""

    sql: str
    relation: Neighbors
    one: list[Row]
    other: list[Row]
    power: float
    broken: float
    """How many ε are sure to show with noise of half the scale."""
    charge: tuple[float, float] = (0.5, 0.0625)
    along: tuple[int, ...] = (1,)
    """The direction in which the cells of the two tables differ."""
    per_unit: int = 1

    def __str__(self) -> str:
        return f"{self.sql[7:]} {self.relation} {len(self.one)} {len(self.other)}"

    def audited(self, seed: int, shrink: int = 1) -> float:
        """The lower bound found, in units of the charge; noise `shrink` times too small."""
        unit = "u" if self.per_unit > 1 else None
        columns = (*COLUMNS, UNIT) if unit else COLUMNS
        here = world(columns, self.relation, unit, self.per_unit)
        here.source.rows = self.one
        planned = planned_for(here, self.sql, GAUSSIAN, self.charge)
        exact = [here.exact(planned, rows) for rows in (self.one, self.other)]
        sample = sampler(shrunk(planned, shrink), exact, self.along, seed)
        return audit(sample, self.charge[1]) / self.charge[0]


def shrunk(planned: Plan, times: int) -> Plan:
    """A broken plan: all noise of a scale so many times too small."""

    def broken(release: Release) -> Release:
        mechanism = release.mechanism
        if isinstance(mechanism, Gaussian):
            mechanism = replace(mechanism, variance=mechanism.variance / times**2)
        elif times > 1:
            assert isinstance(mechanism, Smooth)
            same = {each.name: getattr(mechanism, each.name) for each in fields(mechanism)}
            mechanism = Small(**same, times=times)
        return replace(release, mechanism=mechanism)

    return replace(planned, releases=tuple(map(broken, planned.releases)))


@dataclass(frozen=True)
class Small(Smooth):
    """The right β, and scales that are too small."""

    times: int = 1

    def scale_of(self, sensitivity: Fraction) -> Fraction:
        return super().scale_of(sensitivity) / self.times


def sampler(planned: Plan, exact: list[list[Any]], along: tuple[int, ...], seed: int) -> Sample:
    """Draws the answer many times: exact results once, then noise and post-processing.

    Of several cells what is looked at is how far they are in the direction given.
    """
    noise = SystemNoise(Random(seed).randbytes)
    releaser = Executor(MemoryEngine(None), noise, teach=False, reading=nullcontext)
    [estimate] = planned.estimates

    def sample(table: int, number: int) -> Draws:
        draws = []
        for release, cells in zip(planned.releases, exact[table], strict=True):
            many = list(cells) * number if isinstance(cells, list) else np.tile(cells, number)
            draws.append(releaser._draw(release, Exact(many), np.zeros(0)))
        found = point(estimate, planned, draws)
        assert isinstance(found, Vector)
        return found.values.reshape(number, -1) @ np.array(along, dtype=float)

    return sample


def rows(*values: object, g: str = "a", k: int = 3) -> list[Row]:
    return [(g, str(value), str(k)) for value in values]


def owned(group: str, number: int, owner: str = "someone") -> list[Row]:
    return [(group, "5", "7", owner)] * number


[GAUSSIAN] = (Options(mechanism=kind) for kind in NoiseKind if kind.is_euclidean)
SMOOTH = Options(sensitivity="smooth")
BY_G = "SELECT COUNT(*) FROM t GROUP BY g"
PAIRS = [
    Pair("SELECT COUNT(*) FROM t", ADD_REMOVE, [], rows(5), 0.6, 2),
    Pair("SELECT COUNT(*) FROM t", ADD_REMOVE, [], rows(5), 0.6, 1.5, (2, 0.015625)),
    Pair("SELECT COUNT(*) FROM t WHERE x > 0", REPLACE, rows(0), rows(5), 0.6, 2),
    Pair("SELECT COUNT(DISTINCT x) FROM t", ADD_REMOVE, rows(5, 5), rows(5, 5, 3), 0.6, 2),
    Pair("SELECT SUM(x) FROM t", ADD_REMOVE, rows(), rows("1e9"), 0.6, 2),
    Pair("SELECT SUM(x) FROM t", REPLACE, rows(-2, ""), rows(5, ""), 0.6, 2),
    # The width over n public rows; and a sum over a count, of which neither is seen alone.
    Pair("SELECT AVG(k) FROM t", REPLACE, rows(1, 1), [*rows(1), *rows(1, k=7)], 0.6, 2),
    Pair("SELECT AVG(x) FROM t", ADD_REMOVE, rows(), rows(5), 0.15, 0, (4, 0.03125)),
    Pair("SELECT AVG(x) FROM t", ADD_REMOVE, rows(5), rows(5, -2), 0.15, 0, (4, 0.03125)),
    # A row comes; it leaves one cell and enters another; so do two rows of one person.
    Pair(BY_G, ADD_REMOVE, [], rows(5), 0.6, 2, along=(1, 0)),
    Pair(BY_G, REPLACE, rows(5), rows(5, g="b"), 0.35, 1.5, along=(1, -1)),
    Pair("SELECT SUM(x) FROM t GROUP BY g", REPLACE, rows(5), rows(5, g="b"), 0.35, 1.5,
         along=(1, -1)),
    Pair("SELECT AVG(x) FROM t GROUP BY g", REPLACE, rows(-2), rows(5), 0.15, 0, (4, 0.03125), (1, 0)),
    Pair(BY_G, ADD_REMOVE, [], owned("a", 9), 0.35, 1.5, along=(1, 0), per_unit=2),
    Pair(BY_G, REPLACE, owned("a", 9), owned("b", 9), 0.35, 1.5, along=(1, -1), per_unit=2),
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_gaussian_noise(pair: Pair) -> None:
    """No more than the charge is found, and no less than is known to be there."""
    assert pair.power < pair.audited(seed=1) <= 1


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.broken], ids=str)
def test_gaussian_noise_of_half_the_scale_is_caught(pair: Pair) -> None:
    assert pair.audited(seed=2, shrink=2) > pair.broken > 1


# ------------------------------------------------------------------------- smooth noise, exactly


def released(values: tuple[int, ...], grid: tuple[int, int], mechanism: Smooth) -> Probabilities:
    """How likely each point of the grid is to be released, from the density of Laplace noise.

    Z is rounded to 0 where |Z| < 1/2, and to j where it is within 1/2 of j; what falls off
    the grid is at its ends.
    """
    statistic, scale = statistic_and_scale(np.array(values, dtype=np.int64), grid, mechanism)
    b = float(scale)

    def above(x: float) -> float:
        """P(Z > x)."""
        return math.exp(-x / b) / 2 if x >= 0 else 1 - math.exp(x / b) / 2

    low, high = grid
    edges = [above(v - 0.5 - statistic) for v in range(low + 1, high + 1)]
    return -np.diff([1.0, *edges, 0.0])


def distributions(planned: Plan, results: list[list[Any]], times: int) -> list[Probabilities]:
    """For each exact result that of all cells of the only release: they are independent."""
    [release] = shrunk(planned, times).releases
    assert isinstance(release.mechanism, Smooth)
    grid = release.statistic.grid.lower, release.statistic.grid.upper
    each = cache(lambda *values: released(values, grid, release.mechanism))
    return [
        reduce(np.multiply.outer, (each(*cell.tolist()) for cell in cells)).ravel()
        for [cells] in results
    ]


def excess(one: Probabilities, other: Probabilities, epsilon: float) -> float:
    """The least δ at which these two are within ε of each other."""
    e = math.exp(epsilon)
    return max(
        float(np.maximum(one - e * other, 0).sum()), float(np.maximum(other - e * one, 0).sum())
    )


KINDS: list[Row] = [(g, x, k) for g in ("a", "b") for x, k in (("-2", "3"), ("1", "4"), ("5", "7"))]
CROWD = [KINDS[1], KINDS[4]] * 5
"""Rows in the middle, among which the sensitivity is far from global."""
CHARGES = [(1.0, 0.0625), (4.0, 0.125)]
QUANTILES = [
    f"SELECT {quantile} FROM t{grouped}"
    for quantile in ("MEDIAN(x)", "MAX(x)", "MIN(k)", "QUANTILE_CONT(x, 0.75)")
    for grouped in ("", " GROUP BY g")
]


def worst_of_rows(
    sql: str, relation: Neighbors, charge: tuple[float, float], times: int = 1
) -> float:
    """Over all tables of up to three rows, in a crowd or not, and all that differ by one."""
    here = world(COLUMNS, relation)
    planned = planned_for(here, sql, SMOOTH, charge)
    worst = 0.0
    for crowd in ([], CROWD):
        tables = [[*crowd, *(KINDS[i] for i in rows)] for rows in multisets(len(KINDS), 3)]
        found = distributions(planned, here.all_exact(planned, tables), times)
        left, right = neighbouring(len(KINDS), 3, relation)
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        worst = max(worst, *(excess(found[i], found[j], charge[0]) for i, j in pairs))
    return worst


def worst_of_units(
    sql: str, relation: Neighbors, charge: tuple[float, float], times: int = 1
) -> float:
    """Over all units of up to two rows, alone, among one row of others, or in a crowd."""
    here = world([*COLUMNS, UNIT], relation, "u", 2)
    planned = planned_for(here, sql, SMOOTH, charge)
    worst = 0.0
    for others in ([], *([kind] for kind in KINDS), CROWD):
        beside = [(*row, f"other {n}") for n, row in enumerate(others)]
        tables = [
            [*beside, *((*KINDS[i], "one") for i in rows)] for rows in multisets(len(KINDS), 2)
        ]
        found = distributions(planned, here.all_exact(planned, tables), times)
        pairs = combinations(found, 2) if relation is REPLACE else product(found[:1], found[1:])
        worst = max(worst, *(excess(one, other, charge[0]) for one, other in pairs))
    return worst


@pytest.mark.parametrize("charge", CHARGES, ids=str)
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("sql", QUANTILES, ids=[sql[7:] for sql in QUANTILES])
def test_smooth_noise(sql: str, relation: Neighbors, charge: tuple[float, float]) -> None:
    """Whichever row, or unit, is changed: in all cells of a grouped answer together."""
    assert worst_of_rows(sql, relation, charge) <= charge[1]
    assert worst_of_units(sql, relation, charge) <= charge[1]


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("sql", QUANTILES[:4], ids=[sql[7:] for sql in QUANTILES[:4]])
def test_smooth_noise_of_a_quarter_of_the_scale_is_caught(sql: str, relation: Neighbors) -> None:
    """Of half of it none need be: half of ε is there for what a change of the scale tells."""
    assert worst_of_rows(sql, relation, CHARGES[0], times=4) > CHARGES[0][1]
    assert worst_of_units(sql, relation, CHARGES[0], times=4) > CHARGES[0][1]


@pytest.mark.parametrize("values", [[-2, 5], [1] * 9, [-2, 1, 1, 5, 5, 5]], ids=str)
def test_smooth_noise_is_drawn_as_it_is_summed_up(values: list[int]) -> None:
    """What is released through the plan fits the distribution above."""
    here = world(COLUMNS)
    here.source.rows = rows(*values)
    planned = planned_for(here, "SELECT MEDIAN(x) FROM t", SMOOTH, (4.0, 0.125))
    exact = here.exact(planned, here.source.rows)
    drawn = sampler(planned, [exact], (1,), seed=3)(0, DRAWN)
    assert set(drawn) <= set(range(-2, 6))
    found = np.array([np.sum(drawn == value) for value in range(-2, 6)])

    def fit(times: int) -> float:
        [expected] = distributions(planned, [exact], times)
        expected *= DRAWN
        most = expected > 10  # the others together, or their counts are far from normal
        parts = [(counts[most], counts[~most].sum()) for counts in (found, expected)]
        observed, likely = ([*many, few] if (~most).any() else many for many, few in parts)
        return float(chisquare(observed, likely).pvalue)

    assert fit(1) > ALPHA > fit(2)
