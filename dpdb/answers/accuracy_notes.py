"""Notes on accuracy: the scope of intervals, and the ε spent to keep an error.

Notes follow from the plan, the options and the noisy intervals, never from rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from dpdb.answers.record import CellColumn
from dpdb.answers.release_reports import promised_error, release_labels, segment_sums
from dpdb.answers.suggested_bounds import declared_range
from dpdb.plan.expressions.expressions import (
    Cast,
    ColumnRef,
    Compare,
    Expr,
    InList,
    Literal,
    children,
    columns_of,
    conjunction,
    slots,
)
from dpdb.plan.logical.derived import has_intervals
from dpdb.plan.logical.query import Options, are_sought
from dpdb.plan.physical.plan import DrawnCube, Plan
from dpdb.plan.physical.release import CONFIDENCE, Release, at_once
from dpdb.plan.ranges.ranges import narrow
from dpdb.plan.ranges.statistics import JointRanks, Ranks
from dpdb.plan.relations.contradictions import hint
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.names import written
from dpdb.policy.numbers import decimal
from dpdb.policy.timestamps import read_timestamp
from dpdb.privacy.mechanisms.mechanism import (
    BoundsSelection,
    GridSelection,
    IntervalSelection,
    LimitSelection,
    SecretNoise,
)

NONNEGATIVE = (
    "counts below 0 are raised, and all others lowered for it: small counts are too high in the "
    "mean, large ones too low; ± is that of the counts before"
)
DERIVED_NOTE = "the rest is computed from these noisy answers, and costs nothing"
SURE = f"{100 * CONFIDENCE:.0f} % sure"
"""The confidence of intervals, in words."""


def interval_notes(planned: Plan) -> tuple[str, ...]:
    """Notes that say which values have no interval, and for how many groups the others hold."""
    if planned.derived is not None:
        shown = planned.subplans if has_intervals(planned.derived) else ()
        below = (interval_notes(subplan) for subplan in shown)
        raised = [NONNEGATIVE for each in planned.cubes if each.nonnegative]
        return tuple(dict.fromkeys([*raised, *(note for notes in below for note in notes)]))
    notes = [*_contradiction_notes(planned), *_text_date_notes(planned)]
    releases = list(_shown_releases(planned))
    drawn = (each.release for each in releases)
    intervals = (each for each in drawn if isinstance(each.mechanism, IntervalSelection))
    bracketed: set[object] = set().union(*map(_keys, intervals))
    for each in releases:
        if isinstance(each.release.mechanism, GridSelection):
            notes += _walk_notes(each)
        elif isinstance(each.release.mechanism, BoundsSelection):
            pass
        elif not _has_margin(each.release) and not _keys(each.release) <= bracketed:
            why = "has no interval: how near it is depends on the rows"
            notes.append(f"{each.column} {_way(each.release)}, and {why}")
    with_interval = any(_has_margin(each.release) for each in releases)
    if planned.competing_rows > 1 and with_interval:
        number = planned.competing_rows
        why = "as noise decides which are shown"
        if are_sought(planned.found):
            why += "; it is smaller where there are fewer"
        notes.append(f"± holds for all {number} groups at once, {why}")
    return tuple(dict.fromkeys(notes))


def _has_margin(release: Release) -> bool:
    """Whether the law of the noise says what ± is."""
    return release.noise is not None or isinstance(release.mechanism, LimitSelection)


def _text_date_notes(planned: Plan) -> Iterator[str]:
    """Notes on texts that are compared with dates: `'9/30/1990' >= '1995-01-01'` is true."""
    aggregates = [estimate.aggregate for estimate in planned.estimates]
    inside = [planned.where, *planned.keys, *(each.argument for each in aggregates)]
    left = [each for each in (*inside, *(each.where for each in aggregates)) if each is not None]
    while left:
        expression = left.pop()
        left.extend(children(expression))
        constants: tuple[object, ...]
        match expression:
            case Compare(left=ColumnRef(column=column), right=Literal(value=value)):
                constants = (value,)
            case Compare(left=Literal(value=value), right=ColumnRef(column=column)):
                constants = (value,)
            case InList(operand=ColumnRef(column=column), values=constants):
                pass
            case _:
                continue
        texts = (each for each in constants if isinstance(each, str))
        if column.kind is not Kind.TEXT or column.values is not None:
            continue
        if any(read_timestamp(text) is not None for text in texts):
            yield (
                f"{column.called} is text, and compared with a date letter by letter; to compare"
                f" days, write PARSE_DATE('%m/%d/%Y', {written(column.called)}), or declare type ="
                ' "date" and format = "%m/%d/%Y", as its cells are'
            )


def _keys(release: Release) -> set[object]:
    """The statistics that a bracket around the release would have: one for each quantile."""
    statistic = release.statistic
    match statistic:
        case JointRanks(fractions=fractions):
            return {replace(statistic.alone, fraction=fraction) for fraction in fractions}
    return {statistic}


def plan_notes(options: Options, planned: Plan) -> tuple[str, ...]:
    """EXPLAIN's notes on how accurate an answer will be."""
    errors = planned_error_notes(options, planned)
    notes = errors + interval_notes(planned) + _segment_notes(planned) + _parallel_notes(planned)
    return notes if planned.derived is None else (*notes, *_derived_notes(planned))


