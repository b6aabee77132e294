"""What statements about different rows are charged."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpdb.errors import BudgetExceeded
from dpdb.ledger import spending
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Policy
from dpdb.session.session import Session
from tests.support.brute import ADD_REMOVE, REPLACE, world
from tests.support.filters import COLUMNS, LARGE, RELATIONS, counting, prices, session
from tests.support.noiseless import Noiseless

pytestmark = pytest.mark.usefixtures("in_memory")

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
        ["SELECT COUNT(*) FROM t WHERE s = 'a'", "SELECT s, COUNT(*) FROM t GROUP BY s"],
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
    with pytest.raises(BudgetExceeded, match="all 3 queries are used"):
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
    monkeypatch.setattr(spending, "MAX_TURNS", 5)
    first, second, third = counting("n = 1", "n IN (0, 2)", "n = 3")
    assert prices(here, first, second, third) == [1, 1, 0]


def test_of_too_many_the_others_pay_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "MAX_APART", 2)
    here = session(ADD_REMOVE)
    assert prices(here, *counting(*EACH, "s IS NULL")) == [1, 0, 1, 1]
