"""Lee and Clifton's figures, and the closed forms against every world made one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.errors import TooLarge, Unsupported
from dpdb.lab.attacks import possible_worlds
from dpdb.lab.studies.adversary import LARGEST, Adversary, exceeding
from dpdb.lab.studies.worlds import Worlds, worlds
from dpdb.plan.logical.query import Function

ABSENCE = np.array([1.0, 2.0, 3.0, 10.0])
YEAR = np.array([1.0, 2.0, 3.0, 4.0])
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def mean(values: np.ndarray) -> Adversary:
    return Adversary(worlds(Function.AVG, values))


def median(values: np.ndarray) -> Adversary:
    return Adversary(worlds(Function.QUANTILE, values, HALF))


# The paper: sections 4 to 6. Worlds are listed by the missing value, so in the paper's order
# reversed: its ω1 is without 10 absence days, its ω4 without 1.


def test_sensitivities_of_the_mean() -> None:
    assert mean(ABSENCE).worlds.sensitivity == pytest.approx(17 / 6, rel=1e-12)
    assert mean(YEAR).worlds.sensitivity == pytest.approx(5 / 6, rel=1e-12)
    assert mean(ABSENCE).worlds.widest == pytest.approx(3, rel=1e-12)
    assert mean(YEAR).worlds.widest == pytest.approx(1, rel=1e-12)
    assert mean(ABSENCE).worlds.answers == pytest.approx([5, 14 / 3, 13 / 3, 2], rel=1e-12)


def test_table_4_sensitivities_of_the_median() -> None:
    found = median(ABSENCE).worlds
    assert found.local.tolist() == [3.5, 3.5, 4, 0.5]
    assert found.sensitivity == 4
    assert found.widest == 1


def test_equation_7() -> None:
    # Printed as 0.3829, 0.3379 and 1.6219.
    assert mean(ABSENCE).bounding_epsilon(THIRD) == pytest.approx(17 / 18 * math.log(1.5))
    assert mean(YEAR).bounding_epsilon(THIRD) == pytest.approx(5 / 6 * math.log(1.5))
    assert median(ABSENCE).bounding_epsilon(THIRD) == pytest.approx(4 * math.log(1.5))
    assert mean(ABSENCE).bound(0.3829) == pytest.approx(1 / 3, abs=1e-4)


def test_equations_10_to_12_and_19_to_21() -> None:
    assert mean(YEAR).risk(0.5) == pytest.approx(0.3292, abs=5e-5)
    # The paper prints 2.776 for 4·ln 2 = 2.7726.
    assert median(ABSENCE).largest_epsilon(THIRD) == pytest.approx(4 * math.log(2), rel=2e-9)
    for epsilon in (0.1, 1, 2, 5):
        expected = 1 / (2 + 2 * math.exp(-epsilon / 4))
        assert median(ABSENCE).risks(epsilon) == pytest.approx([expected] * 4)


def test_beliefs_after_2_2013() -> None:
    assert mean(ABSENCE).beliefs(2.2013, 2)[3] == pytest.approx(0.6180, abs=5e-5)
    assert mean(YEAR).beliefs(2.2013, 2)[3] == pytest.approx(0.3390, abs=5e-5)
    # The numerators: 0.3062 where the paper misprints 0.3602, then 0.0784, 0.0619, 0.0489.
    numerators = np.array([0.0489, 0.0619, 0.0784, 0.3062])
    assert mean(ABSENCE).beliefs(2.2013, 2) == pytest.approx(
        numerators / numerators.sum(), abs=2e-4
    )


TABLE_2 = {
    5: [0.9705, 0.0159, 0.0087, 0.0049],
    2: [0.5519, 0.1859, 0.1463, 0.1159],
    1: [0.4596, 0.2019, 0.1791, 0.1594],
    0.5: [0.3477, 0.2305, 0.2171, 0.2048],
    0.1: [0.2328, 0.2527, 0.2558, 0.2588],
    0.01: [0.2482, 0.2503, 0.2506, 0.2509],
}
TABLE_3 = {
    5: [0.9705, 0.0158, 0.0088, 0.0049],
    2: [0.6825, 0.1315, 0.1039, 0.0821],
    1: [0.4596, 0.2017, 0.1793, 0.1594],
    0.5: [0.3477, 0.2303, 0.2172, 0.2048],
    0.1: [0.2680, 0.2469, 0.2440, 0.2411],
    0.01: [0.2518, 0.2497, 0.2494, 0.2491],
}
ROUNDED = 5.1e-5


@pytest.mark.parametrize(("epsilon", "beliefs"), TABLE_3.items())
def test_table_3_is_what_any_answer_of_2_or_less_gives(epsilon: float, beliefs: list) -> None:
    """The responses are not printed, but below all of the worlds' answers they do not matter."""
    for response in (2, 1.5, -40):
        assert mean(ABSENCE).beliefs(response, epsilon)[::-1] == pytest.approx(beliefs, abs=ROUNDED)


