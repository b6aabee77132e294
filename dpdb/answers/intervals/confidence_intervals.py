"""Confidence intervals around noisy answers.

They are computed from public scales and noisy values alone, and so are post-processing.
"""

from __future__ import annotations

import math
from typing import assert_never

import numpy as np

from dpdb.answers.estimates import (
    Draws,
    Noisy,
    average,
    noisy_values,
    point,
    points,
    read,
    rungs_after,
    scaled,
    step_of,
)
from dpdb.answers.intervals.interval_arithmetic import Bounds, bounds_of
from dpdb.answers.intervals.inverted_tests import mean_interval, variance_interval
from dpdb.answers.intervals.noise_tails import margin_of
from dpdb.plan.expressions.expressions import Slot, slots
from dpdb.plan.logical.query import COUNTS, DEVIATIONS, SAMPLED, Function, Output
from dpdb.plan.physical.moments import Combination, Estimate, value
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import CONFIDENCE, Release, at_once
from dpdb.plan.ranges.statistics import Ranks
from dpdb.privacy.mechanisms.mechanism import (
    CountedKeys,
    GridSelection,
    IntervalSelection,
    LimitSelection,
)
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import Array, Vector, numbers

_OVER_A_NUMBER = {Function.AVG, Function.VAR_POP, *SAMPLED, *DEVIATIONS}
"""The functions whose value is divided by a number of rows."""


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
    expression has several aggregates and subqueries, each gets the interval at the confidence at
    which all of them hold at once, by whether their noises are independent; interval arithmetic
    does the rest. Where noise decides which rows are shown, the intervals of all
    candidate rows hold at once, and so do those of the rows that are shown.

    With `farther` the bounds where walks end are taken to be farther out: an end that moves with
    them tells nothing.
    """
    if not plan.has_noise(output) or not output.expression.kind.ordinal:
        return None
    known = _known(plan, noisy, output, confidence, farther=farther)
    bounds = None if known is None else bounds_of(output.expression, known, frame)
    if bounds is None:
        return None
    undefined = ~(np.isfinite(bounds[0]) & np.isfinite(bounds[1]))
    low, high = (numbers(np.where(undefined, 0.0, end), undefined) for end in bounds)
    return low, high


def _known(
    plan: Plan, noisy: Noisy, output: Output, confidence: float, *, farther: bool
) -> dict[Slot, Bounds] | None:
    """The intervals of an expression's aggregates and subqueries; None where one has none."""
    aggregates = sorted(slots(output.expression, "aggregate"))
    subqueries = plan.noisy_subqueries(output)
    used = [index for at in aggregates for index in plan.estimates[at].releases]
    each = at_once(
        at_once(confidence, plan.competing_rows),
        sum(bool(plan.estimates[at].releases) for at in aggregates) + len(subqueries),
        independent=len(used) == len(set(used)) and not any(g.series for g in plan.remembered),
    )
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
    return known


