"""The noise has the distribution it claims, exactly and in every process anew.

Entropy is seeded, so a test of fit always gives one answer; OpenDP cannot be seeded, so there the
statistic has a proven false alarm rate. Each kind of check is also shown a wrong sampler.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from bisect import bisect_left
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpdb.errors import InvalidOption, UsageError
from dpdb.privacy.noise import gaussian as bell
from dpdb.privacy.noise.exp_digits import exp_digits
from dpdb.privacy.noise.gaussian import LARGEST_VARIANCE, accept_gaussian, ceiling, workable
from dpdb.privacy.noise.opendp import OpenDPNoise
from dpdb.privacy.noise.rounding import root_up, round_up
from dpdb.privacy.noise.source import LARGEST_SCALE
from dpdb.privacy.noise.sources import SOURCES, source
from dpdb.privacy.noise.system import SystemNoise, as_word_fraction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    Draws = npt.NDArray[np.int64]
    Law = Callable[[int], float]

ALPHA = 1e-6
ROOT = Path(__file__).parents[3]
AWKWARD = Fraction(10**30 + 1, 3 * 10**28)  # about 33.3, and too long for a machine word


def seeded(seed: int) -> SystemNoise:
    return SystemNoise(Random(seed).randbytes)


def words(*values: int) -> bytes:
    return np.array(values, dtype=np.uint64).tobytes()


def script(replies: Iterable[bytes]) -> Callable[[int], bytes]:
    """Entropy that gives these replies, each of which must have the length asked for."""
    remaining = iter(replies)

    def entropy(size: int) -> bytes:
        reply = next(remaining)
        assert len(reply) == size
        return reply

    return entropy


# ---------------------------------------------------------------- the closed form and the tests


def cdf(scale: Fraction, x: int) -> float:
    """P(X <= x), summed from P(x) = (1-r)/(1+r) r^|x| with r = exp(-1/scale)."""
    below_or_over = math.exp(-float((-x if x < 0 else x + 1) / scale)) / (1 + math.exp(-1 / scale))
    return below_or_over if x < 0 else 1 - below_or_over


def gaussian(variance: Fraction) -> Law:
    """The distribution function of the discrete Gaussian, from P(x) ∝ exp(-x²/(2·variance)).

    Summed up to σ = 100. From there the normal probability up to x + 1/2 serves: the midpoint rule
    is off by the slope of the density over 24, exp(-1/2)/√(2π)/(24σ²) < 0.0101/σ² at most, of
    which 200,000 draws cannot see the 1e-6.
    """
    sigma = math.sqrt(variance)
    if sigma > 100:
        return lambda x: NormalDist(0, sigma).cdf(x + 0.5)
    reach = math.ceil(39 * sigma)
    terms = np.exp(np.arange(-reach, reach + 1) ** 2 / (-2 * float(variance)))
    sums = terms.cumsum() / terms.sum()
    return lambda x: float(sums[min(x + reach, 2 * reach)]) if x >= -reach else 0.0


def cells(law: Law, reach: float, size: int) -> list[int]:
    """Right ends of cells, near equal in weight, with 20 expected draws at least in each."""
    all_of_it = range(-math.ceil(reach), math.ceil(reach))
    ends: list[int] = []
    for q in (0.001, 0.01, *(i / 20 for i in range(1, 20)), 0.99, 0.999):
        end = all_of_it[bisect_left(all_of_it, q, key=law)]
        weight = law(end) - (law(ends[-1]) if ends else 0)
        if size * min(weight, 1 - law(end)) >= 20:
            ends.append(end)
    return ends[: len(ends) // 2 * 2]  # an even number of degrees of freedom


def weights(law: Law, ends: list[int]) -> Draws:
    return np.diff([0, *(law(end) for end in ends), 1])


def chi_square_p(observed: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """The tail of Pearson's statistic. For 2m degrees of freedom it is that of a Poisson sum:
    P(χ² > x) = exp(-x/2) Σ_{j<m} (x/2)^j / j!  (Abramowitz and Stegun 26.4.21)."""
    counts, shares = np.asarray(observed), np.asarray(probabilities)
    expected = counts.sum() * shares
    half = float(((counts - expected) ** 2 / expected).sum()) / 2
    m, odd = divmod(len(counts) - 1, 2)
    assert m > 0
    assert not odd
    log_half = math.log(max(half, 1e-300))
    return sum(math.exp(j * log_half - math.lgamma(j + 1) - half) for j in range(m))


def fit(draws: Draws, scale: Fraction) -> float:
    return fit_of(draws, partial(cdf, scale), 60 * scale)


def bell_fit(draws: Draws, variance: Fraction) -> float:
    return fit_of(draws, gaussian(variance), 10 * math.sqrt(variance) + 2)


def fit_of(draws: Draws, law: Law, reach: float) -> float:
    ends = cells(law, reach, draws.size)
    counts = np.bincount(np.searchsorted(ends, draws), minlength=len(ends) + 1)
    return chi_square_p(counts, weights(law, ends))


def test_the_chi_square_tail_matches_published_critical_values() -> None:
    # NIST/SEMATECH e-Handbook 1.3.6.7.4: the upper 0.001 points for 2, 10 and 20 degrees.
    for degrees, point in ((2, 13.816), (10, 29.588), (20, 45.315)):
        counts = np.full(degrees + 1, 2.0)
        counts[0] += math.sqrt(point)  # with an expected 2 per cell, these two
        counts[1] -= math.sqrt(point)  # make the statistic point/2 + point/2
        p = chi_square_p(counts, np.full(degrees + 1, 1 / (degrees + 1)))
        assert p == pytest.approx(0.001, rel=2e-3)


def test_the_closed_form_sums_the_stated_probabilities() -> None:
    for scale in (Fraction(1, 3), Fraction(7, 5), Fraction(10)):
        r = math.exp(-1 / scale)
        for x in range(-5, 6):
            stated = (1 - r) / (1 + r) * r ** abs(x)
            assert cdf(scale, x) - cdf(scale, x - 1) == pytest.approx(stated, rel=1e-9)


# ------------------------------------------------------------------------------ goodness of fit

SCALES = [
    *(Fraction(1, 5), Fraction(1, 3), Fraction(1), Fraction(7, 5), Fraction(10), Fraction(65, 2)),
    *(AWKWARD, Fraction(10**9), Fraction(3 * 10**15, 7), Fraction(LARGEST_SCALE)),
]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_draws_fit_the_discrete_laplace(scale: Fraction) -> None:
    draws = seeded(1).laplace(scale, 200_000)
    assert draws.dtype == np.int64
    assert draws.shape == (200_000,)
    assert fit(draws, scale) > ALPHA


def test_single_draws_fit_it_too() -> None:
    noise, scale = seeded(2), Fraction(7, 5)
    draws = np.array([noise.laplace(scale, 1)[0] for _ in range(10_000)])
    assert fit(draws, scale) > ALPHA


def test_a_tiny_scale_is_nearly_always_zero() -> None:
    # P(X != 0) = 2r/(1+r) = 4.1e-9 at 1/20, so 200,000 draws have one with probability 8e-4.
    assert not seeded(3).laplace(Fraction(1, 20), 200_000).any()
    assert not seeded(3).laplace(Fraction(1, 10**400), 1_000).any()
    assert seeded(3).laplace(Fraction(1, 10), 200_000).any()  # P(all zero) = 1.3e-8


def zero_twice_as_often(scale: Fraction, size: int) -> Draws:
    one_sided = seeded(4).laplace(scale, 3 * size)
    one_sided = one_sided[one_sided >= 0][:size]
    signs = np.random.default_rng(4).integers(2, size=one_sided.size) * 2 - 1
    return np.multiply(one_sided, signs, dtype=np.int64)


def rounded_continuous(scale: Fraction, size: int) -> Draws:
    reals = np.random.default_rng(5).laplace(scale=float(scale), size=size)
    return reals.round().astype(np.int64)


def scale_off_by_3_percent(scale: Fraction, size: int) -> Draws:
    return seeded(6).laplace(scale * Fraction(103, 100), size)


def loses_the_last_rounds(scale: Fraction, size: int) -> Draws:
    class TwoRounds(SystemNoise):
        def _accepts(self, u: npt.NDArray[np.uint64], t: int, k: int = 1) -> npt.NDArray[np.bool_]:
            return super()._accepts(u, t, k) if k == 1 else np.ones(u.size, dtype=np.bool_)

    return TwoRounds(Random(7).randbytes).laplace(scale, size)


def starts_runs_anew(scale: Fraction, size: int) -> Draws:
    class ShortRows(SystemNoise):
        def _geometric(self, size: int) -> Draws:
            rows = [super(ShortRows, self)._geometric(8) for _ in range(size // 4)]
            kept = np.concatenate([row[row.cumsum() < 8] for row in rows])
            return np.resize(kept, size)

    return ShortRows(Random(8).randbytes).laplace(scale, size)


WRONG = [
    zero_twice_as_often,
    rounded_continuous,
    scale_off_by_3_percent,
    loses_the_last_rounds,
    starts_runs_anew,
]


@pytest.mark.parametrize("wrong", WRONG)
def test_the_fit_rejects_wrong_samplers(wrong: Callable[[Fraction, int], Draws]) -> None:
    scale = Fraction(7, 5)
    assert fit(wrong(scale, 200_000), scale) < ALPHA


def test_neighbouring_draws_are_independent() -> None:
    scale = Fraction(10)
    thirds = [-4, 4]
    shares = weights(partial(cdf, scale), thirds)

    def p(draws: Draws) -> float:
        kinds = np.searchsorted(thirds, draws).reshape(-1, 2)
        pairs = np.bincount(3 * kinds[:, 0] + kinds[:, 1], minlength=9)
        return chi_square_p(pairs, np.outer(shares, shares).ravel())

    draws = seeded(9).laplace(scale, 200_000)
    assert p(draws) > ALPHA
    sticky = np.where(np.arange(draws.size) % 50 == 1, np.roll(draws, 1), draws)
    assert p(sticky) < ALPHA  # one in 25 pairs repeats its first draw


@pytest.mark.parametrize("modulus", [3, 11, 101])
def test_large_draws_leave_no_gaps(modulus: int) -> None:
    draws = seeded(10).laplace(Fraction(10**9), 200_000)
    uniform = np.full(modulus, 1 / modulus)
    assert chi_square_p(np.bincount(draws % modulus, minlength=modulus), uniform) > ALPHA
    # The faults of Mironov (2012) come down to this: some values cannot be reached.
    holes = draws - draws % 3
    assert chi_square_p(np.bincount(holes % 3, minlength=3), np.full(3, 1 / 3)) < ALPHA


def mean_is_plausible(draws: Draws, scale: Fraction) -> bool:
    """|mean of |x| - E|x|| within 4.892 standard errors: two-sided 1e-6 for a normal.

    E|X| = 2r/(1-r²) and E X² = 2r/(1-r)².
    """
    r = math.exp(-1 / scale)
    mean, square = 2 * r / (1 - r * r), 2 * r / (1 - r) ** 2
    error = math.sqrt((square - mean * mean) / draws.size)
    return abs(float(np.abs(draws).mean()) - mean) < 4.892 * error


def test_the_mean_of_5000_draws_tells_a_scale_10_percent_off() -> None:
    scale, few = Fraction(10), 5_000
    noise = seeded(11)
    assert all(mean_is_plausible(noise.laplace(scale, few), scale) for _ in range(50))
    for wrong in (scale * Fraction(11, 10), scale * Fraction(9, 10)):
        caught = [not mean_is_plausible(noise.laplace(wrong, few), scale) for _ in range(50)]
        assert sum(caught) >= 45


# -------------------------------------------------------------------------- the discrete Gaussian

VARIANCES = [
    *(Fraction(1, 10), Fraction(1), Fraction(22, 7), Fraction(3), AWKWARD, Fraction(100)),
    *(Fraction(10**6), Fraction(10**12), Fraction(LARGEST_VARIANCE)),
]


def test_the_bell_sums_the_stated_probabilities() -> None:
    for variance in (Fraction(1, 10), Fraction(22, 7), Fraction(9_999), Fraction(10_001)):
        law = gaussian(variance)  # the last two on either side of the change to the normal
        ratio = (law(3) - law(2)) / (law(0) - law(-1))
        assert ratio == pytest.approx(math.exp(-9 / (2 * variance)), rel=1e-4, abs=1e-9)
        assert law(0) + law(-1) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_draws_fit_the_discrete_gaussian(variance: Fraction) -> None:
    draws = seeded(20).gaussian(variance, 200_000)
    assert draws.dtype == np.int64
    assert draws.shape == (200_000,)
    assert bell_fit(draws, variance) > ALPHA
    for wrong in (Fraction(11, 10), Fraction(9, 10)):
        if variance * wrong**2 <= LARGEST_VARIANCE:
            assert bell_fit(seeded(20).gaussian(variance * wrong**2, 200_000), variance) < ALPHA


def test_single_gaussian_draws_fit_it_too() -> None:
    noise, variance = seeded(21), Fraction(22, 7)
    draws = np.array([noise.gaussian(variance, 1)[0] for _ in range(10_000)])
    assert bell_fit(draws, variance) > ALPHA


def test_a_tiny_variance_is_always_zero() -> None:
    # P(X != 0) = 2 exp(-50) at 1/100.
    for variance in (Fraction(1, 100), Fraction(1, 2**128), Fraction(1, 10**400)):
        assert not seeded(22).gaussian(variance, 10_000).any()


def rounded_normal(variance: Fraction, size: int) -> Draws:
    reals = np.random.default_rng(23).normal(scale=math.sqrt(variance), size=size)
    return reals.round().astype(np.int64)


def candidates_alone(variance: Fraction, size: int) -> Draws:
    return seeded(24).laplace(Fraction(ceiling(variance)), size)


def kept_as_if_centred_at_zero(variance: Fraction, size: int) -> Draws:
    y = candidates_alone(variance, 4 * size)
    chance = np.exp(y**2 / (-2 * float(variance)))
    return y[np.random.default_rng(25).random(y.size) < chance][:size]


@pytest.mark.parametrize("wrong", [rounded_normal, candidates_alone, kept_as_if_centred_at_zero])
def test_the_fit_rejects_wrong_bells(wrong: Callable[[Fraction, int], Draws]) -> None:
    variance = Fraction(22, 7)
    assert bell_fit(wrong(variance, 200_000), variance) < ALPHA


@pytest.mark.parametrize("modulus", [3, 11, 101])
def test_large_gaussian_draws_leave_no_gaps(modulus: int) -> None:
    draws = seeded(26).gaussian(Fraction(10**18), 200_000)
    uniform = np.full(modulus, 1 / modulus)
    assert chi_square_p(np.bincount(draws % modulus, minlength=modulus), uniform) > ALPHA


def test_the_mean_of_5000_gaussian_draws_tells_a_sigma_10_percent_off() -> None:
    """|mean of |x| - E|x|| within 4.892 standard errors, as above, E|X| and E X² being summed."""
    variance, few = Fraction(100), 5_000
    x = np.arange(-400, 401)
    shares = np.diff([gaussian(variance)(int(end)) for end in (-401, *x)])
    mean, square = float(shares @ np.abs(x)), float(shares @ x**2)
    error = math.sqrt((square - mean**2) / few)

    def plausible(draws: Draws) -> bool:
        return abs(float(np.abs(draws).mean()) - mean) < 4.892 * error

    noise = seeded(27)
    assert all(plausible(noise.gaussian(variance, few)) for _ in range(50))
    for wrong in (variance * Fraction(121, 100), variance * Fraction(81, 100)):
        assert sum(not plausible(noise.gaussian(wrong, few)) for _ in range(50)) >= 45


@pytest.mark.parametrize("variance", [Fraction(1, 10), Fraction(22, 7), Fraction(900)], ids=str)
def test_integers_decide_as_doubles_do(variance: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a margin of 1 every candidate is decided in integers, and every draw is the same."""
    quick = seeded(28).gaussian(variance, 2_000)
    decided: list[Fraction] = []

    class Counting(SystemNoise):
        def _below_exp(self, word: int, gamma: Fraction) -> bool:
            decided.append(gamma)
            return super()._below_exp(word, gamma)

    monkeypatch.setattr(bell, "_MARGIN", 1.0)
    exact = Counting(Random(28).randbytes).gaussian(variance, 2_000)
    assert (quick == exact).all()
    assert len(set(decided)) > 2
    assert len(decided) > 2_000


