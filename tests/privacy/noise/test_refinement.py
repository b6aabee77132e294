"""Finer noise given coarser noise: as if the coarser had been made of the finer one.

With exp(-1/unit) = q rational, so are all probabilities here. What the code does with every
sequence of small draws is added up exactly; what is left out of it is an interval's width.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chisquare

from dpdb.privacy.noise import refinement
from dpdb.privacy.noise.refinement import refine
from dpdb.privacy.noise.sources import seeded

Draws = npt.NDArray[np.int64]
Refine = Callable[..., Draws]
Rates = tuple[int, int]
ALPHA = 1e-6
Q = Fraction(1, 4)
RATES = [(1, 2), (2, 3), (1, 3), (2, 7)]
NOISES = range(-3, 4)

# ------------------------------------------------------------------------- laws in rationals


def laplace(r: Fraction, x: int) -> Fraction:
    """P(x) = (1-r)/(1+r) r^|x|."""
    return (1 - r) / (1 + r) * r ** abs(x)


def added(r1: Fraction, r2: Fraction, w: int) -> Fraction:
    """P(B·W = w): 0 with probability p, and otherwise the coarser noise."""
    p = r2 / r1 * ((1 - r1) / (1 - r2)) ** 2
    assert 0 < p < 1
    return (1 - p) * laplace(r1, w) + (p if w == 0 else 0)


def definition(r1: Fraction, r2: Fraction, x: int, z: int) -> Fraction:
    """P(Z₂ = z | Z₁ = x) for Z₁ = Z₂ + B·W, by Bayes."""
    return laplace(r2, z) * added(r1, r2, x - z) / laplace(r1, x)


def conditional(r1: Fraction, r2: Fraction, x: int, z: int) -> Fraction:
    """The same as the module states it."""
    if x < 0:
        return conditional(r1, r2, -x, -z)
    rho, tau = r2 / r1, r1 * r2
    peak = (1 - rho) * (1 - tau) / (1 - rho * tau)
    beyond = rho ** (x + 1) * (1 - tau) / (1 - rho * tau)
    if z < 0:
        return peak * tau**-z
    if z <= x:
        return peak * rho**z + (beyond * (1 - r1**2) / (1 - tau) if z == x else 0)
    return beyond * (r1**2 - tau) / (1 - tau) * (1 - tau) * tau ** (z - x - 1)


PAIRS = [
    (Fraction(*coarse), Fraction(*fine))
    for coarse, fine in [
        ((1, 2), (1, 3)), ((9, 10), (1, 2)), ((9, 10), (8, 9)), ((2, 3), (1, 7)), ((1, 5), (1, 90)),
    ]
]  # fmt: skip


@pytest.mark.parametrize(("r1", "r2"), PAIRS, ids=str)
def test_finer_noise_and_more_is_the_coarser(r1: Fraction, r2: Fraction) -> None:
    for x in range(5):
        found = sum(laplace(r2, z) * added(r1, r2, x - z) for z in range(-90, 91))
        assert found <= laplace(r1, x) < found + r2**80


@pytest.mark.parametrize(("r1", "r2"), PAIRS, ids=str)
def test_the_law_is_that_of_the_definition(r1: Fraction, r2: Fraction) -> None:
    for x, z in product(range(-8, 9), range(-14, 15)):
        assert conditional(r1, r2, x, z) == definition(r1, r2, x, z)


@pytest.mark.parametrize(("r1", "r2"), PAIRS, ids=str)
def test_both_answers_cost_what_the_finer_costs(r1: Fraction, r2: Fraction) -> None:
    """Exactly: the largest ratio of probabilities where the true answer is 0 and where it is 1."""

    def together(x: int, z: int) -> Fraction:
        return laplace(r1, x) * conditional(r1, r2, x, z)

    def apart(x: int, z: int) -> Fraction:
        return laplace(r1, x) * laplace(r2, z)

    for law, most in ((together, 1 / r2), (apart, 1 / (r1 * r2))):
        ratios = [law(x, z) / law(x - 1, z - 1) for x, z in product(range(-6, 7), repeat=2)]
        assert (max(ratios), min(ratios)) == (most, 1 / most)


# ------------------------------------------------------------------------- what the code does


class Scripted:
    """A source whose draws are given, one after the other."""

    private = True

    def __init__(self, draws: Draws):
        self._draws = draws
        self.sizes: list[int] = []

    def laplace(self, scale: Fraction, size: int) -> Draws:
        self.sizes.append(size)
        given, self._draws = self._draws[:size], self._draws[size:]
        return given

    gaussian = laplace

    def below(self, bound: int) -> int:
        raise AssertionError("noise is refined without uniform integers")


@cache
def all_draws(number: int) -> Draws:
    """Every sequence of five geometric draws below `number`, a column each."""
    return np.array(np.meshgrid(*[np.arange(number)] * 5, indexing="ij")).reshape(5, -1)


def enumerated(x: int, rates: Rates, number: int, by: Refine = refine) -> dict[int, Fraction]:
    """P(z) of the sequences of draws below `number`, at the least."""
    draws = all_draws(number)
    fine = by(np.full(draws.shape[1], x), Fraction(1), rates, Scripted(draws.ravel()))
    # Each draw k has the probability (1-q)·q^k.
    pairs = np.stack([fine, draws.sum(axis=0)])
    found: dict[int, Fraction] = {}
    for (z, total), times in zip(*counted(pairs), strict=True):
        found[z] = found.get(z, Fraction(0)) + times * (1 - Q) ** 5 * Q**total
    return found


def counted(columns: Draws) -> tuple[list[list[int]], list[int]]:
    """The different columns, and how often each is there."""
    different, times = np.unique(columns, axis=1, return_counts=True)
    return different.T.tolist(), times.tolist()


def has_the_law(rates: Rates, number: int, by: Refine = refine) -> bool:
    """Whether the code's law, as far as it is enumerated, is that of the definition."""
    left_out = 1 - (1 - Q**number) ** 5
    r1, r2 = (Q**rate for rate in rates)
    return all(
        found <= definition(r1, r2, x, z) <= found + left_out
        for x in NOISES
        for z, found in enumerated(x, rates, number, by).items()
    )


