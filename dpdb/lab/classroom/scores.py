"""The scores of a class: each file's attack is played; table, CSV and pages of the rates."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from dpdb.answers.formats.render import RULED, grid, spreadsheet
from dpdb.errors import DpdbError, error_text, printable
from dpdb.lab.attack import Attack, Showing
from dpdb.lab.classroom.attack_file import opened
from dpdb.lab.classroom.box import StudentFile, end_all
from dpdb.lab.database import Protected
from dpdb.lab.pages import html
from dpdb.lab.pages.report import Report, Success, report_of
from dpdb.lab.trial import Trials, run_trials
from dpdb.records import dataclass

AT_A_TIME = 2
"""Files that are played at the same time."""


@dataclass(frozen=True)
class Rules:
    """Rules for all files of a class."""

    task: Attack | None
    """The attack whose data and secret all files are played on; None if each brings its own."""
    epsilons: Sequence[float]
    trials: int
    seconds: int
    """The time that each file has."""
    seed: int


@dataclass(frozen=True)
class Score:
    """The result of a student's file."""

    student: str
    report: Report | None
    """None if the file could not be played to its end."""
    spent: tuple[float, ...]
    """For each success rate of the report the ε that was used up in the first run."""
    error: str = ""


def class_scores(
    paths: Sequence[Path], rules: Rules, progress: Callable[[int], None]
) -> list[Score]:
    """A score for each file, in their order; `progress` is told how many are done."""
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        played = [threads.submit(score, path, rules) for path in paths]
        try:
            for done, _ in enumerate(as_completed(played), 1):
                progress(done)
        except KeyboardInterrupt:
            threads.shutdown(wait=False, cancel_futures=True)
            # A file that is just being opened starts a process after the others have ended.
            while not all(each.done() for each in played):
                end_all()
                time.sleep(0.1)
            raise
        return [each.result() for each in played]


def score(path: Path, rules: Rules) -> Score:
    """The score of one file.

    Every defence has secrets of its own: an attack that remembers what it found out from exact
    answers knows nothing of the next secret.
    """
    try:
        with opened(StudentFile.read(path), rules.seconds, task=rules.task) as attack:
            defences = (attack.off, *(Protected(e, attack.queries) for e in rules.epsilons))
            each = [
                run_trials(attack, (defence,), rules.trials, rules.seed + place)
                for place, defence in enumerate(defences)
            ]
    except DpdbError as error:
        return Score(path.stem, None, (), error_text("", error).removeprefix("error: "))
    except Exception as error:
        # Somebody's file has found a fault in the lab: that is no reason to stop for the others.
        return Score(path.stem, None, (), f"{path.name}: {type(error).__name__} in the lab")
    showings = tuple(trials.showings[0] for trials in each)
    rates = tuple(trials.rates[0] for trials in each)
    trials = Trials(attack, rules.trials, rules.seed, showings, rates)
    return Score(path.stem, report_of(trials), tuple(map(_spent, showings)))


def _spent(showing: Showing) -> float:
    """The ε that a run has used up, by its last answer."""
    for exchange in reversed(showing.exchanges):
        if exchange.answer is not None:
            balance = exchange.answer.balance
            return float(balance.budget.epsilon - balance.epsilon_left)
    return 0.0


HEADS = ("student", "ε", "right", "success", "95 % interval", "ceiling", "ε used")
CSV_HEADS = ("student", "defence", "epsilon", "hits", "tries", "rate", "low", "high", "ceiling",
             "epsilon_used", "error")  # fmt: skip
ABOVE = "✘ above the ceiling: more than asking can tell; look at the file"


def as_table(scores: Sequence[Score]) -> str:
    """A line for each student and ε; below them, the errors and what looks too good."""
    rows = [
        [printable(score.student), *_figures(success, spent)]
        for score in scores
        for success, spent in _successes(score)
    ]
    columns = list(zip(*rows, strict=True))
    parts = [grid(HEADS, columns, RULED, [False] * len(HEADS))] if rows else []
    failed = (score.error.split("\n") for score in scores if score.error)
    parts += ["\n  ".join(map(printable, lines)) for lines in failed]
    parts += [
        f"{printable(score.student)}, {success.defence}: {ABOVE}"
        for score in scores
        for success, _ in _successes(score)
        if success.broken
    ]
    return "\n\n".join(parts) + "\n"


def as_csv(scores: Sequence[Score]) -> str:
    """A row for each student and defence, or one with the error."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADS)
    for score in scores:
        student = spreadsheet(printable(score.student))
        for s, spent in _successes(score):
            figures = (s.hits, s.tries, s.rate, s.low, s.high, s.ceiling)
            claimed = (s.defence, s.epsilon)
            writer.writerow((student, *claimed, *figures, None if s.epsilon is None else spent, ""))
        if score.error:
            error = spreadsheet(printable(" ".join(score.error.split())))
            writer.writerow((student, *[""] * (len(CSV_HEADS) - 2), error))
    return text.getvalue()


def pages(scores: Sequence[Score]) -> Iterator[tuple[str, str]]:
    """The name of each page with its text: one for each student, and the index of all."""
    played = [score.student for score in scores if score.report]
    for score in scores:
        if score.report:
            yield f"{score.student}.html", html.page(score.report, played)
        else:
            yield f"{score.student}.html", html.rendered("failed.html", score=score)
    listed = [(score, list(_successes(score))) for score in scores]
    yield "index.html", html.rendered("class.html", scores=listed)


def _successes(score: Score) -> Iterator[tuple[Success, float]]:
    if score.report:
        yield from zip(score.report.successes, score.spent, strict=True)


def _figures(success: Success, spent: float) -> list[str]:
    private = success.epsilon is not None
    return [
        f"{success.epsilon:g}" if private else "off",
        f"{success.hits} of {success.tries}",
        f"{success.rate:.1%}",
        f"{success.low:.1%} – {success.high:.1%}",
        "" if success.ceiling is None else f"{success.ceiling:.1%}",
        f"{spent:g}" if private else "",
    ]
