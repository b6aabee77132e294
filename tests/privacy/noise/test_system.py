"""The system's Laplace noise has the distribution it claims, to the ends of what can be drawn.

Entropy is seeded, so a test of fit always gives one answer; it is also shown wrong samplers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from dpdb.errors import InvalidOption
from dpdb.privacy.noise.acceptance import LARGEST_VARIANCE, exp_digits, workable
from dpdb.privacy.noise.protocols import LARGEST_SCALE
from dpdb.privacy.noise.sources import SOURCES, OpenDPNoise, source
from dpdb.privacy.noise.system import SystemNoise, as_word_fraction
from tests.support.noise_laws import (
    ALPHA,
    AWKWARD,
    Draws,
    cdf,
    chi_square_p,
    fit_of,
    script,
    seeded,
    weights,
    words,
)


def fit(draws: Draws, scale: Fraction) -> float:
    return fit_of(draws, partial(cdf, scale), 60 * scale)


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


def cuts_the_tail(scale: Fraction, size: int) -> Draws:
    class Short(SystemNoise):
        def _geometric(self, size: int, rate: Fraction) -> Draws:
            return np.minimum(super()._geometric(size, rate), 5)

    return Short(Random(7).randbytes).laplace(scale, size)


def starts_long_ones_anew(scale: Fraction, size: int) -> Draws:
    class Anew(SystemNoise):
        def _geometric(self, size: int, rate: Fraction) -> Draws:
            return super()._geometric(size, rate) % 5

    return Anew(Random(8).randbytes).laplace(scale, size)


WRONG = [
    zero_twice_as_often,
    rounded_continuous,
    scale_off_by_3_percent,
    cuts_the_tail,
    starts_long_ones_anew,
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
    """Every candidate has a minus and the largest u, is accepted, and has v as listed by call."""

    def __init__(self, *v: int) -> None:
        super().__init__()
        self.v, self.word = list(v), 2**64 - 1

    def _words(self, size: int) -> npt.NDArray[np.uint64]:
        word, self.word = self.word, 2**64 - 1
        return np.full(size, word, dtype=np.uint64)

    def _geometric(self, size: int, rate: Fraction) -> Draws:
        v = self.v.pop(0)
        if v < 2**14:
            self.word = 0  # which is below any exp(-u/t)
        return np.full(size, v, dtype=np.int64)


def test_the_largest_draw_fits_and_a_larger_one_is_drawn_again() -> None:
    scale = Fraction(LARGEST_SCALE)
    assert Extreme(2**14 - 1).laplace(scale, 2).tolist() == [-(2**63 - 1)] * 2
    assert Extreme(2**14, 10**9, 1).laplace(scale, 2).tolist() == [-(2**50 - 1)] * 2
    assert Extreme(2**60).laplace(Fraction(4), 1).tolist() == [-(2**60)]


def test_a_candidate_is_accepted_below_the_exponential() -> None:
    """At t = 1000 the uniform part u is below 4; with v = 0 the draw is u itself."""
    t, u = 1000, 3
    digits = exp_digits(Fraction(u, t), 64)
    beside = [digits - 2**40, digits - 1, digits + 1, digits + 2**40]
    entropy = script([words(*[u << 1] * 4), words(*[2**64 - 1] * 4), words(*beside)])
    assert SystemNoise(entropy)._block(4, t, 1).tolist() == [u, u]


def test_broken_entropy_is_noticed() -> None:
    with pytest.raises(RecursionError):
        SystemNoise(bytes)._geometric(1, Fraction(1))  # zeros only


def test_sources_by_name() -> None:
    assert isinstance(source("system"), SystemNoise)
    assert isinstance(source("opendp"), OpenDPNoise)
    assert 0 <= source("opendp").below(5) < 5
    with pytest.raises(InvalidOption) as caught:
        source("sytem")
    assert caught.value.hint == "did you mean system?"
