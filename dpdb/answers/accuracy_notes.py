"""What is said of an error that was asked for: no row has a say in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpdb.answers.declarations import declared_range
from dpdb.answers.record import ReleaseReport
from dpdb.answers.release_reports import own_reports
from dpdb.plan.expressions import conjunction, slots
from dpdb.plan.obstacles import hint
from dpdb.plan.plan import CONFIDENCE, Plan
from dpdb.plan.query import Options
from dpdb.policy.numbers import decimal
from dpdb.privacy.mechanisms import Smooth


def claims(planned: Plan) -> tuple[str, ...]:
    """What the intervals hold for, and what has none."""
    notes = list(_obstacles(planned))
    notes += [
        f"{drawn.column} {_way(drawn)}, and has no interval: how near it is depends on the rows"
        for drawn in _shown(planned)
        if drawn.margin is None
    ]
    if planned.candidates > 1 and any(drawn.margin is not None for drawn in _shown(planned)):
        number = planned.candidates
        notes.append(f"± holds for all {number} groups at once, as noise decides which are shown")
    return tuple(dict.fromkeys(notes))


def _way(drawn: ReleaseReport) -> str:
    """How a value comes about whose distance from the exact one is not known."""
    if drawn.mechanism == Smooth.name:
        return "has noise of a size that is secret"
    return "is chosen by rank" if drawn.aggregate == "quantile" else "is chosen by frequency"


def _shown(planned: Plan) -> Iterator[ReleaseReport]:
    """The releases that the columns of the answer are made of."""
    drawn = own_reports(planned)
    for output in planned.outputs:
        yield from (drawn[index] for index in sorted(planned.released_for(output)))
        for index in sorted(slots(output.expression, "subquery")):
            yield from _shown(planned.subplans[index])


def only_noise(columns: Sequence[str], flags: Sequence[Sequence[bool]]) -> tuple[str, ...]:
    """Which columns hold values whose intervals say nothing, from the intervals alone."""
    notes = []
    for name, said in zip(columns, zip(*flags, strict=True), strict=False):
        if any(said):
            part = f" in {sum(said)} of {len(said)} rows" if len(said) > 1 else ""
            notes.append(f"{name} is only noise{part}: ± is as wide as its bounds allow")
    return tuple(notes)


def _obstacles(planned: Plan) -> Iterator[str]:
    """What no row can pass, and why that is known."""
    found = {
        conjunction(planned.where, estimate.aggregate.where): estimate.obstacle.column
        for estimate in planned.estimates
        if estimate.obstacle is not None
    }
    for condition, column in found.items():
        why = "" if column is None else f" on {column.name}{declared_range(column)}"
        slip = None if column is None or condition is None else hint(column, condition)
        maybe = "" if slip is None else f"; {slip}"
        yield f"no row can pass the filter{why}: that is known, and costs nothing{maybe}"
    for subplan in planned.subplans:
        yield from _obstacles(subplan)


def kept(options: Options, planned: Plan) -> tuple[str, ...]:
    """What was spent for an error that was asked for."""
    if options.error is None or planned.settled:
        return ()
    return (
        f"ε {decimal(planned.loss.epsilon)} is the least that keeps the noise within "
        f"±{decimal(options.error)}, {_sure(options)}",
    )


def promised(options: Options, planned: Plan) -> tuple[str, ...]:
    """For EXPLAIN: what will be spent for an error that is asked for."""
    if options.relative_error is None or planned.settled:
        return kept(options, planned)
    return (f"at most: ε is spent in steps, until the noise is within {_part(options)}",)


def bought(options: Options, planned: Plan, *, reached: bool) -> tuple[str, ...]:
    """What came of a relative error that was asked for, and what is promised of its price."""
    spent = decimal(planned.loss.epsilon)
    found = f"at ε {spent} the noise is within {_part(options)}"
    missed = f"ε {spent} was not enough for noise within {_part(options)}"
    return (
        found if reached else missed,
        "ex-post privacy: how much was paid follows from the noisy answers, and from nothing else",
    )


def _part(options: Options) -> str:
    assert options.relative_error is not None
    return f"{100 * float(options.relative_error):.4g} % of the answer, {_sure(options)}"


def _sure(options: Options) -> str:
    return f"{100 * float(options.confidence or CONFIDENCE):.10g} % sure"
