"""The report on an attack as data, which every renderer shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpdb import __version__
from dpdb.answers.answer import Answer
from dpdb.answers.record import Cell, CellInterval
from dpdb.lab.attack import Task
from dpdb.lab.plots.figures import Figure
from dpdb.lab.transcript import Exchange, Showing
from dpdb.lab.trial import Rate, Trials

SHOWN_FIRST = 2
"""How many exchanges are shown from the beginning; the last one follows them."""


@dataclass(frozen=True)
class Line:
    """A statement and its answer, both as text."""

    sql: str
    answer: str
    refused: bool


@dataclass(frozen=True)
class Act:
    """One run of the attack against one defence."""

    defence: str
    side: str
    note: str
    lines: tuple[Line, ...]
    omitted: int
    """How many exchanges are left out before the last of the lines."""
    inference: str
    guess: str
    truth: str
    hits: int
    tries: int

    @property
    def verdict(self) -> str:
        """Whether the guess was right, in words."""
        if self.tries > 1:
            return f"{self.hits} of {self.tries} right"
        return "right" if self.hits else "wrong"


@dataclass(frozen=True)
class Success:
    """A bar of the chart: how often the attack succeeded."""

    defence: str
    side: str
    epsilon: float | None
    hits: int
    tries: int
    rate: float
    low: float
    high: float
    ceiling: float | None

    @property
    def broken(self) -> bool:
        """Whether the defence claims an ε that this rate belies."""
        return self.ceiling is not None and self.low > self.ceiling


@dataclass(frozen=True)
class Report:
    """The story of one attack, its runs and its success rates."""

    name: str
    title: str
    source: str
    secret: str
    idea: str
    acts: tuple[Act, ...]
    trials: int
    seed: int
    successes: tuple[Success, ...]
    baseline: float | None
    figures: tuple[Figure, ...]
    remedy: str
    tasks: tuple[Task, ...]
    version: str = __version__


def counted(report: Report) -> str:
    """The number of trials and guesses, in words."""
    guesses = report.successes[0].tries
    trials = "1 trial" if report.trials == 1 else f"{report.trials} trials"
    return trials if guesses == report.trials else f"{trials}, {guesses} guesses"


def report_of(trials: Trials) -> Report:
    """The report of an attack's trials."""
    attack = trials.attack
    return Report(
        name=attack.name,
        title=attack.title,
        source=attack.source,
        secret=attack.secret,
        idea=attack.idea,
        acts=tuple(map(_act, trials.showings)),
        trials=trials.number,
        seed=trials.seed,
        successes=tuple(map(_success, trials.rates)),
        baseline=attack.baseline,
        figures=tuple(attack.figures(trials.showings)),
        remedy=attack.remedy,
        tasks=attack.tasks,
    )


def as_object(report: Report) -> dict[str, Any]:
    """The report in the types of JSON."""
    plain = dataclasses.asdict(report)
    for success, source in zip(plain["successes"], report.successes, strict=True):
        success["ceiling_broken"] = source.broken
    return plain


def _act(showing: Showing) -> Act:
    shown = list(showing.exchanges)
    omitted = 0
    if len(shown) > SHOWN_FIRST + 1:
        omitted = len(shown) - SHOWN_FIRST - 1
        shown = [*shown[:SHOWN_FIRST], shown[-1]]
    return Act(
        defence=showing.defence.label,
        side=showing.defence.side,
        note=showing.defence.note,
        lines=tuple(map(_line, shown)),
        omitted=omitted,
        inference=showing.guess.because,
        guess=_text(showing.guess.value),
        truth=_text(showing.truth),
        hits=showing.hits,
        tries=showing.tries,
    )


def _success(rate: Rate) -> Success:
    return Success(
        defence=rate.defence.label,
        side=rate.defence.side,
        epsilon=rate.defence.epsilon,
        hits=rate.hits,
        tries=rate.tries,
        rate=rate.rate,
        low=rate.low,
        high=rate.high,
        ceiling=rate.ceiling,
    )


def _line(exchange: Exchange) -> Line:
    if exchange.answer is None:
        return Line(exchange.sql, exchange.refusal or "refused", refused=True)
    return Line(exchange.sql, _answer(exchange.answer), refused=False)


def _answer(answer: Answer) -> str:
    """The cells of an answer, row after row, with their margins; and noise scales if revealed."""
    intervals = answer.intervals or tuple((None,) * len(row) for row in answer.rows)
    rows = [
        " ".join(_cell(cell, span) for cell, span in zip(row, spans, strict=True))
        for row, spans in zip(answer.rows, intervals, strict=True)
    ]
    notes = [f"b = {_number(shown.scale)}" for shown in answer.revealed]
    notes += ["answered before"] if answer.repeat else []
    text = ", ".join(rows[:8]) + (f", … {len(rows) - 8} more" if len(rows) > 8 else "")
    return text + (f"  ({', '.join(notes)})" if notes else "")


def _cell(cell: Cell, span: CellInterval) -> str:
    match cell, span:
        case (int() | float(), (int() | float() as low, int() | float() as high)):
            return f"{_number(cell)} ± {_number(max(high - cell, cell - low))}"
        case (int() | float(), _) if not isinstance(cell, bool):
            return _number(cell)
    return "NULL" if cell is None else str(cell)


def _number(value: float) -> str:
    if value == int(value):
        return str(int(value))
    return f"{value:.4f}" if abs(value) < 1 else f"{value:.10g}"


def _text(value: object) -> str:
    """A guess or a truth as text; long lists are not for reading."""
    match value:
        case True:
            return "yes"
        case False:
            return "no"
        case str() | int() | float():
            return str(value)
        case Sequence() if len(value) > 8:
            return " ".join(map(_text, value[:8])) + " …"
        case Sequence():
            return " ".join(map(_text, value))
    return str(value)