def _of_subquery(plan: Plan, noisy: Noisy, confidence: float, *, farther: bool) -> Bounds | None:
    """The interval of a scalar subquery's exact answer; infinite where that may be undefined.

    A subquery over other answers has no interval.
    """
    if plan.derived is not None:
        return None
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

    A value chosen by the exponential mechanism has no interval unless a bracket was drawn: its
    distance depends on the gaps between the data, which are secret.
    """
    if estimate.is_withheld:
        return None
    if estimate.contradiction is not None:
        counts = estimate.aggregate.function in COUNTS
        return (np.zeros(1), np.zeros(1)) if counts else None
    if not estimate.releases:
        public = point(estimate, plan, draws)
        assert isinstance(public, Vector)
        exact = public.values.astype(np.float64)
        return exact, exact
    release, last = (plan.releases[estimate.releases[place]] for place in (0, -1))
    if isinstance(release.mechanism, GridSelection):
        own = noisy_values(estimate, draws)
        return _beyond_a_rung(own[0], release, estimate, confidence, farther=farther)
    if isinstance(last.mechanism, IntervalSelection):
        return _bracketed(noisy_values(estimate, draws), last, estimate, confidence)
    if isinstance(release.mechanism, LimitSelection):
        return _at_limit(draws[estimate.releases[0]], release.mechanism, confidence)
    if release.noise is not None:
        return _of_sums(estimate, plan, draws, confidence)
    return None


def _of_sums(
    estimate: Estimate, plan: Plan, draws: Draws, confidence: float
) -> tuple[Array, Array]:
    """The interval of an aggregate of sums and counts with noise added."""
    moments = estimate.moments
    match estimate.aggregate.function:
        case Function.COUNT:
            return _around(moments.count, plan, draws, confidence)
        case Function.SUM:
            ends = _around(moments.sum, plan, draws, confidence)
            low, high = (scaled(end, estimate.moments.step) for end in ends)
            return low, high
        case Function.AVG if estimate.rows is not None:
            rows = np.array([max(float(estimate.rows), 1.0)])
            ends = _around(moments.total, plan, draws, confidence)
            low, high = (average(end, rows, estimate) for end in ends)
            return low, high
        case Function.AVG:
            return mean_interval(estimate, plan, draws, confidence)
        case Function.COUNT_DISTINCT:
            return _around(value(estimate.releases[0]), plan, draws, confidence)
        case Function.VAR_POP | Function.VAR_SAMP | Function.STDDEV_POP | Function.STDDEV_SAMP:
            return variance_interval(estimate, plan, draws, confidence)
        case (
            Function.MIN
            | Function.MAX
            | Function.QUANTILE
            | Function.MODE
            | Function.APPROX_BOUNDS as other
        ):
            raise AssertionError(f"{other} is made of no sums")
        case other:
            assert_never(other)


def _at_limit(drawn: Array, mechanism: LimitSelection, confidence: float) -> tuple[Array, Array]:
    """The whole numbers within the noise's margin, which follows from the limit in each cell."""
    limits, places = np.unique(drawn[:, 1], return_inverse=True)
    margins = [mechanism.noise(limit).quantile(confidence) for limit in limits.tolist()]
    reach = np.array(margins)[places] * (1 + 1e-9)
    noisy = drawn[:, 0].astype(np.float64)
    return np.ceil(noisy - reach), np.floor(noisy + reach)


def _bracketed(
    own: Draws, release: Release, estimate: Estimate, confidence: float
) -> tuple[Array, Array]:
    """The values within the half-width around the released one, and within the bounds.

    All values within the bounds where more confidence is needed than was planned for.
    """
    mechanism = release.mechanism
    assert isinstance(mechanism, IntervalSelection)
    widths = np.array(mechanism.widths, dtype=np.float64)
    chosen = own[1].astype(np.intp)
    reach = widths[chosen if confidence <= mechanism.confidence else np.full_like(chosen, -1)]
    ends = (scaled(own[0] + sign * reach, step_of(release)) for sign in (-1, 1))
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
    assert isinstance(release.mechanism, GridSelection)
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


def _around(
    combination: Combination | None, plan: Plan, draws: Draws, confidence: float
) -> tuple[Array, Array]:
    """The whole numbers within the noise's margin around a combination, in steps of the grid.

    The exact combination is a whole number.
    """
    assert combination is not None
    (release, _), weight = next(iter(combination.weights), ((0, 0), 0))
    if isinstance(selection := plan.releases[release].mechanism, CountedKeys):
        assert (len(combination.weights), weight, plan.releases[release].terms) == (1, 1, 1)
        return of_shown_keys(selection, read(combination, draws), confidence)
    reach = margin_of(combination, plan, confidence)
    values = read(combination, draws)
    rounding = 1e-9 * reach
    return np.ceil(values - reach - rounding), np.floor(values + reach + rounding)


