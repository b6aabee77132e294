"""The branches of EXPLAIN's tree: what a query reads, and how noisy each release is.

Parts of a vector are shown as formulas of an argument's values x.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import assert_never

from dpdb.answers.accuracy_notes import SURE
from dpdb.answers.formats.sheet import figure
from dpdb.answers.release_reports import margin_of, margins_at_limits, promised_error
from dpdb.answers.suggested_bounds import needs
from dpdb.errors import printable
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Slot, columns_of
from dpdb.plan.logical.per_unit import PerUnit
from dpdb.plan.logical.row_tables import RowUnion, WindowedRows
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import CONFIDENCE, Release, at_once
from dpdb.plan.ranges.statistics import Joint, Part, Ranks, Total
from dpdb.plan.relations.relations import (
    Equality,
    Join,
    Joined,
    Mark,
    Relation,
    Scan,
    Source,
    scans,
)
from dpdb.privacy.mechanisms.mechanism import (
    Additive,
    BoundsSelection,
    CountedKeys,
    GridSelection,
    IntervalSelection,
    KeySelection,
    LimitSelection,
    SecretNoise,
    TopSelection,
    ValueSelection,
    VectorNoise,
)

CONFIDENCES = (0.5, 0.9, 0.95)
RELATIVE_ERROR = Fraction(1, 10)


def noise_facts(release: Release, competing_rows: int) -> Iterator[tuple[str, str]]:
    """The public facts about the noise of a release, each a name and a text."""
    mechanism, statistic = release.mechanism, release.statistic
    if isinstance(mechanism, Additive):
        if not isinstance(statistic, Joint):
            yield from _noise(mechanism, release, competing_rows)
    elif isinstance(mechanism, VectorNoise):
        yield "noise", "one draw for all parts, in a box of their changes"
    elif isinstance(mechanism, CountedKeys):
        least, sure = mechanism.shown_from, mechanism.surely_from
        yield "shown", f"from about {least} units on, for sure from {sure}"
        yield from _noise(mechanism.noise, release, competing_rows)
    elif isinstance(mechanism, KeySelection):
        least, most = mechanism.shown_from, mechanism.groups
        yield "shown", f"from about {least} units on, if each has {most} groups, and fewer if not"
    elif isinstance(mechanism, TopSelection):
        yield "shown", f"{mechanism.number} of {mechanism.candidates} groups"
    elif isinstance(mechanism, GridSelection):
        assert isinstance(statistic, Ranks)
        yield from _stop(mechanism, statistic, competing_rows)
    elif isinstance(mechanism, IntervalSelection):
        yield from _interval(mechanism)
    elif isinstance(mechanism, BoundsSelection):
        yield "needs", needs(mechanism)
    elif isinstance(mechanism, LimitSelection):
        small, large = margins_at_limits(mechanism, competing_rows)
        at = mechanism.steps_up
        yield "limit", f"so many different values a unit adds: {at[0]} … {at[-1]}, found first"
        yield "noise", f"± {small} at the least limit, ± {large} at the greatest ({CONFIDENCE:.0%})"
    elif isinstance(mechanism, (ValueSelection, SecretNoise)):
        yield "noise", mechanism.nearness
    else:
        assert_never(mechanism)


def _noise(noise: Additive, release: Release, competing_rows: int) -> Iterator[tuple[str, str]]:
    """The noise's size, and from which answer on it is within 10 %: the MTA of [STW] equation 6."""
    each = [at_once(confidence, competing_rows) for confidence in CONFIDENCES]
    margins = [Fraction(margin_of(release, noise, release.unit, confidence)) for confidence in each]
    shown = [f"± {figure(m)} ({c:.0%})" for m, c in zip(margins, CONFIDENCES, strict=True)]
    yield "noise", ", ".join(shown)
    least = [f"{figure(m / RELATIVE_ERROR)} ({c:.0%})"
             for m, c in zip(margins, CONFIDENCES, strict=True)]  # fmt: skip
    yield "noise", f"within 10 % of values from {', '.join(least)}"


def _stop(walk: GridSelection, statistic: Ranks, competing_rows: int) -> Iterator[tuple[str, str]]:
    """The rung that is selected, and the bound on the extreme value that follows."""
    confidence = at_once(CONFIDENCE, competing_rows)
    greatest = bool(statistic.fraction)
    rungs, side = len(statistic.rungs), "above" if greatest else "below"
    yield "grid", f"{rungs} values, {100 * (walk.ratio - 1):.1f} % apart far from zero"
    most = walk.rows_above(confidence, rungs)
    yield ("stops", f"where about {walk.threshold} rows are left {side}; {SURE}: {most} at most")
    steps = 2 + walk.steps_below(confidence)
    what, direction = ("greatest", "below") if greatest else ("least", "above")
    yield (
        "says",
        f"{SURE}: the {what} value is {side} the one {steps} steps {direction}; "
        "nothing is said of how far",
    )


