"""EXPLAIN as a tree: what a query would draw, how noisy that is, and why.

All of it is planned from the statement and the policy.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator
from fractions import Fraction
from itertools import groupby

from dpdb.answer import Answer, Drawn
from dpdb.plan import plan
from dpdb.policy import EPOCH, Kind, Policy, decimal
from dpdb.privacy.mechanisms import Laplace
from dpdb.releases import Ranks, Release, Total
from dpdb.shell.escape import printable
from dpdb.shell.render import footer
from dpdb.sql.query import Call, Cast, ColumnRef, Expr, children
from dpdb.sql.statements import Select, statement

CONFIDENCES = (0.5, 0.9, 0.95)
RELATIVE_ERROR = Fraction(1, 10)
NAMES = {"laplace": "Laplace noise", "exponential": "the exponential mechanism"}


def tree(answer: Answer, policy: Policy, given: Collection[str]) -> str:
    """The tree of an EXPLAIN; columns in `given` have their bounds from the command line."""
    planned = list(zip(_planned(answer, policy), answer.releases, strict=True))
    total = sum((drawn.epsilon for drawn in answer.releases), Fraction(0))
    lines = []
    for column, group in groupby(planned, lambda pair: pair[1].column):
        lines.append(printable(column))
        parts = list(group)
        for number, (release, drawn) in enumerate(parts, 1):
            last = number == len(parts)
            lines.append(f"{'└' if last else '├'}─ {_title(drawn)}")
            lines += _branches(list(_facts(release, drawn, total, given)), last=last)
    if not lines:
        lines.append("nothing is drawn: the number of rows is public here")
    return "\n".join([*lines, _share(answer, total)]) + footer(answer)


def _planned(answer: Answer, policy: Policy) -> Iterator[Release]:
    """The statement's releases, planned again: an answer does not say what they are of."""
    found = statement(answer.statement, policy)
    assert isinstance(found, Select)
    # Under `replace` a mean's unit is a row's share of it; what was reported has that in it.
    yield from plan(found.query, policy, Fraction(1), lambda _: 1).every_release


def _title(drawn: Drawn) -> str:
    return f"{drawn.aggregate.replace('_', ' ')} by {NAMES.get(drawn.mechanism, drawn.mechanism)}"


def _branches(facts: list[tuple[str, str]], *, last: bool) -> list[str]:
    stem = "   " if last else "│  "
    return [
        f"{stem}{'└' if number == len(facts) else '├'}─ {name:<7}{fact}"
        for number, (name, fact) in enumerate(facts, 1)
    ]


def _facts(
    release: Release, drawn: Drawn, total: Fraction, given: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Name and value of all there is to say about one release."""
    statistic = release.statistic
    if isinstance(statistic, Total | Ranks):
        yield "bounds", _bounds(statistic, given) + _shift(statistic)
    score = "" if isinstance(release.mechanism, Laplace) else " (of a value's rank or count)"
    yield "Δ", f"{_figure(drawn.sensitivity)}, the most one row can change it{score}"
    part = "" if drawn.epsilon == total else f", a part of the query's {decimal(total)}"
    yield "ε", f"{decimal(drawn.epsilon)}{part}"
    formula = "Δ/ε" if isinstance(release.mechanism, Laplace) else "2Δ/ε"
    yield "scale", f"{formula} = {_figure(drawn.scale)}"
    if isinstance(release.mechanism, Laplace):
        yield from _noise(release.mechanism, drawn)
    else:
        yield "noise", "a value within the bounds is chosen; how near depends on the rows"


def _noise(mechanism: Laplace, drawn: Drawn) -> Iterator[tuple[str, str]]:
    """How large the noise is, and from which answer on that matters little.

    The latter is Shoaran, Thomo and Weber's minimum true answer, equation 6.
    """
    sized = Laplace(mechanism.sensitivity, drawn.epsilon)
    unit = drawn.sensitivity / mechanism.sensitivity if mechanism.sensitivity else Fraction(0)
    margins = [Fraction(sized.quantile(confidence)) * unit for confidence in CONFIDENCES]
    shown = [f"± {_figure(m)} ({c:.0%})" for m, c in zip(margins, CONFIDENCES, strict=True)]
    yield "noise", ", ".join(shown)
    least = [f"{_figure(m / RELATIVE_ERROR)} ({c:.0%})"
             for m, c in zip(margins, CONFIDENCES, strict=True)]  # fmt: skip
    yield "MTA", f"{', '.join(least)}: noise within 10 %"


def _bounds(statistic: Total | Ranks, given: Collection[str]) -> str:
    """The bounds and where they came from."""
    grid, argument = statistic.grid, statistic.argument
    used = grid.lower * grid.step, grid.upper * grid.step
    shown = _span(used, argument.kind)
    match argument:
        case ColumnRef(column=column) | Cast(operand=ColumnRef(column=column)):
            declared = column.bounds
            if declared is None:
                return f"{shown}, by WHERE"
            if any(abs(a - b) >= grid.step for a, b in zip(used, declared, strict=True)):
                return f"{shown}, by WHERE; declared {_span(declared, argument.kind)}"
            source = "by --bounds" if column.name in given else "declared in the policy"
            return f"{shown}, {source}"
        case Call(name="clamp"):
            return f"{shown}, by CLAMP"
    columns = dict.fromkeys(printable(name) for name in _columns(argument))
    return f"{shown}, worked out from {', '.join(columns) or 'constants'}"


def _shift(statistic: Total | Ranks) -> str:
    """What is subtracted from each value before it is summed, so that one moves less."""
    if isinstance(statistic, Ranks) or not statistic.centre:
        return ""
    return f"; each less {_figure(statistic.centre * statistic.grid.step)}"


def _columns(expression: Expr) -> Iterator[str]:
    if isinstance(expression, ColumnRef):
        yield expression.column.name
    for child in children(expression):
        yield from _columns(child)


def _span(bounds: tuple[Fraction, Fraction], kind: Kind) -> str:
    low, high = (_date(b) if kind is Kind.DATE else _figure(b) for b in bounds)
    return f"{low} to {high}"


def _date(days: Fraction) -> str:
    return (EPOCH + datetime.timedelta(days=int(days))).isoformat()


def _figure(value: Fraction) -> str:
    """A number to be read, not to be computed with."""
    if value.denominator == 1 or abs(value) >= 1000:
        return str(round(value))
    return f"{float(value):.4g}"


def _share(answer: Answer, total: Fraction) -> str:
    """What the query gets of ε, in the paper's terms."""
    budget = answer.balance.budget
    if total == answer.balance.share:
        return f"ε/k = {decimal(budget.epsilon)}/{budget.queries} = {decimal(total)}"
    return f"ε = {decimal(total)}, of {decimal(budget.epsilon)} for k = {budget.queries} queries"
