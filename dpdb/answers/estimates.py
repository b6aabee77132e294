"""Estimates of aggregates from noisy releases: ratios, clamping, the column's unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import assert_never

import numpy as np

from dpdb.answers.suggested_bounds import as_text, suggested
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.logical.query import COUNTS, DEVIATIONS, SAMPLED, Function, KeyRow
from dpdb.plan.physical.moments import Combination, Estimate
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import Release
from dpdb.plan.ranges.statistics import Ranks
from dpdb.plan.releases.derivations import Regrouping
from dpdb.policy.catalog import Kind, Value
from dpdb.privacy.mechanisms.mechanism import GridSelection
from dpdb.records import dataclass
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import AnyVector, Array, TextVector, Vector, array, constant, numbers

Draws = Sequence[Array]
"""draws[release][cell], or for a vector draws[release][cell, part]: whole numbers of grid steps.
"""
SlotVectors = Mapping[Slot, AnyVector]
"""The values of each aggregate or subquery, one for each cell."""
_EXACT = 2**53
"""Whole numbers up to 2^53 are doubles."""


@dataclass(frozen=True, repr=False)
class Noisy:
    """The noisy values of a plan, and the noisy results of its subqueries."""

    draws: Draws
    subqueries: SlotVectors
    subresults: tuple[Noisy, ...] = ()
    keys: tuple[KeyRow, ...] = ()
    """The keys found in the data that are shown; they are in no repr."""


@np.errstate(all="ignore")
def points(plan: Plan, draws: Draws) -> SlotVectors:
    """The estimate of every aggregate, from the noisy values of the releases."""
    return {
        Slot("aggregate", i, estimate.aggregate.kind): point(estimate, plan, draws)
        for i, estimate in enumerate(plan.estimates)
    }


@np.errstate(all="ignore")
def scalar(plan: Plan, points: SlotVectors, subqueries: SlotVectors) -> AnyVector:
    """The value of a scalar subquery, for the query around it."""
    return evaluate(plan.outputs[0].expression, Frame({}, {**subqueries, **points}))


def regrouped(how: Regrouping, draws: Draws) -> tuple[Array, ...]:
    """The noisy values of kept releases in other cells, for each release.

    Sums of cells are whole numbers of any size, as many cells may be large.
    """
    taken = tuple(slice(None) if place is None else place for place in how.fixed)
    left = [place for place, fixed in enumerate(how.fixed) if fixed is None]
    order = [left.index(place) for place in how.order]
    added = [place for place in range(len(left)) if place not in order]
    regrouped_draws = []
    for values in draws:
        inner = values.shape[1:]
        cells = values.reshape((*how.shape, *inner))[taken]
        within = tuple(range(len(left), cells.ndim))
        ordered = cells.transpose((*order, *added, *within))
        if added:
            axes = tuple(range(len(order), len(left)))
            ordered = ordered.astype(object).sum(axis=axes, keepdims=True)
        regrouped_draws.append(np.asarray(ordered).reshape(-1, *inner))
    return tuple(regrouped_draws)


def vector(values: Sequence[Value | None], kind: Kind) -> AnyVector:
    """Public constants as a vector of the kind; None is NULL."""
    missing = np.array([value is None for value in values], dtype=np.bool_)
    null = missing if missing.any() else None
    if kind is Kind.TEXT:
        places = np.where(missing, len(values), np.arange(len(values)))
        return TextVector(places, tuple(map(str, values)))
    return Vector(array([0 if value is None else value for value in values], kind), null)


def noisy_values(estimate: Estimate, draws: Draws) -> Draws:
    """The noisy values of an aggregate's releases as doubles, in steps of the grid.

    From here on everything is computed in doubles. Their rounding is post-processing, and where
    a value is too large for a double to be exact, the noise is far larger than the rounding.
    """
    drawn = [draws[index].astype(np.float64) for index in estimate.releases]
    return [each if each.ndim == 1 else each[:, estimate.column] for each in drawn]


def read(combination: Combination | None, draws: Draws) -> Array:
    """A moment of the counted rows of each cell, from noisy values."""
    assert combination is not None
    total = np.array([float(combination.constant)])
    for (release, part), weight in combination.weights:
        drawn = draws[release]
        noisy = (drawn if drawn.ndim == 1 else drawn[:, part]).astype(np.float64)
        total = total + _times(noisy, weight)
    return total


def _times(noisy: Array, weight: Fraction) -> Array:
    """The product, rounded as little as can be: parts of a long fraction may be no doubles."""
    if max(abs(weight.numerator), weight.denominator) <= _EXACT:
        return noisy * float(weight.numerator) / float(weight.denominator)
    return noisy * float(weight)


def point(estimate: Estimate, plan: Plan, draws: Draws) -> AnyVector:
    """The estimate of an aggregate in each cell, in the column's unit."""
    releases = [plan.releases[index] for index in estimate.releases]
    if estimate.is_withheld:
        return constant(None, estimate.aggregate.kind)
    if estimate.contradiction is not None:
        counts = estimate.aggregate.function in COUNTS
        return constant(0 if counts else None, estimate.aggregate.kind)
    moments = estimate.moments
    match estimate.aggregate.function:
        case Function.COUNT if estimate.rows is not None:
            return constant(estimate.rows, Kind.INTEGER)
        case Function.COUNT:
            return numbers(np.rint(read(moments.count, draws)))
        case Function.SUM:
            return numbers(scaled(np.rint(read(moments.sum, draws)), estimate.moments.step))
        case Function.APPROX_BOUNDS:
            bounds = suggested(estimate, plan, draws)
            return constant(None if bounds is None else as_text(bounds), Kind.TEXT)
        case Function.MODE:
            values = releases[0].statistic.values  # type: ignore[union-attr]
            places = noisy_values(estimate, draws)[0].astype(np.intp)
            return vector(values, estimate.aggregate.kind).take(places)
        case Function.AVG:
            return numbers(average(read(moments.total, draws), number(estimate, draws), estimate))
        case Function.VAR_POP | Function.VAR_SAMP | Function.STDDEV_POP | Function.STDDEV_SAMP:
            return numbers(_variance(estimate, draws))
        case Function.MIN | Function.MAX if isinstance(releases[0].mechanism, GridSelection):
            rungs = rungs_after(noisy_values(estimate, draws)[0], releases[0], 1)
            return numbers(scaled(rungs, step_of(releases[0])))
        case Function.MIN | Function.MAX | Function.QUANTILE | Function.COUNT_DISTINCT:
            return numbers(scaled(noisy_values(estimate, draws)[0], step_of(releases[0])))
        case other:
            assert_never(other)


