"""Reports of the releases of a plan, which follow from the plan, never from rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import count

from dpdb.answers.record import Origin, ReleaseReport
from dpdb.plan.expressions.expressions import Slot, interval_ends, slots
from dpdb.plan.logical.query import Function, Output
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import CONFIDENCE, Release, at_once
from dpdb.plan.ranges.statistics import Histogram, JointRanks
from dpdb.privacy.mechanisms.mechanism import LimitSelection, PublicNoise, VectorNoise
from dpdb.records import dataclass

_FEW = 4
"""The most columns of one release that are named."""


def reports(planned: Plan) -> tuple[ReleaseReport, ...]:
    """A report for each part of each release of a plan and of its subqueries, subqueries first.

    The parts of one release have the same group number, and the ε of the group.
    """
    groups = count(1)
    return tuple(report for each in planned.every_plan for report in _own_reports(each, groups))


def own_reports(planned: Plan) -> tuple[ReleaseReport, ...]:
    """A report for each part of each release of a plan, without its subqueries."""
    return tuple(_own_reports(planned, count(1)))


def _own_reports(planned: Plan, groups: Iterator[int]) -> Iterator[ReleaseReport]:
    """The reports of the plan's own releases, each of which has the next group number."""
    labels = release_labels(planned)
    sources = dict(enumerate(group.source for group in planned.remembered for _ in group.releases))
    for index, release in enumerate(planned.releases):
        label, group = labels.get(index, release.aggregate), next(groups)
        for place in range(len(release.parts)):
            report = _report(release, place, label, group, planned.competing_rows)
            if planned.waits(release):
                report = replace(report, sensitivity=None, scale=None, margin=None)
            recalled = index in sources
            yield replace(report, recalled=True, source=sources[index]) if recalled else report


def release_labels(planned: Plan) -> dict[int, str]:
    """For each release the label of the first column that needs it; of a vector, all labels."""
    labels: dict[int, list[str]] = {}
    for output in planned.outputs:
        for index in planned.released_for(output):
            labels.setdefault(index, []).append(output.label)
    several = {
        index for index, release in enumerate(planned.releases)
        if isinstance(release.statistic, Histogram | JointRanks)
    }  # fmt: skip
    return {index: _joined(own) if index in several else own[0] for index, own in labels.items()}


def _joined(labels: list[str]) -> str:
    """The labels of columns as one: all of a few, and of many the first and their number."""
    if len(labels) <= _FEW:
        return ", ".join(labels)
    return f"{labels[0]} and {len(labels) - 1} more"


@dataclass(frozen=True)
class SegmentSum:
    """A count as a sum of the segments of a histogram."""

    label: str
    segments: tuple[int, ...]
    """The indices of the segments that are added up."""
    all_segments: int
    margin: float
    """With probability CONFIDENCE the noise of all competing rows is within ± this much at once."""


def segment_sums(planned: Plan, release: int) -> Iterator[SegmentSum]:
    """The counts that add up segments of a release of a plan."""
    for index, estimate in enumerate(planned.estimates):
        if estimate.segments is None or estimate.releases != (release,):
            continue
        drawn = planned.releases[release]
        assert drawn.noise is not None
        assert isinstance(drawn.statistic, Histogram)
        confidence = at_once(CONFIDENCE, planned.competing_rows)
        margin = drawn.noise.quantile(confidence, len(estimate.segments))
        label = aggregate_label(planned, index)
        yield SegmentSum(label, estimate.segments, len(drawn.statistic.segments), margin)


def promised_error(planned: Plan, output: Output) -> float | None:
    """The margin within which the noise of a column stays with probability CONFIDENCE.

    None if the column is no COUNT or SUM: its noise depends on the rows.
    """
    expression = output.expression
    if not (isinstance(expression, Slot) and expression.role == "aggregate"):
        return None
    from dpdb.answers.intervals import noise_tails  # noqa: PLC0415 (numpy)

    estimate = planned.estimates[expression.index]
    combination = estimate.combination
    if combination is None or not estimate.releases or planned.awaits_bounds(output):
        return None
    confidence = at_once(CONFIDENCE, planned.competing_rows)
    unit = estimate.moments.step if estimate.aggregate.function is Function.SUM else 1
    return noise_tails.margin_of(combination, planned, confidence) * float(unit)


