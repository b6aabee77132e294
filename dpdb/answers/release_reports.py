"""Reports of the releases of a plan: they follow from the plan, never from rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from dpdb.answers.record import Origin, ReleaseReport
from dpdb.plan.expressions import Slot, interval_ends
from dpdb.plan.plan import CONFIDENCE, Plan, Release, at_once
from dpdb.privacy.bracket import Bracket
from dpdb.privacy.halves import Halves
from dpdb.privacy.mechanisms import Exponential, Gaussian, Laplace
from dpdb.privacy.walk import Walk


def reports(planned: Plan) -> tuple[ReleaseReport, ...]:
    """A report for each release of a plan and of its subqueries, subqueries first."""
    nested = tuple(report for subplan in planned.subplans for report in reports(subplan))
    return nested + own_reports(planned)


def own_reports(planned: Plan) -> tuple[ReleaseReport, ...]:
    """A report for each release of a plan, without its subqueries.

    A report has the label of the first column that needs the release, and those of all columns
    where it is of several quantiles.
    """
    labels: dict[int, str] = {}
    for output in planned.outputs:
        for index in planned.released_for(output):
            joint = isinstance(planned.releases[index].mechanism, Halves)
            before = f"{labels[index]}, " if joint and index in labels else ""
            labels[index] = before + output.label if joint else labels.get(index, output.label)
    return tuple(
        _report(release, labels.get(index, release.aggregate), planned.competing_rows)
        for index, release in enumerate(planned.releases)
    )


EXACT = "exact"
"""The mechanism that is reported where teaching mode has switched privacy off: none."""
LOCAL = "local laplace"
"""Laplace noise of local sensitivity, in teaching mode."""


def unprotected_reports(planned: Plan, epsilon: Fraction | None) -> tuple[ReleaseReport, ...]:
    """A report for each aggregate of a plan and of its subqueries that teaching mode answers.

    `epsilon` is divided among them for noise of local sensitivity; None gives exact answers.
    """
    mechanism, share = (EXACT, Fraction(0)) if epsilon is None else (LOCAL, epsilon)
    return tuple(
        ReleaseReport(label, name, mechanism, None, None, share / planned.aggregates)
        for label, name in _aggregates(planned)
    )


def _aggregates(planned: Plan) -> Iterator[tuple[str, str]]:
    """The label and the name of each aggregate, subqueries first."""
    for subplan in planned.subplans:
        yield from _aggregates(subplan)
    for index, estimate in enumerate(planned.estimates):
        yield aggregate_label(planned, index), estimate.aggregate.function.value


def aggregate_label(planned: Plan, index: int) -> str:
    """The label of the first column that is the aggregate; otherwise the aggregate's name."""
    aggregate = planned.estimates[index].aggregate
    slot = Slot("aggregate", index, aggregate.kind)
    labels = [output.label for output in planned.outputs if output.expression == slot]
    return labels[0] if labels else aggregate.function.upper()


def _report(release: Release, label: str, competing_rows: int) -> ReleaseReport:
    """The report of one release; the numbers of an exponential mechanism are those of its score."""
    mechanism = release.mechanism
    loss = mechanism.loss
    report = ReleaseReport(
        column=label,
        aggregate=release.aggregate,
        mechanism=mechanism.name,
        sensitivity=None,
        scale=None,
        epsilon=loss.epsilon,
        delta=loss.delta,
        competing_rows=competing_rows,
    )
    match mechanism:
        case Laplace() | Gaussian():
            margin = mechanism.quantile(at_once(CONFIDENCE, competing_rows))
            return replace(
                report,
                sensitivity=mechanism.sensitivity * release.unit,
                scale=mechanism.scale * release.unit,
                margin=margin * float(release.unit),
            )
        case Walk():
            return replace(report, sensitivity=Fraction(mechanism.sensitivity))
        case Exponential() | Bracket() | Halves():
            return replace(report, sensitivity=mechanism.sensitivity, scale=mechanism.scale)
    return report


def origins(planned: Plan, *, noisy: bool = True) -> tuple[Origin, ...]:
    """Where the columns of an answer come from; without noise, all aggregates are exact."""
    return tuple(
        Origin.KEY if not planned.measures(output) or interval_ends(output.expression)
        else Origin.NOISY if noisy and planned.has_noise(output)
        else Origin.EXACT
        for output in planned.outputs
    )  # fmt: skip
