"""Vectors in EXPLAIN: their parts as formulas of an argument's values x, and what comes of them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpdb.answers.formats.sheet import figure
from dpdb.answers.notes.release_reports import promised_error
from dpdb.errors import printable
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import CONFIDENCE, Plan
from dpdb.plan.ranges.statistics import Joint, Part, Total


def formulas(statistic: Joint) -> str:
    """All parts, and what y stands for where it is used."""
    parts = [_formula(part) for part in statistic.parts]
    total = next((p.statistic for p in statistic.parts if isinstance(p.statistic, Total)), None)
    with_y = [part for part in parts if "y" in part]
    if not with_y or total is None:
        return ", ".join(parts)
    return f"{', '.join(parts)} for y = {_less('x', total.centre * total.grid.step)}"


def accuracies(plan: Plan) -> Iterator[str]:
    """How near the counts and sums are that are computed from several parts of vectors."""
    for output in plan.outputs:
        slot = output.expression
        if isinstance(slot, Slot) and slot.role == "aggregate":
            estimate = plan.estimates[slot.index]
            combination = estimate.combination
            number = 0 if combination is None or estimate.atoms else len(combination.weights)
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