def _interval(bracket: IntervalSelection) -> Iterator[tuple[str, str]]:
    """The number of half-widths, and the ranks that the interval is likely to span."""
    yield "widths", f"{len(bracket.widths)} half-widths, each √2 times the one before"
    ranks = math.ceil(bracket.target)
    yield (
        "says",
        f"{SURE}: the exact value is within ±; about {ranks} rows to spare on either side make it "
        "so",
    )


def formulas(statistic: Joint) -> str:
    """The formulas of all parts, with the meaning of y if it is used."""
    several = len({each.argument for each in statistic.totals}) > 1
    parts = [_formula(part, several=several) for part in statistic.parts]
    total = next((p.statistic for p in statistic.parts if isinstance(p.statistic, Total)), None)
    with_y = [part for part in parts if "y" in part]
    if not with_y or total is None:
        return ", ".join(parts)
    return f"{', '.join(parts)} for y = {_less('x', total.centre * total.grid.step)}"


def accuracies(plan: Plan) -> Iterator[str]:
    """The margins of counts and sums that are computed from several parts of vectors."""
    for output in plan.outputs:
        slot = output.expression
        if isinstance(slot, Slot) and slot.role == "aggregate":
            estimate = plan.estimates[slot.index]
            combination = estimate.combination
            number = 0 if combination is None or estimate.segments else len(combination.weights)
            reach = promised_error(plan, output) if number > 1 else None
            if reach is not None:
                yield (
                    f"{printable(output.label)}: ± {figure(Fraction(reach))} ({CONFIDENCE:.0%}), "
                    f"from {number} noisy values"
                )


def named(argument: Expr) -> str:
    """The name of a column, or an x for what is worked out."""
    return printable(argument.column.name) if isinstance(argument, ColumnRef) else "x"


def _formula(part: Part, *, several: bool) -> str:
    statistic = part.statistic
    times = "" if part.weight == 1 else f"{figure(Fraction(part.weight))}·"
    if not isinstance(statistic, Total):
        return f"{times}{part.name.replace('_', ' ')}"
    step, centre = statistic.grid.step, statistic.centre
    match statistic.coefficients:
        case (constant, 1):
            name = named(statistic.argument) if several else "x"
            return f"{times}Σ({_less(name, (centre - constant) * step)})"
        case (constant, -1):
            return f"{times}Σ({figure((centre + constant) * step)} - x)"
    scaled = [c * step**k for k, c in zip((2, 1, 0), (*statistic.coefficients, 0)[:3], strict=True)]
    return f"{times}Σ({_sum(scaled)})"


def _less(name: str, number: Fraction) -> str:
    """`name` less a number."""
    if not number:
        return name
    return f"{name} {'-' if number > 0 else '+'} {figure(abs(number))}"


def _sum(coefficients: list[Fraction]) -> str:
    """A polynomial in y, its constant first in `coefficients` and last in the text."""
    text = ""
    for coefficient, power in zip(reversed(coefficients), ("y²", "y", ""), strict=True):
        if not coefficient:
            continue
        sign = "-" if coefficient < 0 else "+"
        size = "" if abs(coefficient) == 1 and power else figure(abs(coefficient))
        text += (
            f" {sign} {size}{power}" if text else f"{'-' if coefficient < 0 else ''}{size}{power}"
        )
    return text or "0"


def source_lines(source: Source) -> Iterator[str]:
    """The tree of a relation and its caps; empty for a table of the policy."""
    match source:
        case Joined():
            yield from _joined_lines(source)
        case PerUnit() | WindowedRows():
            yield from _lines(Scan(source), printable(source.unit_in_words))
            yield f"rows per {printable(source.unit_in_words)}: {source.rows_per_unit}"
        case RowUnion():
            yield from _lines(Scan(source), printable(source.unit_in_words))
            yield _cap(source)


def origin_of_bounds(source: Source, name: str) -> str | None:
    """The origin of a column's bounds; None if they are those of a policy's column."""
    for scan in scans(_relation(source)):
        match scan.table:
            case PerUnit(aggregate_columns=columns) | WindowedRows(window_columns=columns):
                origin = "which follow from the cap and the bounds of a row"
            case RowUnion(columns=columns):
                origin = "which are around those of all parts"
            case _:
                continue
        if any(scan.name(column) == name for column in columns):
            return origin
    return None


