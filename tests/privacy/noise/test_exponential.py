"""The exponential mechanism as it is implemented: its exact output distribution.

Weights are integers and one uniform integer decides, so the probability of every output is a
fraction that can be written down. It is compared with the definition (McSherry and Talwar 2007,
Theorem 6) in decimal arithmetic, and the ratios between neighbouring tables with e^ε, both
without floating point.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import accumulate, combinations, pairwise
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from dpdb.errors import DpdbError
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy import sensitivity
from dpdb.privacy.mechanisms import FARTHEST, SLACK, Exponential
from dpdb.privacy.noise import exponential as selection
from dpdb.privacy.noise.exponential import pieces, select_index, select_value, weights
from dpdb.privacy.noise.system import SystemNoise
from dpdb.privacy.sensitivity import Contribution
from tests.support.brute import ADD_REMOVE, REPLACE, Pairs, multisets, neighbouring, score, world

ALPHA = 1e-6
CLAIMED = Fraction(1, 2**44)
"""The relative error of one weight, by the module's docstring."""
FRACTIONS = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)]
EPSILONS = [
    Fraction(1, 10**9),
    Fraction(1, 1000),
    Fraction(1, 3),
    Fraction(1),
    Fraction(8),
    Fraction(10**4),
]


def exponential(x: Fraction) -> Fraction:
    """e^x to 50 digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def integers(values: Iterable[int]) -> npt.NDArray[np.int64]:
    return np.array(sorted(values), dtype=np.int64)


def mechanism(fraction: Fraction, relation: Neighbors, epsilon: Fraction) -> Exponential:
    return Exponential(sensitivity.rank(fraction, Contribution(relation, optional=True)), epsilon)


def distribution(
    values: npt.NDArray[np.int64],
    grid: tuple[int, int],
    fraction: Fraction,
    chosen_by: Exponential,
) -> list[Fraction]:
    """The exact probability of each point of the grid, in order."""
    starts, lengths, each = pieces(values, grid, fraction, chosen_by)
    assert starts[0] == grid[0]
    assert all(length >= 0 for length in lengths)
    ends = [start + length for start, length in zip(starts, lengths, strict=True)]
    assert all(end == start for end, (_, start) in zip(ends[:-1], pairwise(starts), strict=True))
    assert ends[-1] == grid[1] + 1
    assert sum(lengths) == grid[1] - grid[0] + 1
    assert all(isinstance(weight, int) and weight > 0 for weight in each)
    total = sum(weight * length for weight, length in zip(each, lengths, strict=True))
    by_weight = {weight: Fraction(weight, total) for weight in each}
    return [by_weight[weight] for weight, n in zip(each, lengths, strict=True) for _ in range(n)]


def by_definition(
    values: Sequence[int], grid: tuple[int, int], fraction: Fraction, chosen_by: Exponential
) -> list[Fraction]:
    """P(v) ∝ exp(rate·score(v)) with scores clamped at FARTHEST, to 50 digits; O(n·grid)."""
    points = range(grid[0], grid[1] + 1)
    exponents = [max(score(values, v, fraction) * chosen_by.rate, -FARTHEST) for v in points]
    memory = {x: exponential(Fraction(x)) for x in set(exponents)}
    total = sum(memory[x] for x in exponents)
    by_exponent = {x: weight / total for x, weight in memory.items()}
    return [by_exponent[x] for x in exponents]


# ------------------------------------------------------------------------- weights


@pytest.mark.parametrize(
    "rate", [Fraction(1, 10**12), Fraction(1, 7), Fraction(1), Fraction(10**4, 3)], ids=str
)
def test_weights_are_within_the_stated_error_of_exp(rate: Fraction) -> None:
    """And those of all distances too far to matter weigh the same, and something."""
    random = Random(5)
    last = math.ceil(FARTHEST / rate)
    near = {0, 1, 2, 3, last - 1, last, last + 1, 2 * last, 2**50}
    distances = sorted(near | {random.randrange(last + 1) for _ in range(400)})
    found = weights(np.array(distances, dtype=np.int64), rate)
    assert distances[0] == 0
    assert all(isinstance(weight, int) for weight in found)
    for distance, weight in zip(distances, found, strict=True):
        exact = exponential(-min(distance * rate, Fraction(FARTHEST)))
        assert abs(Fraction(weight, found[0]) / exact - 1) <= CLAIMED
    assert all(weight >= 2**45 for weight in found)
    assert len({w for d, w in zip(distances, found, strict=True) if d > last}) == 1
    assert found == sorted(found, reverse=True)


def test_the_slack_covers_the_error_of_four_weights() -> None:
    """A ratio of two probabilities has a weight and a total above the line, and two below."""
    assert exponential(SLACK) >= ((1 + CLAIMED) / (1 - CLAIMED)) ** 2
    chosen_by = Exponential(Fraction(1, 2), Fraction(1, 3))
    assert 2 * chosen_by.sensitivity * chosen_by.rate + SLACK == chosen_by.epsilon
    assert chosen_by.loss.epsilon == chosen_by.epsilon


# ------------------------------------------------------------------------- small tables

POINTS = 5
MOST = 4


@cache
def small_distributions(
    fraction: Fraction, relation: Neighbors, epsilon: Fraction
) -> list[list[Fraction]]:
    """Of all tables of up to four values among 0..4, on the grid -1..5."""
    chosen_by = mechanism(fraction, relation, epsilon)
    return [
        distribution(integers(values), (-1, POINTS), fraction, chosen_by)
        for values in multisets(POINTS, MOST)
    ]


def largest_ratio(distributions: Sequence[Sequence[Fraction]], pairs: Pairs) -> Fraction:
    """The largest quotient of an output's two probabilities, over all pairs of neighbours."""
    largest = Fraction(1)
    for left, right in zip(*(side.tolist() for side in pairs), strict=True):
        seen = {*zip(distributions[left], distributions[right], strict=True)}
        for p, q in seen:
            ratio = p / q if p > q else q / p
            largest = max(largest, ratio)
    return largest


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_neighbours_differ_by_no_more_than_is_charged(
    fraction: Fraction, relation: Neighbors, epsilon: Fraction
) -> None:
    distributions = small_distributions(fraction, relation, epsilon)
    ratio = largest_ratio(distributions, neighbouring(POINTS, MOST, relation))
    assert all(sum(each) == 1 for each in distributions)
    assert ratio <= exponential(epsilon)
    # And the charge is used, where scores are not clamped. Of the least and greatest value a row
    # moves all scores the same way, for which half of it would do.
    if epsilon <= 8:
        assert ratio > exponential(epsilon * used(fraction))


