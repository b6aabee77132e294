"""Parallel composition: statements about different rows are paid for once, and no row twice.

Every row that a small table could have is tried: what the statements that let it through cost
together must have been paid, under `replace` what those cost that let either of two through.
Which they are is asked of DuckDB, or of the engine with one row at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import islice, product
from random import Random
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pytest

from dpdb.errors import BudgetExceeded
from dpdb.ledger import memory
from dpdb.ledger.memory import MemoryLedger
from dpdb.ledger.protocol import Price
from dpdb.plan.expressions import conjunction
from dpdb.plan.plan import Plan
from dpdb.plan.regions import Region, region
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Column, Kind, Policy
from dpdb.privacy.accounting.composition import ComposedLoss, parallel
from dpdb.privacy.accounting.loss import pure
from dpdb.session.session import Session
from tests.support.brute import ADD_REMOVE, REPLACE, tables_in_memory, world
from tests.support.exactly import nothing_settled
from tests.support.noiseless import Noiseless

COLUMNS = (
    Column("n", Kind.INTEGER, Fraction(0), Fraction(3)),
    Column("s", Kind.TEXT, values=("a", "b", "c")),
    Column("f", Kind.BOOLEAN),
)
ROWS = list(product(["", "0", "1", "2", "3"], ["", "a", "b", "c"], ["", "true", "false"]))
"""All that there can be."""
LARGE = Budget(Fraction(1000), Fraction(0), 10**6)
RELATIONS = [ADD_REMOVE, REPLACE]

Mask = npt.NDArray[np.bool_]


@pytest.fixture(autouse=True, scope="module")
def _in_memory() -> Iterator[None]:
    with tables_in_memory():
        yield


def session(relation: Neighbors, budget: Budget = LARGE, unit: str | None = None) -> Session:
    columns = COLUMNS if unit is None else (*COLUMNS, Column(unit, Kind.TEXT))
    here = world(columns, relation, unit, 1 if unit is None else 2, budget)
    here.source.rows = [(*row, "1")[: len(columns)] for row in ROWS]
    return Session(here.policy, noise=Noiseless())


# ------------------------------------------------------------------------- random statements


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
            (float(d.epsilon), 8 if d.mechanism == "exponential" else 2) for d in answer.releases
        ]
        epsilon = sum(e for e, _ in each)
        losses.append((epsilon, epsilon**2, sum(e * e / part for e, part in each)))
        masks.append(let_through(asked.condition))
    balance = here.balance
    assert balance.sums.epsilon == LARGE.epsilon - balance.epsilon_left
    assert LARGE.queries - balance.queries_left == len(losses)
    return Outcome(balance.sums, losses, masks)


SEEDS = range(40)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_row_is_in_for_more_than_was_charged(seed: int, relation: Neighbors) -> None:
    assert not outcome(seed, relation).underpaid(relation)


@pytest.mark.parametrize("relation", RELATIONS)
def test_statements_do_share(relation: Neighbors) -> None:
    """Or else the test before were of no use."""
    sharing = (seed for seed in SEEDS if outcome(seed, relation).shared)
    assert len(list(islice(sharing, 3))) == 3


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
        MemoryLedger, "_of", lambda self, group: parallel((sums for _, sums in group), 1)
    ),
    "all filters exclude each other": (Region, "excludes", lambda self, other: True),
    "one of a group excluded": (memory, "all", any),
    "all filters at once": (Plan, "region", property(_careless)),
    "a statement with a subquery": (
        Plan, "region", property(lambda plan: region(plan.table, plan.where))
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_would_be_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MISTAKES[mistake], raising=False)
    assert any(outcome(seed, REPLACE).underpaid(REPLACE) for seed in range(200))


# ------------------------------------------------------------------------- plain prices


def prices(here: Session, *statements: str) -> list[Fraction]:
    """In twentieths of ε."""
    return [here.execute(sql).cost.epsilon * 20 for sql in statements]


def counting(*conditions: str, epsilon: str = "0.05") -> list[str]:
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {epsilon})"
    return [f"SELECT {options} COUNT(*) FROM t WHERE {each}" for each in conditions]


EACH = ("s = 'a'", "s = 'b'", "s = 'c'")


@pytest.mark.parametrize(
    ("relation", "first", "later"),
    [(ADD_REMOVE, [1, 0, 0], [1, 0, 0]), (REPLACE, [1, 1, 0], [1, 1, 0])],
)
def test_a_round_over_values_is_paid_once(
    relation: Neighbors, first: list[int], later: list[int]
) -> None:
    """Under `replace` twice: a row can go from one value to another."""
    here = session(relation)
    assert prices(here, *counting(*EACH)) == first
    assert here.balance.queries_left == LARGE.queries - 3
    # A second round sees the same rows again.
    here.execute("SET repeats = 'fresh'")
    assert prices(here, *counting(*EACH)) == later
    assert here.balance.queries_left == LARGE.queries - 6


@pytest.mark.parametrize(
    ("relation", "expected"), [(ADD_REMOVE, [2, 4, 0, 1]), (REPLACE, [2, 6, 2, 3])]
)
def test_the_largest_loss_is_paid(relation: Neighbors, expected: list[int]) -> None:
    """Of 2, 6, 4 and 7 the largest, or the two largest: 2 6 6 7, and 2 8 10 13."""
    here = session(relation)
    sizes = ("0.1", "0.3", "0.2", "0.35")
    each = (*EACH, "s IS NULL")
    statements = [sql for e, c in zip(sizes, each, strict=True) for sql in counting(c, epsilon=e)]
    assert prices(here, *statements) == expected


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    "statements",
    [
        counting("n < 2", "n < 3", "n = 1", "n IS NOT NULL"),
        counting("n < 2", "f", "s = 'a'"),
        counting("n + 0 = 1", "n + 0 = 2"),
        counting("n = (SELECT MAX(n) FROM t)", "n < (SELECT MAX(n) FROM t)"),
        counting("n = 1", "n = 2 AND n < (SELECT MAX(n) FROM t)"),
        ["SELECT s, COUNT(*) FROM t GROUP BY s", "SELECT COUNT(*) FROM t WHERE s = 'a'"],
        ["SELECT COUNT(n) FROM t WHERE n = 1", "SELECT COUNT(n) FROM t", "SELECT SUM(n) FROM t"],
        ["SELECT COUNT(*) FILTER (WHERE n = 1), COUNT(*) FILTER (WHERE n = 2) FROM t",
         "SELECT COUNT(*) FROM t WHERE n = 3"],
        ["SELECT COUNT(*) FILTER (WHERE n = 1), COUNT(s) FROM t", "SELECT SUM(n) FROM t WHERE n = 2"],
    ],
    ids=lambda statements: statements[-1],
)  # fmt: skip
def test_statements_about_the_same_rows_add_up(statements: list[str], relation: Neighbors) -> None:
    here = session(relation, Budget(Fraction(1), Fraction(0), 20))
    here.execute("SET epsilon = 0.05")
    assert prices(here, *statements) == [1] * len(statements)


@pytest.mark.parametrize(
    "statements",
    [
        counting("n < 2", "n > 2", "n = 2"),
        counting("f", "NOT f", "f IS NULL"),
        counting("n = 1 AND f", "n = 2 AND s LIKE 'a%'", "n = 3 AND f"),
        ["SELECT s, COUNT(*), AVG(n) FROM t WHERE f GROUP BY s", "SELECT MEDIAN(n) FROM t WHERE NOT f"],
        [f"SELECT COUNT(*) FILTER (WHERE n = {n}) FROM t" for n in range(4)],
        [f"SELECT SUM(n) FILTER (WHERE f), COUNT(*) FILTER (WHERE f) FROM t WHERE n = {n}" for n in range(4)],
        ["SELECT SUM(n) FILTER (WHERE f) FROM t", "SELECT COUNT(*) FROM t WHERE NOT f"],
    ],
    ids=lambda statements: statements[-1],
)  # fmt: skip
def test_statements_about_different_rows_are_paid_once(statements: list[str]) -> None:
    for relation, expected in ((ADD_REMOVE, 1), (REPLACE, 2)):
        here = session(relation, Budget(Fraction(1), Fraction(0), 20))
        here.execute("SET epsilon = 0.05")
        assert sum(prices(here, *statements)) == expected


def test_groups_are_paid_once_too() -> None:
    """One statement, in which a row is in one group, and under `replace` in two."""
    for relation in RELATIONS:
        here = session(relation)
        [drawn] = here.execute("SELECT s, COUNT(*) FROM t GROUP BY s").releases
        assert drawn.epsilon == here.balance.sums.epsilon
        assert drawn.sensitivity == (1 if relation is ADD_REMOVE else 2)


def test_each_statement_counts_as_a_query() -> None:
    here = session(ADD_REMOVE, Budget(Fraction(1), Fraction(0), 3))
    assert prices(here, *counting(*EACH)) == [1, 0, 0]
    assert here.balance.epsilon_left > 0
    with pytest.raises(BudgetExceeded, match="limit of 3 queries"):
        here.execute("SELECT COUNT(*) FROM t WHERE s IS NULL")


def test_what_is_left_covers_what_is_free() -> None:
    """Nothing is left but for rows that no statement has seen."""
    here = session(ADD_REMOVE, Budget(Fraction(1, 20), Fraction(0), 10))
    assert prices(here, *counting("s = 'a'")) == [1]
    assert here.balance.epsilon_left == 0
    assert prices(here, *counting("s = 'b'")) == [0]
    with pytest.raises(BudgetExceeded):
        here.execute(*counting("s = 'a' AND f"))
    with pytest.raises(BudgetExceeded):
        here.execute(*counting("s = 'c'", epsilon="0.06"))
    assert prices(here, *counting("s = 'c'")) == [0]


def test_tables_do_not_share() -> None:
    """Nobody says that whoever is in the one is not in the other."""
    one, other = (world(COLUMNS, budget=LARGE) for _ in range(2))
    second = type(other.table)("u", other.table.path, COLUMNS)
    here = Session(Policy((one.table, second), LARGE), noise=Noiseless())
    here.execute("SET epsilon = 0.05")
    assert prices(here, *counting("n = 1"), "SELECT COUNT(*) FROM u WHERE n = 2") == [1, 1]


@pytest.mark.parametrize("composition", [Composition.ADVANCED, Composition.ZCDP])
def test_all_that_theorems_add_up_is_shared(composition: Composition) -> None:
    for relation, rows in ((ADD_REMOVE, 1), (REPLACE, 2)):
        here = session(relation, Budget(Fraction(1), Fraction(1, 10**6), 10, composition))
        here.execute("SET mechanism = 'gaussian'")
        first, *others = counting(*EACH)
        here.execute(first)
        one = here.balance.sums
        assert all(one.parts[:5])
        for sql in others:
            here.execute(sql)
            assert here.balance.sums.parts == tuple(rows * part for part in one.parts)


@pytest.mark.parametrize("relation", RELATIONS)
def test_steps_towards_a_relative_error_are_shared(relation: Neighbors) -> None:
    """The longest way is paid for, or the two longest."""
    here = session(relation)
    paid = []
    for each in ("s = 'a'", "s = 'b' AND n = 1", "s = 'c' AND n = 1 AND f"):
        options = "WITH DIFFERENTIAL_PRIVACY OPTIONS(relative_error = 0.2, epsilon = 8)"
        answer = here.execute(f"SELECT {options} COUNT(*) FROM t WHERE {each}")
        paid.append(sum(float(drawn.epsilon) for drawn in answer.releases))
    assert len(set(paid)) > 1
    longest = sorted(paid, reverse=True)[: 1 if relation is ADD_REMOVE else 2]
    assert float(here.balance.sums.epsilon) == pytest.approx(sum(longest), rel=1e-9)


def test_of_too_long_lists_the_others_pay_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of values were kept whatever their length, and each statement looked at them all."""
    here = session(Neighbors.ADD_REMOVE)
    monkeypatch.setattr(memory, "MAX_TURNS", 5)
    first, second, third = counting("n = 1", "n IN (0, 2)", "n = 3")
    assert prices(here, first, second, third) == [1, 1, 0]


