"""Where an exact value lies, from noisy values and public scales; coverage is tested elsewhere."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpdb.answers.confidence_intervals import confidence_intervals, interval_of, two_laplace_tail
from dpdb.answers.estimates import Array, Noisy, points, scalar
from dpdb.plan.expressions import Slot
from dpdb.plan.plan import Plan
from dpdb.policy.catalog import Kind, Policy
from dpdb.vectors.evaluate import Frame
from tests.support.plans import PRIVATE, PUBLIC, ROWS, planned

Ends = list[tuple[float | None, float | None]]


def arrays(draws: tuple[list[int], ...]) -> list[Array]:
    return [np.array(each, dtype=np.int64) for each in draws]


def around(
    text: str, *draws: list[int], policy: Policy = PRIVATE, confidence: float = 0.95
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
    """Fieller: s - m·t is within 1 + |m| of a sum of Laplace noises of scales b and |m|·b'."""
    plan = planned("AVG(age)")
    scales = [float(release.mechanism.scale) for release in plan.releases]
    means = np.linspace(-50, 50, 100_001)
    distance = np.maximum(np.abs(total - means * count) - 1 - np.abs(means), 0)
    tail = two_laplace_tail(distance, scales[0], np.abs(means) * scales[1])
    plausible = means[tail >= 0.05]
    [(low, high)] = around("AVG(age)", [total], [count])
    assert (low, high) == pytest.approx((50 + plausible[0], 50 + plausible[-1]), abs=0.0011)


def test_an_average_of_hardly_any_rows_may_be_anything() -> None:
    for count in (1, 0, -20):
        assert around("AVG(age)", [20], [count]) == [(0, 100)]


@pytest.mark.parametrize("function", ["VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP"])
@pytest.mark.parametrize("parts", [(-60_000, 10, 60), (-60_000, -900, 60), (3, 2, 1)])
def test_a_variances_interval_holds_all_that_its_parts_allow(
    function: str, parts: tuple[int, int, int]
) -> None:
    """Each part is held to the cube root of the confidence, as their noises are independent."""
    text = f"{function}(age)"
    plan = planned(text)
    boxes = [margin(plan, index, 0.95 ** (1 / 3)) for index in range(3)]
    grids = [np.linspace(-1, 1, 21) * z for z in boxes]
    cells = [p + e for p, e in zip(parts, np.meshgrid(*grids), strict=True)]
    draws = [cell.ravel() for cell in cells]
    found = points(plan, draws)[Slot("aggregate", 0, Kind.NUMBER)]
    [(low, high)] = around(text, *([part] for part in parts))
    assert (min(found.values), max(found.values)) == pytest.approx((low, high), rel=0.01)
    assert low <= min(found.values) + 1e-9
    assert max(found.values) - 1e-9 <= high


def column(text: str, *draws: list[int], policy: Policy = PRIVATE) -> Ends | None:
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
    assert column("AVG(age) * 2 + 1", [900], [300]) == [
        pytest.approx(tuple(2 * end + 1 for end in around("AVG(age)", [900], [300])[0]))
    ]


def test_several_hold_at_once() -> None:
    plan = planned("COUNT(*) - SUM(age), 1")
    count, total = (margin(plan, index, math.sqrt(0.95)) for index in (0, 1))
    width = count + total
    assert column("COUNT(*) - SUM(age)", [50], [2000]) == [(-1950 - width, -1950 + width)]


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


@pytest.mark.parametrize(("first", "second"), [(1.0, 3.0), (5.0, 0.5), (2.0, 2.0), (1.0, 1 + 1e-6)])
def test_the_tail_of_two_laplace_noises(first: float, second: float) -> None:
    """Against the integral of one's tail over the other's density."""
    x = np.linspace(-60 * second, 60 * second, 200_001)
    density = np.exp(-np.abs(x) / second) / (2 * second)
    for distance in (0.0, 0.7, 4.0, 11.0):
        above, below = distance - x, distance + x
        tails = sum(np.where(d > 0, np.exp(-np.abs(d) / first) / 2, 1 - np.exp(-np.abs(d) / first) / 2)
                    for d in (above, below))  # fmt: skip
        expected = float(np.trapezoid(density * tails, x))
        found = float(two_laplace_tail(np.array([distance]), first, np.array([second]))[0])
        assert found == pytest.approx(expected, rel=2e-5)


def test_noise_of_no_scale_has_no_part_in_the_tail() -> None:
    for first, second in itertools.permutations((0.0, 2.0)):
        found = two_laplace_tail(np.array([3.0]), first, np.array([second]))
        assert found[0] == pytest.approx(math.exp(-3 / 2))
