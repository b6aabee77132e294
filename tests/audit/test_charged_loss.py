"""The loss of the mechanisms that ran, composed, is never above the charge.

First exactly: queries go through a session, a source of noise and the sampler write down what was
asked of them, and what that costs is worked out from the definitions, not from what the plan says
of itself. Then statistically: a lower bound on ε that holds with certainty 1 - 1e-6, for pairs of
neighbouring tables that are worst for the mechanism at hand (Clopper and Pearson 1934; Jagielski,
Ullman, Oprea 2020). Every audit is also given a broken mechanism, which it must catch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest

from dpdb.errors import BudgetExceeded, DpdbError
from dpdb.plan.logical.query import Options
from dpdb.policy.budget import Budget, Neighbors
from dpdb.privacy.mechanisms.mechanism import Additive, Selection
from dpdb.privacy.mechanisms.selections.exponential import SLACK
from dpdb.privacy.noise import exponential
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session
from tests.support.audited import COLUMNS, Draws, noise
from tests.support.brute import ADD_REMOVE, REPLACE, Row, world
from tests.support.charges import charged

pytestmark = pytest.mark.usefixtures("in_memory")

ROWS: list[Row] = [
    ("a", "-2", "3", "-1.5", "1"),
    ("b", "5", "7", "0.5", "1"),
    ("a", "", "", "", "1"),
    ("z", "99", "5", "0", "2"),
    ("", "1", "4", "8", ""),
]


@dataclass
class Record:
    """A source of noise that notes what is asked of it, and what is selected with which weights."""

    source: SystemNoise
    private = True
    scales: list[tuple[Fraction, int]] = field(default_factory=list)
    selections: list[tuple[Selection, int]] = field(default_factory=list)

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
    monkeypatch.setattr(exponential, "select_width", noting(exponential.select_width, 3))
    return kept


@dataclass(frozen=True)
class Query:
    """A query, and by how much one row changes what is drawn for it, in grid steps, by hand.

    For selections the numbers are the spans of the scores.
    """

    sql: str
    laplace: tuple[tuple[int, ...], tuple[int, ...]]
    """Sensitivities in the order drawn: under add-remove, and under replace."""
    selected: tuple[tuple[Fraction, ...], tuple[Fraction, ...]] = ((), ())
    cells: int = 1


ONE = Fraction(1)
TWO = Fraction(2)
QUERIES = [
    Query("SELECT COUNT(*) FROM t", ((1,), ())),
    Query("SELECT COUNT(*) FROM t WHERE g = 'a'", ((1,), (1,))),
    Query("SELECT COUNT(DISTINCT x) FROM t", ((1,), (1,))),
    Query("SELECT COUNT(*) FILTER (WHERE k = 3), COUNT(*) FILTER (WHERE k = 4), "
          "COUNT(*) FILTER (WHERE k > 4) FROM t", ((1,), (2,)), cells=3),
    Query("SELECT SUM(x) FROM t", ((5,), (7,))),
    Query("SELECT SUM(k) FROM t", ((7,), (4,))),
    Query("SELECT SUM(m) FROM t", ((3,), (4,))),
    Query("SELECT AVG(x) FROM t", ((7,), (8,))),
    Query("SELECT AVG(k) FROM t", ((4,), (4,))),
    Query("SELECT VAR_POP(x) FROM t", ((131,), (259,))),
    Query("SELECT STDDEV(k) FROM t", ((32,), (45,))),
    Query("SELECT MEDIAN(x) FROM t", ((), ()), ((ONE, ONE), (TWO, TWO))),
    Query("SELECT MIN(k), MAX(k) FROM t", ((), ()), ((ONE, ONE), (ONE, ONE))),
    Query("SELECT MODE(g) FROM t", ((), ()), ((ONE,), (TWO,))),
    Query("SELECT MODE(g, k) FROM t", ((), ()), ((7 * ONE,), (14 * ONE,))),
    Query("SELECT MODE(g, m) FROM t", ((), ()), ((3 * ONE,), (6 * ONE,))),
    Query("SELECT COUNT(*), SUM(x), AVG(x), MEDIAN(x) FROM t",
          ((7,), (8,)), ((ONE, ONE), (TWO, TWO))),
    Query("SELECT g, COUNT(*) FROM t GROUP BY g", ((1,), (2,)), cells=2),
    Query("SELECT g, AVG(x), MEDIAN(x) FROM t GROUP BY g",
          ((7,), (14,)), ((ONE, ONE), (TWO, TWO)), cells=2),
    Query("SELECT SUM(x) / COUNT(*) FROM t ORDER BY COUNT(*) LIMIT 1", ((7,), (7,))),
    Query("SELECT g, COUNT(*) FROM t GROUP BY g HAVING SUM(k) > 3", ((4,), (8,)), cells=2),
    Query("SELECT COUNT(*) FROM t WHERE k > (SELECT AVG(k) FROM t)", ((4, 1), (4, 1))),
    Query("SELECT SUM(k) FROM t WHERE k > (SELECT MEDIAN(k) FROM t) + (SELECT COUNT(*) FROM t)",
          ((1, 7), (7,)), ((ONE,), (TWO,))),
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
    """Δ/b of every noise drawn and span·rate of every selection made add up to the charge."""
    here = session(record, relation, Budget(epsilon, Fraction(0), 3))
    answer = here.execute(query.sql)
    at = RELATIONS.index(relation)

    assert all(size % query.cells == 0 for _, size in record.scales)
    changes = query.laplace[at]
    losses = [change / scale for change, (scale, _) in zip(changes, record.scales, strict=True)]
    # A row that leaves one cell and enters another changes two selections, by half of the span each.
    chosen = [made for made, _ in record.selections]
    assert len(chosen) == len(query.selected[at]) * query.cells
    for change, made in zip(query.selected[at], chosen[:: query.cells], strict=True):
        losses.append(change * made.rate + made.selections * SLACK)

    total = sum(losses, Fraction(0))
    assert total == answer.cost.epsilon
    assert answer.cost.delta == 0
    assert answer.balance.epsilon_left == epsilon - total
    assert charged(answer.releases) == total
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
    # What is 1 for every row sums to their number, which is drawn once.
    assert record.scales == [(Fraction(3), 1)]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("query", QUERIES, ids=[query.sql[7:60] for query in QUERIES])
def test_the_plan_says_what_runs(query: Query, relation: Neighbors, record: Record) -> None:
    """`mechanism.loss` over `every_release`, and the scales and order in which noise is drawn."""
    here = session(record, relation, Budget(Fraction(4), Fraction(0), 4))
    answer = here.execute(query.sql)
    planned = world(COLUMNS, relation).plan(
        query.sql, Fraction(1), len(ROWS), Options(interval="on")
    )
    releases = list(planned.every_release)
    assert sum((r.mechanism.loss.epsilon for r in releases), Fraction(0)) <= answer.cost.epsilon
    assert planned.loss.epsilon == answer.cost.epsilon
    added = [r.mechanism for r in releases if isinstance(r.mechanism, Additive)]
    assert [made.scale for made in added if made.sensitivity] == [s for s, _ in record.scales]
    made = [r.mechanism for r in releases if isinstance(r.mechanism, Selection)]
    assert [m for m, _ in record.selections[:: query.cells]] == made
    parts = [(release.mechanism, part) for release in releases for part in release.parts]
    assert len(answer.releases) == len(parts)
    for drawn, (mechanism, part) in zip(answer.releases, parts, strict=True):
        assert drawn.scale == mechanism.scale * part.unit
        assert drawn.sensitivity == mechanism.sensitivity * part.unit


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