def used(fraction: Fraction) -> Fraction:
    """A part of the charge that the ratios are sure to reach."""
    return Fraction(2, 5) if fraction in (0, 1) else Fraction(3, 5)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
def test_too_small_a_sensitivity_would_be_caught(fraction: Fraction, relation: Neighbors) -> None:
    right = mechanism(fraction, relation, Fraction(1))
    wrong = Exponential(right.sensitivity * used(fraction), Fraction(1))
    distributions = [
        distribution(integers(values), (-1, POINTS), fraction, wrong)
        for values in multisets(POINTS, MOST)
    ]
    ratio = largest_ratio(distributions, neighbouring(POINTS, MOST, relation))
    assert ratio > exponential(Fraction(1))


@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_small_tables_have_the_defined_distribution(fraction: Fraction, epsilon: Fraction) -> None:
    chosen_by = mechanism(fraction, ADD_REMOVE, epsilon)
    found = small_distributions(fraction, ADD_REMOVE, epsilon)
    for values, probabilities in zip(multisets(POINTS, MOST), found, strict=True):
        close(probabilities, by_definition(values, (-1, POINTS), fraction, chosen_by))


def close(found: Sequence[Fraction], exact: Sequence[Fraction]) -> None:
    """Each probability has a weight's relative error above the line and below it."""
    assert len(found) == len(exact)
    for p, q in {*zip(found, exact, strict=True)}:
        assert abs(p / q - 1) <= 2 * CLAIMED + CLAIMED**2 * 4