def rungs_after(stops: Array, release: Release, steps: int) -> Array:
    """The rungs that are `steps` after those where walks stopped, or the last rung.

    The estimate is one step after the stop, as a walk stops while a few rows are left.
    """
    assert isinstance(release.statistic, Ranks)
    rungs = np.array(release.statistic.rungs, dtype=np.float64)
    return rungs[np.clip(stops.astype(np.intp) + steps, 0, len(rungs) - 1)]


def step_of(release: Release) -> Fraction:
    """The size of one step of a selection's grid, in the column's unit; 1 without a grid."""
    statistic = release.statistic
    return statistic.grid.step if isinstance(statistic, Ranks) else Fraction(1)


def scaled(units: Array, step: Fraction) -> Array:
    """Grid steps times the step's size: whole numbers stay whole, decimals are as written."""
    return np.asarray(units * float(step.numerator) / float(step.denominator))


def number(estimate: Estimate, draws: Draws) -> Array:
    """The number of rows to divide by: the public one, or the noisy one if that is at least 1."""
    return at_least_one(read(estimate.moments.count, draws))


def at_least_one(rows: Array) -> Array:
    """Numbers of rows to divide by, raised to one if noise made them less."""
    return np.asarray(np.maximum(rows, 1.0))


def _clamped(values: Array, estimate: Estimate) -> Array:
    return np.clip(values, float(estimate.interval.lower), float(estimate.interval.upper))


def average(total: Array, number: Array, estimate: Estimate) -> Array:
    """A mean: the centre of the bounds plus the noisy mean distance from it."""
    mean = (total / number + estimate.moments.centre) * float(estimate.moments.step)
    return _clamped(mean, estimate)


def _variance(estimate: Estimate, draws: Draws) -> Array:
    """A variance or standard deviation, from Q/N - (Y/N)².

    Q is the sum of squares, Y the sum and N the number of rows, all about the centre.
    """
    moments, rows = estimate.moments, number(estimate, draws)
    squares, total = read(moments.squares, draws), read(moments.total, draws)
    variance = np.maximum(squares / rows - (total / rows) ** 2, 0)
    if estimate.aggregate.function in SAMPLED:
        variance = variance * rows / np.maximum(rows - 1, 1)
    return deviation(variance, estimate)


def deviation(variance: Array, estimate: Estimate) -> Array:
    """A variance or a standard deviation in the column's unit, from a variance in squared steps."""
    result = variance * float(estimate.moments.step) ** 2
    if estimate.aggregate.function in DEVIATIONS:
        result = np.sqrt(result)
    return _clamped(result, estimate)