def test_only_near_decisions_are_left_to_integers() -> None:
    # y = 1 with σ = 1 and t = 2: γ = (1 - 1/2)²/2. 2^24 words are 2^-40.
    gamma, asked = Fraction(1, 8), []
    digits = exp_digits(gamma, 64)
    steps = [-(2**25), -(2**23), 0, 2**23, 2**25]

    def no(word: int, gamma: Fraction) -> bool:
        asked.append((word, gamma))
        return False

    drawn = np.array([digits + step for step in steps], dtype=np.uint64)
    kept = accept_gaussian(np.ones(5, dtype=np.int64), drawn, Fraction(1), no)
    assert kept.tolist() == [True, False, False, False, False]
    assert asked == [(digits + step, gamma) for step in steps[1:4]]


def test_doubles_are_right_by_the_margin_wherever_they_decide() -> None:
    """Words 2^-39 to either side of exp(-γ), for σ from 2^-64 to 2^55 and |y| where it matters."""
    random = Random(29)

    def never(word: int, gamma: Fraction) -> bool:
        raise AssertionError("too near to be left to doubles")

    for _ in range(2_000):
        variance = Fraction(random.getrandbits(300) | 1, 2 ** random.randint(190, 428))
        variance = workable(min(variance, Fraction(LARGEST_VARIANCE)))
        t, sigma = ceiling(variance), math.sqrt(variance)
        y = math.floor(variance / t + Fraction(sigma * random.uniform(-1, 9)))
        y = min(abs(y), 2**63 - 1)
        digits = exp_digits((y - variance / t) ** 2 / (2 * variance), 64)
        pairs = [(max(digits - 2**25, 0), True), (min(digits + 2**25, 2**64 - 1), False)]
        if digits < 2**25 or digits > 2**64 - 2**26:
            pairs = pairs[digits < 2**25 :][:1]
        drawn = np.array([word for word, _ in pairs], dtype=np.uint64)
        kept = accept_gaussian(np.full(len(pairs), -y), drawn, variance, never)
        assert kept.tolist() == [below for _, below in pairs], (variance, y)