def _derived_notes(planned: Plan) -> Iterator[str]:
    """EXPLAIN's notes on a SELECT over answers: the answers, and the price of the rest."""
    for cube in planned.cubes:
        yield from _cube_notes(planned, cube)
    if len(planned.subplans) > 1 and not planned.cubes:
        groups = "; ".join(map(_groups, planned.subplans))
        yield f"{len(planned.subplans)} answers share ε: {groups}"
    yield DERIVED_NOTE


def _cube_notes(planned: Plan, cube: DrawnCube) -> Iterator[str]:
    """EXPLAIN's notes on levels that add up: the part of ε that each has, and each one's ±."""
    named = [_groups(planned.subplans[place]) for place in cube.places]
    pairs = list(zip(named, cube.parts, strict=True))
    drawn = ", ".join(f"{decimal(100 * part)} % of ε {name}" for name, part in pairs if part)
    yield f"{len(named)} levels add up: {drawn}"
    for place, output in enumerate(cube.shown[0].outputs):
        errors = [promised_error(each, each.outputs[place]) for each in cube.shown]
        if None not in errors:
            told = (f"± {error:.3g} {name}" for error, name in zip(errors, named, strict=True))
            yield f"{output.label}: {', '.join(told)} ({SURE})"


def _groups(planned: Plan) -> str:
    """The keys of an answer's groups, in words."""
    names = dict.fromkeys(name for key in planned.keys for name in columns_of(key))
    return f"by {', '.join(names)}" if names else "in all"


def _segment_notes(planned: Plan) -> tuple[str, ...]:
    """EXPLAIN's notes on counts that are sums of segments: how many each adds up, and its error."""
    notes = (
        f"{each.label} adds up {len(each.segments)} of {each.all_segments} segments: "
        f"± {each.margin:.0f}, {SURE}"
        for plan in planned.every_plan
        for index in range(len(plan.releases))
        for each in segment_sums(plan, index)
    )
    return tuple(dict.fromkeys(notes))


def _parallel_notes(planned: Plan) -> tuple[str, ...]:
    """EXPLAIN's notes on releases over filters that exclude each other: their ε is spent once."""
    notes = []
    for plan in planned.every_plan:
        for family in plan.parallel:
            releases = {index for part in family for index in part}
            shown = [each.label for each in plan.outputs if releases & plan.released_for(each)]
            labels = ", ".join(dict.fromkeys(shown))
            notes.append(
                f"{labels}: no row passes two of the filters, so the same epsilon serves all"
            )
    return tuple(notes)


def _way(release: Release) -> str:
    """The way a release without a margin makes its value: a phrase after the column's name."""
    if isinstance(release.mechanism, SecretNoise):
        return "has noise of a size that is secret"
    ways = {"mode": "frequency", "weighted_mode": "weight"}
    return f"is chosen by {ways.get(release.aggregate, 'rank')}"


