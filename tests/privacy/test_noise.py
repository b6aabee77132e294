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
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpdb.errors import InvalidOption, UsageError
from dpdb.privacy.noise import LARGEST_SCALE, SOURCES, SystemNoise, _whole, inverse_e, source
from dpdb.privacy.opendp_noise import OpenDPNoise, round_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    Draws = npt.NDArray[np.int64]

ALPHA = 1e-6
ROOT = Path(__file__).parents[2]
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


def cells(scale: Fraction, size: int) -> list[int]:
    """Right ends of cells, near equal in weight, with 20 expected draws at least in each."""
    reach = range(-math.ceil(60 * scale), math.ceil(60 * scale))
    ends: list[int] = []
    for q in (0.001, 0.01, *(i / 20 for i in range(1, 20)), 0.99, 0.999):
        end = reach[bisect_left(reach, q, key=lambda x: cdf(scale, x))]
        weight = cdf(scale, end) - (cdf(scale, ends[-1]) if ends else 0)
        if size * min(weight, 1 - cdf(scale, end)) >= 20:
            ends.append(end)
    return ends[: len(ends) // 2 * 2]  # an even number of degrees of freedom


def weights(scale: Fraction, ends: list[int]) -> Draws:
    return np.diff([0, *(cdf(scale, end) for end in ends), 1])


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
    ends = cells(scale, draws.size)
    counts = np.bincount(np.searchsorted(ends, draws), minlength=len(ends) + 1)
    return chi_square_p(counts, weights(scale, ends))


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
    shares = weights(scale, thirds)

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


def test_opendp_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(UsageError) as caught:
        source("opendp")
    assert caught.value.hint == 'pip install "dpdb[opendp]"'


# --------------------------------------------------------------------------- the digits of 1/e


@pytest.mark.parametrize("bits", [0, 1, 2, 8, 64, 128, 192, 1000])
def test_digits_of_one_over_e(bits: int) -> None:
    with localcontext() as context:
        context.prec = 400
        assert inverse_e(bits) == int(Decimal(-1).exp() * 2**bits)


def test_words_beside_the_digits_of_one_over_e() -> None:
    digits = inverse_e(64)
    noise = SystemNoise(script([words(0, digits - 1, digits + 1, 2**64 - 1)]))
    assert noise._failures(4).tolist() == [False, False, True, True]


@pytest.mark.parametrize(("last_digit", "fails"), [(1, True), (-1, False)])
def test_a_tie_is_decided_by_further_digits(last_digit: int, fails: bool) -> None:
    first, second, third = (inverse_e(64 * k) % 2**64 for k in (1, 2, 3))
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


def test_sizes() -> None:
    assert seeded(13).laplace(Fraction(3), 0).tolist() == []
    assert seeded(13).laplace(Fraction(3), 70_001).shape == (70_001,)
    with pytest.raises(ValueError, match="negative"):
        seeded(13).laplace(Fraction(3), -1)


def test_scales_that_do_not_fit_are_rounded_up_and_hardly() -> None:
    assert _whole(Fraction(65, 2)) == (65, 2)
    assert _whole(Fraction(LARGEST_SCALE)) == (LARGEST_SCALE, 1)
    random = Random(14)
    for _ in range(2_000):
        top = random.getrandbits(random.randint(57, 400)) | 1
        scale = Fraction(top, random.getrandbits(random.randint(1, 420)) | 1)
        if scale > LARGEST_SCALE:
            continue
        t, s = _whole(scale)
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
    command = [sys.executable, "-c", "import sys; from dpdb.privacy import noise; " + code]
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
