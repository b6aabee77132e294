"""The report on an attack as data, which every renderer shows."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dpdb import __version__
from dpdb.answers.answer import Answer
from dpdb.answers.record import Cell, CellInterval
from dpdb.lab.attack import Showing, StudentTask
from dpdb.lab.database import Defence, Side
from dpdb.lab.figures import Bar, Bars, Figure, Lines
from dpdb.lab.trial import Known, Point, Rate, Trials
from dpdb.records import dataclass

_COLOURS = {Side.OFF: ("s0",), Side.FOIL: ("s2", "soft"), Side.PRIVATE: ("s1", "s3", "s4", "soft")}
"""The colours of defences: red, amber, blue and others; where they do not suffice they recur."""
HEADINGS = {"off": "Without privacy", "foil": "With another defence:", "private": "With privacy,"}
"""Headings of the runs, by the side of the defence."""
SHOWN_FIRST = 2
"""Number of exchanges shown from the beginning; the last exchange follows."""


@dataclass(frozen=True)
class ReportLine:
    """A statement and its answer, both as text."""

    sql: str
    answer: str
    refused: bool


@dataclass(frozen=True)
class Act:
    """A run of the attack against a defence."""

    defence: str
    side: str
    colour: str
    """Its name in the palette, the same in all charts."""
    note: str
    lines: tuple[ReportLine, ...]
    omitted: int
    """Number of exchanges left out before the last of the lines."""
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
class Success(Bar):
    """A bar of the chart, and where its rate comes from."""

    side: str
    epsilon: float | None
    known: str
    """`exact`, `model` or `runs`: worked out, or counted in trials of a model or in runs."""
    hits: int | None
    tries: int | None


@dataclass(frozen=True)
class Report:
    """The story of one attack, its runs and its success rates."""

    name: str
    notice: str
    """Who may see it; everybody, if it is empty."""
    title: str
    source: str
    secret: str
    idea: str
    acts: tuple[Act, ...]
    trials: int | None
    """The number of runs that were counted; None where rates are as exact as they can be."""
    seed: int
    successes: tuple[Success, ...]
    baseline: float | None
    figures: tuple[Figure, ...]
    remedy: str
    tasks: tuple[StudentTask, ...]
    honest: str = ""
    """The question whose error the curve shows."""
    curve: tuple[Point, ...] = ()
    version: str = __version__


def counted(report: Report) -> str:
    """The source of the rates in words: worked out, or counted in so many guesses."""
    models = {s.tries: "a model" for s in report.successes if s.known == Known.MODEL}
    runs = {s.tries: "the database" for s in report.successes if s.known == Known.RUNS}
    parts = [
        f"{tries:,} guesses against {what}" for tries, what in (models | runs).items() if tries
    ]
    if parts:
        parts[-1] += f", seed {report.seed}, with 95 % intervals"
    if any(success.known == Known.EXACT for success in report.successes):
        parts.insert(0, "worked out from the noise")
    return "; ".join(parts)


def report_of(trials: Trials, curve: tuple[Point, ...] = ()) -> Report:
    """The report of an attack's trials."""
    attack = trials.attack
    colours = _colours([rate.defence for rate in trials.rates])
    return Report(
        name=attack.name,
        notice=attack.notice,
        title=attack.title,
        source=attack.source,
        secret=attack.secret,
        idea=attack.idea,
        acts=tuple(_act(showing, colours) for showing in trials.showings),
        trials=trials.number,
        seed=trials.seed,
        successes=tuple(_success(rate, colours) for rate in trials.rates),
        baseline=attack.baseline,
        figures=tuple(_coloured(each, colours) for each in attack.figures(trials.showings)),
        remedy=attack.remedy,
        tasks=attack.tasks,
        honest=attack.honest,
        curve=curve,
    )


def _colours(defences: Sequence[Defence]) -> dict[str, str]:
    """A colour for each defence, by its label."""
    left = {side: itertools.cycle(names) for side, names in _COLOURS.items()}
    return {defence.label: next(left[defence.side]) for defence in defences}


def _coloured(figure: Figure, colours: dict[str, str]) -> Figure:
    """A figure whose lines have the colours of the defences that they are labelled with."""
    if not isinstance(figure, Lines):
        return figure
    series = [replace(line, colour=colours.get(line.label)) for line in figure.series]
    return replace(figure, series=series)


def as_object(report: Report) -> dict[str, Any]:
    """The report in the types of JSON."""
    plain = dataclasses.asdict(report)
    for success, source in zip(plain["successes"], report.successes, strict=True):
        success["ceiling_broken"] = source.broken
    return plain


def _act(showing: Showing, colours: dict[str, str]) -> Act:
    shown = list(showing.exchanges)
    omitted = 0
    if len(shown) > SHOWN_FIRST + 1:
        omitted = len(shown) - SHOWN_FIRST - 1
        shown = [*shown[:SHOWN_FIRST], shown[-1]]
    return Act(
        defence=showing.defence.label,
        side=showing.defence.side,
        colour=colours[showing.defence.label],
        note=showing.defence.note,
        lines=tuple(
            ReportLine(each.sql, each.refusal or "refused", refused=True)
            if each.answer is None
            else ReportLine(each.sql, _answer(each.answer), refused=False)
            for each in shown
        ),
        omitted=omitted,
        inference=showing.guess.because,
        guess=_text(showing.guess.value),
        truth=_text(showing.truth),
        hits=showing.hits,
        tries=showing.tries,
    )


def _success(rate: Rate, colours: dict[str, str]) -> Success:
    return Success(
        defence=rate.defence.label,
        side=rate.defence.side,
        colour=colours[rate.defence.label],
        known=rate.known,
        epsilon=rate.defence.epsilon,
        hits=rate.hits,
        tries=rate.tries,
        rate=rate.rate,
        low=rate.low,
        high=rate.high,
        ceiling=rate.ceiling,
    )


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


def rates(report: Report) -> Bars:
    """Bars of success rates with their 95 % intervals and ceilings, and the rate of guessing."""
    return Bars(f"Success rates of {report.title}", report.successes, report.baseline)
