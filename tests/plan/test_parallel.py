"""Aggregates over filters that exclude each other: each has all of ε, and the charge is ε."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpdb.plan.physical.plan import Plan
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.session.session import Session
from tests.support.brute import ADD_REMOVE, REPLACE, as_pairs, multisets, neighbouring, world
from tests.support.domains import (
    CAP,
    PLENTY,
    any_number,
    bystanders,
    one_is_absent,
    read_row_kinds,
    unit_world,
)
from tests.support.noiseless import Noiseless
from tests.support.plans import PRIVATE, PUBLIC, planned, small_policy

BANDS = ["age < 20", "age BETWEEN 20 AND 49", "age BETWEEN 50 AND 79", "age >= 80"]
SUMS = ", ".join(f"SUM(pay) FILTER (WHERE {band})" for band in BANDS)
MEANS = ", ".join(f"AVG(pay) FILTER (WHERE {band})" for band in BANDS)
CONCENTRATED = small_policy(composition=Composition.ZCDP)


def epsilons(plan: Plan) -> list[Fraction]:
    """The ε of each aggregate."""
    return [
        sum((plan.releases[i].mechanism.loss.epsilon for i in e.releases), Fraction(0))
        for e in plan.estimates
    ]


def scales(plan: Plan) -> list[Fraction]:
    return [release.mechanism.scale * release.unit for release in plan.releases]  # type: ignore[union-attr]


def test_filters_that_exclude_each_other_have_all_of_epsilon() -> None:
    for text in (SUMS, MEANS, f"zip, {SUMS} FROM t GROUP BY zip"):
        plan = planned(text)
        assert epsilons(plan) == [1] * 4
        assert plan.loss.epsilon == 1
    assert scales(planned(SUMS)) == scales(planned("SUM(pay)")) * 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Two over one filter have half of ε each, whatever there is over the others.
        ("SUM(pay) FILTER (WHERE ok), AVG(age) FILTER (WHERE ok), SUM(pay) FILTER (WHERE NOT ok)",
         [Fraction(1, 2), Fraction(1, 2), 1]),
        ("SUM(pay) FILTER (WHERE ok), SUM(pay) FILTER (WHERE NOT ok), MEDIAN(age)",
         [Fraction(1, 2)] * 3),
        # Each filter is in one family, and only where it excludes all of it.
        ("SUM(pay) FILTER (WHERE age < 20), SUM(pay) FILTER (WHERE age > 10), "
         "SUM(pay) FILTER (WHERE age > 30)", [Fraction(1, 2)] * 3),
        ("SUM(pay) FILTER (WHERE age < 20), SUM(pay) FILTER (WHERE age < 30)", [Fraction(1, 2)] * 2),
        ("SUM(pay) FILTER (WHERE age * 2 < 20), SUM(pay) FILTER (WHERE age > 30)",
         [Fraction(1, 2)] * 2),
        ("SUM(pay), SUM(pay) FILTER (WHERE ok)", [Fraction(1, 2)] * 2),
        ("SUM(pay) FILTER (WHERE zip = 1), SUM(pay) FILTER (WHERE zip = 2), "
         "COUNT(*) FILTER (WHERE zip = 1), COUNT(*) FILTER (WHERE zip = 2)", [1] * 4),
        ("COUNT(*) FILTER (WHERE pay IS NULL), AVG(pay)", [1, 1]),
        ("COUNT(*) FILTER (WHERE ok), VARIANCE(pay) FILTER (WHERE NOT ok)", [1, 1]),
        ("COUNT(*) FILTER (WHERE age < 9), COUNT(*) FILTER (WHERE age < 5), "
         "SUM(pay) FILTER (WHERE age > 9)", [1, 1, 1]),
        # NULLs are counted beside the average, which then reads all rows.
        ("COUNT(*) FILTER (WHERE pay IS NULL), AVG(pay), COUNT(*)", [Fraction(1, 2)] * 3),
        # Each sum excludes that of the other filter, and both exclude the count.
        ("SUM(pay) FILTER (WHERE ok), SUM(wealth) FILTER (WHERE ok), SUM(pay) FILTER (WHERE NOT ok), "
         "SUM(wealth) FILTER (WHERE NOT ok), COUNT(*) FILTER (WHERE ok IS NULL)",
         [Fraction(1, 2)] * 4 + [1]),
    ],
)  # fmt: skip
def test_what_a_row_can_be_in_together_shares_epsilon(text: str, expected: list[Fraction]) -> None:
    plan = planned(text)
    shares = [float(share) for share in epsilons(plan)]
    assert shares == pytest.approx([float(share) for share in expected])
    assert float(plan.loss.epsilon) == pytest.approx(1)


def test_the_charge_covers_what_is_spent_over_any_filter() -> None:
    """Selections stay by themselves, and so do releases with Gaussian noise."""
    median = "MEDIAN(pay) FILTER (WHERE ok), MEDIAN(pay) FILTER (WHERE NOT ok)"
    assert planned(median).parallel == ()
    options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian')"
    share = BudgetShare(Fraction(1), Fraction(1, 10**6))
    assert planned(f"{options} {SUMS} FROM t", PRIVATE, share).parallel == ()
    goal = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [1, 1, 1, 1])"
    assert planned(f"{goal} {SUMS} FROM t").parallel == ()


@pytest.mark.parametrize(
    ("policy", "text", "together"),
    [
        # A row that moves changes two sums: half the noise of k, twice for each.
        (PUBLIC, SUMS, True),
        (PUBLIC, f"{SUMS.partition(' FILTER')[0]} FILTER (WHERE ok), SUM(pay) FILTER (WHERE NOT ok)",
         True),
        (PUBLIC, "SUM(pay) FILTER (WHERE ok), SUM(pay) FILTER (WHERE NOT ok), MEDIAN(age)", False),
        (PUBLIC, "zip, SUM(pay) FILTER (WHERE ok), SUM(pay) FILTER (WHERE NOT ok), MEDIAN(age) "
                 "FROM t GROUP BY zip", True),
        (CONCENTRATED, SUMS, True),
        (small_policy(Neighbors.REPLACE, composition=Composition.ZCDP), SUMS, True),
    ],
)  # fmt: skip
def test_no_aggregate_is_noisier_than_alone(policy: Policy, text: str, together: bool) -> None:
    share = BudgetShare(Fraction(1), concentrated=policy.budget.composition is Composition.ZCDP)
    plan = planned(text, policy, share)
    assert bool(plan.parallel) == together
    asked = text.partition(" FROM ")
    columns = [part for part in asked[0].split(", ") if part != "zip"]
    number = len(columns)
    rest = f" FROM {asked[2]}" if asked[1] else ""
    for estimate, column in zip(plan.estimates, columns, strict=True):
        alone = planned(f"{column}{rest}", policy, share.part(Fraction(1, number)))
        if isinstance(alone.releases[0].mechanism, Laplace):
            own = plan.releases[estimate.releases[0]].mechanism.scale  # type: ignore[union-attr]
            assert own <= alone.releases[0].mechanism.scale * (1 + Fraction(1, 2**70))


CASES = [
    "SELECT SUM(x) FILTER (WHERE b), SUM(x) FILTER (WHERE NOT b), SUM(x) FILTER (WHERE b IS NULL) "
    "FROM t",
    "SELECT AVG(x) FILTER (WHERE b), SUM(x) FILTER (WHERE b), AVG(x) FILTER (WHERE NOT b) FROM t",
    "SELECT g, SUM(x) FILTER (WHERE b), VAR_POP(x) FILTER (WHERE NOT b) FROM t GROUP BY g",
    "SELECT COUNT(*) FILTER (WHERE x IS NULL), AVG(x) FROM t",
    "SELECT COUNT(*) FILTER (WHERE b), COUNT(x) FILTER (WHERE b), SUM(x) FILTER (WHERE NOT b) FROM t",
]


def losses(plan: Plan, results: list[list[np.ndarray]], pairs: tuple[np.ndarray, ...]) -> float:
    """The largest loss between two tables: of Laplace noise the distance over the scale."""
    found = np.zeros(len(pairs[0]))
    for at, release in enumerate(plan.releases):
        drawn = np.array([np.asarray(result[at]).ravel() for result in results])
        assert isinstance(release.mechanism, Laplace)
        change = np.abs(drawn[pairs[0]] - drawn[pairs[1]]).sum(axis=1)
        found += change / float(release.mechanism.scale)
    return float(found.max())


@pytest.mark.usefixtures("in_memory")
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("sql", CASES)
def test_no_pair_of_small_tables_loses_more_than_the_charge(sql: str, relation: Neighbors) -> None:
    """And some pair loses at least 0.8 of it."""
    columns, kinds = read_row_kinds(sql)
    here = world(columns, relation)
    plan = here.plan(sql, PLENTY)
    assert bool(plan.parallel) or relation is REPLACE
    tables = [[kinds[i] for i in rows] for rows in multisets(len(kinds), 2)]
    largest = losses(plan, here.all_exact(plan, tables), neighbouring(len(kinds), 2, relation))
    charged = float(plan.loss.epsilon)
    assert largest <= charged * (1 + 1e-12)
    assert largest >= 0.8 * charged or "VAR" in sql or relation is REPLACE


@pytest.mark.usefixtures("in_memory")
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("sql", [CASES[0], CASES[3]])
def test_no_unit_of_several_rows_loses_more(sql: str, relation: Neighbors) -> None:
    """Its rows can be under different filters."""
    here, kinds = unit_world(sql, relation)
    plan = here.plan(sql, PLENTY)
    assert plan.parallel
    related = one_is_absent if relation is ADD_REMOVE else any_number
    sets = multisets(len(kinds), CAP)
    pairs = as_pairs(
        (i, j) for i in range(len(sets)) for j in range(i) if related(sets[i], sets[j])
    )
    others = bystanders(kinds)[2]
    tables = [[*others, *((*kinds[i], "1") for i in rows)] for rows in sets]
    largest = losses(plan, here.all_exact(plan, tables), pairs)
    assert 0.8 * float(plan.loss.epsilon) <= largest <= float(plan.loss.epsilon) * (1 + 1e-12)


@pytest.mark.usefixtures("in_memory")
def test_the_price_is_that_of_one_aggregate() -> None:
    columns, kinds = read_row_kinds(CASES[0])
    here = world(columns, budget=Budget(Fraction(1), Fraction(0), 4))
    here.source.rows = kinds
    session = Session(here.policy, noise=Noiseless())
    answer = session.execute(CASES[0])
    assert answer.cost.epsilon == Fraction(1, 4)
    assert [release.epsilon for release in answer.releases] == [Fraction(1, 4)] * 3
    singles = [session.execute(f"SELECT {part} FROM t").rows[0][0] for part in
               CASES[0].removeprefix("SELECT ").removesuffix(" FROM t").split(", ")]  # fmt: skip
    assert list(answer.rows[0]) == singles
    assert all(a == b for a, b in pairwise(epsilons(here.plan(CASES[0]))))
    [note, *_] = session.execute(f"EXPLAIN {CASES[0]}").notes
    assert note.endswith("no row passes two of the filters, so the same epsilon serves all")
