"""EXPLAIN's first lines, and SHOW BUDGET, for people: names with a sentence beside each.

    AVG(income)  ± at most about 3,000 if 10,000 rows match; 30,000 if 1,000
    cost         ε 0.1 and 1 query, of ε 1 and 10 queries left
    assumes      a person has one row; income: values are clamped to 0 … 1000000

EXPLAIN follows from the statement and the policy, the budget from the answers that were paid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from dpdb.answers.contribution_notes import NOISE_ALONE
from dpdb.answers.formats.footer import (
    DIGITS,
    NOT_PRIVATE,
    THEOREMS,
    cautions,
    paying,
    price_text,
    shortage,
)
from dpdb.answers.formats.sheet import duration
from dpdb.answers.record import AnswerRecord, Origin
from dpdb.answers.release_reports import margins_at_limits, origins, own_reports, promised_error
from dpdb.errors import display_width, folded, printable
from dpdb.ledger.protocol import FREE, Balance, QueryLimit
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.logical.query import DEVIATIONS, Function, Output
from dpdb.plan.physical.moments import Combination, Estimate, Moments
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import CONFIDENCE, at_once
from dpdb.plan.ranges.statistics import Ranks
from dpdb.policy.budget import Composition, Neighbors
from dpdb.policy.catalog import Kind, Policy
from dpdb.policy.numbers import decimal
from dpdb.privacy.accounting.composition import sequential
from dpdb.privacy.mechanisms.mechanism import (
    GridSelection,
    LimitSelection,
    SecretNoise,
    ValueSelection,
)

_FEW = 4
"""Digits of an ε that is spent."""
ROWS = (10_000, 1_000)
"""The numbers of rows for which an error is told that depends on their number."""
_WIDEST = 30
"""The most characters of a name beside its text; a text of a longer name is in the next line."""
_UNKNOWN = "± depends on the rows"
_DEPENDS = f"{_UNKNOWN}; it is smaller if many are near the value"
_VARIANCES = (Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP, Function.STDDEV_SAMP)


def summary(answer: AnswerRecord) -> tuple[tuple[str, str], ...]:
    """The names, each with its sentence."""
    assert answer.plan is not None
    rows = [
        (printable(output.label), accuracy(answer.plan, output, origin))
        for output, origin in zip(answer.plan.outputs, origins(answer.plan), strict=True)
        if origin is not Origin.KEY
    ]
    rows.append(("cost", _cost(answer)))
    if assumed := "; ".join(_assumed(answer)):
        rows.append(("assumes", assumed))
    return tuple(rows)


def named_lines(rows: Sequence[tuple[str, str]], columns: int | None) -> list[str]:
    """Names with a text beside each, folded into so many characters."""
    room = max([display_width(name) for name, _ in rows if display_width(name) <= _WIDEST]) + 2
    lines = []
    for name, text in rows:
        wide = display_width(name) > _WIDEST
        lines += [name] * wide
        lead = "" if wide else name
        space = " " * (room - display_width(lead))
        lines += folded(text, columns, lead + space, " " * room)
    return lines


def accuracy(plan: Plan, output: Output, origin: Origin) -> str:
    """The ± of a column at 95 %, in words."""
    if origin is Origin.EXACT:
        return "exact"
    if plan.derived is not None:
        return "± follows from those of the noisy answers it is computed from"
    if plan.awaits_bounds(output):
        what = "bounds, which are" if plan.sought and plan.sought.widest else "cap, which is"
        return f"± follows from the {what} found first"
    used = plan.released_for(output)
    mechanisms = [plan.releases[index].mechanism for index in used]
    for mechanism in mechanisms:
        if isinstance(mechanism, GridSelection):
            return "one-sided: some rows may lie beyond it"
        if isinstance(mechanism, LimitSelection):
            least, most = margins_at_limits(mechanism, plan.competing_rows)
            return f"± {least} to {most}, by the limit that is found"
    estimate = _estimate(plan, output)
    if estimate is None:
        return "± follows from those of its parts"
    if margin := _known_margin(plan, output, estimate):
        return f"± {margin}"
    if estimate.aggregate.function not in (Function.AVG, *_VARIANCES):
        chosen = any(isinstance(each, (ValueSelection, SecretNoise)) for each in mechanisms)
        return _DEPENDS if chosen else _UNKNOWN
    sizes = _margins_by_rows(plan, estimate)
    if not sizes:
        return _UNKNOWN
    evenly = ", spread evenly" if estimate.aggregate.function in DEVIATIONS else ""
    most = "about" if evenly else "at most about"
    [(rows, many), *fewer] = sizes
    where = "are in a group" if plan.keys else "match"
    known = f" if {rows:,} rows {where}{evenly}; {fewer[0][1]} if {fewer[0][0]:,}" if fewer else ""
    return f"± {most} {many}{known}"


def margins(answer: AnswerRecord) -> tuple[tuple[str, str], ...]:
    """The columns whose ± is known beforehand, and each ± in a few words."""
    if answer.plan is None:
        return () if answer.outline is None else answer.outline.margins
    told = [(output.label, brief_accuracy(answer.plan, output)) for output in answer.plan.outputs]
    return tuple((label, error) for label, error in told if error is not None)


def brief_accuracy(plan: Plan, output: Output) -> str | None:
    """The ± of a column in a few words, such as `± 3,000 of 10,000 rows`; None if not known."""
    estimate = _estimate(plan, output)
    if estimate is None:
        return None
    if margin := _known_margin(plan, output, estimate):
        return f"± {margin}"
    if estimate.aggregate.function not in (Function.AVG, *_VARIANCES):
        return None
    sizes = _margins_by_rows(plan, estimate)
    return next((f"± {margin} of {rows:,} rows" for rows, margin in sizes), None)


def _estimate(plan: Plan, output: Output) -> Estimate | None:
    """The estimate of a column that is a noisy aggregate, rather than an expression of some."""
    slot = output.expression
    if plan.derived is not None or not plan.has_noise(output) or plan.awaits_bounds(output):
        return None
    if not (isinstance(slot, Slot) and slot.role == "aggregate"):
        return None
    return plan.estimates[slot.index]


def _known_margin(plan: Plan, output: Output, estimate: Estimate) -> str | None:
    """The ± of a COUNT or SUM, of another column of one noisy value, or of a constant's mean."""
    grid, ratio = estimate.moments.grid, estimate.aggregate.function in (Function.AVG, *_VARIANCES)
    if ratio and grid is not None and grid.lower == grid.upper:
        return "0"
    statistics = [plan.releases[index].statistic for index in plan.released_for(output)]
    ranks = [each for each in statistics if isinstance(each, Ranks)]
    if ranks and all(each.grid.lower == each.grid.upper for each in ranks):
        return "0"
    promised = promised_error(plan, output)
    if promised is not None:
        if estimate.aggregate.kind is Kind.INTEGER:
            return f"{math.floor(promised):,}"
        return f"{promised:,.0f}" if promised >= 100 else f"{promised:.4g}"
    margins = [each.margin for each in own_reports(plan) if each.column == output.label]
    if len(margins) == 1 and margins[0] is not None:
        return _figure(margins[0], estimate)
    return None


