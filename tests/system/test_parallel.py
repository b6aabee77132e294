"""Parallel composition: statements about different rows are paid for once, and no row twice.

Every row that a small table could have is tried: what the statements that let it through cost
together must have been paid, under `replace` what those cost that let either of two through.
Which they are is asked of DuckDB, or of the engine with one row at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import duckdb
import numpy as np
import pytest

from dpdb.ledger import spending
from dpdb.ledger.protocol import Price
from dpdb.ledger.spending import Spent
from dpdb.plan.expressions.expressions import conjunction
from dpdb.plan.physical.plan import Plan
from dpdb.plan.relations.regions import Region, region
from dpdb.policy.budget import Neighbors
from dpdb.privacy.accounting.composition import ComposedLoss, parallel
from tests.support.brute import ADD_REMOVE, REPLACE
from tests.support.charges import of_groups
from tests.support.filters import LARGE, RELATIONS, ROWS, Mask, session

pytestmark = pytest.mark.usefixtures("in_memory")


@dataclass(frozen=True)
class Statement:
    """A query, and the condition under which a row has a part in it."""

    sql: str
    condition: str


def condition(random: Random, depth: int = 2) -> str:
    """More often than not of one column, so that some exclude each other."""
    n, low, high = random.randint(-1, 4), random.randint(0, 2), random.randint(1, 3)
    s, other = random.choice("abc"), random.choice("abcd")
    compared = random.choice(["=", "=", "=", "<>", "<", "<=", ">", ">="])
    simple = [
        f"n {compared} {n}",
        f"{n} {compared} n",
        f"n {compared} {n}.5",
        f"n {random.choice(['', 'NOT'])} BETWEEN {low} AND {high}",
        f"n {random.choice(['', 'NOT'])} IN ({low}, {high})",
        f"s {compared} '{s}'",
        f"s = '{s}'",
        f"s {random.choice(['', 'NOT'])} IN ('{s}', '{other}')",
        "f",
        "NOT f",
        f"f IS {random.choice(['', 'NOT'])} {random.choice(['TRUE', 'FALSE', 'NULL'])}",
        f"{random.choice('ns')} IS {random.choice(['', 'NOT'])} NULL",
    ]
    odd = [
        f"n NOT IN ({low}, NULL)",
        f"n = {low} AND s = '{s}'",
        f"s LIKE '{s}%'",
        f"n + 0 = {low}",
        f"COALESCE(n, {low}) = {high}",
        f"CASE WHEN f THEN n ELSE {low} END = {high}",
        f"COALESCE(f, FALSE) = (n = {low})",
    ]
    if not depth or random.random() < 0.6:
        return random.choice(random.choice([simple, simple, simple, odd]))
    parts = [f"({condition(random, depth - 1)})" for _ in range(2)]
    return random.choice([f"NOT {parts[0]}", " AND ".join(parts), " OR ".join(parts)])


def statement(random: Random) -> Statement:
    where, *filters = (condition(random) for _ in range(3))
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.{random.randint(1, 9)})"
    match random.randrange(8):
        case 0:
            some = " OR ".join(f"({each})" for each in filters)
            drawn = ", ".join(f"COUNT(*) FILTER (WHERE {each})" for each in filters)
            return Statement(f"SELECT {options} {drawn} FROM t", some)
        case 1:
            drawn = f"SUM(n) FILTER (WHERE {filters[0]})"
            both = f"({where}) AND ({filters[0]})"
            return Statement(f"SELECT {options} {drawn} FROM t WHERE {where}", both)
        case 2:
            inner = f"n < (SELECT AVG(n) FROM t WHERE {filters[0]})"
            return Statement(
                f"SELECT {options} COUNT(*) FROM t WHERE ({where}) AND {inner}", "TRUE"
            )
        case 3:
            grouped = f"SELECT {options} s, COUNT(*) FROM t WHERE {where} GROUP BY s"
            return Statement(grouped, where)
        case 4:
            return Statement(f"SELECT {options} MEDIAN(n), COUNT(*) FROM t WHERE {where}", where)
    aggregate = random.choice(["COUNT(*)", "SUM(n)", "AVG(n)", "COUNT(DISTINCT s)"])
    return Statement(f"SELECT {options} {aggregate} FROM t WHERE {where}", where)


@cache
def _duck() -> duckdb.DuckDBPyConnection:
    duck = duckdb.connect()
    duck.execute("CREATE TABLE t (row INTEGER, n INTEGER, s VARCHAR, f BOOLEAN)")
    cells = [[None if cell == "" else cell for cell in row] for row in ROWS]
    duck.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [[i, *c] for i, c in enumerate(cells)])
    return duck


@cache
def let_through(text: str) -> Mask:
    """Which of ROWS the condition is true of, by DuckDB."""
    mask = np.zeros(len(ROWS), dtype=bool)
    found = _duck().execute(f"SELECT row FROM t WHERE {text}").fetchall()
    mask[[row for (row,) in found]] = True
    return mask


def most(losses: list[float], masks: list[Mask], relation: Neighbors) -> float:
    """What the worst of all rows, or pairs of them, is in for."""
    through = np.array(masks)
    if relation is REPLACE:
        through = through[:, :, None] | through[:, None, :]
    return float(np.tensordot(np.array(losses), through, axes=1).max())


@dataclass(frozen=True)
class Outcome:
    """What a session was charged, and for what."""

    spent: ComposedLoss
    losses: list[tuple[float, float, float]]
    """Of each statement ε, ε² and ρ, as its releases report them."""
    masks: list[Mask]

    def underpaid(self, relation: Neighbors) -> bool:
        """Whether some row is in for more than was charged, by any of the three measures."""
        charged = (self.spent.epsilon, self.spent.squares, self.spent.rho)
        return any(
            most(list(losses), self.masks, relation) > paid * (1 + Fraction(1, 10**12))
            for losses, paid in zip(zip(*self.losses, strict=True), charged, strict=True)
        )

    @property
    def shared(self) -> bool:
        """Whether anything was paid for once instead of twice."""
        return float(self.spent.epsilon) < sum(losses[0] for losses in self.losses) - 1e-9


def outcome(seed: int, relation: Neighbors, unit: str | None = None) -> Outcome:
    """A session of a dozen random statements."""
    random = Random(seed)
    here = session(relation, unit=unit)
    losses, masks = [], []
    for _ in range(12):
        asked = statement(random)
        explained = here.execute(f"EXPLAIN {asked.sql}")
        left = here.balance.epsilon_left
        answer = here.execute(asked.sql)
        assert answer.cost == (Price(queries=0) if answer.repeat else explained.cost)
        assert here.balance.epsilon_left == left - answer.cost.epsilon
        if answer.repeat or not (answer.releases or answer.cost.queries):
            continue  # what no row can have a part in is known, and no query
        each = [
            (float(d.epsilon), 8 if d.mechanism == "exponential" else 2)
            for d in of_groups(answer.releases)
            if not d.recalled  # it was paid for with the statement that it follows from
        ]
        epsilon = sum(e for e, _ in each)
        losses.append((epsilon, epsilon**2, sum(e * e / part for e, part in each)))
        masks.append(let_through(asked.condition))
    balance = here.balance
    assert balance.sums.epsilon == LARGE.epsilon - balance.epsilon_left
    assert LARGE.queries - balance.queries_left == len(losses)
    return Outcome(balance.sums, losses, masks)


SHARING = {ADD_REMOVE: (0, 1, 2), REPLACE: (22, 24, 34)}
"""Sessions in which something is paid for once instead of twice, which `replace` makes rare."""
SEEDS = [*range(10), *SHARING[REPLACE]]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_row_is_in_for_more_than_was_charged(seed: int, relation: Neighbors) -> None:
    assert not outcome(seed, relation).underpaid(relation)


@pytest.mark.parametrize("relation", RELATIONS)
def test_statements_do_share(relation: Neighbors) -> None:
    """Or else the test before were of no use."""
    assert all(outcome(seed, relation).shared for seed in SHARING[relation])


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("seed", SEEDS[:5])
def test_rows_of_one_unit_can_be_anywhere(seed: int, relation: Neighbors) -> None:
    found = outcome(seed, relation, unit="u")
    assert float(found.spent.epsilon) == pytest.approx(sum(losses[0] for losses in found.losses))


def _careless(plan: Plan) -> Region:
    """A region for all filters of aggregates at once."""
    filters = [each.aggregate.where for each in plan.estimates]
    return region(plan.table, conjunction(plan.where, *filters))


MISTAKES: dict[str, tuple[Any, str, Any]] = {
    "the largest loss under replace": (
        Spent, "_of", lambda self, group: parallel(group.losses, 1)
    ),
    "all filters exclude each other": (Region, "excludes", lambda self, other: True),
    "one of a group excluded": (spending, "all", any),
    "all filters at once": (Plan, "region", property(_careless)),
    "a statement with a subquery": (
        Plan, "region", property(lambda plan: region(plan.table, plan.where))
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_would_be_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MISTAKES[mistake], raising=False)
    # Most are found in the first of these, and that of a subquery in the second.
    assert any(outcome(seed, REPLACE).underpaid(REPLACE) for seed in (3, 18, *SEEDS))
