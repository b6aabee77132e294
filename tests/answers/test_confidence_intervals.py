"""Where an exact value lies, from noisy values and public scales; coverage is tested elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpdb.answers.estimates import Noisy, points, scalar
from dpdb.answers.intervals.confidence_intervals import confidence_intervals, interval_of
from dpdb.answers.intervals.noise_tails import laplace_tail
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Kind, Policy
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import Array
from tests.support.plans import PRIVATE, PUBLIC, ROWS, planned

Ends = list[tuple[float | None, float | None]]


Drawn = list[int] | list[list[float]]
"""The noisy values of a release: one for each cell, of a vector a row for each."""


def arrays(draws: tuple[Drawn, ...]) -> list[Array]:
    return [np.array(each, dtype=np.float64) for each in draws]


def around(
    text: str, *draws: Drawn, policy: Policy = PRIVATE, confidence: float = 0.95
) -> Ends | None:
    """The interval of a query's first aggregate in each cell."""
    plan = planned(text, policy)
    found = interval_of(plan.estimates[0], plan, arrays(draws), confidence)
    return None if found is None else list(zip(*(end.tolist() for end in found), strict=True))


def margin(plan: Plan, index: int = 0, confidence: float = 0.95) -> float:
    """What a release's noise keeps to, in steps of its grid."""
    return plan.releases[index].mechanism.quantile(confidence)  # type: ignore[union-attr]


def test_counts_and_sums_are_within_their_noise() -> None:
    z = margin(planned("COUNT(*)"))
    assert around("zip, COUNT(*) FROM t GROUP BY zip", [5, 0, -9]) == [
        (5 - z, 5 + z),
        (-z, z),
        (-9 - z, -9 + z),
    ]
    z = margin(planned("SUM(pay)"))
    assert around("SUM(pay)", [123]) == [((123 - z) / 100, (123 + z) / 100)]


def test_more_confidence_needs_more_room() -> None:
    [(usual, _)], [(surer, _)] = (around("COUNT(*)", [0], confidence=c) for c in (0.9, 0.99))
    assert surer < usual < 0


def test_what_is_known_has_no_width() -> None:
    never = "FILTER (WHERE age > 200), COUNT(*)"
    assert around(f"COUNT(*) {never}", [3]) == [(0, 0)]
    assert around(f"SUM(age) {never}", [3]) is None
    assert around("COUNT(*)", policy=PUBLIC) == [(ROWS, ROWS)]


@pytest.mark.parametrize("text", ["MEDIAN(age)", "MAX(age)", "MODE(zip)"])
def test_a_selected_value_has_no_interval(text: str) -> None:
    assert around(text, [1]) is None


def test_an_average_over_a_public_count_is_within_its_noise_and_its_bounds() -> None:
    z = margin(planned("AVG(age)", PUBLIC))
    assert around("AVG(age)", [80], policy=PUBLIC) == [(50 + (80 - z) / ROWS, 50 + (80 + z) / ROWS)]
    [(low, high)] = around("AVG(age)", [49 * ROWS], policy=PUBLIC)
    assert (low, high) == (50 + (49 * ROWS - z) / ROWS, 100)


@pytest.mark.parametrize(("total", "count"), [(900, 300), (-9000, 250), (15000, 301), (5, 40)])
def test_an_averages_interval_is_all_means_that_are_not_rejected(total: int, count: int) -> None:
    """Fieller: A(U - m) - B(m - L), over w, is noise of scales b(U - m)/w and b(m - L)/w.

    Here m is counted from the centre, b = w = 100, and whole noise is within 1 of continuous noise.
    """
    means = np.linspace(-50, 50, 100_001)
    distance = np.maximum(np.abs(total - means * count) - 1, 0)
    tail = laplace_tail(distance, [50 - means, 50 + means])
    plausible = means[tail >= 0.05]
    [(low, high)] = around("AVG(age)", [[50 * count + total, 50 * count - total]])
    assert (low, high) == pytest.approx((50 + plausible[0], 50 + plausible[-1]), abs=0.0011)


def test_an_average_of_hardly_any_rows_may_be_anything() -> None:
    for count in (1, 0, -20):
        assert around("AVG(age)", [[50 * count + 20, 50 * count - 20]]) == [(0, 100)]


