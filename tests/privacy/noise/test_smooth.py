"""Smooth sensitivity of order statistics, by brute force from its definitions.

"NRS" is Nissim, Raskhodnikova, Smith 2007. Local sensitivities are found by trying all neighbours
of all small tables, distances by walking from table to table. What the module says of B_k holds
for integers, and is tested in them; what it computes is compared with that in decimal arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from dpdb.privacy.accounting.loss import Loss
from dpdb.privacy.mechanisms.smooth import Smooth
from dpdb.privacy.noise.protocols import LARGEST_SCALE
from dpdb.privacy.noise.smooth import order_statistic, release, rounded_laplace, smooth_sensitivity
from dpdb.privacy.noise.system import SystemNoise, as_word_fraction
from tests.support.brute import ADD_REMOVE, REPLACE, multisets, neighbouring

Values = Sequence[int]
Grid = tuple[int, int]

ALPHA = 1e-6
CLAIMED = Fraction(1, 2**44)
"""The relative error of a sensitivity, by the docstring of `smooth_sensitivity`."""
FRACTIONS = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1)]
BETAS = [Fraction(1, 1000), Fraction(1, 7), Fraction(2, 3), Fraction(3)]

KINDS, MOST = 4, 5
GRID = (0, KINDS - 1)
TABLES = multisets(KINDS, MOST)


def array(values: Values) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


@cache
def exponential(x: Fraction) -> Fraction:
    """e^x to 50 digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction(decimal(x).exp())


def logarithm(x: Fraction) -> Fraction:
    """ln x to 50 digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction(decimal(x).ln())


# ------------------------------------------------------------------------- the definitions


def place(n: int, fraction: Fraction) -> int:
    """The first place that `fraction` of n rows, or more, stand at or before; 0 of none."""
    return next((m for m in range(1, n + 1) if m >= fraction * n), 0)


def statistic(values: Values, grid: Grid, fraction: Fraction) -> int:
    m = place(len(values), fraction)
    return values[m - 1] if m else (grid[0] + grid[1]) // 2


@cache
def rung(k: int, values: tuple[int, ...], grid: Grid, fraction: Fraction) -> int:
    """B_k: the widest window of k + 2 rows, or what stands for them, with the statistic's."""
    n, m = len(values), place(len(values), fraction)

    def at(i: int) -> int:
        return grid[0] if i < 1 else grid[1] if i > n else values[i - 1]

    return max(at(i + k + 1) - at(i) for i in range(m - k - 1, m + 1))


def ladder(
    values: Values, grid: Grid, fraction: Fraction, beta: Fraction, rows: int = 1
) -> Fraction:
    """max_j e^(-βj)·B_(r(j+1)-1), to 50 digits; once B is all of the grid it grows no more."""
    best, j = Fraction(0), 0
    while True:
        here = rung(rows * (j + 1) - 1, tuple(values), grid, fraction)
        best = max(best, here * exponential(-beta * j))
        if here == grid[1] - grid[0]:
            return best
        j += 1


# ------------------------------------------------------------------------- all small tables


@cache
def distances(*relations: str) -> npt.NDArray[np.int64]:
    """The number of changes of these kinds from table to table; 99 where no way leads."""
    step = np.eye(len(TABLES), dtype=bool)
    for relation in relations:
        left, right = neighbouring(
            KINDS, MOST, {"enters": ADD_REMOVE, "changes": REPLACE}[relation]
        )
        step[left, right] = step[right, left] = True
    apart, reached = np.full(step.shape, 99), np.eye(len(TABLES), dtype=bool)
    for distance in range(MOST + 2):
        apart[reached & (apart == 99)] = distance
        reached = reached @ step
    return apart


ANY = ("enters", "changes")
"""A row enters or leaves, or one changes: with a filter, `replace` is all of these."""


@cache
def moves(fraction: Fraction) -> npt.NDArray[np.int64]:
    """|f(x) - f(y)| for all pairs of tables."""
    found = array([statistic(values, GRID, fraction) for values in TABLES])
    return np.abs(found[:, None] - found)


@cache
def rungs(fraction: Fraction) -> npt.NDArray[np.int64]:
    """B_0, B_1, … of all tables, as rows."""
    return np.array([[rung(k, x, GRID, fraction) for k in range(9)] for x in TABLES])


@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
def test_changes_move_the_statistic_by_no_more_than_a_rung(fraction: Fraction) -> None:
    for r in (1, 2, 3):
        farthest = np.where(distances(*ANY) <= r, moves(fraction), 0).max(axis=1)
        assert (farthest <= rungs(fraction)[:, r - 1]).all()


