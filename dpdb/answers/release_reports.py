"""What is drawn for a plan, as it is reported: no row has a say in it."""

from __future__ import annotations

from dataclasses import replace

from dpdb.answers.record import ReleaseReport
from dpdb.plan.plan import CONFIDENCE, Plan, Release, at_once
from dpdb.privacy.mechanisms import Exponential, Gaussian, Laplace


def reports(planned: Plan) -> tuple[ReleaseReport, ...]:
    """What is drawn for a plan, named by the columns it is drawn for."""
    nested = tuple(report for subplan in planned.subplans for report in reports(subplan))
    return nested + own_reports(planned)


def own_reports(planned: Plan) -> tuple[ReleaseReport, ...]:
    """The same without the subqueries'."""
    drawn = []
    for index, release in enumerate(planned.releases):
        labels = [o.label for o in planned.outputs if index in planned.released_for(o)]
        label = labels[0] if labels else release.aggregate
        drawn.append(_report(release, label, planned.candidates))
    return tuple(drawn)


def _report(release: Release, label: str, candidates: int) -> ReleaseReport:
    """One release; numbers are in the analyst's units, but a score's, which has none."""
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
        candidates=candidates,
    )
    match mechanism:
        case Laplace() | Gaussian():
            return replace(
                report,
                sensitivity=mechanism.sensitivity * release.unit,
                scale=mechanism.scale * release.unit,
                margin=mechanism.quantile(at_once(CONFIDENCE, candidates)) * float(release.unit),
            )
        case Exponential():
            return replace(report, sensitivity=mechanism.sensitivity, scale=mechanism.scale)
    return report