# --------------------------------------------------------------------------- against OpenDP's


def largest_gap(draws: Draws, others: Draws) -> float:
    points = np.union1d(draws, others)
    mine = np.searchsorted(np.sort(draws), points, side="right") / draws.size
    return float(
        np.abs(mine - np.searchsorted(np.sort(others), points, side="right") / others.size).max()
    )


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7, 5), Fraction(10)], ids=str)
def test_system_and_opendp_draw_alike(scale: Fraction) -> None:
    """Both sides are fresh. The gap between two empirical distribution functions of n draws each
    is over d with probability at most 2 exp(-n d²) for n >= 458 (Wei and Dudley 2012), and the gap
    to the true one with probability at most 2 exp(-2 n d²) (Massart 1990); ties only help.
    """
    n = 100_000
    threshold = math.sqrt(math.log(2 / ALPHA) / n)
    theirs = OpenDPNoise().laplace(scale, n)
    assert theirs.dtype == np.int64
    assert largest_gap(SystemNoise().laplace(scale, n), theirs) < threshold
    assert largest_gap(SystemNoise().laplace(scale * Fraction(5, 4), n), theirs) > threshold
    for x in range(-40, 41):  # OpenDP's scale is that of exp(-|x|/scale)
        gap = abs(float((theirs <= x).mean()) - cdf(scale, x))
        assert gap < math.sqrt(math.log(2 / ALPHA) / (2 * n))


