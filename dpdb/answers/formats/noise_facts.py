"""Facts for the tree of EXPLAIN: the size of a release's noise, and the parts of a vector.

Parts are shown as formulas of an argument's values x.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import assert_never

from dpdb.answers.formats.sheet import figure
from dpdb.answers.notes.accuracy_notes import SURE
from dpdb.answers.notes.release_reports import promised_error
from dpdb.errors import printable
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import CONFIDENCE, Plan, Release, at_once
from dpdb.plan.ranges.statistics import Joint, Part, Ranks, Total
from dpdb.privacy.mechanisms.mechanism import (
    Additive,
    GridSelection,
    IntervalSelection,
    KeySelection,
    SecretNoise,
    ValueSelection,
)

CONFIDENCES = (0.5, 0.9, 0.95)
RELATIVE_ERROR = Fraction(1, 10)


def noise_facts(release: Release, competing_rows: int) -> Iterator[tuple[str, str]]:
    """The public facts about the noise of a release, each a name and a text."""
    mechanism, statistic = release.mechanism, release.statistic
    if isinstance(mechanism, Additive):
        if not isinstance(statistic, Joint):
            yield from _noise(mechanism, release, competing_rows)
    elif isinstance(mechanism, KeySelection):
        least, sure = mechanism.shown_from, mechanism.surely_from
        yield "shown", f"from about {least} units on, for sure from {sure}"
        yield from _noise(mechanism.noise, release, competing_rows)
    elif isinstance(mechanism, GridSelection):
        assert isinstance(statistic, Ranks)
        yield from _stop(mechanism, statistic, competing_rows)
    elif isinstance(mechanism, IntervalSelection):
        yield from _interval(mechanism)
    elif isinstance(mechanism, (ValueSelection, SecretNoise)):
        yield "noise", mechanism.nearness
    else:
        assert_never(mechanism)


def _noise(noise: Additive, release: Release, competing_rows: int) -> Iterator[tuple[str, str]]:
    """The noise's size, and from which answer on it is within 10 %: the MTA of [STW] equation 6."""
    each = [at_once(confidence, competing_rows) for confidence in CONFIDENCES]
    margins = [Fraction(noise.quantile(confidence, release.terms)) * release.unit
               for confidence in each]  # fmt: skip
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
    parts = [_formula(part) for part in statistic.parts]
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
            if number > 1:
                reach = Fraction(promised_error(plan, output) or 0)
                yield (
                    f"{printable(output.label)}: ± {figure(reach)} ({CONFIDENCE:.0%}), "
                    f"from {number} noisy values"
                )


def _formula(part: Part) -> str:
    statistic = part.statistic
    times = "" if part.weight == 1 else f"{figure(Fraction(part.weight))}·"
    if not isinstance(statistic, Total):
        return f"{times}{part.name.replace('_', ' ')}"
    step, centre = statistic.grid.step, statistic.centre
    match statistic.coefficients:
        case (constant, 1):
            return f"{times}Σ({_less('x', (centre - constant) * step)})"
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