def _walk_notes(shown: _Shown) -> Iterator[str]:
    """The meaning of a MIN or MAX found by a walk, and a query that tells more."""
    statistic, walk = shown.release.statistic, shown.release.mechanism
    assert isinstance(statistic, Ranks)
    assert isinstance(walk, GridSelection)
    greatest = bool(statistic.fraction)
    most = walk.rows_above(at_once(CONFIDENCE, shown.competing_rows), len(statistic.rungs))
    name, side, end, tail = (
        ("MAX", "above", "lower", "0.99") if greatest else ("MIN", "below", "upper", "0.01")
    )
    yield (
        f"{shown.column}: the exact {name} is private; at most {most} rows lie {side} this value "
        f"({SURE}); QUANTILE_CONT(x, {tail}) tells of more"
    )
    few = walk.rows_needed(len(statistic.rungs))
    yield f"{shown.column}: of fewer than about {few} rows the {name} is near the {end} bound"
    match statistic.argument:
        case (
            Cast(
                operand=ColumnRef(column=Column(guessed=True, bounds=None) as column),
                kind=Kind.NUMBER,
            ) as number
        ) if number not in narrow(conjunction(shown.where, statistic.where), {}):
            called = written(column.called)
            yield (
                f"{shown.column}: {called} is read as a number; of dates ask for "
                f"{name}(CAST({called} AS DATE))"
            )


class _Shown(NamedTuple):
    """A release from which a column of the answer is computed."""

    release: Release
    column: str
    """The column that reports name for it."""
    competing_rows: int
    where: Expr | None


def _shown_releases(planned: Plan) -> Iterator[_Shown]:
    """The releases from which the answer's columns are computed."""
    labels = release_labels(planned)
    for output in planned.outputs:
        for index in sorted(planned.released_for(output)):
            release = planned.releases[index]
            yield _Shown(release, labels[index], planned.competing_rows, planned.where)
        for index in sorted(slots(output.expression, "subquery")):
            yield from _shown_releases(planned.subplans[index])


def only_noise_notes(names: Sequence[str], columns: Sequence[CellColumn]) -> tuple[str, ...]:
    """A note for each column with an interval as wide as the column's bounds.

    The interval of a quantile is a draw of its own, and does not say that the value is only noise:
    the value's distance depends on the number of rows, which is not known.
    """
    notes = []
    for name, column in zip(names, columns, strict=True):
        several, accuracy = len(column.cells) > 1, column.accuracy
        if number := sum(column.only_noise or ()):
            part = f" in {number} of {len(column.cells)} rows" if several else ""
            notes.append(f"{name} is only noise{part}: ± is as wide as its bounds allow")
        if number := sum((accuracy and accuracy.unknown) or ()):
            part = f" in {number} of {len(column.cells)} rows" if several else ""
            notes.append(f"± of {name} is unknown{part}: as wide as its bounds")
    return tuple(notes)


def _contradiction_notes(planned: Plan) -> Iterator[str]:
    """A note for each filter that no row can pass, with the declaration that rules rows out."""
    columns = {
        conjunction(planned.where, estimate.aggregate.where): estimate.contradiction.column
        for estimate in planned.estimates
        if estimate.contradiction is not None
    }
    for condition, column in columns.items():
        on = "" if column is None else f" on {column.called}{declared_range(column)}"
        slip = None if column is None or condition is None else hint(column, condition)
        maybe = "" if slip is None else f"; {slip}"
        yield f"exact and free: no row can match the filter{on}{maybe}"
    for subplan in planned.subplans:
        yield from _contradiction_notes(subplan)


def error_notes(options: Options, planned: Plan) -> tuple[str, ...]:
    """The ε that the option `error` takes; no note without that option."""
    if options.error is None or planned.settled:
        return ()
    return (
        f"ε {decimal(planned.loss.epsilon)} is the least that keeps the noise within "
        f"±{decimal(options.error)}, {_sure(options)}",
    )


def planned_error_notes(options: Options, planned: Plan) -> tuple[str, ...]:
    """EXPLAIN's notes on the ε that the options `error` and `relative_error` will take."""
    if options.relative_error is None or planned.settled:
        return error_notes(options, planned)
    return (f"at most: ε is spent in steps, until the noise is within {_part(options)}",)


def relative_error_notes(options: Options, planned: Plan, *, reached: bool) -> tuple[str, ...]:
    """Whether the last step `planned` reached the relative error, and how private its price is."""
    spent = decimal(planned.loss.epsilon)
    within = f"at ε {spent} the noise is within {_part(options)}"
    missed = f"ε {spent} was not enough for noise within {_part(options)}"
    return (
        within if reached else missed,
        "ex-post privacy: what was spent follows from the noisy answers alone",
    )


def _part(options: Options) -> str:
    assert options.relative_error is not None
    return f"{100 * float(options.relative_error):.4g} % of the answer, {_sure(options)}"


def _sure(options: Options) -> str:
    return f"{100 * float(options.confidence or CONFIDENCE):.10g} % sure"