def test_opendp_never_gets_a_smaller_scale_than_asked() -> None:
    exact = [Fraction(10), Fraction(1, 4), Fraction(LARGEST_SCALE)]
    assert [round_up(scale) for scale in exact] == exact
    between = [Fraction(1, 3), Fraction(2, 3), Fraction(7, 5), Fraction(2**54 + 1), AWKWARD]
    assert any(Fraction(float(scale)) < scale for scale in between)  # float() alone would not do
    for scale in between:
        assert Fraction(math.nextafter(round_up(scale), 0)) < scale < Fraction(round_up(scale))
    assert not OpenDPNoise().laplace(Fraction(1, 10**400), 5).any()  # under the least double


@pytest.mark.parametrize("variance", [Fraction(1, 10), Fraction(22, 7), Fraction(100)], ids=str)
def test_system_and_opendp_draw_the_same_bell(variance: Fraction) -> None:
    """As above, but for OpenDP's slower draws."""
    n = 20_000
    threshold = math.sqrt(math.log(2 / ALPHA) / n)
    theirs, law = OpenDPNoise().gaussian(variance, n), gaussian(variance)
    assert theirs.dtype == np.int64
    assert largest_gap(SystemNoise().gaussian(variance, n), theirs) < threshold
    assert largest_gap(SystemNoise().gaussian(4 * variance, n), theirs) > threshold
    for x in range(-30, 31):
        gap = abs(float((theirs <= x).mean()) - law(x))
        assert gap < math.sqrt(math.log(2 / ALPHA) / (2 * n))


