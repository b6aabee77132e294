"""Confidence intervals around noisy answers.

They are computed from public scales and noisy values alone, and so are post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from dpdb.answers.estimates import (
    Array,
    Draws,
    Noisy,
    average,
    deviation,
    noisy_values,
    points,
    rungs_after,
    scaled,
    step_of,
)
from dpdb.answers.interval_arithmetic import Bounds, bounds_of
from dpdb.plan.expressions import Slot, slots
from dpdb.plan.plan import CONFIDENCE, Estimate, Mechanism, Plan, Release, at_once
from dpdb.plan.query import Function, Output
from dpdb.plan.statistics import Ranks, Total
from dpdb.privacy.bracket import Bracket
from dpdb.privacy.mechanisms import Gaussian, Laplace
from dpdb.privacy.walk import Walk
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import Vector, numbers

TINY_SCALE = 1e-30
"""Stands for the scale 0 in formulas that divide by a scale."""
_DIGITS = 36
"""An end of a mean's interval is exact to 2^-36 of the distance from the mean to its bound."""
_TRIED_AT_ONCE = 2048
"""The number of points that one round of the search for these ends tries."""


def confidence_intervals(
    plan: Plan,
    noisy: Noisy,
    output: Output,
    frame: Frame,
    confidence: float = CONFIDENCE,
    *,
    farther: bool = False,
) -> tuple[Vector, Vector] | None:
    """The lower and the upper ends of the intervals of a column's cells; None without intervals.

    Each interval covers the exact value with probability at least `confidence`. Where an
    expression has several aggregates and subqueries, each gets the interval with which all of them
    hold at once; interval arithmetic does the rest. Where noise decides which rows are shown, the
    intervals of all candidate rows hold at once, and so do those of the rows that are shown.

    With `farther` the bounds where walks end are taken to be farther out: an end that moves with
    them tells nothing.
    """
    expression = output.expression
    aggregates = sorted(slots(expression, "aggregate"))
    subqueries = plan.noisy_subqueries(output)
    if not plan.has_noise(output) or not expression.kind.ordinal:
        return None
    drawn = [index for number in aggregates for index in plan.estimates[number].releases]
    parts = len(aggregates) + len(subqueries)
    each = at_once(confidence, parts * plan.competing_rows)
    if len(set(drawn)) < len(drawn):
        # Noise that several aggregates share is not independent (Bonferroni's correction).
        each = 1 - (1 - at_once(confidence, plan.competing_rows)) / parts
    known: dict[Slot, Bounds] = {}
    for index in aggregates:
        estimate = plan.estimates[index]
        box = interval_of(estimate, plan, noisy.draws, each, farther=farther)
        if box is None:
            return None
        known[Slot("aggregate", index, estimate.aggregate.kind)] = box
    for index in subqueries:
        box = _of_subquery(plan.subplans[index], noisy.subresults[index], each, farther=farther)
        if box is None:
            return None
        known[Slot("subquery", index, plan.subplans[index].outputs[0].expression.kind)] = box
    bounds = bounds_of(expression, known, frame)
    if bounds is None:
        return None
    low, high = bounds
    undefined = ~(np.isfinite(low) & np.isfinite(high))
    return tuple(numbers(np.where(undefined, 0.0, end), undefined) for end in (low, high))  # type: ignore[return-value]


def _of_subquery(plan: Plan, noisy: Noisy, confidence: float, *, farther: bool) -> Bounds | None:
    """The interval of a scalar subquery's exact answer; infinite where that may be undefined."""
    output = plan.outputs[0]
    frame = Frame({}, {**noisy.subqueries, **points(plan, noisy.draws)})
    ends = confidence_intervals(plan, noisy, output, frame, confidence, farther=farther)
    if ends is None:
        return None
    low, high = ends
    assert low.null is not None
    return np.where(low.null, -np.inf, low.values), np.where(low.null, np.inf, high.values)