def test_table_2_as_far_as_it_can_be_recovered() -> None:
    """Of Table 2 one column follows to the digit, from an answer of 5 or more.

    The column of 0.1 does within one in the last digit, those of 5, 1 and 0.5 (an answer of 2 or
    less) within two. That of 2 follows from no answer: between its last three worlds the ratios
    are the same for all answers up to 13/3, e^(4/17) = 1.2653, and it has 1.2707.
    """
    high = mean(ABSENCE).beliefs(5, 0.01)[::-1]
    assert high == pytest.approx(TABLE_2[0.01], abs=ROUNDED)
    assert mean(ABSENCE).beliefs(5, 0.1)[::-1] == pytest.approx(TABLE_2[0.1], abs=1.5e-4)
    for epsilon in (5, 1, 0.5):
        low = mean(ABSENCE).beliefs(2, epsilon)[::-1]
        assert low == pytest.approx(TABLE_2[epsilon], abs=2.5e-4)
    column = TABLE_2[2]
    # Below the least of the worlds' answers and above the largest, beliefs stay as they are.
    nearest = min(
        np.abs(mean(ABSENCE).beliefs(response, 2)[::-1] - column).max()
        for response in np.linspace(2, 5, 3001)
    )
    assert nearest > 3e-4


def test_probability_of_more_than_3_1677() -> None:
    assert exceeding(3.1677, whole=4, world=2, scale=17 / 12) == pytest.approx(3.2933, abs=5e-5)


def test_exceeding_against_the_distribution() -> None:
    def above(x: float, centre: float, scale: float) -> float:
        half = math.exp(-abs(x - centre) / scale) / 2
        return half if x > centre else 1 - half

    for x in (-3, 0, 1, 2.5, 7):
        expected = above(x, 2, 0.7) / above(x, 1, 0.7)
        assert exceeding(x, 2, 1, 0.7) == pytest.approx(expected, rel=1e-12)
    assert exceeding(1e6, 1e5, 0, 1) == math.inf


def test_confidence() -> None:
    """0.7705 = 0.9705 - 0.25 in the paper is a slip of the subtraction: 0.7205."""
    adversary = mean(ABSENCE)
    assert adversary.beliefs(2, 5)[3] - adversary.prior == pytest.approx(0.7205, abs=5e-5)
    assert adversary.beliefs(2, 0.5)[3] - adversary.prior == pytest.approx(0.0977, abs=5e-5)


def test_the_lab_says_the_same() -> None:
    adversary = mean(ABSENCE)
    assert adversary.worlds.answers == pytest.approx(list(possible_worlds.means().values()))
    assert adversary.worlds.sensitivity == pytest.approx(float(possible_worlds.CHANGE))
    for response in (1, 2.2013, 4.5, 9):
        beliefs = possible_worlds.posterior(response, adversary.scale(2))
        assert adversary.beliefs(response, 2) == pytest.approx(list(beliefs.values()))


# Every world made one by one.


def spread(sample: bool, root: bool) -> Callable[[np.ndarray], float]:
    def of(values: np.ndarray) -> float:
        if len(values) == 1:
            return 0.0
        return float((np.std if root else np.var)(values, ddof=int(sample)))

    return of


def quantile(fraction: Fraction) -> Callable[[np.ndarray], float]:
    return lambda values: float(np.quantile(values, float(fraction)))


STATISTICS: list[tuple[Function, Fraction | None, Callable[[np.ndarray], float]]] = [
    (Function.AVG, None, np.mean),
    (Function.SUM, None, np.sum),
    (Function.COUNT, None, len),
    (Function.MIN, None, np.min),
    (Function.MAX, None, np.max),
    (Function.QUANTILE, HALF, np.median),
    (Function.QUANTILE, Fraction(1, 4), quantile(Fraction(1, 4))),
    (Function.QUANTILE, Fraction(7, 8), quantile(Fraction(7, 8))),
    (Function.QUANTILE, Fraction(0), np.min),
    (Function.QUANTILE, Fraction(1), np.max),
    (Function.VAR_POP, None, spread(sample=False, root=False)),
    (Function.VAR_SAMP, None, spread(sample=True, root=False)),
    (Function.STDDEV_POP, None, spread(sample=False, root=True)),
    (Function.STDDEV_SAMP, None, spread(sample=True, root=True)),
]
NAMES = [f"{function}-{fraction}" for function, fraction, _ in STATISTICS]
VALUES = st.lists(
    st.one_of(st.integers(-6, 6), st.integers(-8000, 8000).map(lambda x: x / 8)),
    min_size=3,
    max_size=9,
).map(lambda values: np.sort(np.array(values, dtype=np.float64)))