def test_opendp_never_gets_a_smaller_sigma_than_asked() -> None:
    assert [root_up(Fraction(x)) for x in (4, Fraction(1, 16), LARGEST_VARIANCE)] == [
        2,
        1 / 4,
        2**55,
    ]
    random = Random(30)
    for _ in range(500):
        variance = Fraction(random.getrandbits(200) | 1, 2 ** random.randint(100, 400))
        root = root_up(variance)
        assert Fraction(math.nextafter(root, 0)) ** 2 < variance <= Fraction(root) ** 2
    assert root_up(Fraction(1, 10**700)) == math.nextafter(0, 1)


def test_opendp_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(UsageError) as caught:
        source("opendp")
    assert caught.value.hint == 'pip install "dpdb[opendp]"'


# --------------------------------------------------------------------------- the digits of exp(-γ)

GAMMAS = [Fraction(0), Fraction(1, 10**30), Fraction(1, 3), Fraction(1), AWKWARD, Fraction(63)]


@pytest.mark.parametrize("gamma", [*GAMMAS, Fraction(64), Fraction(10**9)], ids=str)
@pytest.mark.parametrize("bits", [0, 1, 2, 8, 64, 128, 192, 1000])
def test_digits_of_an_exponential(gamma: Fraction, bits: int) -> None:
    with localcontext() as context:
        context.prec = 400
        exact = (Decimal(-gamma.numerator) / gamma.denominator).exp()
        assert exp_digits(gamma, bits) == int(exact * 2**bits)


