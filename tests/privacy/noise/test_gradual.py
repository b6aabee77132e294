"""Coarser noise is the finer and more: the coupling is right, and costs what the finest seen costs.

The probability to stay is held against another form of it at high precision, and the coupling
against convolutions. What `ladder` draws is held against the exact joint distribution. Each kind of
check is also shown noise that is coupled wrongly, or margins that are too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chisquare

from dpdb.privacy.gradual_release import LOOKS, enough, levels
from dpdb.privacy.mechanisms import MAX_SCALE, Laplace
from dpdb.privacy.noise.gradual import SLACK, ladder, still
from dpdb.privacy.noise.rounding import round_up
from dpdb.privacy.noise.seeded import seeded
from dpdb.privacy.noise.system import as_word_fraction

Draws = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]
ALPHA = 1e-6
AWKWARD = Fraction(10**30 + 1, 3 * 10**28)  # about 33.3, and too long for a machine word
ULP = Fraction(1, 8)  # between the doubles below 2^50

# ---------------------------------------------------------------------------- the probability


def stays_and_moves(finer: Fraction, coarser: Fraction) -> tuple[Fraction, Fraction]:
    """p = sinh²(a₁)/sinh²(a₂) and 1 - p = sinh(a₂ + a₁) sinh(a₂ - a₁)/sinh²(a₂), a = 1/2b.

    The second for itself, without a difference; to 150 digits.
    """

    def sinh(x: Fraction) -> mpmath.mpf:
        return mpmath.sinh(mpmath.mpf(x.numerator) / x.denominator)

    a1, a2 = 1 / (2 * coarser), 1 / (2 * finer)
    with mpmath.workdps(150):
        below = sinh(a2) ** 2
        p, q = sinh(a1) ** 2 / below, sinh(a2 + a1) * sinh(a2 - a1) / below
        return tuple(Fraction(int(mpmath.floor(x * 2**450)), 2**450) for x in (p, q))


PAIRS = [
    (Fraction(1), Fraction(2)),
    (Fraction(1), Fraction(1001, 1000)),
    (Fraction(7, 5), AWKWARD),
    (Fraction(1, 100), Fraction(1, 50)),
    (Fraction(1, 100), Fraction(2**50)),
    (Fraction(2**49), Fraction(2**50)),
    (Fraction(2**50) - ULP, Fraction(2**50)),
]


@pytest.mark.parametrize(("finer", "coarser"), PAIRS, ids=str)
def test_still_is_right_at_extreme_scales(finer: Fraction, coarser: Fraction) -> None:
    p, q = stays_and_moves(finer, coarser)
    found = still(finer, coarser)
    assert abs(found - p) <= Fraction(1, 2**191)
    if p > Fraction(1, 2**131):  # not for 1/100 and 2^50: e^-100/2^100
        assert abs(found - p) <= p / 2**60
    assert abs((1 - found) - q) <= q / 2**60


scales = st.fractions(Fraction(1, 10**4), 2**50).filter(bool)


@given(scales, scales)
def test_still_is_right(one: Fraction, other: Fraction) -> None:
    finer, coarser = sorted((one, other))
    p, _ = stays_and_moves(finer, coarser)
    assert abs(still(finer, coarser) - p) <= Fraction(1, 2**191)


def test_noise_of_the_same_scale_stays() -> None:
    assert still(AWKWARD, AWKWARD) == 1


def test_large_scales_stay_as_continuous_noise_does() -> None:
    # Continuous Laplace noise stays with probability (ε₁/ε₂)² (Koufogiannis, Han, Pappas). As
    # 1 - x²/3 <= (x/sinh x)² <= 1 and it falls with x, this one is at most b₂⁻²/12 below that.
    for ratio in (2, 3, 10):
        for finer in (10, 10**3, 10**6):
            p = still(Fraction(finer), Fraction(ratio * finer))
            assert 1 - Fraction(1, 12 * finer**2) <= p * ratio**2 <= 1


# ------------------------------------------------------------------------------- the coupling


def pmf(scale: Fraction, reach: int) -> Weights:
    """P(x) = (1-r)/(1+r) r^|x| for |x| <= reach."""
    r = math.exp(-1 / scale)
    return (1 - r) / (1 + r) * np.exp(-np.abs(np.arange(-reach, reach + 1)) / float(scale))


def transition(finer: Fraction, coarser: Fraction, reach: int) -> Weights:
    """P(Z₁ - Z₂ = x) for |x| <= reach."""
    p = float(still(finer, coarser))
    added = (1 - p) * pmf(coarser, reach)
    added[reach] += p
    return added


small = st.fractions(Fraction(1, 5), 15, max_denominator=1000)


@given(small, small)
@settings(max_examples=50)
def test_the_finer_noise_and_more_is_the_coarser(one: Fraction, other: Fraction) -> None:
    # What is cut off is e^-50, and what it is held against e^-10 of the peak.
    finer, coarser = sorted((one, other))
    reach = math.ceil(50 * coarser)
    found = np.convolve(pmf(finer, reach), transition(finer, coarser, reach), mode="same")
    inner = slice(reach - math.ceil(10 * coarser), reach + math.ceil(10 * coarser) + 1)
    np.testing.assert_allclose(found[inner], pmf(coarser, reach)[inner], rtol=1e-12)


STEPS = (Fraction(2), Fraction(5, 4), Fraction(1, 2))


def joint(*falling: Fraction, reach: int) -> Weights:
    """P(Z_1 = x, …, Z_m = y) for all within reach."""
    known = pmf(falling[-1], reach)
    for finer, coarser in pairwise(reversed(falling)):
        rows = np.arange(2 * reach + 1)
        moves = transition(finer, coarser, 2 * reach)[rows[:, None] - rows + 2 * reach]
        known = moves.reshape(moves.shape + (1,) * (known.ndim - 1)) * known
    return known


def largest_loss(weights: Weights, change: int) -> float:
    """The largest log ratio of an outcome's probabilities where f = 0 and where f = change."""
    inner = tuple(slice(change + 10, length - change - 10) for length in weights.shape)
    moved = np.roll(weights, change, axis=tuple(range(weights.ndim)))
    return float(np.abs(np.log(weights[inner]) - np.log(moved[inner])).max())


