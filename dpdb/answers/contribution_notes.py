"""Notes on bounding and on keys.

The plan decides which rows are left out before the noise, which values are clamped, and which
found keys are shown. The number of such rows and values is private, and not said.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.answers.release_reports import aggregate_label
from dpdb.answers.suggested_bounds import plain_value
from dpdb.plan.expressions.expressions import Call, ColumnRef, Expr, Literal, children
from dpdb.plan.expressions.single_values import SingleValue, UnitValue, single_value
from dpdb.plan.logical.per_unit import PerUnit
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.statistics import Distinct, KeyUnits, Ranks, Tally, Total
from dpdb.plan.relations.relations import Source
from dpdb.plan.unit_work import FEW_ROWS, LITTLE_TIME, milliseconds
from dpdb.policy.catalog import Column, Table
from dpdb.privacy.mechanisms.mechanism import (
    BoundsSelection,
    KeySelection,
    LimitSelection,
    TopSelection,
)

if TYPE_CHECKING:
    from dpdb.answers.estimates import Draws

NOISE_ALONE = "intervals are of the noise alone, not of what clamping and caps change"
"""The last of the notes, if an interval may be shown."""


def bounding_notes(planned: Plan) -> tuple[str, ...]:
    """A note for each cap on a unit's rows, and for each column whose values are clamped.

    Aggregates per unit, which are clamped too, have a note each.
    """
    plans = [each for each in planned.every_plan if not _finds_bounds(each)]
    known = [each for each in plans if each.sought is None or each.sought.widest]
    told = [each for each in known if not any(map(_finds_bounds, each.subplans))]
    totals = [note for each in told for note in _of_units(each)]
    caps = [_cap(each.table) for each in known if _is_capped(each.table)]
    clamps = [
        f"{column.called}: values are clamped to {_ends(column)}"
        for each in plans
        for release in each.releases
        for part in release.parts
        for clamped in [
            part.statistic.weight if isinstance(part.statistic, Tally) else part.statistic
        ]
        if isinstance(clamped, Total | Ranks | Distinct)
        for column in _bounded(clamped.argument)
    ]
    notes = dict.fromkeys([*caps, *totals, *clamps])
    shown = any(
        release.noise is not None or isinstance(release.mechanism, LimitSelection)
        for each in plans
        for release in each.releases
    )
    return (*notes, NOISE_ALONE) if notes and shown else tuple(notes)


def _finds_bounds(planned: Plan) -> bool:
    """Whether a plan finds bounds or a cap for another plan, about which it has a note."""
    return any(isinstance(each.mechanism, BoundsSelection) for each in planned.releases)


def limit_notes(planned: Plan, draws: Draws) -> Iterator[str]:
    """A note for each COUNT(DISTINCT) whose limit of values per unit was found."""
    for index, estimate in enumerate(planned.estimates):
        for place in estimate.releases:
            if isinstance(planned.releases[place].mechanism, LimitSelection) and planned.cells:
                limits = sorted(set(draws[place][:, 1].tolist()))
                yield (
                    f"{aggregate_label(planned, index)}: each {planned.table.unit_in_words} added"
                    f" at most {' or '.join(map(str, limits))} different values, a limit that was"
                    " found; ± leaves out what lies beyond it"
                )


def _is_capped(table: Source) -> bool:
    """Whether a unit can have more rows than count; not if the unit is the key of the table."""
    if isinstance(table, PerUnit):
        return table.rows_held > table.rows_per_unit
    return table.unit is not None and not (isinstance(table, Table) and table.key == (table.unit,))


def _cap(table: Source) -> str:
    rows = "1 row" if table.rows_per_unit == 1 else f"{table.rows_per_unit} rows"
    if table.kinds:
        each = " and each ".join(table.kinds)
        return (
            f"at most {rows} per {table.unit_in_words} count, filled in by a keyed hash;"
            f" ε protects each {each}, and two of them together by 2 ε"
        )
    within = ""
    if table.groups_per_unit is not None:
        groups = "1 group" if table.groups_per_unit == 1 else f"{table.groups_per_unit} groups"
        within = f" in at most {groups}"
    return f"at most {rows} per {table.unit_in_words}{within}, chosen by a keyed hash"


def _of_units(planned: Plan) -> Iterator[str]:
    """A note for each aggregate whose argument is a value per unit."""
    for index, estimate in enumerate(planned.estimates):
        value = single_value(estimate.aggregate.argument)
        if isinstance(value, UnitValue) and estimate.contradiction is None:
            unit = planned.table.unit_in_words
            what = (
                f"the mean of each {unit}" if value.function == "avg" else f"what each {unit} adds"
            )
            where = " in a group" if planned.keys else ""
            yield f"{aggregate_label(planned, index)}: {what}{where} is clamped to {_ends(value)}"


def _bounded(expression: Expr) -> Iterator[Column]:
    """The columns with bounds that an expression reads, except those it clamps tighter."""
    match expression:
        case Call("clamp", (ColumnRef(column=Column(bounds=(low, high))), *ends)) if all(
            isinstance(end, Literal)
            and isinstance(end.value, int | Fraction)
            and low <= end.value <= high
            for end in ends
        ):
            return
        case ColumnRef(column=SingleValue(argument=argument)):
            if argument is not None:
                yield from _bounded(argument)
            return
        case ColumnRef(column=Column(values=None, bounds=(_, _)) as column):
            yield column
    for child in children(expression):
        yield from _bounded(child)


def _ends(column: Column) -> str:
    """The bounds of a column, as they are written."""
    assert column.bounds is not None
    low, high = (plain_value(bound, column.kind) for bound in column.bounds)
    return f"{low} … {high}"


def work_notes(planned: Plan) -> Iterator[str]:
    """Notes on the work that the rows of one unit can add, where it is more than a little.

    If rows have two owners, the work is that of as many rows of one unit as the policy counts.
    """
    work, unit = planned.work, planned.work.unit
    if planned.table.kinds:
        rows, taken = planned.table.rows_held, milliseconds(work.seconds)
        yield f"{rows} rows of one {unit} can take {taken} ms; that of more rows is hidden less"
        return
    if work.largest is not None and work.largest.made > FEW_ROWS:
        yield f"one {unit} can have {work.largest.made} rows in {work.largest.name}"
    if work.dearest is not None and work.seconds > LITTLE_TIME:
        yield (
            f"the rows of one {unit} can take {milliseconds(work.seconds)} ms,"
            f" {milliseconds(work.dearest.seconds)} of them in {work.dearest.name}"
        )


def key_notes(planned: Plan) -> tuple[str, ...]:
    """Notes on keys that were found in the data, and on an answer of declared ones alone."""
    if planned.keys and not planned.estimates and planned.found is None:
        return ("these are the group values that the policy lists, whether rows have them or not",)
    return tuple(dict.fromkeys(note for each in planned.every_plan for note in _notes(each)))


def _notes(planned: Plan) -> Iterator[str]:
    """The notes on the keys of a plan, without its subqueries."""
    for index, release in enumerate(planned.releases):
        if not isinstance(release.statistic, KeyUnits):
            continue
        if isinstance(top := release.mechanism, TopSelection):
            yield f"the {top.number} largest of {top.candidates} groups are chosen by noisy numbers"
            continue
        assert isinstance(release.mechanism, KeySelection)
        least = release.mechanism.shown_from
        if (fewest := release.mechanism.least_units) > 1:
            yield f"no group of fewer than {fewest} {units(planned.table)} is shown"
        yield f"shown are groups of {release.mechanism.shown(units(planned.table))}"
        columns = [each.label for each in planned.outputs if index in planned.released_for(each)]
        if columns:
            yield (
                f"± of {', '.join(columns)} holds for the groups that are shown; it is wide near "
                f"{least}, where groups are shown if noise was above zero"
            )


def units(table: Source) -> str:
    """The things counted of each key, in words: rows, or units by the name of their column."""
    return "rows" if table.unit is None else f"different {table.unit_in_words}"