@pytest.mark.parametrize(("function", "fraction", "f"), STATISTICS, ids=NAMES)
@settings(max_examples=30)
@given(values=VALUES)
def test_closed_forms(
    function: Function,
    fraction: Fraction | None,
    f: Callable[[np.ndarray], float],
    values: np.ndarray,
) -> None:
    found = worlds(function, values, fraction)
    places = range(len(values))
    # A square root makes 1e-7 of a rounding error of 1e-14.
    close = 1e-6 if function in (Function.STDDEV_POP, Function.STDDEV_SAMP) else 1e-9
    close *= max(np.abs(values).max(), np.ptp(values) ** 2, 1)
    assert found.number == len(values)
    assert found.whole == pytest.approx(f(values), abs=close)
    left = [np.delete(values, i) for i in places]
    local = [max(abs(f(w) - f(np.delete(w, j))) for j in range(len(w))) for w in left]
    if function is Function.COUNT:
        assert (found.answers == len(values) - 1).all()
        assert found.sensitivity == 1
        return
    for i in places:
        at = int(np.searchsorted(found.missing, values[i]))
        assert found.missing[at] == values[i]
        assert found.counts[at] == (values == values[i]).sum()
        assert found.answers[at] == pytest.approx(f(left[i]), abs=close)
        assert found.local[at] == pytest.approx(local[i], abs=close)
    answers = [f(w) for w in left]
    assert found.sensitivity == pytest.approx(max(local), abs=close)
    assert found.widest == pytest.approx(max(answers) - min(answers), abs=close)
    assert found.widest <= 2 * found.sensitivity + close


def test_a_long_column_has_the_same_closed_forms() -> None:
    """With 30 rows the ends, the middle and the rest are far from each other."""
    rows = 30
    values = np.sort(np.random.default_rng(5).normal(3, 20, rows).round(1))
    for function, fraction, f in STATISTICS:
        if function is Function.COUNT:
            continue
        found = worlds(function, values, fraction)
        left = [np.delete(values, i) for i in range(rows)]
        local = max(abs(f(w) - f(np.delete(w, j))) for w in left for j in range(rows - 1))
        assert found.sensitivity == pytest.approx(local, rel=1e-7), function
        assert found.widest == pytest.approx(np.ptp([f(w) for w in left]), rel=1e-7), function


# The adversary.


def naive_risks(found: Worlds, epsilon: float) -> list[float]:
    scale = found.sensitivity / epsilon
    return [
        1 / (found.counts * np.exp(-np.abs(answer - found.shifts) / scale)).sum()
        for answer in found.shifts
    ]


EPSILONS = st.floats(1e-6, 50)


@given(values=VALUES, epsilon=EPSILONS)
def test_running_sums_are_the_sums(values: np.ndarray, epsilon: float) -> None:
    for function in (Function.AVG, Function.SUM, Function.VAR_POP, Function.MAX):
        found = worlds(function, values)
        if found.sensitivity:
            expected = naive_risks(found, epsilon)
            assert Adversary(found).risks(epsilon) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("epsilon", [1, 300, 3_000, 10_000])
def test_running_sums_begun_anew(epsilon: float) -> None:
    """At ε = 10,000 exponents would reach 20,000, where a double holds exp(709)."""
    gaps = np.random.default_rng(7).exponential(1, 400) ** 4
    found = worlds(Function.AVG, np.cumsum(gaps))
    expected = naive_risks(found, epsilon)
    assert Adversary(found).risks(epsilon) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=40)
@given(values=VALUES, epsilon=EPSILONS, fraction=st.sampled_from([Fraction(0), HALF]))
def test_no_answer_causes_more_than_the_risk(
    values: np.ndarray, epsilon: float, fraction: Fraction
) -> None:
    for adversary in (
        mean(values),
        Adversary(worlds(Function.QUANTILE, values, fraction)),
        Adversary(worlds(Function.VAR_SAMP, values)),
    ):
        answers = adversary.worlds.answers
        low, high = answers.min(), answers.max()
        room = max(high - low, 1.0)
        grid = [*np.linspace(low - room, high + room, 101), *answers, low - 1e6, high + 1e6]
        most = max(adversary.beliefs(gamma, epsilon).max() for gamma in grid)
        assert most <= adversary.risk(epsilon) * (1 + 1e-9)
        # It is reached, at one of the worlds' own answers.
        assert most == pytest.approx(adversary.risk(epsilon), rel=1e-9)