def test_words_beside_the_digits_of_one_over_e() -> None:
    digits = exp_digits(Fraction(1), 64)
    noise = SystemNoise(script([words(0, digits - 1, digits + 1, 2**64 - 1)]))
    assert noise._failures(4).tolist() == [False, False, True, True]


@pytest.mark.parametrize(("last_digit", "fails"), [(1, True), (-1, False)])
def test_a_tie_is_decided_by_further_digits(last_digit: int, fails: bool) -> None:
    first, second, third = (exp_digits(Fraction(1), 64 * k) % 2**64 for k in (1, 2, 3))
    tied = script(
        [
            words(first, 0, first),
            words(second + last_digit),
            words(second),
            words(third + last_digit),
        ]
    )
    assert SystemNoise(tied)._failures(3).tolist() == [fails, False, fails]


def test_runs_are_read_off_one_row_and_continued() -> None:
    yes, no = 0, 2**64 - 1
    asked = 65 * 7 // 4 + 64
    row = [yes, yes, no, no, yes, no] + [yes] * (asked - 6)
    more = [yes, no] * 32
    last = [no] * 64
    noise = SystemNoise(script([words(*row), words(*more), words(*last)]))
    assert noise._geometric(65).tolist() == [2, 0, 1, asked - 6 + 1, *[1] * 31, *[0] * 30]


# -------------------------------------------------------------------------------- uniform draws


def outcomes(draw: Callable[[Callable[[int], bytes]], int], size: int) -> Counter[int]:
    """What `draw` makes of every string of `size` bytes, leaving out those it rejects."""
    counts: Counter[int] = Counter()
    for value in range(256**size):
        try:
            counts[draw(script([value.to_bytes(size, "big")]))] += 1
        except StopIteration:  # it asked for more
            continue
    return counts


@pytest.mark.parametrize(
    ("bound", "size"), [(2, 1), (3, 1), (6, 1), (255, 1), (256, 1), (257, 2), (1000, 2)]
)
def test_below_is_exactly_uniform(bound: int, size: int) -> None:
    counts = outcomes(lambda entropy: SystemNoise(entropy).below(bound), size)
    assert sorted(counts) == list(range(bound))
    assert len(set(counts.values())) == 1
    biased = outcomes(lambda entropy: int.from_bytes(entropy(size)) % bound, size)
    assert (len(set(biased.values())) == 1) == (256**size % bound == 0)