def interval_of(
    estimate: Estimate, plan: Plan, draws: Draws, confidence: float, *, farther: bool = False
) -> tuple[Array, Array] | None:
    """The interval that holds an aggregate's exact value with probability `confidence`, by cell.

    A value chosen by the exponential mechanism has none but for its bracket: how near it is
    depends on the gaps between the data, which are secret.
    """
    function = estimate.aggregate.function
    if estimate.obstacle is not None:
        counts = function in (Function.COUNT, Function.COUNT_DISTINCT)
        return (np.zeros(1), np.zeros(1)) if counts else None
    if not estimate.releases:
        assert estimate.rows is not None
        rows = np.array([float(estimate.rows)])
        return rows, rows
    own = noisy_values(estimate, draws)
    releases = [plan.releases[index] for index in estimate.releases]
    if isinstance(releases[0].mechanism, Walk):
        return _beyond_a_rung(own[0], releases[0], estimate, confidence, farther=farther)
    if isinstance(releases[-1].mechanism, Bracket):
        return _bracketed(own, releases, estimate, confidence)
    if not isinstance(releases[0].mechanism, Laplace | Gaussian):
        return None
    if function is Function.AVG and estimate.rows is None:
        return _mean(own, releases, estimate, confidence)
    each = confidence ** (1 / len(releases))
    terms = 1 if estimate.atoms is None else len(estimate.atoms)
    ends = [
        _around(values, release, each, terms) for values, release in zip(own, releases, strict=True)
    ]
    match function:
        case Function.AVG:
            low, high = (average([end], releases[0], estimate) for end in ends[0])
            return low, high
        case Function.VAR_POP | Function.VAR_SAMP | Function.STDDEV_POP | Function.STDDEV_SAMP:
            return _variance(ends, releases[0], estimate)
    low, high = (scaled(end, step_of(releases[0])) for end in ends[0])
    return low, high


def _bracketed(
    own: Draws, releases: list[Release], estimate: Estimate, confidence: float
) -> tuple[Array, Array]:
    """The values within the half-width around the released one, and within the bounds.

    All values within the bounds where more confidence is needed than was planned for.
    """
    mechanism = releases[-1].mechanism
    assert isinstance(mechanism, Bracket)
    widths = np.array(mechanism.widths, dtype=np.float64)
    chosen = own[1].astype(np.intp)
    reach = widths[chosen if confidence <= mechanism.confidence else np.full_like(chosen, -1)]
    ends = (scaled(own[0] + sign * reach, step_of(releases[0])) for sign in (-1, 1))
    limits = float(estimate.interval.lower), float(estimate.interval.upper)
    low, high = (np.clip(end, *limits) for end in ends)
    return low, high


def _beyond_a_rung(
    stops: Array, release: Release, estimate: Estimate, confidence: float, *, farther: bool
) -> tuple[Array, Array]:
    """All values beyond the rung that the walk passed for some row, up to the bound.

    Nothing bounds the greatest value from above but its declared bound: where no row at the bound
    must change an answer by much, no answer can tell that there is none.
    """
    assert isinstance(release.mechanism, Walk)
    assert isinstance(release.statistic, Ranks)
    steps = -1 - release.mechanism.steps_below(confidence)
    passed = rungs_after(stops, release, steps)
    low, high = float(estimate.interval.lower), float(estimate.interval.upper)
    step = step_of(release)
    if farther:
        low, high = 2 * low - high - float(step), 2 * high - low + float(step)
    nothing = stops + steps < 0
    if release.statistic.fraction:
        near = np.where(nothing, low, scaled(passed + 1, step))
        return near, np.full(len(near), high)
    near = np.where(nothing, high, scaled(passed - 1, step))
    return np.full(len(near), low), near


def _around(values: Array, release: Release, confidence: float, terms: int) -> tuple[Array, Array]:
    """The noisy values, in steps of the grid, less and plus the margin of so many noises."""
    assert isinstance(release.mechanism, Laplace | Gaussian)
    margin = int(release.mechanism.quantile(confidence, terms))
    return values - margin, values + margin