@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
def test_a_change_leads_up_the_ladder_by_a_rung_at_most(fraction: Fraction) -> None:
    """And by r rungs for r changes."""
    steps = rungs(fraction)
    for r in (1, 2):
        left, right = (distances(*ANY) == r).nonzero()
        assert (steps[left, :-r] <= steps[right, r:]).all()
        assert (steps[left] > steps[right]).any()


@cache
def local_sensitivities(fraction: Fraction, *relations: str) -> list[npt.NDArray[np.int64]]:
    """A_k: the largest local sensitivity of any table within k changes (NRS Definition 3.1)."""
    apart = distances(*relations)
    local = np.where(apart <= 1, moves(fraction), 0).max(axis=1)
    return [np.where(apart <= k, local, 0).max(axis=1) for k in range(MOST + 1)]


@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
def test_where_rows_are_replaced_the_rungs_are_the_local_sensitivities(fraction: Fraction) -> None:
    """NRS Proposition 3.4, and what it says of other order statistics."""
    some = [bool(values) for values in TABLES]
    for k, found in enumerate(local_sensitivities(fraction, "changes")):
        assert (found[some] == rungs(fraction)[some, k]).all()


@pytest.mark.parametrize("relations", [("enters",), ANY], ids=str)
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
def test_elsewhere_the_rungs_are_above_them(fraction: Fraction, relations: tuple[str, ...]) -> None:
    equal = 0
    for k, found in enumerate(local_sensitivities(fraction, *relations)):
        assert (found <= rungs(fraction)[:, k]).all()
        equal += int((found == rungs(fraction)[:, k]).sum())
    assert equal > len(TABLES)


# ------------------------------------------------------------------------- what is computed


def assert_close(found: float, exact: Fraction) -> None:
    assert abs(Fraction(found) - exact) <= max(CLAIMED * exact, Fraction(1, 2**64))


@pytest.mark.parametrize("beta", BETAS, ids=str)
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
def test_small_tables_have_the_defined_sensitivity(fraction: Fraction, beta: Fraction) -> None:
    for values in TABLES:
        assert order_statistic(array(values), GRID, fraction) == statistic(values, GRID, fraction)
        for rows in (1, 3) if BETAS.index(beta) % 2 else (2, 8):
            found = smooth_sensitivity(array(values), GRID, fraction, beta, rows)
            assert_close(found, ladder(values, GRID, fraction, beta, rows))


