"""Noise in steps: each is drawn when it is asked for, given the coarser ones, and is then kept.

How one noise is refined is held against its law in `test_refinement`. Here several steps are held
against noise that was made the other way round: the finest first, and each coarser one of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom, chisquare

from dpdb.privacy.levels import LOOKS, enough, levels
from dpdb.privacy.mechanisms.laplace import MAX_SCALE, Laplace
from dpdb.privacy.noise import refinement as gradual
from dpdb.privacy.noise.protocols import Noise
from dpdb.privacy.noise.refinement import GradualNoise
from dpdb.privacy.noise.sources import seeded

Draws = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]
ALPHA = 1e-6
AWKWARD = Fraction(10**30 + 1, 3 * 10**28)
"""About 33.3, and too long for a machine word: it is rounded up."""


def every_step(scales: Sequence[Fraction], size: int, seed: int) -> list[Draws]:
    drawn = GradualNoise(scales, size, seeded(seed))
    return [drawn.at(step) for step in range(len(scales))]


# --------------------------------------------------------------------------------- what is drawn

STEPS = (Fraction(2), Fraction(1), Fraction(1, 2))


def pmf(scale: Fraction, reach: int) -> Weights:
    """P(x) = (1-r)/(1+r) r^|x| for |x| <= reach."""
    r = math.exp(-1 / scale)
    return (1 - r) / (1 + r) * np.exp(-np.abs(np.arange(-reach, reach + 1)) / float(scale))


def transition(finer: Fraction, coarser: Fraction, reach: int) -> Weights:
    """P(Z₁ - Z₂ = x) for |x| <= reach: 0 with probability sinh²(1/2s₁)/sinh²(1/2s₂), or noise."""
    p = (math.sinh(1 / (2 * coarser)) / math.sinh(1 / (2 * finer))) ** 2
    added = (1 - p) * pmf(coarser, reach)
    added[reach] += p
    return added


def joint(*falling: Fraction, reach: int) -> Weights:
    """P(Z_1 = x, …, Z_m = y) for all within reach, where each step is made of the next."""
    known = pmf(falling[-1], reach)
    for finer, coarser in pairwise(reversed(falling)):
        rows = np.arange(2 * reach + 1)
        moves = transition(finer, coarser, 2 * reach)[rows[:, None] - rows + 2 * reach]
        known = moves.reshape(moves.shape + (1,) * (known.ndim - 1)) * known
    return known


def fit(observed: Sequence[Draws], weights: Weights) -> float:
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


def test_the_steps_fit_their_joint_distribution() -> None:
    weights = joint(*STEPS, reach=30)
    assert fit(every_step(STEPS, 100_000, 1), weights) > ALPHA
    independent = [seeded(2).laplace(scale, 100_000) for scale in STEPS]
    assert fit(independent, weights) < ALPHA


@pytest.mark.parametrize("finest", [Fraction(1, 5), Fraction(1), AWKWARD], ids=str)
def test_every_step_has_its_scale(finest: Fraction) -> None:
    falling = [finest * 2**doublings for doublings in (5, 4, 3, 2, 1, 0)]
    for draws, scale in zip(every_step(falling, 50_000, 3), falling, strict=True):
        assert draws.dtype == np.int64
        assert fit((draws,), pmf(scale, math.ceil(20 * scale))) > ALPHA


# --------------------------------------------------------------------- what is asked of the noise


def test_nothing_is_drawn_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step is refined once, from the one before it, at the same unit."""
    refined: list[tuple[list[int], Fraction, tuple[int, int]]] = []

    def refine(coarse: Draws, unit: Fraction, rates: tuple[int, int], noise: Noise) -> Draws:
        refined.append((coarse.tolist(), unit, rates))
        return coarse * 10

    monkeypatch.setattr(gradual, "refine", refine)
    drawn = GradualNoise([Fraction(6), Fraction(3), Fraction(2)], 2, seeded(1))
    first = drawn.at(0).tolist()
    assert refined == []
    second = drawn.at(1)
    assert refined == [(first, 6, (1, 2))]
    assert drawn.at(2).tolist() == [100 * each for each in first]
    assert refined[1:] == [([10 * each for each in first], 6, (2, 3))]
    assert drawn.at(1) is second
    assert len(refined) == 2


def test_a_later_step_draws_those_before_it() -> None:
    """To ask for the last one at once is to have asked for all."""
    drawn = GradualNoise(STEPS, 50, seeded(5))
    last = drawn.at(2).tolist()
    steps = every_step(STEPS, 50, 5)
    assert [drawn.at(step).tolist() for step in range(2)] == [step.tolist() for step in steps[:2]]
    assert last == steps[2].tolist()


def test_no_cells() -> None:
    assert [draws.size for draws in every_step(STEPS, 0, 5)] == [0, 0, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: every_step([Fraction(1), Fraction(2)], 1, 6),
        lambda: every_step([Fraction(1), Fraction(1)], 1, 6),
        lambda: every_step([Fraction(3), Fraction(2)], 1, 6),
        lambda: every_step([MAX_SCALE + Fraction(1), Fraction(1)], 1, 6),
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


@cache
def noises() -> npt.NDArray[np.int64]:
    """Of each step the noise of all runs."""
    return np.array(every_step([1 / loss for loss in LOSSES], RUNS, 7))


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
    running = np.ones(RUNS, dtype=bool)
    for noise, margin in zip(noises(), within, strict=True):
        values, place = np.unique(noise, return_inverse=True)
        ends = [enough(answer + value, margin, relative) for value in values.tolist()]
        stops = running & np.array(ends)[place]
        stopped += int(stops.sum())
        failures += int((stops & (np.abs(noise) > math.floor(relative * abs(answer)))).sum())
        running &= ~stops
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
    outside = [np.abs(draws) > margin for draws, margin in zip(noises(), within, strict=True)]
    assert too_many(int(np.any(outside, axis=0).sum())) == fails