@given(values=VALUES, epsilon=EPSILONS, response=st.floats(-1e4, 1e4))
def test_beliefs_are_probabilities(values: np.ndarray, epsilon: float, response: float) -> None:
    adversary = mean(values)
    beliefs = adversary.beliefs(response, epsilon)
    assert (adversary.worlds.counts * beliefs).sum() == pytest.approx(1)
    assert beliefs.max() <= adversary.risk(epsilon) * (1 + 1e-9)
    assert beliefs.max() >= adversary.prior * (1 - 1e-9)


@given(values=VALUES, epsilons=st.tuples(EPSILONS, EPSILONS))
def test_the_risk_rises_with_epsilon_and_stays_below_the_bound(
    values: np.ndarray, epsilons: tuple[float, float]
) -> None:
    low, high = sorted(epsilons)
    for adversary in (mean(values), median(values)):
        assert adversary.risk(low) <= adversary.risk(high) * (1 + 1e-9)
        assert adversary.risk(low) <= adversary.bound(low) * (1 + 1e-9)
        assert adversary.risk(low) >= adversary.prior * (1 - 1e-9)


@settings(max_examples=40)
@given(
    values=VALUES,
    most=st.fractions(Fraction(1, 100), Fraction(99, 100)),
    fraction=st.sampled_from([Fraction(0), Fraction(1, 4), HALF]),
)
def test_the_search_ends_at_the_largest_epsilon(
    values: np.ndarray, most: Fraction, fraction: Fraction
) -> None:
    for adversary in (mean(values), Adversary(worlds(Function.QUANTILE, values, fraction))):
        bounding, largest = adversary.bounding_epsilon(most), adversary.largest_epsilon(most)
        if most < Fraction(1, len(values)):
            assert bounding is None
            assert largest is None
        elif largest == LARGEST:
            assert adversary.risk(LARGEST) <= float(most)
        else:
            assert largest is not None
            assert bounding is not None
            assert adversary.risk(largest) <= float(most)
            assert adversary.risk(largest * 1.0001 + 1e-12) > float(most)
            assert largest >= bounding * (1 - 2e-9)


def test_risks_that_no_epsilon_keeps_or_any_does() -> None:
    quarter, fifth = Fraction(1, 4), Fraction(1, 5)
    assert mean(ABSENCE).largest_epsilon(fifth) is None
    assert mean(ABSENCE).bounding_epsilon(fifth) is None
    assert mean(ABSENCE).largest_epsilon(quarter) == 0
    assert mean(ABSENCE).bounding_epsilon(quarter) == 0
    # The risk of ten alike is 1/10, which no double is exactly.
    ten = np.arange(10.0)
    assert Adversary(worlds(Function.COUNT, ten)).largest_epsilon(Fraction(1, 10)) == LARGEST
    assert mean(ten).largest_epsilon(Fraction(1, 10)) == 0
    assert mean(np.repeat(ABSENCE, 10)).largest_epsilon(Fraction(1, 10)) == LARGEST
    # Each median is that of two worlds, which stay as likely as each other.
    assert median(ABSENCE).largest_epsilon(HALF) == LARGEST
    assert median(ABSENCE).largest_epsilon(Fraction(499, 1000)) == pytest.approx(
        # 1/(2 + 2e^(-ε/4)) = 0.499
        -4 * math.log(0.5 / 0.499 - 1), rel=1e-8
    )  # fmt: skip


@pytest.mark.parametrize("values", [ABSENCE, np.full(5, 0.1), np.zeros(4)])
def test_worlds_of_one_answer_are_never_told_apart(values: np.ndarray) -> None:
    function = Function.COUNT if values is ABSENCE else Function.STDDEV_SAMP
    adversary = Adversary(worlds(function, values))
    n = len(values)
    assert adversary.worlds.widest == 0
    for epsilon in (0.1, 5, LARGEST):
        assert adversary.risk(epsilon) == pytest.approx(1 / n)
        assert adversary.bound(epsilon) == pytest.approx(1 / n)
        assert adversary.beliefs(7, epsilon) == pytest.approx(1 / n)
    assert adversary.largest_epsilon(THIRD) == LARGEST
    assert adversary.bounding_epsilon(THIRD) == LARGEST
    assert adversary.largest_epsilon(Fraction(1, 10)) is None


def test_what_has_no_worlds() -> None:
    with pytest.raises(Unsupported, match="fewer than 3 rows"):
        worlds(Function.AVG, np.array([1.0, 2.0]))
    with pytest.raises(Unsupported, match="MODE"):
        worlds(Function.MODE, ABSENCE)
    with pytest.raises(TooLarge, match="too large"):
        worlds(Function.VAR_POP, np.array([-1e200, 0, 1e200]))