def of_shown_keys(threshold: CountedKeys, shown: Array, confidence: float) -> tuple[Array, Array]:
    """The numbers of units that a key may have, given that it is shown with `shown` units.

    A key near the threshold is shown where its noise was above zero, so that noise about zero says
    nothing of it: the law that counts is that of the noisy number V = n + X given V >= T, where T
    is the least that is shown ([FST14]). Its interval has all n with P(V >= v | V >= T) and
    P(V <= v | V >= T) above half of what may fail. Both are monotone in n, as the law of X is
    log-concave, so that the ends are found by halving; and so the interval of each key holds with
    at least this probability among the answers in which the key is shown, whatever n is.
    """
    reach, failing = threshold.cut, (1 - confidence) / 2 * (1 - 1e-9)
    least = float(threshold.shown_from)

    def at_least(number: Array) -> Array:
        """Whether V is v or more with probability above `failing`."""
        chance = _cut_tail(threshold, shown - number)
        return chance > failing * _cut_tail(threshold, least - number)

    def at_most(number: Array) -> Array:
        """Whether V is v or less with probability above `failing`."""
        # The two sides of zero have differences of small numbers that are accurate.
        above = _cut_tail(threshold, least - number) - _cut_tail(threshold, shown + 1 - number)
        below = _cut_tail(threshold, number - shown) - _cut_tail(threshold, number - least + 1)
        chance = np.where(shown < number, below, above)
        return chance > failing * _cut_tail(threshold, least - number)

    low, inside = shown - reach - 1, shown
    high, within = shown + reach + 1, shown
    for _ in range(reach.bit_length() + 1):
        middle = np.floor((low + inside) / 2)
        accepted = at_least(middle) & (middle >= shown - reach)
        low, inside = np.where(accepted, low, middle), np.where(accepted, middle, inside)
        middle = np.ceil((high + within) / 2)
        accepted = at_most(middle) & (middle <= shown + reach)
        high, within = np.where(accepted, high, middle), np.where(accepted, middle, within)
    return inside, within


def _cut_tail(threshold: CountedKeys, value: Array) -> Array:
    """P(X >= value) of the noise X of a threshold, but for a factor, as `thresholding` has it."""
    scale, cut = float(threshold.scale), threshold.cut

    def beyond(number: Array) -> Array:
        """Σ p^x for x from a number of at least 1 up to the cut, times 1 - p."""
        left = np.maximum(cut + 1 - number, 0)
        return np.asarray(np.exp(-np.minimum(number, cut + 1) / scale) * -np.expm1(-left / scale))

    whole = 1 + math.exp(-1 / scale) - 2 * math.exp(-(cut + 1) / scale)
    positive, others = beyond(np.maximum(value, 1)), whole - beyond(np.maximum(1 - value, 1))
    return np.asarray(np.where(value > 0, positive, others))


def few_rows_notes(planned: Plan, draws: Draws) -> tuple[str, ...]:
    """A note for each average or variance of so few rows that the noise of their number matters.

    The noise of the number n moves y / n to one side, for an average by about its share (σ / n)² of
    the distance from the centre. The note is for n below twice the margin of its noise, where that
    is more than some 6 %. Cells that are only noise have a note of their own.
    """
    notes = []
    for output in planned.outputs if planned.cells else ():
        for slot in sorted(slots(output.expression, "aggregate")):
            estimate = planned.estimates[slot]
            rows = estimate.moments.count
            if estimate.aggregate.function not in _OVER_A_NUMBER or not (rows and rows.weights):
                continue
            ends = interval_of(estimate, planned, draws, CONFIDENCE)
            if ends is None:
                continue
            least, most = float(estimate.interval.lower), float(estimate.interval.upper)
            margin, number = margin_of(rows, planned, CONFIDENCE), read(rows, draws)
            few = (number < 2 * margin) & ~((ends[0] <= least) & (ends[1] >= most))
            if cells := int(few.sum()):
                part = f" in {cells} of {len(few)} rows" if len(few) > 1 else ""
                notes.append(
                    f"{output.label} is of few rows{part}: noise of ± {margin:.0f} in their number"
                    " moves it to one side, too"
                )
    return tuple(dict.fromkeys(notes))
