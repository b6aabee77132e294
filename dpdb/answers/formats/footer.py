"""The lines below an answer: its relative error, its price and the budget left."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpdb.answers.formats.sheet import margin
from dpdb.answers.record import AnswerRecord
from dpdb.errors import printable
from dpdb.ledger.protocol import FREE
from dpdb.policy.budget import Composition
from dpdb.policy.numbers import decimal
from dpdb.privacy.accounting.composition import Theorem

DIGITS = 6
"""The significant digits of the ε paid and left; a theorem's ε can have any number."""

NOT_PRIVATE = "not private"
TRIAL = "trial: made-up rows, nothing of the data"
"""The line above and below the answers of a trial."""
LEFT_OF_ALL = "all that is left of the whole budget"
"""Added to the budget left, if the whole budget has less left than an analyst's own limit."""
THEOREMS = {Theorem.SEQUENTIAL: "the sum of ε", Theorem.CONCENTRATED: "zcdp"}
"""Short names of the theorems that can pay."""


def cautions(answer: AnswerRecord) -> tuple[str, ...]:
    """The words that no title of a chart of the answer may lack."""
    told = {NOT_PRIVATE: not answer.private, TRIAL: answer.trial}
    return tuple(words for words, holds in told.items() if holds)


def footer(answer: AnswerRecord) -> str:
    """The lines below an answer; of statements other than queries the notes alone."""
    if not answer.query:
        return "".join(f"\n{printable(note)}" for note in answer.notes)
    notes = (*answer.notes, *(note for note in answer.bounding if note not in answer.told))
    lines = [*revealed(answer), *_accuracy(answer), *map(printable, notes), _paid(answer)]
    return "".join(f"\n{line}" for line in lines)


def price_text(answer: AnswerRecord) -> str:
    """The price of an answer; of a trial's, the price that it would have."""
    cost = answer.would_cost or answer.cost
    spent = f"ε {decimal(cost.epsilon, DIGITS)}"
    return f"{spent}, δ {decimal(cost.delta, DIGITS)}" if cost.delta else spent


def _paid(answer: AnswerRecord) -> str:
    cost, balance = answer.would_cost or answer.cost, answer.balance
    spent = price_text(answer)
    if answer.explain or answer.trial:
        before = ": answered before" if answer.repeat else ""
        paid = f"would cost nothing{before}" if cost == FREE else f"would cost {spent}"
    else:
        paid = "repeated: free" if answer.repeat else f"spent {spent}"
    if answer.trial:
        return " · ".join((paid, *cautions(answer)))
    budget = balance.budget
    left = (
        f"left: ε {decimal(balance.epsilon_left, DIGITS)} of {decimal(budget.epsilon)}"
        f"{shortage(answer)}{paying(answer)}, {balance.queries_left} of {budget.queries} queries"
    )
    return f"{paid} · {left}{'' if answer.private else f' · {NOT_PRIVATE}'}"


def paying(answer: AnswerRecord) -> str:
    """` by zcdp` and the like: the theorem by which queries add up, if it is not just the sum."""
    pure = answer.balance.budget.composition is Composition.PURE
    return "" if pure else f" by {THEOREMS[answer.theorem]}"


def shortage(answer: AnswerRecord) -> str:
    """A remark if the whole budget has less left than the analyst's own limit."""
    return f" ({LEFT_OF_ALL})" if answer.balance.is_short_of_own else ""


def _accuracy(answer: AnswerRecord) -> Iterator[str]:
    """The relative error that the noise may make: a line on all the numbers of the answer.

    The error is that of [STW] equation 5 with the noisy answer in place of the true one, so that
    it comes from noisy values alone.
    """
    noisy = [
        (reach, abs(cell))
        for column in answer.cells
        if column.accuracy is not None
        for cell, interval in zip(column.cells, column.intervals, strict=True)
        if isinstance(cell, int | float) and (reach := margin(cell, interval)) is not None
    ]
    errors = [reach / size for reach, size in noisy if size and reach <= size / 2]
    over = len(noisy) - len(errors)
    if len(noisy) == 1:
        ((reach, size),) = noisy
        share = f"{_percent(reach / size)} of" if size else "larger than the answer,"
        yield f"±{_figure(reach)} is {share} {_figure(size)}"
    elif over:
        what = "rows" if len(noisy) == len(answer.cells[0].cells) else "numbers"
        yield f"{over} of {len(noisy)} {what}: ± is more than half of the answer"
        if over > len(errors):
            yield "larger groups or narrower bounds have less noise: .help less-noise"
    elif errors:
        low, high = _percent(min(errors)), _percent(max(errors))
        yield (
            f"± is {low} of the answers" if low == high else f"± is {low} to {high} of the answers"
        )


def _figure(value: float) -> str:
    """A number as a whole number from 100 on, and with four digits below that."""
    return f"{value:.0f}" if value >= 100 else f"{value:.4g}"


def _percent(share: float) -> str:
    """A share in percent, with two digits; from 10 % on, whole."""
    percent = 100 * share
    if percent >= 9.95 or not percent:
        return f"{percent:.0f} %"
    return f"{percent:.{1 - math.floor(math.log10(percent))}f}".rstrip("0").rstrip(".") + " %"


def revealed(answer: AnswerRecord) -> Iterator[str]:
    """The exact statistics and noise scales, as [EGS] print them."""
    for shown in answer.revealed:
        yield f"# stat={_whole(shown.stat)} b={_whole(shown.scale)}"


def _whole(value: float) -> str:
    """A number rounded half away from zero to a whole one; below 100, to two decimals."""
    if abs(value) < 100 and value != round(value):
        return f"{value:.2f}"
    return str(int(math.copysign(math.floor(abs(value) + 0.5), value)))