def kinds_of_tables(n: int) -> Iterator[tuple[Grid, list[int]]]:
    random = Random(n)
    yield (0, 10**6), [random.randrange(10**6) for _ in range(n)]
    yield (0, 10**6), [min(10**6, int(random.expovariate(1e-3))) for _ in range(n)]
    yield (-(2**53), 2**53), [int(random.gauss(0, 2**40)) for _ in range(n)]
    yield (0, 3), [random.randrange(4) for _ in range(n)]  # ties
    yield (-5, 3 * n), [3 * i for i in range(n)]  # all windows of a length alike
    yield (0, 1000), [500] * n
    yield (0, 1000), [0] * (n // 2) + [1000] * (n - n // 2)
    yield (7, 7), [7] * n


@pytest.mark.parametrize("n", [2, 17, 60])
@pytest.mark.parametrize("fraction", [*FRACTIONS, Fraction(2, 7)], ids=str)
def test_the_search_finds_the_defined_sensitivity(n: int, fraction: Fraction) -> None:
    for grid, values in kinds_of_tables(n):
        for rows, which in ((1, 0), (1, 1), (2, 1), (5, 2), (n, 0)):
            beta = BETAS[which]
            found = smooth_sensitivity(array(sorted(values)), grid, fraction, beta, rows)
            assert_close(found, ladder(sorted(values), grid, fraction, beta, rows))


@pytest.mark.parametrize("beta", [1e-5, 1e-3, 3e-2, 1.0])
@pytest.mark.parametrize("fraction", [Fraction(0), Fraction(1, 2), Fraction(9, 10)], ids=str)
def test_large_tables_are_searched_as_well_as_by_trying_all_windows(
    fraction: Fraction, beta: float
) -> None:
    n = 2500
    m = place(n, fraction)
    steps = np.arange(m, n + 2) - np.arange(m + 1)[:, None]
    weights = np.where(steps > 0, np.exp(-beta * (steps - 1)), 0)
    for grid, values in kinds_of_tables(n):
        table = np.concatenate(([grid[0]], np.sort(values), [grid[1]]))
        exact = float(((table[m:] - table[: m + 1, None]) * weights).max())
        found = smooth_sensitivity(table[1:-1], grid, fraction, Fraction(beta))
        assert math.isclose(found, exact, rel_tol=1e-13, abs_tol=2**-64)


def test_values_may_be_in_narrow_types() -> None:
    values = [0, 3, 100, 200, 250]
    for narrow in (np.uint8, np.int16, np.uint32):
        found = smooth_sensitivity(
            np.array(values, dtype=narrow), (-10, 300), Fraction(1, 2), BETAS[1]
        )
        assert_close(found, ladder(values, (-10, 300), Fraction(1, 2), BETAS[1]))


# ------------------------------------------------------------------------- beta and the scale

CHARGES = [
    (Fraction(1, 10**9), Fraction(1, 10**6)),
    (Fraction(1, 10), Fraction(1, 10**6)),
    (Fraction(1), Fraction(1, 10**12)),
    (Fraction(2), Fraction(1, 100)),
    (Fraction(3), Fraction(9, 10)),
    (Fraction(8), Fraction(1, 10**6)),
    (Fraction(10**4), Fraction(1, 10**100)),
    (Fraction(1, 10), Fraction(9, 10)),
]


@pytest.mark.parametrize(("epsilon", "delta"), CHARGES, ids=str)
def test_a_change_of_scale_costs_half_of_epsilon(epsilon: Fraction, delta: Fraction) -> None:
    """The logarithm of a quotient of two densities, (e^λ - 1)·|z| - λ, for |λ| <= β and |z| <= L."""
    beta = Smooth(Fraction(1, 2), epsilon, delta).beta
    room = beta + Fraction(1, 2**41)  # for what rounding adds
    furthest = max(Fraction(1), logarithm(2 / delta))
    assert beta > 0
    assert (exponential(room) - 1) * furthest - room <= epsilon / 2
    assert room <= epsilon / 2  # λ = -β at z = 0
    if epsilon <= 2 and delta <= Fraction(1, 2):
        less = epsilon / (2 * furthest) - beta  # NRS Lemma 2.9
        assert Fraction(1, 2**41) < less < Fraction(1, 2**39)


@pytest.mark.parametrize("cells", [1, 4])
def test_cells_have_their_parts(cells: int) -> None:
    whole = Smooth(Fraction(1), Fraction(3), Fraction(1, 10**6), 2, cells)
    part = Smooth(Fraction(1), Fraction(3, cells), Fraction(1, cells * 10**6), 2)
    assert whole.beta == part.beta
    assert whole.scale_of(Fraction(5)) == part.scale_of(Fraction(5))
    assert whole.loss == Loss(Fraction(3), Fraction(1, 10**6), Fraction(9, 2), Fraction(1, 10**6))


def test_without_room_for_rounding_the_sensitivity_is_global() -> None:
    tiny = Smooth(Fraction(1, 2), Fraction(1, 10**12), Fraction(1, 10**6))
    assert tiny.beta == 0
    for values in ([], [1], [2, 2, 2]):
        assert smooth_sensitivity(array(values), (1, 9), tiny.fraction, tiny.beta) == 8


def test_units_of_more_rows_than_there_are_have_the_global_sensitivity() -> None:
    for rows in (4, 10**12):
        assert smooth_sensitivity(array([5, 5, 5]), (1, 9), Fraction(1, 2), Fraction(1), rows) == 8


def sensitivities(mechanism: Smooth, beta: Fraction) -> list[Fraction]:
    fraction, rows = mechanism.fraction, mechanism.rows_per_unit
    return [Fraction(smooth_sensitivity(array(x), GRID, fraction, beta, rows)) for x in TABLES]


def neighbouring_kinds(kinds: npt.NDArray[np.intp], rows: int) -> npt.NDArray[np.intp]:
    """The kinds of tables that are up to `rows` changes apart, each pair of kinds once."""
    left, right = ((distances(*ANY) <= rows) & (distances(*ANY) > 0)).nonzero()
    return np.unique(np.stack([kinds[left], kinds[right]], axis=1), axis=0)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), [CHARGES[1], CHARGES[5]], ids=str)