def test_of_too_many_the_others_pay_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_APART", 2)
    here = session(ADD_REMOVE)
    assert prices(here, *counting(*EACH, "s IS NULL")) == [1, 0, 1, 1]


# ------------------------------------------------------------------------- an adversary's filters

NUMBERS = [
    "",
    "0",
    "0.1",
    "0.10000000000000002",
    "0.3",
    "1.5",
    "4.999999999999999",
    "5",
    "5.000000000000001",
    "9",
]
ODD = (
    Column("n", Kind.INTEGER, Fraction(0), Fraction(3)),
    Column("x", Kind.NUMBER, Fraction(0), Fraction(9), Fraction(1, 10**15)),
    Column("s", Kind.TEXT),
    Column("f", Kind.BOOLEAN),
)  # fmt: skip
ODD_ROWS = list(product(["", "0", "1", "2", "3"], NUMBERS, ["", "a", "A", "b"], ["", "true", "false"]))  # fmt: skip

ONCE, TWICE, IN_DOUBT, NEVER = "once", "twice", "in doubt", "never"
"""In doubt, twice: no row passes both filters, but that cannot be told of a column by itself.

Never: no row passes the first by the policy, which costs nothing; the second is paid for.
"""
PAID = {ONCE: [1, 0], TWICE: [1, 1], IN_DOUBT: [1, 1], NEVER: [0, 1]}

