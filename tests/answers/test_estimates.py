"""Aggregates out of noisy parts: worked out on paper for values that are easy to follow."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from dpdb.answers.estimates import points, scalar, step_of, vector
from dpdb.plan.expressions.expressions import Slot
from dpdb.policy.catalog import Kind, Policy
from dpdb.vectors.vector import AnyVector, TextVector, Vector
from tests.support.plans import PRIVATE, PUBLIC, ROWS, planned

Drawn = Sequence[float] | Sequence[Sequence[float]]
"""The noisy values of a release: one for each cell, of a vector a row for each."""


def estimated(text: str, *draws: Drawn, policy: Policy = PRIVATE) -> AnyVector:
    """The first aggregate of a query, from noisy values in grid steps."""
    plan = planned(text, policy)
    assert len(plan.releases) == len(draws)
    found = points(plan, [np.array(each, dtype=np.float64) for each in draws])
    return found[Slot("aggregate", 0, plan.estimates[0].aggregate.kind)]


def values(text: str, *draws: Drawn, policy: Policy = PRIVATE) -> list[float | None]:
    """The same as numbers, None for NULL."""
    found = estimated(text, *draws, policy=policy)
    assert isinstance(found, Vector)
    null = np.zeros(len(found.values), bool) if found.null is None else found.null
    both = zip(found.values.tolist(), null.tolist(), strict=True)
    return [None if missing else value for value, missing in both]


def test_counts_and_sums_are_what_was_drawn_in_the_analysts_unit() -> None:
    assert values("zip, COUNT(*) FROM t GROUP BY zip", [7, -2, 0]) == [7, -2, 0]
    assert values("COUNT(DISTINCT note)", [5]) == [5]
    assert values("SUM(pay)", [123]) == [1.23]
    assert values("SUM(pay)", [10]) == [0.1]  # the double nearest to it


def test_an_average_is_the_centre_and_the_mean_distance_from_it() -> None:
    """From Σ(x - L) and Σ(U - x): -30 and 10 rows about 50, and 1000 cents and 4 about 500."""
    assert values("AVG(age)", [[500 - 30, 500 + 30]]) == [50 - 3]
    assert values("AVG(pay)", [[4 * 50_000 + 1000, 4 * 50_000 - 1000]]) == [500 + 2.5]
    assert values("AVG(age)", [-80], policy=PUBLIC) == [50 - 80 / ROWS]


@pytest.mark.parametrize("count", [1, 0, -7])
def test_an_average_of_no_rows_is_divided_by_one(count: int) -> None:
    assert values("AVG(age)", [[50 * count + 20, 50 * count - 20]]) == [70]


def test_an_average_keeps_to_its_bounds() -> None:
    pairs = [[1099, -899], [-899, 1099], [100, 100]]
    assert values("zip, AVG(age) FROM t GROUP BY zip", pairs) == [100, 0, 50]
    assert values("AVG(age) FROM t WHERE age > 80", [[-989, 1008]]) == [81]


AGES = [40, 60, 51, 57]


def _vector(squares: float, total: float, number: float, half: int = 50) -> list[list[float]]:
    """4Σ(y² + hy), 4Σ(y² - hy) and 5Σ(h² - y²), from Σ y², Σ y and how many."""
    above, below = (4 * (squares + sign * half * total) for sign in (1, -1))
    return [[above, below, 5 * (number * half**2 - squares)]]


def _moments(ages: list[int]) -> tuple[int, int, int]:
    """Σ(x - 50)², Σ(x - 50) and how many."""
    return sum((age - 50) ** 2 for age in ages), sum(age - 50 for age in ages), len(ages)


@pytest.mark.parametrize(
    ("function", "truth"),
    [
        ("VAR_POP", statistics.pvariance(AGES)),
        ("VAR_SAMP", statistics.variance(AGES)),
        ("STDDEV_POP", statistics.pstdev(AGES)),
        ("STDDEV_SAMP", statistics.stdev(AGES)),
    ],
)
def test_variances_and_deviations(function: str, truth: float) -> None:
    found = values(f"{function}(age)", _vector(*_moments(AGES)))
    assert found == [pytest.approx(truth, rel=1e-12)]
    squares, total, _ = _moments(AGES * 10)
    assert len(AGES * 10) == ROWS
    expected = {"VAR_SAMP": statistics.variance, "STDDEV_SAMP": statistics.stdev}.get(function)
    public = truth if expected is None else expected(AGES * 10)
    found = values(f"{function}(age)", [[7 * squares, 4 * 50 * total]], policy=PUBLIC)
    assert found == [pytest.approx(public, rel=1e-12)]


def test_a_variance_is_in_squares_of_the_columns_unit() -> None:
    """Pay of 500 ± 2, in cents around 50,000: y² = 200²."""
    assert values("VAR_POP(pay)", _vector(2 * 200**2, 0, 2, 50_000)) == [pytest.approx(4)]


def test_a_variance_keeps_to_what_is_possible() -> None:
    """At least 0, at most that of rows at both ends of the bounds, whatever the noise."""
    assert values("VAR_POP(age)", _vector(-10_000, 0, 2)) == [0]
    assert values("STDDEV_POP(age)", _vector(-10_000, 0, 2)) == [0]
    assert values("VAR_POP(age)", _vector(10**6, 0, 2)) == [2500]
    assert values("VAR_SAMP(age)", _vector(10**6, 0, 1)) == [5000]


def test_selected_values_are_on_the_grid_or_among_those_declared() -> None:
    assert values("MEDIAN(pay)", [12_345]) == [123.45]
    assert values("MAX(age)", [7]) == [7]
    found = estimated("ok, MODE(city) FROM t GROUP BY ok", [1, 0])
    assert isinstance(found, TextVector)
    assert found.texts().tolist() == ["Rye", "Ely"]
    assert values("MODE(zip)", [2]) == [3]


def test_what_no_row_can_pass_counts_none_and_sums_to_null() -> None:
    never = "FILTER (WHERE age > 200)"
    assert values(f"COUNT(*) {never}, COUNT(*)", [3]) == [0]
    assert values(f"COUNT(DISTINCT note) {never}, COUNT(*)", [3]) == [0]
    for function in ("SUM", "AVG", "VARIANCE", "MEDIAN", "MODE"):
        assert values(f"{function}(zip) {never}, COUNT(*)", [3]) == [None]


def test_a_public_count_is_the_number_of_rows() -> None:
    assert values("COUNT(*)", policy=PUBLIC) == [ROWS]


@pytest.mark.parametrize("dtype", [np.int64, object])
def test_estimates_are_doubles_however_the_parts_were_held(dtype: npt.DTypeLike) -> None:
    draws = [np.array([2**62], dtype=dtype), np.array([2**40], dtype=dtype)]
    plan = planned("SUM(pay), COUNT(*)")
    for found in points(plan, draws).values():
        assert isinstance(found, Vector)
        assert found.values.dtype == np.float64


def test_steps_are_those_of_the_grid() -> None:
    plan = planned("SUM(pay), MEDIAN(pay), MODE(city)")
    assert plan.estimates[0].moments.step == Fraction(1, 100)
    assert [step_of(each) for each in plan.releases[1:]] == [Fraction(1, 100), 1]


def test_a_scalar_is_computed_from_aggregates_and_inner_subqueries() -> None:
    plan = planned("COUNT(*) * 2 + (SELECT SUM(age) FROM t) FROM t")
    inner = {Slot("subquery", 0, Kind.INTEGER): vector([100], Kind.INTEGER)}
    found = scalar(plan, points(plan, [np.array([21])]), inner)
    assert isinstance(found, Vector)
    assert found.values.tolist() == [142]


def test_keys_are_vectors_of_their_kind() -> None:
    texts = vector(["b", "a", "b"], Kind.TEXT)
    assert isinstance(texts, TextVector)
    assert texts.texts().tolist() == ["b", "a", "b"]
    truths = vector([True, False], Kind.BOOLEAN)
    assert isinstance(truths, Vector)
    assert truths.values.dtype == np.bool_
    rates = vector([Fraction(1, 4), 2], Kind.NUMBER)
    assert isinstance(rates, Vector)
    assert rates.values.tolist() == [0.25, 2]