@pytest.mark.parametrize("rates", RATES, ids=str)
def test_the_draws_have_the_law(rates: Rates) -> None:
    assert has_the_law(rates, 8)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("e <= other_g", "e < other_g"),
        ("e <= other_g", "e <= g"),
        ("size + 1 + j", "size + j"),
        ("size + 1 + j", "size + 1 + h"),
        ("difference <= size", "difference < size"),
        ("g - h", "h - g"),
        ("-fine, fine", "fine, fine"),
        ("np.abs(coarse)", "coarse"),
        ("[high - low, high - low", "[high - low, high"),
        ("high + low, high + low", "high + low, high"),
        ("2 * low]", "low]"),
        ("2 * low]", "2 * high]"),
    ],
)
def test_anything_else_has_another(right: str, wrong: str) -> None:
    source = inspect.getsource(refinement)
    assert right in source
    changed: dict[str, Any] = {}
    exec(source.replace(right, wrong), changed)
    assert not all(has_the_law(rates, 8, changed["refine"]) for rates in RATES[:2])


def test_nothing_leaves_the_integers() -> None:
    """Doubles would round: all is compared and added exactly, however large."""
    huge = 2**61 + 1
    draws = [[huge, 0, 0, 0, 0], [huge + 1, 0, 0, 0, 0], [huge + 1, 0, 0, 3 * 5, 2]]
    coarse = np.array([huge, huge, -huge])
    fine = refine(coarse, Fraction(1), (1, 2), Scripted(np.array(draws).T.ravel()))
    assert fine.dtype == np.int64
    assert fine.tolist() == [huge, huge, -(huge + 1 + 5)]


def test_as_much_is_drawn_whatever_the_noise_is() -> None:
    """Five numbers for each cell, in one piece, before the noise is looked at."""
    sizes = []
    for coarse in ([0] * 4, [9, -9, 0, 1], [2**60] * 4):
        source = Scripted(np.arange(200) % 7)
        refine(np.array(coarse), Fraction(5), (1, 2), source)
        sizes.append(source.sizes)
    assert sizes[0] == sizes[1] == sizes[2]
    assert len(sizes[0]) == 1


@pytest.mark.parametrize("rates", [(0, 1), (1, 1), (2, 1), (-1, 2)])
def test_no_other_noise_is_finer(rates: Rates) -> None:
    with pytest.raises(ValueError, match="must be smaller"):
        refine(np.zeros(1, np.int64), Fraction(1), rates, seeded(1))


# ------------------------------------------------------------------------- what is drawn


def fit(coarse: Draws, fine: Draws, scales: tuple[Fraction, Fraction]) -> float:
    """The p-value of pairs against their law; those expected less than 20 times are one outcome."""
    reach = math.ceil(8 * scales[0])
    noises = np.arange(-reach, reach + 1)
    r1, r2 = (math.exp(-1 / scale) for scale in scales)
    p = r2 / r1 * ((1 - r1) / (1 - r2)) ** 2
    moved = noises[:, np.newaxis] - noises
    added = (1 - p) * (1 - r1) / (1 + r1) * r1 ** np.abs(moved) + p * (moved == 0)
    weights = (1 - r2) / (1 + r2) * r2 ** np.abs(noises) * added
    counts = np.zeros(weights.shape)
    within = (np.abs(coarse) <= reach) & (np.abs(fine) <= reach)
    np.add.at(counts, (coarse[within] + reach, fine[within] + reach), 1)
    expected = weights * coarse.size
    kept = expected >= 20
    observed, expected = counts[kept], expected[kept]
    rest = coarse.size - observed.sum(), coarse.size - expected.sum()
    assert rest[1] >= 20
    return float(chisquare([*observed, rest[0]], [*expected, rest[1]]).pvalue)


SIZE = 100_000


@pytest.mark.parametrize(
    ("unit", "rates"), [("10", (1, 2)), ("7", (3, 5)), ("22/31", (1, 4)), ("40", (1, 9))], ids=str
)
def test_pairs_fit_their_law(unit: str, rates: Rates) -> None:
    scales = Fraction(unit) / rates[0], Fraction(unit) / rates[1]
    noise = seeded(3)
    coarse = noise.laplace(scales[0], SIZE)
    fine = refine(coarse, Fraction(unit), rates, noise)
    assert fit(coarse, fine, scales) > ALPHA
    assert fit(coarse, noise.laplace(scales[1], SIZE), scales) < ALPHA