# ------------------------------------------------------------------------- large tables

GRID = (-20, 300)


def large_tables() -> Iterator[tuple[str, list[int]]]:
    random = Random(7)
    yield "spread", [random.randrange(280) for _ in range(5000)]
    yield "few values", [random.choice((0, 1, 150, 151, 279)) for _ in range(5000)]
    yield "all at one bound", [GRID[1]] * 5000
    yield "half at each bound", [GRID[0]] * 2500 + [GRID[1]] * 2500
    yield "one outlier", [100] * 4999 + [GRID[0]]
    yield "skewed", [min(299, int(random.expovariate(0.05))) for _ in range(5000)]


@cache
def clamped_scores(values: tuple[int, ...], fraction: Fraction) -> list[Fraction]:
    """The scores of the whole grid by counting: the values are sorted here, not searched."""
    counts = Counter(values)
    below, scores = 0, []
    for v in range(GRID[0], GRID[1] + 1):
        upto = below + counts[v]
        target = fraction * len(values)
        scores.append(-max(below - target, target - upto, Fraction(0)))
        below = upto
    return scores


@pytest.mark.parametrize("name", [name for name, _ in large_tables()])
@pytest.mark.parametrize("fraction", [*FRACTIONS, Fraction(999, 1000)], ids=str)
def test_the_window_leaves_out_nothing(name: str, fraction: Fraction) -> None:
    """From rates at which the window holds all 5,000 values to those where it holds three."""
    values = dict(large_tables())[name]
    assert len(values) == 5000
    widths = set()
    for epsilon in (Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(20), Fraction(1000)):
        chosen_by = mechanism(fraction, ADD_REMOVE, epsilon)
        found = distribution(integers(values), GRID, fraction, chosen_by)
        scores = clamped_scores(tuple(values), fraction)
        exponents = [max(s * chosen_by.rate, Fraction(-FARTHEST)) for s in scores]
        memory = {x: exponential(x) for x in set(exponents)}
        total = sum(memory[x] for x in exponents)
        close(found, [memory[x] / total for x in exponents])
        widths.add(len(pieces(integers(values), GRID, fraction, chosen_by)[0]))
    assert len(widths) > 1 or len(set(values)) <= 5