@pytest.mark.parametrize("change", [1, 3])
def test_all_that_was_seen_costs_what_the_last_step_costs(change: int) -> None:
    # Finer noise that was not seen is summed over: what is cut off of it is below e^-40.
    everything = joint(*STEPS, reach=30)
    seen = everything.sum(axis=(1, 2)), everything.sum(axis=2), everything
    for weights, scale in zip(seen, STEPS, strict=True):
        assert largest_loss(weights, change) == pytest.approx(change / scale, rel=1e-9)


def test_independent_noises_would_cost_the_sum() -> None:
    coarse, fine = (pmf(scale, 30) for scale in STEPS[:2])
    loss = largest_loss(coarse[:, None] * fine, 1)
    assert loss == pytest.approx(1 / STEPS[0] + 1 / STEPS[1], rel=1e-9)


# --------------------------------------------------------------------------------- what is drawn


def fit(observed: tuple[Draws, ...], weights: Weights) -> float:
    """The p-value of draws of several steps against their joint distribution.

    Outcomes expected less than 20 times, and those out of reach, are one outcome.
    """
    size, reach = observed[0].size, weights.shape[0] // 2
    within = np.all([np.abs(draws) <= reach for draws in observed], axis=0)
    counts = np.zeros(weights.shape)
    np.add.at(counts, tuple(draws[within] + reach for draws in observed), 1)
    order = np.argsort(-weights, axis=None)
    counts, expected = counts.ravel()[order], weights.ravel()[order] * size
    kept = int((expected >= 20).sum())
    if size - expected[:kept].sum() < 20:
        kept -= 1
    assert kept > 1
    counts, expected = counts[:kept], expected[:kept]
    found = chisquare([*counts, size - counts.sum()], [*expected, size - expected.sum()])
    return float(found.pvalue)


def test_the_steps_drawn_fit_their_joint_distribution() -> None:
    drawn = ladder(STEPS, 200_000, seeded(1))
    assert fit(tuple(drawn), joint(*STEPS, reach=30)) > ALPHA


def test_independent_steps_would_not() -> None:
    drawn = tuple(seeded(2).laplace(scale, 200_000) for scale in STEPS)
    for draws, scale in zip(drawn, STEPS, strict=True):
        assert fit((draws,), pmf(scale, 30)) > ALPHA
    assert fit(drawn, joint(*STEPS, reach=30)) < ALPHA