def _mean(
    own: Draws, releases: list[Release], estimate: Estimate, confidence: float
) -> tuple[Array, Array]:
    """A mean's interval, after [Fie54].

    Let S and N be the exact sum and count, S̃ and Ñ the noisy ones, s and t the noises. The
    true mean m satisfies S = mN, so S̃ - mÑ = s - m·t, which has the known distribution of two
    independent noises. The interval is all m within the bounds that a test at level
    1 - confidence does not reject.
    """
    statistic, kind = releases[0].statistic, type(releases[0].mechanism)
    assert isinstance(statistic, Total)
    total, count = own
    step, centre = float(statistic.grid.step), statistic.centre
    low, high = (np.full(len(total), float(end)) for end in statistic.bounds)
    best = average(own, releases[0], estimate) / step - centre
    of_sum, of_count = (
        float(r.mechanism.scale) for r in releases if isinstance(r.mechanism, Laplace | Gaussian)
    )

    def accepted(mean: Array) -> Array:
        scales = of_sum, np.abs(mean) * of_count
        # Whole noise is at most continuous noise and one more, in the stochastic order:
        # P(x >= z) <= P(L >= z - 1) for all whole z. Of Laplace noise that is 2r <= 1 + r,
        # of Gaussian noise it is [CKS20] Proposition 25. So s - m·t is within 1 + |m|.
        distance = np.maximum(np.abs(total - mean * count) - 1 - np.abs(mean), 0)
        return _plausible(distance, *scales, confidence, kind)

    ends = _last_accepted(accepted, best, np.stack([low, high]))
    return tuple(np.asarray((end + centre) * step) for end in ends)  # type: ignore[return-value]


def _last_accepted(accepted: Callable[[Array], Array], inside: Array, ends: Array) -> Array:
    """On the way from `inside` to each of `ends`, the farthest point that is accepted.

    Where even `inside` is rejected, the result is the end itself. Each round of the search
    finds `digits` binary digits of the place: more digits where there are fewer cells, as
    hundreds of points are tried as fast as two.
    """
    reached = accepted(ends) | ~accepted(inside)
    digits = max(1, min(6, (_TRIED_AT_ONCE // ends.size).bit_length() - 1))
    parts = 2**digits
    between = (np.arange(1, parts) / parts).reshape(-1, 1, 1)
    near, width = inside, ends - inside
    for _ in range(-(-_DIGITS // digits)):
        good = accepted(near + between * width)
        width = width / parts
        near = near + np.logical_and.accumulate(good, axis=0).sum(axis=0) * width
    return np.where(reached, ends, near + width)


def _plausible(
    distance: Array, first: float, second: Array, confidence: float, kind: type[Mechanism]
) -> npt.NDArray[np.bool_]:
    """Whether the sum of two noises of these scales is as large as `distance` often enough.

    That is, with probability at least 1 - confidence. The sum of two independent normal noises
    is normal, and its variance is the sum of their variances.
    """
    if kind is Laplace:
        return two_laplace_tail(distance, first, second) >= 1 - confidence
    return distance <= NormalDist().inv_cdf((1 + confidence) / 2) * np.hypot(first, second)


def two_laplace_tail(distance: Array, first: float, second: Array) -> Array:
    """P(|X + Y| > distance) for independent Laplace X, Y of scales a = first, b = second.

    (a²·e^(-d/a) - b²·e^(-d/b)) / (a² - b²), and (1 + d/2a)·e^(-d/a) where a = b
    ([KKP01] section 2.3).
    """
    # Near a = b the quotient loses its digits: the formula for equal scales is closer.
    first, second = max(first, TINY_SCALE), np.maximum(second, TINY_SCALE)
    near = np.abs(first - second) < 1e-5 * first
    other = np.where(near, 2 * first, second)
    of_first = np.exp(-distance / first)
    tail = first**2 * of_first - other**2 * np.exp(-distance / other)
    equal = (1 + distance / (2 * first)) * of_first
    return np.where(near, equal, tail / (first**2 - other**2))


def _variance(
    ends: list[tuple[Array, Array]], release: Release, estimate: Estimate
) -> tuple[Array, Array]:
    """A variance's interval, from the intervals of its sum of squares, its sum and its count.

    The variance grows with the sum of squares and falls as the sum moves away from zero.
    """
    (squares_low, squares_high), (total_low, total_high) = ends[:2]
    far = np.maximum(np.abs(total_low), np.abs(total_high))
    near = np.where(
        (total_low <= 0) & (total_high >= 0), 0, np.minimum(np.abs(total_low), np.abs(total_high))
    )
    counts = ends[2] if estimate.rows is None else (np.array([float(estimate.rows)]),)
    corners = [
        deviation(squares, total, np.maximum(count, 1.0), release, estimate)
        for squares, total in ((squares_low, far), (squares_high, near))
        for count in counts
    ]
    return np.minimum.reduce(corners), np.maximum.reduce(corners)