def test_counted_scores_are_the_scores() -> None:
    """The reference for large tables agrees with the one for small ones."""
    values = (0, 3, 3, 7, 300, 300)
    for fraction in FRACTIONS:
        grid = range(GRID[0], GRID[1] + 1)
        assert clamped_scores(values, fraction) == [score(values, v, fraction) for v in grid]


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
def test_a_window_that_moves_costs_nothing(fraction: Fraction, relation: Neighbors) -> None:
    """Neighbours whose windows begin and end at different values, outliers and ties among them."""
    random = Random(f"{fraction}{relation}")
    epsilon = Fraction(4)
    chosen_by = mechanism(fraction, relation, epsilon)
    assert FARTHEST / chosen_by.rate < 100
    allowed, largest = exponential(epsilon), Fraction(1)
    for _ in range(12):
        spread = random.choice((2, 10, 60))
        values = [random.randrange(spread) for _ in range(400)]
        first = distribution(integers(values), (-3, 63), fraction, chosen_by)
        for new in (-3, 0, spread // 2, spread - 1, 63):
            kept = values if relation is ADD_REMOVE else values[1:]
            second = distribution(integers([*kept, new]), (-3, 63), fraction, chosen_by)
            largest = max(largest, largest_ratio([first, second], neighbouring(1, 1, ADD_REMOVE)))
    assert 1 < largest <= allowed


@pytest.mark.parametrize("fraction", [*FRACTIONS, Fraction(1, 10**6)], ids=str)
def test_wide_grids_and_narrow_arrays(fraction: Fraction) -> None:
    """Gaps of 2^53 points, and values in the narrow types that columns have."""
    grid = (-(2**53), 2**53)
    chosen_by = mechanism(fraction, ADD_REMOVE, Fraction(1))
    values = integers([grid[0], -5, 0, 0, 100, 101, grid[1]])
    starts, lengths, each = pieces(values, grid, fraction, chosen_by)
    assert sum(lengths) == 2**54 + 1
    scored = [
        (score(values.tolist(), v, fraction), weight)
        for start, length, weight in zip(starts, lengths, each, strict=True)
        for v in {start, start + length // 2, start + length - 1}
        if length
    ]
    assert len(scored) > 12
    best, heaviest = max(scored)
    for points, weight in scored:
        exact = exponential((points - best) * chosen_by.rate)
        assert abs(Fraction(weight, heaviest) / exact - 1) <= 2 * CLAIMED + CLAIMED**2 * 4
    for narrow in (np.uint8, np.int8, np.uint32):
        small = np.array([0, 5, 5, 127], dtype=narrow)
        wide = small.astype(np.int64)
        assert pieces(small, (0, 127), fraction, chosen_by) == pieces(
            wide, (0, 127), fraction, chosen_by
        )


def test_no_values_make_all_points_alike() -> None:
    chosen_by = mechanism(Fraction(1, 2), ADD_REMOVE, Fraction(1))
    found = distribution(integers([]), (3, 12), Fraction(1, 2), chosen_by)
    assert found == [Fraction(1, 10)] * 10


# ------------------------------------------------------------------------- the draw itself


class Scripted:
    """A source of uniform integers that gives what it is told, and notes the bounds."""

    def __init__(self, replies: Iterable[int]) -> None:
        self.replies = list(replies)
        self.bounds: list[int] = []

    def below(self, bound: int) -> int:
        self.bounds.append(bound)
        reply = self.replies.pop(0)
        assert 0 <= reply < bound
        return reply

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        raise AssertionError("no noise is added to a selection")


def test_a_uniform_integer_below_the_total_decides() -> None:
    """Each piece is chosen by as many integers as its weight times its length, evenly within."""
    fraction, grid = Fraction(1, 4), (-2, 9)
    for values in ([], [0], [9], [-2, -2], [1, 2, 3], [4, 4, 4, 8]):
        chosen_by = mechanism(fraction, ADD_REMOVE, Fraction(2))
        starts, lengths, each = pieces(integers(values), grid, fraction, chosen_by)
        sizes = [weight * length for weight, length in zip(each, lengths, strict=True)]
        ends = list(accumulate(sizes))
        for start, length, size, end in zip(starts, lengths, sizes, ends, strict=True):
            for drawn in {end - size, end - 1} if size else set():
                for offset in range(length):
                    noise = Scripted([drawn, offset])
                    chosen = select_value(integers(values), grid, fraction, chosen_by, noise)
                    assert chosen == start + offset
                    assert noise.bounds == [ends[-1], length]


def index_distribution(counts: Sequence[int], chosen_by: Exponential) -> list[Fraction]:
    """The exact probability of each index, read off the bound that is drawn below."""
    noise = Scripted([0])
    select_index(counts, chosen_by, noise)
    [total] = noise.bounds

    def first_beyond(index: int) -> int:
        """The smallest integer that selects a later index."""
        low, high = 0, total
        while low < high:
            middle = (low + high) // 2
            if select_index(counts, chosen_by, Scripted([middle])) > index:
                high = middle
            else:
                low = middle + 1
        return low

    ends = [0, *(first_beyond(index) for index in range(len(counts)))]
    assert ends[-1] == total
    return [Fraction(after - before, total) for before, after in pairwise(ends)]


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(8)], ids=str)
def test_the_commonest_value_of_neighbours(relation: Neighbors, epsilon: Fraction) -> None:
    """All tables of up to four rows of three values, or none of them; and large counts."""
    chosen_by = Exponential(sensitivity.tally(Contribution(relation, optional=True)), epsilon)
    tables = [[rows.count(value) for value in range(3)] for rows in multisets(4, 4)]
    distributions = [index_distribution(counts, chosen_by) for counts in tables]
    ratio = largest_ratio(distributions, neighbouring(4, 4, relation))
    assert ratio <= exponential(epsilon)
    # A row that enters moves no count down, for which half of the charge would do.
    part = Fraction(3, 10) if relation is ADD_REMOVE else Fraction(1, 2)
    assert ratio > exponential(epsilon * part)
    for counts, found in zip(tables, distributions, strict=True):
        exact = [exponential(count * chosen_by.rate) for count in counts]
        close(found, [weight / sum(exact) for weight in exact])