def _margins_by_rows(plan: Plan, estimate: Estimate) -> list[tuple[int, str]]:
    """Numbers of rows, and the ± of a mean, variance or deviation of so many."""
    moments = estimate.moments
    if moments.count is None or moments.total is None or moments.grid is None:
        return []
    if not moments.count.weights:  # the number of rows is public
        numbers: tuple[int, ...] = (max(int(moments.count.constant), 1),)
    else:
        numbers = tuple(rows // 10 for rows in ROWS) if plan.keys else ROWS
    return [(rows, _figure(_error(plan, estimate, rows), estimate)) for rows in numbers]


def _error(plan: Plan, estimate: Estimate, rows: float) -> float:
    """The margin of the noise of a mean, variance or deviation of so many rows, to first order.

    By the delta method, for values y with mean m and variance v in grid steps: a mean moves by
    (Σy - m·n)/n, and a variance by (Σy² - 2m·Σy + (m² - v)·n)/n, where sums and n are their noise.
    That is largest at the bounds, or in the middle of them; for a deviation √v, values are taken
    to be spread evenly over the bounds.
    """
    from dpdb.answers.intervals.noise_tails import margin_of  # noqa: PLC0415 (numpy)

    moments, function = estimate.moments, estimate.aggregate.function
    assert moments.grid is not None
    grid, confidence = moments.grid, at_once(CONFIDENCE, plan.competing_rows)
    ends = Fraction(grid.lower - moments.centre), Fraction(grid.upper - moments.centre)
    middle, width = (ends[0] + ends[1]) / 2, ends[1] - ends[0]
    if function is Function.AVG:
        moved = [_mean(moments, end) for end in ends]
        step = grid.step
    elif function in DEVIATIONS:
        moved, step = [_variance(moments, middle, width**2 / 12)], grid.step
    else:
        cases = ((ends[0], Fraction(0)), (middle, width**2 / 4), (ends[1], Fraction(0)))
        moved = [_variance(moments, mean, variance) for mean, variance in cases]
        step = grid.step**2
    most = max(margin_of(each, plan, confidence) for each in moved) / rows
    if function in DEVIATIONS:  # √v moves by half of what v moves by, over √v
        most /= 2 * float(width) / 12**0.5
    return most * float(step)


def _mean(moments: Moments, mean: Fraction) -> Combination:
    assert moments.total is not None
    assert moments.count is not None
    return moments.total - moments.count * mean


def _variance(moments: Moments, mean: Fraction, variance: Fraction) -> Combination:
    assert moments.squares is not None
    assert moments.total is not None
    assert moments.count is not None
    moved = moments.squares - moments.total * (2 * mean)
    return moved + moments.count * (mean**2 - variance)


def _figure(value: float, estimate: Estimate) -> str:
    """A margin with two digits, of dates in days, of timestamps in a unit of time."""
    match estimate.aggregate.kind:
        case Kind.DATE:
            return f"{value:,.0f} days"
        case Kind.TIMESTAMP:
            return duration(round(value))
    if value == round(value) < 1000:
        return str(round(value))
    return f"{float(f'{value:.2g}'):,.10g}"


def _cost(answer: AnswerRecord) -> str:
    """The price, and the budget that is left before it is paid."""
    cost, balance = answer.would_cost or answer.cost, answer.balance
    if cost == FREE:
        price = "nothing: answered before" if answer.repeat else "nothing"
    else:
        price = f"{price_text(answer)} and {_queries(cost.queries)}"
    if answer.trial:
        return " · ".join((price, *cautions(answer)))
    left = f"ε {decimal(balance.epsilon_left, DIGITS)}{shortage(answer)}{paying(answer)}"
    private = "" if answer.private else f" · {NOT_PRIVATE}"
    return f"{price}, of {left} and {_queries(balance.queries_left)} left{private}"


def _queries(number: int) -> str:
    return "1 query" if number == 1 else f"{number} queries"


def _assumed(answer: AnswerRecord) -> Iterator[str]:
    """The assumptions: the rows of a person, and the values that are clamped."""
    assert answer.plan is not None
    if any(each.table.unit is None and not each.table.public for each in answer.plan.every_plan):
        yield "a person has one row"
    yield from (printable(note) for note in answer.bounding if note != NOISE_ALONE)


_COUNT_MARGINS = {False: math.log(20), True: 1.96}
"""The ± of a count at 95 %, times its ε: of Laplace noise, and of Gaussian if concentrated."""


def budget_summary(
    policy: Policy, balance: Balance, epsilon: Fraction | None, limits: Iterable[QueryLimit]
) -> tuple[tuple[str, str], ...]:
    """SHOW BUDGET for people: queries and ε left, the ± of a count, and how losses add up."""
    account = balance.own or balance
    queries = ", ".join(
        f"{each.asked} {each.name}" if each.most is None
        else f"{each.most - each.asked} of {each.most} {each.name}"
        for each in limits
    )  # fmt: skip
    share = balance.share
    private = [table for table in policy.tables if not table.public]
    caps = {math.inf if t.finds_cap else 1 if t.unit is None else t.rows_per_unit for t in private}
    count, most = "", max(caps, default=math.inf)
    told = len(caps) == 1 and most < math.inf and balance.queries_left
    if told and policy.neighbors is Neighbors.ADD_REMOVE:
        margin = _COUNT_MARGINS[share.concentrated] * most / float(epsilon or share.epsilon)
        count = f"; each COUNT(*) about ± {float(f'{margin:.2g}'):,.10g}"
    spent = f"{decimal(account.epsilon_spent, _FEW)} of {decimal(account.budget.epsilon)} spent"
    if balance.is_short_of_own:
        spent += f", and {decimal(balance.epsilon_left, _FEW)} left of the whole budget"
    lines = [("left", f"{queries}{count}"), ("epsilon", spent)]
    budget, pure = balance.budget, balance.budget.composition is Composition.PURE
    if budget.delta:
        kept = f"{decimal(budget.delta)}, reserved for the whole session"
        each = f"{decimal(balance.delta_spent, _FEW)} of {decimal(budget.delta)} spent"
        lines.append(("delta", each if pure else kept))
    if not pure:
        theorem, summed = THEOREMS[balance.theorem()], decimal(sequential(balance.sums), _FEW)
        lines.append(("counted by", f"{theorem} (the sum of epsilons is {summed})"))
    return tuple(lines)
