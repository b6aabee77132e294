"""The scores of a class: each file's attack is played, and those that fail say why."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from dpdb.errors import DpdbError, error_text
from dpdb.lab.attack import Attack
from dpdb.lab.classroom.attack_file import opened
from dpdb.lab.classroom.process import end_all
from dpdb.lab.defences import Protected
from dpdb.lab.pages.report import Report, report_of
from dpdb.lab.transcript import Showing
from dpdb.lab.trial import Trials, run_trials
from dpdb.records import dataclass

AT_A_TIME = 2
"""Files that are played at the same time."""


@dataclass(frozen=True)
class Rules:
    """What is the same for all files of a class."""

    task: Attack | None
    """The attack whose data and secret all files are played on; None if each brings its own."""
    epsilons: Sequence[float]
    trials: int
    seconds: int
    """The time that each file has."""
    seed: int


@dataclass(frozen=True)
class Score:
    """What became of one student's file."""

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
        with opened(path, rules.seconds, task=rules.task) as attack:
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