def test_clamping_the_count_of_rare_values_costs_nothing() -> None:
    """Where one of two counts moves across the distance at which weights stop to fall."""
    epsilon = Fraction(8)
    for relation in (ADD_REMOVE, REPLACE):
        chosen_by = Exponential(sensitivity.tally(Contribution(relation, optional=True)), epsilon)
        reach = math.ceil(FARTHEST / chosen_by.rate)
        for gap in range(reach - 2, reach + 3):
            x, clamped = [100, 100 - gap, 0], index_distribution([100, 100 - gap, 0], chosen_by)
            changes = [(a, b) for a in range(-1, 3) for b in range(-1, 3) if a != b]
            if relation is ADD_REMOVE:
                changes = [(a, b) for a, b in changes if -1 in (a, b)]
            for source, target in changes:
                y = [c - (i == source) + (i == target) for i, c in enumerate(x)]
                if min(y) >= 0:
                    pair = [clamped, index_distribution(y, chosen_by)]
                    ratio = largest_ratio(pair, neighbouring(1, 1, ADD_REMOVE))
                    assert ratio <= exponential(epsilon)


# ------------------------------------------------------------------------- goodness of fit


def survival(statistic: float, degrees: int) -> float:
    """P(χ² > statistic), in closed form for even degrees of freedom; odd ones are rounded up."""
    half = statistic / 2
    terms = accumulate(range(1, (degrees + 1) // 2), lambda term, k: term * half / k, initial=1.0)
    return math.exp(-half) * sum(terms)


def fit(draws: Sequence[int], probabilities: dict[int, float]) -> float:
    """The p-value of Pearson's χ² test, cells with fewer than 10 expected draws taken together."""
    counts = Counter(draws)
    assert set(counts) <= set(probabilities)
    observed, expected, rare = [], [], [0, 0.0]
    for outcome, probability in probabilities.items():
        if probability * len(draws) >= 10:
            observed.append(counts[outcome])
            expected.append(probability * len(draws))
        else:
            rare = [rare[0] + counts[outcome], rare[1] + probability * len(draws)]
    if rare[1] >= 10:
        observed.append(rare[0])
        expected.append(rare[1])
    else:  # too rare to be a cell of its own, but not to be left out
        observed[-1] += rare[0]
        expected[-1] += rare[1]
    assert len(observed) >= 3
    assert math.isclose(sum(expected), len(draws), rel_tol=1e-9)
    chi = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return survival(chi, len(observed) - 1)


def noise(seed: int) -> SystemNoise:
    return SystemNoise(Random(seed).randbytes)


FITTED = [
    (Fraction(1, 2), Fraction(1), [3, 4, 4, 7, 20, 20, 21, 30]),
    (Fraction(0), Fraction(1, 2), [10, 11, 12, 12, 30]),
    (Fraction(1), Fraction(3), [0, 0, 0, 31]),
    (Fraction(1, 4), Fraction(1), []),
]


@pytest.mark.parametrize(("fraction", "epsilon", "values"), FITTED)
def test_selected_values_fit_the_definition(
    fraction: Fraction, epsilon: Fraction, values: list[int]
) -> None:
    grid, size = (0, 31), 6000
    chosen_by = mechanism(fraction, ADD_REMOVE, epsilon)
    source = noise(3)
    table = integers(values)
    draws = [select_value(table, grid, fraction, chosen_by, source) for _ in range(size)]
    exact = dict(enumerate(map(float, by_definition(values, grid, fraction, chosen_by))))
    assert fit(draws, exact) > ALPHA
    if values:
        sharper = Exponential(chosen_by.sensitivity / 2, epsilon)
        wrong = dict(enumerate(map(float, by_definition(values, grid, fraction, sharper))))
        assert fit(draws, wrong) < ALPHA


def test_selected_indices_fit_the_definition() -> None:
    counts, chosen_by = [5, 9, 8, 0, 9], Exponential(Fraction(1), Fraction(1))
    source = noise(4)
    draws = [select_index(counts, chosen_by, source) for _ in range(6000)]
    exact = [float(exponential(count * chosen_by.rate)) for count in counts]
    assert fit(draws, {i: weight / sum(exact) for i, weight in enumerate(exact)}) > ALPHA
    sharper = [weight**2 for weight in exact]
    assert fit(draws, {i: w / sum(sharper) for i, w in enumerate(sharper)}) < ALPHA


def test_the_fit_has_a_known_false_alarm_rate() -> None:
    """P(χ² > 20) for 8 degrees of freedom, from the table; and a fair die passes."""
    assert math.isclose(survival(20.0, 8), 0.010336, rel_tol=1e-4)
    assert math.isclose(survival(0.0, 8), 1.0)
    random = Random(9)
    die = dict.fromkeys(range(6), 1 / 6)
    assert fit([random.randrange(6) for _ in range(6000)], die) > ALPHA
    loaded = [min(5, random.randrange(7)) for _ in range(6000)]
    assert fit(loaded, die) < ALPHA


# ------------------------------------------------------------------------- the smallest charges


@pytest.mark.parametrize("part", [Fraction(1, 2), 1, 2, 10**6], ids=str)
@pytest.mark.parametrize("sql", ["SELECT MEDIAN(x) FROM t", "SELECT MODE(x) FROM t"])
def test_a_charge_about_the_slack_is_refused_or_kept_to(sql: str, part: Fraction) -> None:
    """1,000 aggregates share ε = 1e-9, or k is 10^9: then the share is about the slack."""
    here = world([Column("x", Kind.INTEGER, Fraction(0), Fraction(3))])
    try:
        [release] = here.plan(sql, SLACK * part).releases
    except DpdbError:
        assert part <= 1
        return
    chosen_by = release.mechanism
    assert isinstance(chosen_by, Exponential)
    assert chosen_by.loss.epsilon <= chosen_by.epsilon == SLACK * part
    tables = [index_distribution(counts, chosen_by) for counts in ([0, 0, 1], [0, 1, 1])]
    if "MEDIAN" in sql:
        tables = [
            distribution(integers(values), (0, 3), Fraction(1, 2), chosen_by)
            for values in ([3], [2, 3])
        ]
    ratio = largest_ratio(tables, neighbouring(1, 1, ADD_REMOVE))
    assert ratio <= exponential(chosen_by.epsilon)


def test_nothing_else_decides() -> None:
    """The tests above know all of the module: what they do not call is not there."""
    public = {name for name in vars(selection) if not name.startswith("_") and name.islower()}
    functions = {
        n for n in public if getattr(vars(selection)[n], "__module__", "") == selection.__name__
    }
    assert functions == {"weights", "select_value", "select_index", "pieces"}


def test_all_pairs_are_neighbours() -> None:
    """The enumeration itself: sizes differ by one, or one row differs, and none is missing."""
    for relation, size in ((ADD_REMOVE, 1), (REPLACE, 0)):
        tables = multisets(3, 3)
        found = {
            frozenset((tables[i], tables[j]))
            for i, j in zip(*(side.tolist() for side in neighbouring(3, 3, relation)), strict=True)
        }
        expected = set()
        for x, y in combinations(tables, 2):
            common = sum((Counter(x) & Counter(y)).values())
            moved = (len(x) - common, len(y) - common)
            if (sum(moved) == 1) if size else (moved == (1, 1)):
                expected.add(frozenset((x, y)))
        assert found == expected