@pytest.mark.parametrize("function", ["VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP"])
@pytest.mark.parametrize("moments", [(300_000, 10, 600), (200_000, -9000, 600), (10**6, 400, 2000)])
def test_a_variances_interval_is_all_that_some_plausible_mean_allows(
    function: str, moments: tuple[int, int, int]
) -> None:
    """Q - 2mY + m²N - VN is noise for the true m and V; means at 99.5 %, variances at 95.5 %."""
    squares, total, number = moments
    sample = function.endswith("SAMP")
    # The weights of P, M and R in Σy², Σy and the number, for h = 50; all have the scale 20,500.
    of = np.array([[1 / 8, 1 / 8, 0], [1 / 400, -1 / 400, 0], [1 / 20_000, 1 / 20_000, 1 / 12_500]])

    def is_noise(terms: Array, distance: Array, confidence: float) -> Array:
        weights = [
            np.abs(sum(t * row[i] for t, row in zip(terms, of, strict=True))) for i in range(3)
        ]
        left = np.maximum(np.abs(distance) - sum(weights), 0)
        return laplace_tail(left, [20_500 * weight for weight in weights]) >= 1 - confidence

    means = np.linspace(-50, 50, 20_001)
    ones = np.ones_like(means)
    means = means[is_noise([0 * ones, ones, -means], total - means * number, 0.995)]
    means = means[:: max(1, len(means) // 200)].reshape(-1, 1)
    values = np.linspace(0, 5000 if sample else 2500, 4001)
    divisor = number - 1 if sample else number
    distance = squares - 2 * means * total + means**2 * number - values * divisor
    terms = [1 + 0 * distance, -2 * means + 0 * distance, means**2 - values]
    allowed = values[is_noise(terms, distance, 0.955).any(axis=0)]
    ends = np.sqrt(allowed) if function.startswith("STDDEV") else allowed
    found = around(f"{function}(age)", _vector(squares, total, number))
    assert found is not None
    assert found[0] == pytest.approx((ends[0], ends[-1]), rel=0.01, abs=2)


def _vector(squares: float, total: float, number: float) -> list[list[float]]:
    """4Σ(y² + 50y), 4Σ(y² - 50y) and 5Σ(2500 - y²)."""
    above, below = (4 * (squares + sign * 50 * total) for sign in (1, -1))
    return [[above, below, 5 * (number * 2500 - squares)]]


def column(text: str, *draws: Drawn, policy: Policy = PRIVATE) -> Ends | None:
    """The interval of a query's first column in each row; the keys are left out of the frame."""
    plan = planned(text, policy)
    noisy = Noisy(arrays(draws), {})
    frame = Frame({}, dict(points(plan, noisy.draws)))
    return listed(confidence_intervals(plan, noisy, plan.outputs[0], frame))


def listed(ends) -> Ends | None:
    if ends is None:
        return None
    each = [np.where(end.null, None, end.values).tolist() for end in ends]
    return list(zip(*each, strict=True))


def test_one_aggregate_has_the_interval_that_it_has_alone() -> None:
    assert column("COUNT(*)", [50]) == around("COUNT(*)", [50])
    pair = [[15_900, 14_100]]
    assert column("AVG(age) * 2 + 1", pair) == [
        pytest.approx(tuple(2 * end + 1 for end in around("AVG(age)", pair)[0]))
    ]


def test_several_hold_at_once() -> None:
    text = "COUNT(*) FILTER (WHERE ok) - SUM(age)"
    plan = planned(f"{text}, 1")
    count, total = (margin(plan, index, math.sqrt(0.95)) for index in (0, 1))
    width = count + total
    assert column(text, [50], [2000]) == [(-1950 - width, -1950 + width)]


def test_what_is_read_from_the_same_noise_is_held_to_more() -> None:
    """Bonferroni: of two readings of one pair each may fail with 2.5 %."""
    pair = [[2000, 3000]]
    count, total = (
        around(text, pair, confidence=0.975)
        for text in ("COUNT(*), AVG(age)", "SUM(age), AVG(age)")
    )
    assert count is not None
    assert total is not None
    [(low, high)] = column("COUNT(*) - SUM(age), AVG(age)", pair) or []
    assert (low, high) == (count[0][0] - total[0][1], count[0][1] - total[0][0])


def test_where_noise_chooses_the_rows_all_groups_hold_at_once() -> None:
    text = "COUNT(*) FROM t GROUP BY zip HAVING COUNT(*) > 0"
    z = margin(planned(text), 0, 0.95 ** (1 / 3))
    assert z > margin(planned(text))
    assert column(text, [5, 6, 7]) == [(n - z, n + z) for n in (5, 6, 7)]


def test_a_subquery_has_its_part_of_the_confidence() -> None:
    plan = planned("COUNT(*) + (SELECT SUM(age) FROM t) FROM t")
    inner, [subplan] = Noisy(arrays(([2000],)), {}), plan.subplans
    slot = Slot("subquery", 0, Kind.INTEGER)
    answer = {slot: scalar(subplan, points(subplan, inner.draws), {})}
    noisy = Noisy(arrays(([50],)), answer, (inner,))
    frame = Frame({}, {**answer, **points(plan, noisy.draws)})
    width = sum(margin(each, 0, math.sqrt(0.95)) for each in (plan, subplan))
    found = confidence_intervals(plan, noisy, plan.outputs[0], frame)
    assert listed(found) == [(2050 - width, 2050 + width)]


@pytest.mark.parametrize(
    ("text", "draws"),
    [
        ("3", ()),
        ("MODE(city)", ([1],)),
        ("COUNT(*) > 3", ([5],)),
        ("MEDIAN(age) + COUNT(*)", ([5], [5])),
        ("COUNT(*) % 7", ([5],)),
    ],
)
def test_columns_without_an_interval(text: str, draws: tuple[list[int], ...]) -> None:
    more = "" if draws else ", COUNT(*)"
    assert column(text + more, *(draws or ([5],))) is None


def test_an_interval_is_null_where_the_value_may_be_undefined() -> None:
    text = "100 / COUNT(*) FROM t GROUP BY ok"
    with np.errstate(all="ignore"):
        [sure, unsure] = column(text, [1000, 1])
    z = margin(planned(text))
    assert sure == (100 / (1000 + z), 100 / (1000 - z))
    assert unsure == (None, None)