def test_scales_are_smooth_and_cover_the_change(
    epsilon: Fraction, delta: Fraction, fraction: Fraction, rows: int
) -> None:
    """The noise that is drawn, rounding and all, between all tables up to `rows` changes apart."""
    mechanism = Smooth(fraction, epsilon, delta, rows)
    found = sensitivities(mechanism, mechanism.beta)
    drawn = [Fraction(*as_word_fraction(2 * scale)) / 2 for scale in map(mechanism.scale_of, found)]
    allowed = exponential(mechanism.beta + Fraction(1, 2**41))
    farthest = np.where(distances(*ANY) <= rows, moves(fraction), 0).max(axis=1)
    assert all(s >= 2 * int(change) / epsilon for s, change in zip(drawn, farthest, strict=True))
    distinct = sorted(set(drawn))
    pairs = neighbouring_kinds(np.array([distinct.index(scale) for scale in drawn]), rows)
    largest = max(distinct[one] / distinct[other] for one, other in pairs)
    assert exponential(mechanism.beta * Fraction(999, 1000)) < largest <= allowed


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1), Fraction(10**4)], ids=str)
def test_noise_has_a_least_and_a_largest_scale(epsilon: Fraction) -> None:
    mechanism = Smooth(Fraction(1), epsilon, Fraction(1, 10**6))
    grid = (-(10**6), 10**6)
    assert exponential(-1 / (2 * mechanism.scale_of(Fraction(0)))) <= exponential(Fraction(-64))
    assert mechanism.scale_of(Fraction(0)) * 2 >= Fraction(1, 2**6)
    for values in ([], [-(10**6)], [10**6] * 3):
        found = smooth_sensitivity(array(values), grid, mechanism.fraction, mechanism.beta)
        assert mechanism.scale_of(Fraction(found)) <= mechanism.largest_scale(grid)
    assert mechanism.largest_scale(grid) == mechanism.scale_of(Fraction(2 * 10**6))


# ------------------------------------------------------------------------- the noise


class Scripted:
    """A source of noise that gives what it is told, and notes the scales."""

    def __init__(self, draw: int, sign: int) -> None:
        self.draw, self.sign = draw, sign
        self.scales: list[Fraction] = []

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        assert size == 1
        self.scales.append(scale)
        return array([self.draw])

    def gaussian(self, variance: Fraction, size: int) -> npt.NDArray[np.int64]:
        raise AssertionError("the noise is Laplace's")

    def below(self, bound: int) -> int:
        assert bound == 2
        return self.sign


class Prefetched:
    """A source of noise that makes all its draws of one scale at once."""

    def __init__(self, source: SystemNoise, scale: Fraction, size: int) -> None:
        self.below, self.draws = source.below, iter(source.laplace(scale, size))

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        return array([next(self.draws)])


def rounded(k: int, r: Fraction) -> Fraction:
    """P(k - 1/2 <= Z < k + 1/2) for Laplace noise, where r = exp(-1/(2·scale)).

    P(Z > z) = exp(-z/scale)/2 for z >= 0, which is r^(2z)/2.
    """
    if k == 0:
        return 1 - r
    return (r ** (2 * abs(k) - 1) - r ** (2 * abs(k) + 1)) / 2


def test_noise_is_continuous_noise_rounded_exactly() -> None:
    """As an identity of fractions: each draw has probability (1-r)/(1+r)·r^|x|, each sign 1/2."""
    for r in (Fraction(1, 3), Fraction(7, 8)):
        found: dict[int, Fraction] = {}
        for x in range(-40, 41):
            for sign in (0, 1):
                source = Scripted(x, sign)
                k = rounded_laplace(Fraction(5, 3), source)
                assert source.scales == [Fraction(10, 3)]
                found[k] = found.get(k, Fraction(0)) + (1 - r) / (1 + r) * r ** abs(x) / 2
        assert {k: found[k] for k in range(-19, 20)} == {k: rounded(k, r) for k in range(-19, 20)}


def test_the_largest_draws_fit() -> None:
    for draw in (2**63 - 1, -(2**63)):
        values = {rounded_laplace(Fraction(2**55), Scripted(draw, sign)) for sign in (0, 1)}
        assert values == {2**62, -(2**62)}