def test_below_takes_bounds_of_any_size() -> None:
    noise, unit = seeded(12), 10**60
    assert noise.below(1) == 0
    draws = [noise.below(11 * unit) for _ in range(20_000)]
    for digits in ([x // unit for x in draws], [x % 11 for x in draws]):
        assert chi_square_p(np.bincount(digits, minlength=11), np.full(11, 1 / 11)) > ALPHA
    # Just enough bits, reduced instead of rejected: 2^203 is 1.17 times the bound.
    biased = [noise.below(2**203) % (11 * unit) // unit for _ in range(20_000)]
    assert chi_square_p(np.bincount(biased, minlength=11), np.full(11, 1 / 11)) < ALPHA


@pytest.mark.parametrize("bound", [0, -1])
def test_below_needs_room(bound: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        SystemNoise().below(bound)


def test_uniform_words_reject_the_incomplete_multiple() -> None:
    top = 2**64 - 1  # 2^64 = 1 mod 3, so the top word alone has to go
    noise = SystemNoise(script([words(7, top, 8, top), words(top, top - 1), words(4)]))
    assert noise._uniform(4, 3).tolist() == [1, 1, 2, (top - 1) % 3]
    assert SystemNoise(script([words(top)]))._uniform(1, 2**63).tolist() == [2**63 - 1]


# ------------------------------------------------------------------------- limits and refusals


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), LARGEST_SCALE + Fraction(1, 10**9)])
def test_scales_out_of_range(name: str, scale: Fraction) -> None:
    with pytest.raises(ValueError, match="over 0 and at most"):
        source(name).laplace(scale, 1)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), Fraction(LARGEST_VARIANCE + 1)])
def test_variances_out_of_range(name: str, variance: Fraction) -> None:
    with pytest.raises(ValueError, match="over 0 and at most 2\\^110"):
        source(name).gaussian(variance, 1)


def test_variances_that_are_too_long_are_rounded_up_and_hardly() -> None:
    for fits in (Fraction(22, 7), Fraction(2**110 - 1, 2**128), Fraction(LARGEST_VARIANCE)):
        assert workable(fits) == fits
    random = Random(31)
    for _ in range(500):
        variance = Fraction(
            random.getrandbits(300) | 1, random.getrandbits(random.randint(200, 600)) | 1
        )
        if variance <= LARGEST_VARIANCE:
            rounded = workable(variance)
            assert rounded.denominator <= 2**128
            assert 0 <= rounded - variance < Fraction(1, 2**128)


def test_sizes() -> None:
    assert seeded(13).laplace(Fraction(3), 0).tolist() == []
    assert seeded(13).laplace(Fraction(3), 70_001).shape == (70_001,)
    assert seeded(13).gaussian(Fraction(3), 0).tolist() == []
    assert seeded(13).gaussian(Fraction(3), 70_001).shape == (70_001,)
    for draw in (seeded(13).laplace, seeded(13).gaussian):
        with pytest.raises(ValueError, match="negative"):
            draw(Fraction(3), -1)


def test_scales_that_do_not_fit_are_rounded_up_and_hardly() -> None:
    assert as_word_fraction(Fraction(65, 2)) == (65, 2)
    assert as_word_fraction(Fraction(LARGEST_SCALE)) == (LARGEST_SCALE, 1)
    random = Random(14)
    for _ in range(2_000):
        top = random.getrandbits(random.randint(57, 400)) | 1
        scale = Fraction(top, random.getrandbits(random.randint(1, 420)) | 1)
        if scale > LARGEST_SCALE:
            continue
        t, s = as_word_fraction(scale)
        assert 0 < t <= 2**56
        assert 0 < s <= 2**62
        excess = Fraction(t, s) - scale
        assert 0 <= excess <= max(scale / 2**55, Fraction(1, 2**62))


class Extreme(SystemNoise):
    """Every candidate is accepted with the largest u, and v as listed, call by call."""

    def __init__(self, *v: int) -> None:
        super().__init__()
        self.v = list(v)

    def _uniform(self, size: int, bound: int) -> npt.NDArray[np.uint64]:
        return np.full(size, bound - 1, dtype=np.uint64)

    def _accepts(self, u: npt.NDArray[np.uint64], t: int, k: int = 1) -> npt.NDArray[np.bool_]:
        return np.ones(u.size, dtype=np.bool_)

    def _geometric(self, size: int) -> Draws:
        return np.full(size, self.v.pop(0), dtype=np.int64)


