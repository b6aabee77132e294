"""Reports of the releases of a plan: they follow from the plan, never from rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from dpdb.answers.record import Origin, ReleaseReport
from dpdb.plan.expressions import Slot, interval_ends
from dpdb.plan.plan import CONFIDENCE, Plan, Release, at_once
from dpdb.plan.query import Function, Output
from dpdb.plan.statistics import Histogram
from dpdb.privacy.bracket import Bracket
from dpdb.privacy.mechanisms import Exponential, Gaussian, Laplace
from dpdb.privacy.walk import Walk


def reports(planned: Plan) -> tuple[ReleaseReport, ...]:
    """A report for each release of a plan and of its subqueries, subqueries first."""
    nested = tuple(report for subplan in planned.subplans for report in reports(subplan))
    return nested + own_reports(planned)


def own_reports(planned: Plan) -> tuple[ReleaseReport, ...]:
    """A report for each release of a plan, without its subqueries.

    A report has the label of the first column that needs the release, and that of a histogram
    the labels of all.
    """
    labels: dict[int, list[str]] = {}
    for output in planned.outputs:
        for index in planned.released_for(output):
            labels.setdefault(index, []).append(output.label)
    reports = []
    for index, release in enumerate(planned.releases):
        own = labels.get(index, [release.aggregate])
        label = ", ".join(own) if isinstance(release.statistic, Histogram) else own[0]
        reports.append(_report(release, label, planned.competing_rows))
    return tuple(reports)


@dataclass(frozen=True)
class AtomSum:
    """A count as a sum of the atoms of a histogram."""

    label: str
    atoms: tuple[int, ...]
    """The places of the atoms that it adds up."""
    all_atoms: int
    margin: float
    """With probability CONFIDENCE the noise of all competing rows is within ± this much at once."""


def atom_sums(planned: Plan, release: int) -> Iterator[AtomSum]:
    """The counts that add up atoms of a release of a plan."""
    for index, estimate in enumerate(planned.estimates):
        if estimate.atoms is None or estimate.releases != (release,):
            continue
        drawn = planned.releases[release]
        assert isinstance(drawn.mechanism, Laplace | Gaussian)
        assert isinstance(drawn.statistic, Histogram)
        confidence = at_once(CONFIDENCE, planned.competing_rows)
        margin = drawn.mechanism.quantile(confidence, len(estimate.atoms))
        label = aggregate_label(planned, index)
        yield AtomSum(label, estimate.atoms, len(drawn.statistic.atoms), margin)


def promised_error(planned: Plan, output: Output) -> float | None:
    """With probability CONFIDENCE the noise of a column is within ± this much.

    None where it is not a COUNT or SUM, so that how noisy it is depends on the rows.
    """
    expression = output.expression
    if not (isinstance(expression, Slot) and expression.role == "aggregate"):
        return None
    estimate = planned.estimates[expression.index]
    if estimate.aggregate.function not in (Function.COUNT, Function.SUM) or not estimate.releases:
        return None
    release = planned.releases[estimate.releases[0]]
    assert isinstance(release.mechanism, Laplace | Gaussian)
    terms = 1 if estimate.atoms is None else len(estimate.atoms)
    confidence = at_once(CONFIDENCE, planned.competing_rows)
    return release.mechanism.quantile(confidence, terms) * float(release.unit)


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
        case Exponential() | Bracket():
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