def _joined_lines(source: Joined) -> Iterator[str]:
    # A join on a key finds the row of an owner, whoever the other owner is.
    yield from _lines(source.relation, "" if source.kinds else printable(source.unit_in_words))
    if source.public:
        return  # all rows count
    yield _cap(source)
    unit = printable(source.unit_in_words)
    if source.entering is not None:
        yield (
            f"of each {unit} at most {source.entering} rows of a table are joined, "
            "as no unique key limits the pairs"
        )
    for right, alike in _alike(source, source.relation):
        yield (
            f"of each {unit} at most {alike} rows of {printable(str(right))} that are equal in"
            " what is joined meet another, as no unique key limits the pairs"
        )


def _alike(source: Joined, relation: Relation) -> Iterator[tuple[Scan, int]]:
    """The tables of whose equal rows only some are joined, and the most that are."""
    if isinstance(relation, Scan):
        return
    yield from _alike(source, relation.left)
    alike = source.step(relation).alike
    if alike is not None:
        yield relation.right if isinstance(relation, Join) else relation.lookup.right, alike


def _cap(source: Joined | RowUnion) -> str:
    """The number of a unit's rows that count, and its computation from the caps of the tables."""
    unit, known = printable(source.unit_in_words), source.arithmetic
    rows, lower = str(source.nominal), source.rows_per_unit < source.nominal
    asked = f"; {source.rows_per_unit} are asked for" if lower else ""
    return f"rows per {unit}: {rows if known == rows else f'{known} = {rows}'}{asked}"


def _lines(relation: Relation, unit: str) -> Iterator[str]:
    match relation:
        case Scan(table=PerUnit() as table):
            keys = ", ".join(printable(key.column.called) for key in table.keys)
            yield f"{relation.leaf or 'rows'} of GROUP BY {keys}, each of one {unit}"
            assert table.source is not None
            yield from _branch(_lines(_relation(table.source), unit), "└─ ", "   ")
        case Scan(table=WindowedRows(rows=RowUnion(parts=(part,)))):
            yield f"{relation.leaf or 'rows'} with windows over those of one {unit}"
            yield from _branch(_lines(_relation(part.source), unit), "└─ ", "   ")
        case Scan(table=RowUnion(parts=parts)):
            yield f"{relation.leaf or 'rows'} of {'UNION ALL' if parts[1:] else 'a SELECT'}"
            for part in parts[:-1]:
                yield from _branch(_lines(_relation(part.source), unit), "├─ ", "│  ")
            yield from _branch(_lines(_relation(parts[-1].source), unit), "└─ ", "   ")
        case Scan(table=table):
            yield f"{printable(str(relation))}{', public' if table.public else ''}"
        case Join(left=left, right=right, on=on, rest=rest):
            yield f"{relation.kind}{_condition(on, rest, right, unit)}"
            yield from _branches(left, right, unit)
        case Mark(left=left, lookup=lookup):
            compared = () if lookup.compared is None else (lookup.compared,)
            word = "IN" if compared else "EXISTS"
            on = (*compared, *lookup.on)
            yield f"{word}{_condition(on, lookup.rest, lookup.right, unit)}"
            yield from _branches(left, lookup.right, unit)


def _relation(source: Source) -> Relation:
    return source.relation if isinstance(source, Joined) else Scan(source)


def _branches(left: Relation, right: Scan, unit: str) -> Iterator[str]:
    yield from _branch(_lines(left, unit), "├─ ", "│  ")
    yield from _branch(_lines(right, unit), "└─ ", "   ")


def _branch(lines: Iterator[str], lead: str, stem: str) -> Iterator[str]:
    yield lead + next(lines)
    for line in lines:
        yield stem + line


def _condition(on: Iterable[Equality], rest: Expr | None, right: Scan, unit: str) -> str:
    """The condition of a join or lookup, in words."""
    parts = [f"{_written(one)} = {_written(other)}" for one, other in on]
    if rest is not None:
        parts.append(f"a condition on {_names(rest)}")
    written = f" on {' and '.join(parts)}" if parts else ", each row with each"
    return f"{written}, rows of one {unit}" if unit and not right.table.public else written


def _written(expression: Expr) -> str:
    if isinstance(expression, ColumnRef):
        return printable(expression.column.called)
    return f"an expression of {_names(expression)}"


def _names(expression: Expr) -> str:
    return ", ".join(printable(each.called) for each in columns_of(expression).values())
