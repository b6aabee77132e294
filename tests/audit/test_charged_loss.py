"""The loss of the mechanisms that ran, composed, is never above the charge.

First exactly: queries go through a session, a source of noise and the sampler write down what was
asked of them, and what that costs is worked out from the definitions, not from what the plan says
of itself. Then statistically: a lower bound on ε that holds with certainty 1 - 1e-6, for pairs of
neighbouring tables that are worst for the mechanism at hand (Clopper and Pearson 1934; Jagielski,
Ullman, Oprea 2020). Every audit is also given a broken mechanism, which it must catch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dpdb.answers.estimates import point
from dpdb.engines.memory.engine import MemoryEngine
from dpdb.engines.protocol import Exact
from dpdb.errors import BudgetExceeded, DpdbError
from dpdb.plan.plan import Plan
from dpdb.policy.budget import Budget, Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.mechanisms import SLACK, Exponential, Laplace
from dpdb.privacy.noise import exponential
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.executor import Executor
from dpdb.session.session import Session
from dpdb.vectors.vector import Vector
from tests.support.brute import ADD_REMOVE, REPLACE, Row, World, tables_in_memory, world

Draws = npt.NDArray[Any]
ALPHA = 1e-6


@pytest.fixture(autouse=True, scope="module")
def _in_memory() -> Iterator[None]:
    with tables_in_memory():
        yield


def noise(seed: int) -> SystemNoise:
    return SystemNoise(Random(seed).randbytes)


COLUMNS = (
    Column("g", Kind.TEXT, values=("a", "b")),
    Column("x", Kind.INTEGER, Fraction(-2), Fraction(5)),
    Column("k", Kind.INTEGER, Fraction(3), Fraction(7), nullable=False),
    Column("m", Kind.NUMBER, Fraction(-3, 2), Fraction(1, 2), Fraction(1, 2)),
    Column("u", Kind.TEXT),
)
ROWS: list[Row] = [
    ("a", "-2", "3", "-1.5", "1"),
    ("b", "5", "7", "0.5", "1"),
    ("a", "", "", "", "1"),
    ("z", "99", "5", "0", "2"),
    ("", "1", "4", "8", ""),
]


# ------------------------------------------------------------------------- exactly, by a record


@dataclass
class Record:
    """A source of noise that notes what is asked of it, and what is selected with which weights."""

    source: SystemNoise
    private = True
    scales: list[tuple[Fraction, int]] = field(default_factory=list)
    selections: list[tuple[Exponential, int]] = field(default_factory=list)

    def laplace(self, scale: Fraction, size: int) -> Draws:
        self.scales.append((scale, size))
        return self.source.laplace(scale, size)

    def below(self, bound: int) -> int:
        return self.source.below(bound)


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Record:
    """Selections are noted on their way to the sampler; a cell after the first is no new one."""
    kept = Record(noise(1))

    def noting(original: Callable[..., int], position: int) -> Callable[..., int]:
        def select(*arguments: Any) -> int:
            kept.selections.append((arguments[position], 1))
            return original(*arguments)

        return select

    monkeypatch.setattr(exponential, "select_value", noting(exponential.select_value, 3))
    monkeypatch.setattr(exponential, "select_index", noting(exponential.select_index, 1))
    return kept


@dataclass(frozen=True)
class Query:
    """A query, and by how much one row changes what is drawn for it, in grid steps, by hand.

    For selections the numbers are those of the score.
    """

    sql: str
    laplace: tuple[tuple[int, ...], tuple[int, ...]]
    """Sensitivities in the order drawn: under add-remove, and under replace."""
    selected: tuple[tuple[Fraction, ...], tuple[Fraction, ...]] = ((), ())
    cells: int = 1


HALF = Fraction(1, 2)
ONE = Fraction(1)
QUERIES = [
    Query("SELECT COUNT(*) FROM t", ((1,), ())),
    Query("SELECT COUNT(*) FROM t WHERE g = 'a'", ((1,), (1,))),
    Query("SELECT COUNT(DISTINCT x) FROM t", ((1,), (1,))),
    Query("SELECT SUM(x) FROM t", ((5,), (7,))),
    Query("SELECT SUM(k) FROM t", ((7,), (4,))),
    Query("SELECT SUM(m) FROM t", ((3,), (4,))),
    Query("SELECT AVG(x) FROM t", ((4, 1), (7, 1))),
    Query("SELECT AVG(k) FROM t", ((2, 1), (4,))),
    Query("SELECT VAR_POP(x) FROM t", ((8, 4, 1), (16, 7, 1))),
    Query("SELECT STDDEV(k) FROM t", ((2, 2, 1), (4, 4))),
    Query("SELECT MEDIAN(x) FROM t", ((), ()), ((HALF,), (ONE,))),
    Query("SELECT MIN(k), MAX(k) FROM t", ((), ()), ((ONE, ONE), (ONE, ONE))),
    Query("SELECT MODE(g) FROM t", ((), ()), ((ONE,), (ONE,))),
    Query("SELECT COUNT(*), SUM(x), AVG(x), MEDIAN(x) FROM t",
          ((1, 5, 4, 1), (7, 7, 1)), ((HALF,), (ONE,))),
    Query("SELECT g, COUNT(*) FROM t GROUP BY g", ((1,), (2,)), cells=2),
    Query("SELECT g, AVG(x), MEDIAN(x) FROM t GROUP BY g",
          ((4, 1), (8, 2)), ((HALF,), (ONE,)), cells=2),
    Query("SELECT SUM(x) / COUNT(*) FROM t ORDER BY COUNT(*) LIMIT 1", ((5, 1), (7,))),
    Query("SELECT g, COUNT(*) FROM t GROUP BY g HAVING SUM(k) > 3", ((1, 7), (2, 14)), cells=2),
    Query("SELECT COUNT(*) FROM t WHERE k > (SELECT AVG(k) FROM t)", ((2, 1, 1), (4, 1))),
    Query("SELECT SUM(k) FROM t WHERE k > (SELECT MEDIAN(k) FROM t) + (SELECT COUNT(*) FROM t)",
          ((1, 7), (7,)), ((HALF,), (ONE,))),
]  # fmt: skip
RELATIONS = [ADD_REMOVE, REPLACE]


def session(
    kept: Record, relation: Neighbors, budget: Budget, rows: list[Row] | None = None
) -> Session:
    here = world(COLUMNS, relation, budget=budget)
    here.source.rows = ROWS if rows is None else rows
    return Session(here.policy, noise=kept)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(7, 3), Fraction(1, 10**6)], ids=str)
@pytest.mark.parametrize("query", QUERIES, ids=[query.sql[7:60] for query in QUERIES])
def test_what_ran_costs_what_is_charged(
    query: Query, epsilon: Fraction, relation: Neighbors, record: Record
) -> None:
    """Δ/b of every noise drawn and 2Δ·rate of every selection made add up to the charge."""
    here = session(record, relation, Budget(epsilon, Fraction(0), 3))
    answer = here.execute(query.sql)
    at = RELATIONS.index(relation)

    assert [size for _, size in record.scales if size != 1] == [query.cells] * (
        len(record.scales) if query.cells > 1 else 0
    )
    changes = query.laplace[at]
    losses = [change / scale for change, (scale, _) in zip(changes, record.scales, strict=True)]
    # A row that leaves one cell and enters another changes two selections, by half of Δ each.
    chosen = [made for made, _ in record.selections]
    assert len(chosen) == len(query.selected[at]) * query.cells
    for change, made in zip(query.selected[at], chosen[:: query.cells], strict=True):
        losses.append(2 * change * made.rate + SLACK)

    total = sum(losses, Fraction(0))
    assert total == answer.cost.epsilon
    assert answer.cost.delta == 0
    assert answer.balance.epsilon_left == epsilon - total
    assert sum((drawn.epsilon for drawn in answer.releases), Fraction(0)) == total
    # The whole share is used, and nothing is charged where nothing is drawn.
    assert total == (epsilon / 3 if losses else 0)


def test_what_no_row_can_change_is_not_noisy(record: Record) -> None:
    """The loss is nothing, whatever is charged."""
    here = session(record, REPLACE, Budget(Fraction(1), Fraction(0), 3))
    assert here.execute("SELECT SUM(1), SUM(2) FROM t").rows == ((len(ROWS), 2 * len(ROWS)),)
    assert here.execute("SELECT COUNT(*), COUNT(k) FROM t").cost.epsilon == 0
    assert record.scales == []
    with_noise = session(record, ADD_REMOVE, Budget(Fraction(1), Fraction(0), 3))
    with_noise.execute("SELECT SUM(1), COUNT(*) FROM t")
    assert record.scales == [(Fraction(6), 1), (Fraction(6), 1)]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("query", QUERIES, ids=[query.sql[7:60] for query in QUERIES])
def test_the_plan_says_what_runs(query: Query, relation: Neighbors, record: Record) -> None:
    """`mechanism.loss` over `every_release`, and the scales and order in which noise is drawn."""
    here = session(record, relation, Budget(Fraction(4), Fraction(0), 4))
    answer = here.execute(query.sql)
    planned = world(COLUMNS, relation).plan(query.sql, Fraction(1), rows=len(ROWS))
    releases = list(planned.every_release)
    assert sum((r.mechanism.loss.epsilon for r in releases), Fraction(0)) <= answer.cost.epsilon
    assert planned.loss.epsilon == answer.cost.epsilon
    added = [r.mechanism for r in releases if isinstance(r.mechanism, Laplace)]
    assert [made.scale for made in added if made.sensitivity] == [s for s, _ in record.scales]
    made = [r.mechanism for r in releases if isinstance(r.mechanism, Exponential)]
    assert [m for m, _ in record.selections[:: query.cells]] == made
    assert len(answer.releases) == len(releases)
    for drawn, release in zip(answer.releases, releases, strict=True):
        assert drawn.scale == release.mechanism.scale * release.unit
        assert drawn.sensitivity == release.mechanism.sensitivity * release.unit


def test_explaining_draws_nothing(record: Record) -> None:
    for relation in RELATIONS:
        here = session(record, relation, Budget(Fraction(1), Fraction(0), 1))
        for query in QUERIES:
            answer = here.execute(f"EXPLAIN {query.sql}")
            assert answer.cost.epsilon == (Fraction(1) if answer.releases else 0)
        assert here.execute("SHOW BUDGET").balance.epsilon_left == 1
    assert record.scales == []
    assert record.selections == []


@pytest.mark.parametrize("epsilon", ["1", "0.1", "0.7", "1e-7", "10000"])
def test_ten_tenths_are_the_whole(epsilon: str, record: Record) -> None:
    budget = Budget(Fraction(epsilon), Fraction(0), 10)
    here = session(record, ADD_REMOVE, budget)
    for number in range(10):
        sql = f"SELECT COUNT(*), AVG(x), MEDIAN(x) FROM t WHERE k * 2 > {number}"
        answer = here.execute(sql)
        assert answer.cost.epsilon == budget.epsilon / 10
        assert answer.balance.epsilon_left == budget.epsilon * (9 - number) / 10
    assert answer.balance.epsilon_left == 0
    drawn = len(record.scales)
    with pytest.raises(BudgetExceeded):
        here.execute("SELECT COUNT(*) FROM t WHERE k * 2 > 10")
    # That k is 7 at most is known, and needs no budget.
    assert here.execute("SELECT COUNT(*) FROM t WHERE k > 10").rows == ((0,),)
    assert len(record.scales) == drawn


def test_epsilon_runs_out_before_the_queries_do(record: Record) -> None:
    here = session(record, ADD_REMOVE, Budget(Fraction(1), Fraction(0), 10))
    here.execute("SET epsilon = 0.3")
    for number in range(3):
        here.execute(f"SELECT COUNT(*) FROM t WHERE k > {number}")
    drawn = len(record.scales)
    with pytest.raises(BudgetExceeded):
        here.execute("SELECT COUNT(*) FROM t")
    assert len(record.scales) == drawn
    here.execute("SET epsilon = 0.1")
    assert here.execute("SELECT COUNT(*) FROM t").balance.epsilon_left == 0


def test_what_is_free_is_not_drawn_again(record: Record) -> None:
    """Repeats return the same noisy values; fresh ones are paid for."""
    here = session(record, ADD_REMOVE, Budget(Fraction(1), Fraction(0), 10))
    sql = "SELECT COUNT(*), SUM(x), MEDIAN(x) FROM t"
    first = here.execute(sql)
    drawn = len(record.scales), len(record.selections)
    again = here.execute("select count(*) as n, sum(x), median(x) from t")
    assert again.repeat
    assert again.cost.epsilon == 0
    assert again.rows == first.rows
    assert (len(record.scales), len(record.selections)) == drawn
    here.execute("SET repeats = 'fresh'")
    fresh = here.execute(sql)
    assert fresh.cost.epsilon == Fraction(1, 10)
    assert len(record.scales) == 2 * drawn[0]
    assert len(record.selections) == 2 * drawn[1]
    assert fresh.balance.epsilon_left == Fraction(8, 10)


def test_like_looking_queries_do_not_share_an_answer(record: Record) -> None:
    """What is free must be the same: these differ in one thing each, and all are paid for."""
    sql = [
        "SELECT COUNT(*) FROM t",
        "SELECT COUNT(*) FROM t WHERE x > 0",
        "SELECT COUNT(*) FROM t WHERE x >= 0",
        "SELECT COUNT(*) FROM t WHERE x > (SELECT VAR_POP(x) FROM t)",
        "SELECT COUNT(*) FROM t WHERE x > (SELECT VAR_SAMP(x) FROM t)",
        "SELECT COUNT(*) FROM t WHERE x > (SELECT STDDEV_POP(x) FROM t)",
        "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)",
        "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) + 1 FROM t)",
        "SELECT MEDIAN(x) FROM t",
        "SELECT QUANTILE_CONT(x, 0.4) FROM t",
        "SELECT g, COUNT(*) FROM t GROUP BY g",
        "SELECT x, COUNT(*) FROM t GROUP BY x",
    ]
    here = session(record, ADD_REMOVE, Budget(Fraction(1), Fraction(0), len(sql)))
    answers = [here.execute(text) for text in sql]
    assert not any(answer.repeat for answer in answers)
    assert answers[-1].balance.epsilon_left == 0


def test_a_share_too_small_is_refused_before_it_is_charged(record: Record) -> None:
    """Not by an exception from within the sampler, when it has been paid for."""
    for budget in (Budget(Fraction(1, 10**4), Fraction(0), 10**9),):
        here = session(record, ADD_REMOVE, budget)
        for sql in ("SELECT MEDIAN(x) FROM t", "SELECT MODE(g) FROM t", "SELECT COUNT(*) FROM t"):
            left = here.execute("SHOW BUDGET").balance.epsilon_left
            try:
                answer = here.execute(sql)
            except DpdbError:
                assert here.execute("SHOW BUDGET").balance.epsilon_left == left
            else:
                assert answer.balance.epsilon_left == left - answer.cost.epsilon
                planned = world(COLUMNS).plan(sql, answer.cost.epsilon)
                losses = [release.mechanism.loss.epsilon for release in planned.every_release]
                assert sum(losses, Fraction(0)) <= answer.cost.epsilon


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
    releaser = Executor(MemoryEngine(None), noise(seed), teach=False)
    [estimate] = planned.estimates

    def sample(table: int, number: int) -> Draws:
        draws = []
        for release, cells in zip(planned.releases, exact[table], strict=True):
            [cell] = cells
            selected = isinstance(release.mechanism, Exponential)
            many = Exact([cell] * number if selected else np.full(number, cell))
            draws.append(releaser._draw(release, many))
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

    def __str__(self) -> str:
        return f"{self.sql[7:-7]} {self.relation} {len(self.one)} {len(self.other)}"

    def audited(
        self, seed: int, breaking: Callable[[Plan], Plan] = lambda planned: planned
    ) -> float:
        """The lower bound found, in units of the charge."""
        here = world([column("x", -2, 5)], self.relation)
        planned = here.plan(self.sql, Fraction(self.epsilon), rows=len(self.one))
        assert planned.loss.epsilon == self.epsilon
        sample = sampler(here, breaking(planned), (self.one, self.other), seed)
        return audit(sample, self.trials) / self.epsilon


FEW = 4000
PAIRS = [
    Pair("SELECT COUNT(*) FROM t", ADD_REMOVE, rows(), rows(5), 0.9, 1.5),
    Pair("SELECT COUNT(x) FROM t", ADD_REMOVE, rows("", ""), rows("", "", 5), 0.9, 1.5),
    Pair("SELECT COUNT(*) FROM t WHERE x > 0", REPLACE, rows(0), rows(5), 0.9, 1.5),
    Pair("SELECT COUNT(DISTINCT x) FROM t", ADD_REMOVE, rows(5, 5), rows(5, 5, 3), 0.9, 1.5),
    Pair("SELECT SUM(x) FROM t", ADD_REMOVE, rows(), rows(5), 0.9, 1.5),
    Pair("SELECT SUM(x) FROM t", ADD_REMOVE, rows(), rows("1e9"), 0.9, 1.5),
    Pair("SELECT SUM(x) FROM t", REPLACE, rows(-2, ""), rows(5, ""), 0.9, 1.5),
    Pair("SELECT AVG(COALESCE(x, 0)) FROM t", REPLACE, rows(5, 1), rows(-2, 1), 0.9, 1.5),
    # Neither sum nor count is seen alone, so that less than their ε shows.
    Pair("SELECT AVG(x) FROM t", ADD_REMOVE, rows(), rows(5), 0.3),
    Pair("SELECT AVG(x) FROM t", ADD_REMOVE, rows(5), rows(5, -2), 0.3),
    Pair("SELECT VAR_POP(x) FROM t", ADD_REMOVE, rows(1), rows(1, 5), 0.2),
    # The worst threshold for tables of up to five values; MAX and MIN use half of their ε.
    Pair("SELECT MEDIAN(x) FROM t", ADD_REMOVE, rows(-2), rows(-2, 3), 0.5, 1.1, 2, FEW),
    Pair("SELECT MEDIAN(x) FROM t", REPLACE, rows(-2, -1), rows(-1, 5), 0.5, 1.1, 2, FEW),
    Pair("SELECT MAX(x) FROM t", ADD_REMOVE, rows(0, 1, 5), rows(0, 1, 3, 5), 0.2, 0, 4, FEW),
]


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