PAIRS = [
    # (one filter, another, what is paid for both)
    ("x < 5", "x >= 5", ONCE),
    ("x < 5", "x >= 5.0000000000000000001", ONCE),
    ("x <= 5", "x >= 5.0000000000000000001", TWICE),
    ("x = 0.1", "x = 0.1000000000000000055", TWICE),
    ("x <= 0.1", "x > 0.1000000000000000055", ONCE),
    ("x = 0.3", "x = 0.1 + 0.2", IN_DOUBT),
    ("n > 1", "n < 2", ONCE),
    ("x > 1", "x < 2", TWICE),
    ("n = 0.5", "n = 0", NEVER),
    ("n <> 1", "n <> 2", TWICE),
    ("n = 1 OR n = 2", "n = 3 OR n = 0", ONCE),
    ("n = 1 OR f", "n = 2", TWICE),
    ("n = 1 OR n IS NULL", "n = 2 OR n IS NULL", TWICE),
    ("n = 1 AND f OR n = 2", "n = 3", ONCE),
    ("NOT (n = 1 AND f)", "n = 1", TWICE),
    ("NOT (n = 1 OR f)", "n = 1", ONCE),
    ("n IN (1, 2)", "n NOT IN (1, 2)", ONCE),
    ("n IN (1, 2)", "n NOT IN (1, 3)", TWICE),
    ("n NOT IN (1, NULL)", "n = 2", NEVER),
    ("n IN (1, NULL)", "n = 1", TWICE),
    ("n = NULL", "n IS NULL", NEVER),
    ("n IS NULL", "n IS NOT NULL", ONCE),
    ("n IS NULL", "f IS NULL", TWICE),
    ("f", "NOT f", ONCE),
    ("f IS NOT TRUE", "f IS NOT FALSE", TWICE),
    ("f IS NOT TRUE", "f", IN_DOUBT),
    ("COALESCE(f, TRUE)", "NOT f", IN_DOUBT),
    ("COALESCE(f, TRUE)", "f IS NULL", TWICE),
    ("s = 'a'", "s = 'A'", ONCE),
    ("s = 'a'", "LOWER(s) = 'a'", TWICE),
    ("s LIKE 'a'", "s = 'a'", TWICE),
    ("s LIKE 'b%'", "s = 'a'", IN_DOUBT),
    ("s >= 'a'", "s < 'b'", TWICE),
    ("CASE WHEN f THEN n ELSE 0 END = 1", "n = 1", TWICE),
    ("CASE WHEN f THEN 1 ELSE 0 END = n", "n = 1", TWICE),
    ("n = x", "n <> x", IN_DOUBT),
    ("n * 2 = 2", "n = 1", TWICE),
    ("-n = -1", "n = 1", TWICE),
    ("CAST(n AS TEXT) = '1'", "n = 1", TWICE),
    ("1 = 1", "n = 1", TWICE),
]


