"""Reports of the releases of a plan: they follow from the plan, never from rows."""

from __future__ import annotations

from dataclasses import replace

from dpdb.answers.record import ReleaseReport
from dpdb.plan.plan import CONFIDENCE, Plan, Release, at_once
from dpdb.privacy.mechanisms import Exponential, Gaussian, Laplace


def reports(planned: Plan) -> tuple[ReleaseReport, ...]:
    """A report for each release of a plan and of its subqueries, subqueries first."""
    nested = tuple(report for subplan in planned.subplans for report in reports(subplan))
    return nested + own_reports(planned)


def own_reports(planned: Plan) -> tuple[ReleaseReport, ...]:
    """A report for each release of a plan, without its subqueries.

    A report has the label of the first column that needs the release.
    """
    labels: dict[int, str] = {}
    for output in planned.outputs:
        for index in planned.released_for(output):
            labels.setdefault(index, output.label)
    return tuple(
        _report(release, labels.get(index, release.aggregate), planned.competing_rows)
        for index, release in enumerate(planned.releases)
    )


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
        case Exponential():
            return replace(report, sensitivity=mechanism.sensitivity, scale=mechanism.scale)
    return report