def test_the_largest_draw_fits_and_a_larger_one_is_drawn_again() -> None:
    scale = Fraction(LARGEST_SCALE)
    assert Extreme(127).laplace(scale, 2).tolist() == [-(2**63 - 1)] * 2
    assert Extreme(128, 10**9, 1).laplace(scale, 2).tolist() == [-(2**57 - 1)] * 2
    assert Extreme(2**60).laplace(Fraction(4), 1).tolist() == [-(2**62 + 3)]


def test_broken_entropy_is_noticed() -> None:
    noise = SystemNoise(bytes)  # zeros only
    with pytest.raises(RuntimeError, match="broken"):
        noise._accepts(np.ones(64, dtype=np.uint64), 2)


def test_sources_by_name() -> None:
    assert isinstance(source("system"), SystemNoise)
    assert isinstance(source("opendp"), OpenDPNoise)
    assert 0 <= source("opendp").below(5) < 5
    with pytest.raises(InvalidOption) as caught:
        source("sytem")
    assert caught.value.hint == "did you mean system?"


# ----------------------------------------------------------------------- timing and prediction


class Metered:
    """Seeded entropy that adds up what is asked of it."""

    def __init__(self, seed: int) -> None:
        self.random, self.asked = Random(seed), 0

    def __call__(self, size: int) -> bytes:
        self.asked += size
        return self.random.randbytes(size)


def one_candidate_at_a_time(noise: SystemNoise, t: int = 10) -> int:
    """CKS Algorithm 2 as printed, for the scale t: its work tells the size of the draw."""
    while True:
        u, k, v = noise.below(t), 1, 0
        while noise.below(t * k) < u:
            k += 1
        if k % 2 == 0:
            continue
        while not noise._failures(1)[0]:
            v += 1
        if noise.below(2) or u + t * v:
            return u + t * v


def work_and_size(draw: Callable[[SystemNoise], int]) -> list[tuple[int, int]]:
    entropy = Metered(15)
    noise, pairs = SystemNoise(entropy), []
    for _ in range(2_000):
        before = entropy.asked
        size = abs(draw(noise))
        pairs.append((entropy.asked - before, size))
    return pairs


def test_the_work_of_a_draw_does_not_tell_its_size() -> None:
    pairs = work_and_size(lambda noise: int(noise.laplace(Fraction(10), 1)[0]))
    ((_, usual),) = Counter(work for work, _ in pairs).most_common(1)
    assert usual >= 0.999 * len(pairs)  # 65/9! of the blocks need a ninth round
    printed = np.array(work_and_size(one_candidate_at_a_time))
    assert np.corrcoef(printed.T)[0, 1] > 0.3


def test_nor_does_that_of_a_gaussian_draw() -> None:
    """It varies with the number of candidates; 4.892 standard errors of a correlation of 0."""
    pairs = np.array(work_and_size(lambda noise: int(noise.gaussian(Fraction(100), 1)[0])))
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 4.892 / math.sqrt(len(pairs))


def in_a_fork(noise: SystemNoise) -> bytes:
    out, into = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(into, noise.laplace(Fraction(10**9), 4).tobytes())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(into)
    with os.fdopen(out, "rb") as reader:
        return reader.read()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # xdist's workers have threads
def test_forks_draw_different_noise() -> None:
    noise = SystemNoise()
    noise.laplace(Fraction(10**9), 4)  # anything it might keep, it has by now
    streams = [in_a_fork(noise), in_a_fork(noise), noise.laplace(Fraction(10**9), 4).tobytes()]
    assert [len(stream) for stream in streams] == [32] * 3
    assert len(set(streams)) == 3
    with_state = seeded(16)
    assert in_a_fork(with_state) == in_a_fork(with_state)


def in_a_process(code: str) -> str:
    command = [
        sys.executable,
        "-c",
        "import sys; from dpdb.privacy.noise import sources as noise; " + code,
    ]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_processes_draw_different_noise() -> None:
    code = "from fractions import Fraction as F; print(noise.SystemNoise().laplace(F(10**9), 4))"
    first, second = in_a_process(code), in_a_process(code)
    assert len(first.split()) >= 4
    assert first != second


def test_numpy_waits_for_the_first_draw() -> None:
    loaded = "print('numpy' in sys.modules); "
    draw = "noise.source('system').laplace(3, 1); "
    assert in_a_process(loaded + draw + loaded) == "False\nTrue\n"