@cache
def counted(text: str) -> Mask:
    """Which of ODD_ROWS the engine counts, each in a table of its own."""
    here = world(ODD)
    with nothing_settled():
        planned = here.plan(f"SELECT COUNT(*) FROM t WHERE {text}")
    return np.array([here.exact(planned, [row])[0].tolist() == [1] for row in ODD_ROWS])


@pytest.mark.parametrize(("one", "other", "paid"), PAIRS)
def test_an_adversarys_filters(one: str, other: str, paid: str) -> None:
    here = world(ODD, budget=LARGE)
    here.source.rows = ODD_ROWS[:100]
    both = Session(here.policy, noise=Noiseless())
    assert prices(both, *counting(one, other)) == PAID[paid]
    assert (counted(one) & counted(other)).any() == (paid == TWICE)
    assert counted(one).any() == (paid != NEVER)


# ------------------------------------------------------------------------- at once


class Meeting(MemoryLedger):
    """A ledger in which two charges meet before they are made, if nothing keeps them apart."""

    def __init__(self, budget: Budget, meeting: Barrier):
        super().__init__(budget)
        self._meeting = meeting

    def _after(self, *arguments: Any) -> Any:
        after = super()._after(*arguments)
        with suppress(BrokenBarrierError):
            self._meeting.wait(timeout=0.2)
        return after


