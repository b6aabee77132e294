"""Local sensitivities in closed form, against leaving out every row."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.plan.logical.query import Function
from dpdb.session.exact_values import sensitivity, statistic

# The definitions of Evans et al., by Python's own statistics module.
DEFINITIONS: dict[Function, Callable[[list[float]], float]] = {
    Function.COUNT: len,
    Function.SUM: sum,
    Function.AVG: statistics.fmean,
    Function.MIN: min,
    Function.MAX: max,
    Function.VAR_POP: statistics.pvariance,
    Function.VAR_SAMP: lambda d: statistics.variance(d) if len(d) > 1 else 0.0,
    Function.STDDEV_POP: statistics.pstdev,
    Function.STDDEV_SAMP: lambda d: statistics.stdev(d) if len(d) > 1 else 0.0,
    Function.QUANTILE: statistics.median,
}
numbers = st.integers(-1000, 1000).map(float)


def brute_force(f: Callable[[list[float]], float], data: list[float]) -> float:
    """Equation 5: the largest |f(D) - f(D')| over D' = D less one row."""
    return max(abs(f(data) - f(data[:i] + data[i + 1 :])) for i in range(len(data)))


@pytest.mark.parametrize("function", DEFINITIONS)
@settings(max_examples=20)
@given(data=st.lists(numbers, min_size=2, max_size=12))
def test_against_brute_force(function: Function, data: list[float]) -> None:
    values = np.sort(np.array(data))
    f = DEFINITIONS[function]
    assert statistic(function, values, 0.5) == pytest.approx(f(data), abs=1e-9)
    assert sensitivity(function, values, 0.5) == pytest.approx(brute_force(f, data), abs=1e-6)


@given(data=st.lists(numbers, min_size=2, max_size=12), fraction=st.floats(0, 1))
def test_any_quantile_against_brute_force(data: list[float], fraction: float) -> None:
    def quantile(rows: list[float]) -> float:
        return float(np.quantile(rows, fraction))

    found = sensitivity(Function.QUANTILE, np.sort(np.array(data)), fraction)
    assert found == pytest.approx(brute_force(quantile, data), abs=1e-6)


def test_lee_and_clifton_table_4() -> None:
    """The sensitivity of the median of absence days in each possible world."""
    worlds = {(1, 2, 3): 0.5, (1, 2, 10): 4, (1, 3, 10): 3.5, (2, 3, 10): 3.5}
    for world, expected in worlds.items():
        assert sensitivity(Function.QUANTILE, np.array(world, float), 0.5) == expected


@pytest.mark.parametrize("function", [f for f in DEFINITIONS if f is not Function.COUNT])
def test_of_one_row_it_is_its_value(function: Function) -> None:
    assert sensitivity(function, np.array([-7.0])) == 7.0


def test_a_count_has_1_even_of_nothing() -> None:
    assert sensitivity(Function.COUNT, np.array([])) == 1.0
    assert statistic(Function.COUNT, np.array([])) == 0