@pytest.mark.parametrize("finest", [Fraction(1, 5), Fraction(1), AWKWARD], ids=str)
def test_every_step_has_its_scale(finest: Fraction) -> None:
    falling = [finest * 2**doublings for doublings in (5, 4, 3, 2, 1, 0)]
    drawn = ladder(falling, 100_000, seeded(3))
    for draws, scale in zip(drawn, falling, strict=True):
        assert draws.dtype == np.int64
        assert fit((draws,), pmf(scale, math.ceil(20 * scale))) > ALPHA


def test_a_step_that_stays_is_the_same_noise() -> None:
    coarse, fine = ladder([Fraction(2000), Fraction(1000)], 100_000, seeded(4))
    # W = 0 as well, with probability about 1/4000.
    p = float(still(Fraction(1000), Fraction(2000)))
    same = p + (1 - p) * math.tanh(1 / 4000)
    number = int((coarse == fine).sum())
    assert ALPHA < binom.cdf(number, 100_000, same) < 1 - ALPHA


# --------------------------------------------------------------------- what is asked of the noise


@dataclass
class Scripted:
    """Noise of 1, 2, 4, … in the order asked for, and uniform integers from a list."""

    uniform: Iterator[int]
    scales: list[Fraction] = field(default_factory=list)
    bounds: list[int] = field(default_factory=list)

    def laplace(self, scale: Fraction, size: int) -> Draws:
        self.scales.append(scale)
        return np.full(size, 2 ** (len(self.scales) - 1))

    def below(self, bound: int) -> int:
        self.bounds.append(bound)
        return next(self.uniform)


def packed(*words: int) -> int:
    return sum(word << 64 * index for index, word in enumerate(words))


def test_the_finest_is_drawn_first_and_all_noise_for_all_cells() -> None:
    noise = Scripted(
        iter([packed(0, 0, 2**64 - 1, 2**64 - 1), packed(0, 2**64 - 1) * (2**128 + 1)])
    )
    falling = [Fraction(4), Fraction(2), Fraction(1)]
    drawn = [draws.tolist() for draws in ladder(falling, 4, noise)]
    assert noise.scales == falling[::-1]
    assert drawn == [[1, 5, 3, 7], [1, 1, 3, 3], [1, 1, 1, 1]]


def test_a_cell_stays_with_exactly_the_probability_given() -> None:
    """The first word decides, and where it is that of the probability the next integer does."""
    digits, rest = divmod(still(Fraction(1), Fraction(2)) * 2**64, 1)
    assert rest
    ties = [rest.numerator - 1, rest.numerator, 0, rest.denominator - 1]
    words = packed(digits - 1, digits + 1, digits, digits, digits, digits)
    noise = Scripted(iter([words, *ties]))
    coarse, _ = ladder([Fraction(2), Fraction(1)], 6, noise)
    assert coarse.tolist() == [1, 3, 1, 3, 1, 3]
    assert noise.bounds == [2 ** (64 * 6), *[rest.denominator] * 4]


@given(st.lists(scales, min_size=2, max_size=4))
def test_sources_draw_the_scales_that_still_is_worked_out_for(some: list[Fraction]) -> None:
    falling = sorted(some, reverse=True)
    noise = Scripted(iter([2**64 - 1] * 4))
    ladder(falling, 1, noise)
    for asked, scale in zip(reversed(falling), noise.scales, strict=True):
        assert Fraction(*as_word_fraction(scale)) == scale
        assert Fraction(round_up(scale)) == scale
        assert 0 <= scale - asked <= max(asked / 2**52, Fraction(1, 2**62))


def test_slack_covers_the_rounding_of_the_probability() -> None:
    """A million steps and cells, of the scales for which rounding matters most."""
    worst = [
        (Fraction(2**50) - ULP, Fraction(2**50)),
        (Fraction(2**49), Fraction(2**50)),
        (Fraction(1, 10**4), Fraction(2**50)),
        (Fraction(1, 10**4), Fraction(1, 10**4) + Fraction(1, 2**62)),
        (Fraction(1, 2 * 10**4), Fraction(1, 10**4)),
    ]
    for finer, coarser in worst:
        noise = Scripted(iter([2**64 - 1]))
        ladder([coarser, finer], 1, noise)
        p, moves = stays_and_moves(*noise.scales)
        error = abs(still(*noise.scales) - p)
        none = Fraction(math.tanh(1 / float(2 * coarser)))  # P(W = 0) = (1-r)/(1+r)
        off = max(error / moves, error / (p + moves * none))
        assert math.log1p(off) - math.log1p(-off) <= SLACK / 10**6