def charged_at_once(change: Callable[[MemoryLedger], object]) -> int:
    """How many of two charges, of which the budget covers one, are accepted."""
    budget = Budget(Fraction(1), Fraction(0), 10)
    accepted: list[Price] = []
    kept = Meeting(budget, Barrier(2))
    change(kept)

    def charge() -> None:
        with suppress(BudgetExceeded):
            accepted.append(kept.charge(ComposedLoss.of(pure(Fraction(3, 4))), None))

    threads = [Thread(target=charge) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(accepted)


def test_two_charges_at_once_never_overspend() -> None:
    assert charged_at_once(lambda kept: None) == 1


def test_without_a_lock_they_would() -> None:
    assert charged_at_once(lambda kept: setattr(kept, "_lock", nullcontext())) == 2


def test_many_charges_at_once_add_up() -> None:
    budget = Budget(Fraction(1), Fraction(0), 1000)
    kept = MemoryLedger(budget)
    accepted: list[Price] = []

    def charge() -> None:
        for number in range(100):
            with suppress(BudgetExceeded):
                accepted.append(
                    kept.charge(ComposedLoss.of(pure(Fraction(1 + number % 7, 500))), None)
                )

    threads = [Thread(target=charge) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = sum((price.epsilon for price in accepted), Fraction(0))
    assert spent == 1 - kept.balance.epsilon_left
    assert spent == 1
    assert kept.balance.queries_left == 1000 - len(accepted)