def margin_of(release: Release, noise: PublicNoise, unit: Fraction, confidence: float) -> float:
    """The margin of each value of a release, with noise of its own or of several sums in it."""
    if release.level is not None:
        from dpdb.answers.intervals.weighted_noises import margin  # noqa: PLC0415 (numpy)

        return margin(release.level.terms, confidence)
    return noise.quantile(confidence, release.terms) * float(unit)


def margins_at_limits(mechanism: LimitSelection, competing_rows: int) -> tuple[str, str]:
    """The margins of the noise at the least and at the greatest limit that can be found."""
    confidence = at_once(CONFIDENCE, competing_rows)
    ends = mechanism.steps_up[0], mechanism.steps_up[-1]
    least, most = (f"{mechanism.noise(limit).quantile(confidence):,.0f}" for limit in ends)
    return least, most


EXACT = "exact"
"""The mechanism that is reported where teaching mode has switched privacy off: none."""
LOCAL = "local laplace"
"""Laplace noise of local sensitivity, in teaching mode."""


def unprotected_reports(planned: Plan, epsilon: Fraction | None) -> tuple[ReleaseReport, ...]:
    """A report for each aggregate of a plan and of its subqueries that teaching mode answers.

    `epsilon` is divided among them for noise of local sensitivity; None gives exact answers.
    """
    mechanism, share = (EXACT, Fraction(0)) if epsilon is None else (LOCAL, epsilon)
    share /= planned.aggregates
    return tuple(
        ReleaseReport(aggregate_label(each, index), name.value, mechanism, None, None, share)
        for each in planned.every_plan
        for index, name in enumerate(estimate.aggregate.function for estimate in each.estimates)
    )


def aggregate_label(planned: Plan, index: int) -> str:
    """The label of the first column that is the aggregate; otherwise the aggregate's name."""
    aggregate = planned.estimates[index].aggregate
    slot = Slot("aggregate", index, aggregate.kind)
    labels = [output.label for output in planned.outputs if output.expression == slot]
    return labels[0] if labels else aggregate.function.upper()


def _report(
    release: Release, place: int, label: str, group: int, competing_rows: int
) -> ReleaseReport:
    """The report of one part of a release; that of a selection is about its score."""
    mechanism, margin = release.mechanism, None
    part, noise = release.parts[place], release.noise_of(place)
    own = noise if noise is not None and isinstance(mechanism, VectorNoise) else mechanism
    loss, sensitivity, scale = mechanism.loss, own.sensitivity, own.scale
    if noise is not None:
        margin = margin_of(release, noise, part.unit, at_once(CONFIDENCE, competing_rows))
    return ReleaseReport(
        column=label,
        aggregate=part.name,
        mechanism=mechanism.name,
        sensitivity=None if sensitivity is None else sensitivity * part.unit,
        scale=None if scale is None else scale * part.unit,
        epsilon=loss.epsilon,
        delta=loss.delta,
        margin=margin,
        competing_rows=competing_rows,
        group=group,
    )


def origins(planned: Plan, *, noisy: bool = True) -> tuple[Origin, ...]:
    """The source of each column of an answer; without noise, all aggregates are exact."""
    if planned.derived is not None:
        computed = Origin.NOISY if noisy else Origin.EXACT
        return tuple(
            computed if planned.has_noise(each) else Origin.KEY for each in planned.outputs
        )
    return tuple(
        Origin.KEY if not _measures(output) or interval_ends(output.expression)
        else Origin.NOISY if noisy and planned.has_noise(output)
        else Origin.EXACT
        for output in planned.outputs
    )  # fmt: skip


def _measures(output: Output) -> bool:
    """Whether an output has an aggregate or a subquery in it, rather than keys alone."""
    return any(slots(output.expression, role) for role in ("aggregate", "subquery"))