def test_no_cells() -> None:
    assert [draws.size for draws in ladder(STEPS, 0, seeded(5))] == [0, 0, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ladder([Fraction(1), Fraction(2)], 1, seeded(6)),
        lambda: ladder([Fraction(1), Fraction(0)], 1, seeded(6)),
        lambda: ladder([MAX_SCALE + Fraction(1), Fraction(1)], 1, seeded(6)),
        lambda: still(Fraction(2), Fraction(1)),
    ],
)
def test_scales_out_of_order_or_range_are_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="scale"):
        wrong()


# --------------------------------------------------------------------------- when to stop


def test_levels_double_up_to_the_cap() -> None:
    assert levels(Fraction(1, 3), 4) == (
        Fraction(1, 24), Fraction(1, 12), Fraction(1, 6), Fraction(1, 3),
    )  # fmt: skip
    assert len(levels(Fraction(1))) == 8
    assert levels(Fraction(1), 1) == (1,)


def test_the_example_of_the_paper() -> None:
    # Shoaran, Thomo, Weber, Example 1: noise within 230 is at most 10 % of answers of 2300 and up.
    assert enough(2300 + 230, 230, Fraction(1, 10))
    assert enough(-2300 - 230, 230, Fraction(1, 10))
    assert not enough(2299 + 230, 230, Fraction(1, 10))


@given(
    st.integers(-60, 60), st.integers(0, 30), st.fractions(Fraction(1, 20), 3, max_denominator=20)
)
def test_enough_is_when_no_answer_within_the_margin_is_farther_off(
    noisy: int, margin: int, relative: Fraction
) -> None:
    assume(noisy or relative < 1)  # 0 is 100 % off, or right, whatever the answer is
    answers = range(noisy - margin, noisy + margin + 1)
    assert enough(noisy, margin, relative) == all(
        abs(noisy - answer) <= relative * abs(answer) for answer in answers
    )


def test_an_unknown_margin_is_never_enough() -> None:
    for noisy, margin in ((1.0, math.inf), (math.inf, math.inf), (math.nan, 1.0), (1.0, math.nan)):
        assert not enough(noisy, margin, Fraction(1, 10))


CONFIDENCE = 0.95
RUNS = 20_000
LOSSES = levels(Fraction(1))
NOISE = ladder([1 / loss for loss in LOSSES], RUNS, seeded(7))


def margins(looks: int) -> list[float]:
    return [Laplace(1, loss, looks).quantile(CONFIDENCE) for loss in LOSSES]


BONFERRONI = margins(LOOKS)
NAIVE = margins(1)


def too_many(failures: int) -> bool:
    """More than chance allows where a run fails with probability 1 - CONFIDENCE."""
    return bool(binom.sf(failures - 1, RUNS, 1 - CONFIDENCE) < ALPHA)


def wrong(answer: int, relative: Fraction, within: list[float]) -> tuple[int, int]:
    """Runs that stopped with a relative error over what was asked; and all that stopped."""
    failures = stopped = 0
    for run in np.column_stack(NOISE).tolist():
        for noise, margin in zip(run, within, strict=True):
            if enough(answer + noise, margin, relative):
                stopped += 1
                failures += abs(noise) > relative * abs(answer)
                break
    return failures, stopped


@pytest.mark.parametrize("relative", [Fraction(1, 10), Fraction(1), Fraction(10)], ids=str)
@pytest.mark.parametrize("answer", [0, 3, -20, 100, 1000, 10**5])
def test_where_it_stops_the_error_is_what_was_asked(answer: int, relative: Fraction) -> None:
    failures, _ = wrong(answer, relative, BONFERRONI)
    assert not too_many(failures)


def test_margins_for_one_look_do_not_hold_for_several() -> None:
    failures, stopped = wrong(0, Fraction(10), NAIVE)
    assert too_many(failures)
    assert failures == stopped  # so it is of all runs that few are wrong


@pytest.mark.parametrize(("within", "fails"), [(BONFERRONI, False), (NAIVE, True)])
def test_all_margins_hold_at_once(within: list[float], fails: bool) -> None:
    """Whatever the rule to stop: here for who stops at any step whose margin fails."""
    outside = [np.abs(draws) > margin for draws, margin in zip(NOISE, within, strict=True)]
    assert too_many(int(np.any(outside, axis=0).sum())) == fails