@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(2, 3), Fraction(20)], ids=str)
def test_draws_fit_the_rounded_laplace(scale: Fraction) -> None:
    """Pearson's χ², by its closed-form tail for even degrees of freedom."""
    size = 5_000
    source = Prefetched(SystemNoise(Random(11).randbytes), 2 * scale, size)
    draws = array([rounded_laplace(scale, source) for _ in range(size)])

    def fit(assumed: Fraction) -> float:
        r = Fraction(math.exp(-1 / (2 * assumed))).limit_denominator(10**9)
        reach = next(k for k in range(10**3) if rounded(k + 1, r) * size < 10)
        shares = [float(rounded(k, r)) for k in range(-reach, reach + 1)]
        counts = [int((draws == k).sum()) for k in range(-reach, reach + 1)]
        # Both tails are one cell. The degrees of freedom are 2·reach + 1, and rounded up.
        shares.append(1 - sum(shares))
        counts.append(size - sum(counts))
        half = (
            sum((c - size * p) ** 2 / (size * p) for c, p in zip(counts, shares, strict=True)) / 2
        )
        terms = (j * math.log(half) - math.lgamma(j + 1) - half for j in range(reach + 1))
        return sum(map(math.exp, terms))

    assert fit(scale) > ALPHA
    assert fit(scale * Fraction(6, 5)) < ALPHA


# ------------------------------------------------------------------------- the release


@pytest.mark.parametrize("values", [[], [3], [-4, 0, 0, 5, 9]], ids=str)
def test_a_release_is_the_statistic_and_the_noise_within_the_grid(values: list[int]) -> None:
    mechanism, grid = Smooth(Fraction(1, 2), Fraction(5), Fraction(1, 100), 2), (-4, 11)
    exact = statistic(values, grid, mechanism.fraction)
    sensitivity = smooth_sensitivity(array(values), grid, mechanism.fraction, mechanism.beta, 2)
    for draw in (-1000, -7, -1, 0, 1, 4, 1000):
        for sign in (0, 1):
            source = Scripted(draw, sign)
            noisy = exact + rounded_laplace(Fraction(1), Scripted(draw, sign))
            assert release(array(values), grid, mechanism, source) == min(max(noisy, -4), 11)
            assert source.scales == [2 * mechanism.scale_of(Fraction(sensitivity))]


def test_the_widest_grid_can_be_drawn_on() -> None:
    mechanism, grid = Smooth(Fraction(1), Fraction(1), Fraction(1, 10**6)), (-(2**52), 2**52)
    assert 2 * mechanism.largest_scale(grid) <= LARGEST_SCALE
    source = SystemNoise(Random(2).randbytes)
    found = [release(array([]), grid, mechanism, source) for _ in range(50)]
    assert all(type(value) is int for value in found)
    assert {*grid} < {*found}


# ------------------------------------------------------------------------- the audit


def worst_excess(mechanism: Smooth, steeper: Fraction, smaller: Fraction) -> float:
    """The largest Σ max(0, P(x) - e^ε·Q(x)) between neighbours, which δ is to bound.

    P and Q are of the unclamped release, for sensitivities at `steeper` times its β and scales
    `smaller` times its own. What lies beyond 60 scales adds less than 10^-26.
    """
    found = sensitivities(mechanism, mechanism.beta * steeper)
    used = np.array([float(mechanism.scale_of(s) * smaller) for s in found])
    exact = array([statistic(x, GRID, mechanism.fraction) for x in TABLES])
    reach = math.ceil(60 * used.max())
    steps = np.abs(np.arange(-reach, reach + KINDS) - exact[:, None])
    r = np.exp(-1 / (2 * used))[:, None]
    beyond = np.exp((0.5 - steps) / used[:, None]) * (1 - r**2) / 2
    probabilities = np.where(steps == 0, 1 - r, beyond)
    # Many tables have the same noise on the same value, and so the same distribution.
    both = np.stack([exact, used], axis=1)
    _, first, kinds = np.unique(both, axis=0, return_index=True, return_inverse=True)
    pairs = neighbouring_kinds(kinds, mechanism.rows_per_unit)
    factor, worst = math.exp(mechanism.epsilon), 0.0
    for kind, one in enumerate(first):
        others = probabilities[first[pairs[pairs[:, 0] == kind, 1]]]
        excess = np.maximum(probabilities[one] - factor * others, 0).sum(axis=1)
        worst = max(worst, float(excess.max(initial=0)))
    return worst


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(Fraction(1, 2), Fraction(1, 100)), CHARGES[5]], ids=str
)
def test_neighbours_differ_by_no_more_than_is_charged(
    epsilon: Fraction, delta: Fraction, fraction: Fraction, rows: int
) -> None:
    mechanism = Smooth(fraction, epsilon, delta, rows)
    assert worst_excess(mechanism, Fraction(1), Fraction(1)) <= delta
    # And it would be seen if the scale changed too fast between neighbours, or were too small.
    steeper, smaller = (Fraction(4), Fraction(1)), (Fraction(1), Fraction(2, 5))
    assert worst_excess(mechanism, *(steeper if rows == 1 else smaller)) > delta
