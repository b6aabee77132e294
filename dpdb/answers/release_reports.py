"""Reports of the releases of a plan: they follow from the plan, never from rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpdb.answers.record import ReleaseReport
from dpdb.plan.plan import CONFIDENCE, Plan, Release, at_once
from dpdb.privacy.mechanisms import Exponential, Gaussian, Laplace
from dpdb.privacy.walk import Walk


def reports(planned: Plan) -> tuple[ReleaseReport, ...]:
    """A report for each release of a plan and of its subqueries, subqueries first."""
    nested = tuple(report for subplan in planned.subplans for report in reports(subplan))
    return nested + own_reports(planned)


def own_reports(planned: Plan) -> tuple[ReleaseReport, ...]:
    """A report for each release of a plan, without its subqueries.

    A report has the label of the first column that needs the release.
    """
    own = []
    for index, release in enumerate(planned.releases):
        labels = [o.label for o in planned.outputs if index in planned.released_for(o)]
        label = labels[0] if labels else release.aggregate
        own.append(_report(release, label, planned.competing_rows))
    return tuple(own)


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
        case Exponential():
            return replace(report, sensitivity=mechanism.sensitivity, scale=mechanism.scale)
    return report
