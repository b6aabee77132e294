"""Counts over segments as sessions answer them: the loss, the error that EXPLAIN promises, ±."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.plan.ranges.statistics import Histogram
from dpdb.policy.budget import Budget, Neighbors
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.connect import policy_of
from dpdb.session.session import Session
from tests.support.brute import ADD_REMOVE, REPLACE, multisets, neighbouring, world
from tests.support.domains import PLENTY, read_row_kinds
from tests.support.noiseless import Noiseless

PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.csv"
THRESHOLDS = [30, 40, 50, 60]
FOUR = "SELECT {} FROM people".format(
    ", ".join(f"COUNT(*) FILTER (WHERE age < {age})" for age in THRESHOLDS)
)
BANDS = "SELECT {} FROM people".format(
    ", ".join(f"SUM(CASE WHEN zip = {code} THEN 1 ELSE 0 END)" for code in (10025, 11215, 14607))
)
RUNS = 50


def session(runs: int, seed: int | None = None) -> Session:
    """Each run has ε = 1; without a seed there is no noise."""
    policy = policy_of(PEOPLE, epsilon=Fraction(runs), queries=runs)
    noise = Noiseless() if seed is None else SystemNoise(Random(seed).randbytes)
    result = Session(policy, noise=noise)
    result.execute("SET repeats = 'fresh'")
    return result


def promised(sql: str) -> list[float]:
    """The rmse of each count that its plan promises at ε = 1.

    The variance of discrete Laplace noise is 2r / (1 - r)², for r = exp(-1/scale).
    """
    plan = session(1, 0).execute(f"EXPLAIN {sql}").plan
    assert plan is not None
    [release] = plan.releases
    assert isinstance(release.mechanism, Laplace)
    r = math.exp(-1 / release.mechanism.scale)
    return [math.sqrt(len(e.segments or ()) * 2 * r) / (1 - r) for e in plan.estimates]


def test_four_thresholds_are_twice_as_near_as_alone() -> None:
    """Alone each has ε/4: 5.66. The target is 2.75."""
    assert promised(FOUR) == pytest.approx([1.36, 1.92, 2.35, 2.71], abs=0.01)
    assert max(promised(FOUR)) <= 2.75


def test_explain_says_what_each_count_adds_up() -> None:
    explained = session(1, 0).execute(f"EXPLAIN {FOUR}")
    labels = [f"COUNT(*) FILTER (WHERE age < {age})" for age in THRESHOLDS]
    assert [release.column for release in explained.releases] == [", ".join(labels)]
    margins = [3, 4, 5, 5]
    assert list(explained.notes) == [
        f"{label} adds up {number} of 4 segments: ± {margin}, 95 % sure"
        for number, (label, margin) in enumerate(zip(labels, margins, strict=True), 1)
    ]
    shown = explain_screen(explained, ())
    assert "from   4 segments, no row is in two: rows of " in shown
    many = ", ".join(f"COUNT(*) FILTER (WHERE age < {age})" for age in range(20, 26))
    [release] = session(1, 0).execute(f"EXPLAIN SELECT {many} FROM people").releases
    assert release.column == "COUNT(*) FILTER (WHERE age < 20) and 5 more"


def test_counts_that_exclude_each_other_have_all_of_epsilon() -> None:
    assert promised(BANDS) == pytest.approx([1.36] * 3, abs=0.01)


def errors_and_failures(sql: str, seed: int) -> tuple[list[list[int]], list[int]]:
    """For each column the errors of its cells over RUNS runs, and how often ± did not hold."""
    exact = session(1).execute(sql).rows
    noisy = session(RUNS, seed)
    errors: list[list[int]] = [[] for _ in exact[0]]
    failures = [0] * len(exact[0])
    for _ in range(RUNS):
        answer = noisy.execute(sql)
        for truths, row, intervals in zip(exact, answer.rows, answer.intervals, strict=True):
            cells = zip(truths, row, intervals, strict=True)
            for index, (truth, value, ends) in enumerate(cells):
                assert isinstance(truth, int)
                assert isinstance(value, int)
                errors[index].append(value - truth)
                failures[index] += ends is not None and not ends[0] <= truth <= ends[1]  # type: ignore[operator]
    return errors, failures


def test_answers_are_as_near_as_promised_and_within_their_intervals() -> None:
    """Over 2,000 cells each rmse is within 4 standard errors, and ± holds in 95 % of them.

    The squared error of a sum of n Laplace noises has the kurtosis 3 + 3/n, so the standard error
    of an rmse is √((2 + 3/n) / 4 / 2,000) of it, 2.5 % at most. The number of intervals that fail
    is at most binomial with 2,000 and 0.05: at most 100 + 4 · 9.7 (α = 1e-4 each).
    """
    errors, failures = errors_and_failures(f"{FOUR} GROUP BY zip ORDER BY zip", seed=7)
    assert {len(each) for each in errors} == {2000}
    rmse = [math.sqrt(sum(e**2 for e in each) / len(each)) for each in errors]
    assert rmse == pytest.approx(promised(FOUR), rel=4 * 0.025)
    assert all(number <= 100 + 4 * 9.7 for number in failures)
    # They are not far too wide either: whole numbers leave a few percent to spare.
    assert all(number >= 25 for number in failures)


def test_an_expression_over_shared_noise_is_within_its_interval() -> None:
    """The two counts have a segment in common, so their noises are not independent."""
    two = "COUNT(*) FILTER (WHERE age < 30) + COUNT(*) FILTER (WHERE age < 31)"
    _, [failures] = errors_and_failures(f"SELECT {two} FROM people GROUP BY zip", seed=9)
    assert failures <= 100 + 4 * 9.7


def test_intervals_over_shared_noise_fail_for_one_part_or_the_other() -> None:
    """The probabilities of that add up (Bonferroni): each part has the interval at 97.5 %."""
    sql = "SELECT COUNT(*) FILTER (WHERE age < 30) + COUNT(*) FILTER (WHERE age < 31) FROM people"
    policy = policy_of(PEOPLE, epsilon=Fraction(1, 1000), queries=1)
    asked = Session(policy, noise=Noiseless())
    plan = asked.execute(f"EXPLAIN {sql}").plan
    assert plan is not None
    [release] = plan.releases
    assert isinstance(release.mechanism, Laplace)
    margins = [release.mechanism.quantile(0.975, terms) for terms in (1, 2)]
    [[ends]] = asked.execute(sql).intervals
    assert ends is not None
    assert ends[1] - ends[0] == 2 * sum(margins)  # type: ignore[operator]


HISTOGRAMS = [
    "SELECT COUNT(*) FILTER (WHERE x < 0), COUNT(*) FILTER (WHERE x = 1), COUNT(*) "
    "FILTER (WHERE x > 3) FROM t",
    "SELECT COUNT(*) FILTER (WHERE x > 0), COUNT(*) FILTER (WHERE x > 1), COUNT(*) "
    "FILTER (WHERE x > 3), COUNT(*) FILTER (WHERE x > 4) FROM t",
    "SELECT g, COUNT(*) FILTER (WHERE b), COUNT(*), SUM(NOT b) FROM t WHERE b OR g = 'a' GROUP BY g",
]


@pytest.mark.usefixtures("in_memory")
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("sql", HISTOGRAMS)
def test_the_largest_loss_over_all_small_tables_is_the_charge(
    sql: str, relation: Neighbors
) -> None:
    """Of Laplace noise the loss between two tables is the ℓ1 distance over the scale."""
    columns, kinds = read_row_kinds(sql)
    here = world(columns, relation)
    planned = here.plan(sql, PLENTY)
    assert any(isinstance(release.statistic, Histogram) for release in planned.releases)
    tables = [[kinds[i] for i in rows] for rows in multisets(len(kinds), 2)]
    results = here.all_exact(planned, tables)
    left, right = neighbouring(len(kinds), 2, relation)
    losses = np.zeros(len(left))
    for at, release in enumerate(planned.releases):
        drawn = np.array([np.asarray(result[at]).ravel() for result in results])
        assert isinstance(release.mechanism, Laplace)
        losses += np.abs(drawn[left] - drawn[right]).sum(axis=1) / float(release.mechanism.scale)
    assert losses.max() == pytest.approx(float(planned.loss.epsilon))


@pytest.mark.usefixtures("in_memory")
@pytest.mark.parametrize("sql", HISTOGRAMS)
def test_sums_of_segments_are_the_counts(sql: str) -> None:
    """On all tables of one row the answers without noise are those of the counts alone."""
    columns, kinds = read_row_kinds(sql)
    here = world(columns, budget=Budget(Fraction(1), Fraction(0), 100))
    parts = sql.removeprefix("SELECT ").partition(" FROM t")
    alone = [part for part in parts[0].split(", ") if part != "g"]
    for row, other in product(kinds, kinds[:2]):
        here.source.rows = [row, other]
        asked = Session(here.policy, noise=Noiseless())
        together = asked.execute(sql).rows
        each = [asked.execute(f"SELECT {part} FROM t{parts[2]}").rows for part in alone]
        shown = [cells[-len(alone) :] for cells in together]
        assert shown == [tuple(c for (c,) in cells) for cells in zip(*each, strict=True)]
