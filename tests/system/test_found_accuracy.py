"""How good found bounds are, beside the best that one could pick afterwards: the manual's figures."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpdb.privacy.mechanisms.selections.caps import FoundCaps
from dpdb.privacy.mechanisms.selections.ends import FoundEnds
from dpdb.privacy.noise.ends import select_caps, select_ends
from tests.support.audited import noise
from tests.support.hindsight import (
    Floats,
    best,
    best_cap,
    distributions,
    error_of,
    noise_of,
    orders,
    people,
    rows_of_units,
)

RUNS = 40


def found(values: Floats, epsilon: float, step: float = 1e-3) -> float:
    """The root of the mean squared error with found bounds, of which `epsilon` is the answer's."""
    ordered = np.sort(np.rint(values / step).astype(np.int64))
    mechanism, source, squares = FoundEnds(1, Fraction(1, 4)), noise(1), []
    for _ in range(RUNS):
        low, high = (
            step * end for end in select_ends(ordered, (-(2**53), 2**53), mechanism, source)
        )
        moved = float(np.clip(values, low, high).mean() - values.mean())
        squares.append(noise_of(low, high, values, epsilon) ** 2 + moved**2)
    return math.sqrt(np.mean(squares))


def test_ten_distributions_have_1_6_times_the_least_error() -> None:
    """The geometric mean; the histogram of powers of two has 3.8."""
    ratios = [found(values, 0.75) / best(values) for values in distributions()]
    assert math.exp(np.mean(np.log(ratios))) == pytest.approx(1.6, abs=0.15)
    assert max(ratios) < 4


def test_average_income_has_1_8_times_the_least_error_and_1_4_with_known_bounds() -> None:
    """In the steps that the policy declares; rungs lie otherwise in other steps."""
    income = people("income")
    least = best(income)
    assert found(income, 0.75, 0.01) / least == pytest.approx(1.8, abs=0.2)
    assert found(income, 1, 0.01) / least == pytest.approx(1.4, abs=0.15)


def test_of_as_many_rows_as_are_needed_the_centre_is_among_the_values() -> None:
    """Where all values are equal, which is the worst case: in 300 draws of 300."""
    mechanism, source = FoundEnds(1, Fraction(1, 4)), noise(3)
    assert mechanism.rows_needed == 1_000
    values = np.full(1_000, 1_000_000)
    for _ in range(300):
        low, high = select_ends(values, (-(2**53), 2**53), mechanism, source)
        assert low <= 1_000_000 <= high
        assert high - low < 1_000


def found_cap(rows: Floats) -> float:
    """The root of the mean squared error of a count whose cap is found, at ε 1 in all."""
    ordered, source = np.sort(rows).astype(np.int64), noise(1)
    mechanism = FoundCaps(1, Fraction(1, 4))
    caps = [select_caps(ordered, (0, 100_000), mechanism, source)[1] for _ in range(RUNS)]
    return math.sqrt(np.mean([error_of(cap, rows, 3 / 4) ** 2 for cap in caps]))


def test_ten_tables_of_units_have_2_1_times_the_least_error_and_the_shop_1_4() -> None:
    """The means; with a cap of 20 rows they have 6 times the least, also as a geometric mean."""
    tables = list(rows_of_units())
    best = [best_cap(rows) for rows in tables]
    ratios = [found_cap(rows) / least for rows, least in zip(tables, best, strict=True)]
    assert np.mean(ratios) == pytest.approx(2.1, abs=0.2)
    assert max(ratios) < 3
    fixed = [error_of(20, rows) / least for rows, least in zip(tables, best, strict=True)]
    assert math.exp(np.mean(np.log(fixed))) == pytest.approx(6, abs=1)
    assert found_cap(orders()) / best_cap(orders()) == pytest.approx(1.39, abs=0.15)
