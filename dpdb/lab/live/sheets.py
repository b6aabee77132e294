"""Sheets in the browser: the questions of an attack's page, and a quiz with other numbers for each.

Numbers are marked. Texts are kept for the teacher, beside the solution.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence

import numpy as np

from dpdb.answers.formats.render import spreadsheet
from dpdb.errors import printable
from dpdb.lab.attack import PROTECTED_AT
from dpdb.lab.catalogue import find
from dpdb.lab.live.parts import Event, Seat, Sheet
from dpdb.lab.live.state import State
from dpdb.records import dataclass

QUIZ = "quiz"
LONGEST_ANSWER = 2000
PATIENCE = 300.0
"""Seconds without a change after which a student may be stuck."""
_THOUSANDS = re.compile(r"\d{1,3}([.,]\d{3})+")
TRIES = 3
"""The checks of a number that is wrong, after which a student may be stuck."""


@dataclass(frozen=True)
class Question:
    """A question, with its solution."""

    text: str
    solution: str
    key: float | None = None
    """The number that is right; None for a text."""
    within: float = 0.0
    """The distance from `key` that is right, too: roundings."""

    def is_right(self, answer: str) -> bool:
        """Whether a text writes the number, with a point or a comma, in per cent or not.

        Where a point or a comma can stand before thousands, either reading may be right.
        """
        text = "".join(answer.split()).removesuffix("%")
        whole = re.sub("[.,]", "", text) if _THOUSANDS.fullmatch(text) else text
        return any(map(self._is_near, (text.replace(",", "."), whole)))

    def _is_near(self, text: str) -> bool:
        try:
            return self.key is not None and abs(float(text) - self.key) <= self.within
        except ValueError:
            return False


@dataclass(frozen=True)
class Progress:
    """The state of a student's sheet, for the teacher."""

    seat: Seat
    answered: int
    right: int
    handed: bool
    stuck: str
    """Why the student may be stuck; empty if nothing says so."""


def questions(sheet: str, seed: int, seat: int) -> Sequence[Question]:
    """The questions of a sheet for a seat."""
    if sheet == QUIZ:
        return _quiz(np.random.default_rng([seed, seat, 10]))
    attack = find(sheet)
    found = [Question("What would you ask? Write it down before you read on.", attack.idea)]
    if attack.baseline is not None:
        blind = "How often is a guess without any answer right, in per cent?"
        found.append(_percent(blind, attack.baseline))
        for epsilon in PROTECTED_AT:
            ceiling = attack.ceiling(epsilon)
            assert ceiling is not None
            text = f"How often is any attack right at most at ε = {epsilon:g}, in per cent?"
            found.append(_percent(text, ceiling))
    found.append(Question("What stopped the attack, or why did nothing stop it?", attack.remedy))
    return found + [Question(t.question, t.solution, t.answer, t.near) for t in attack.tasks]


def marks(asked: Sequence[Question], answers: dict[str, str]) -> dict[str, bool]:
    """For each number that was answered, whether it is right."""
    return {
        str(number): each.is_right(answers[str(number)])
        for number, each in enumerate(asked)
        if each.key is not None and answers.get(str(number), "").strip()
    }


def event(state: State, seat: Seat, fields: dict[str, str], *, checked: bool) -> Event:
    """The event of a form: answers, and marks where they are asked for."""
    asked = questions(state.sheet, state.seed, seat.number)
    answers = {
        str(number): fields.get(f"q{number}", "")[:LONGEST_ANSWER].replace("\r\n", "\n")
        for number in range(len(asked))
    }
    told = {"seat": seat.number, "sheet": state.sheet, "answers": answers}
    return told | ({"marks": marks(asked, answers)} if checked else {})


def progress(state: State, now: float) -> list[Progress]:
    """The progress of each student."""
    found = []
    for seat in state.present:
        sheet = state.sheet_of(seat.number)
        tired = [int(n) + 1 for n, tries in sheet.wrong.items() if tries >= TRIES]
        stuck = f"question {', '.join(map(str, tired))}" if tired else ""
        since = max(sheet.at, state.sheet_at)
        if not (stuck or sheet.handed) and now - since > PATIENCE:
            stuck = f"no change for {(now - since) // 60:.0f} min"
        answered = sum(bool(text.strip()) for text in sheet.answers.values())
        right = sum(sheet.marks.values())
        found.append(Progress(seat, answered, right, sheet.handed, "" if sheet.handed else stuck))
    return found


def as_csv(state: State) -> str:
    """Each answer with its mark and the key or solution."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("student", "handed_in", "number", "question", "answer", "right", "key"))
    for seat in state.present:
        sheet: Sheet = state.sheet_of(seat.number)
        asked = questions(state.sheet, state.seed, seat.number)
        right = marks(asked, sheet.answers)
        for number, each in enumerate(asked):
            answer = sheet.answers.get(str(number), "")
            texts = (seat.name, sheet.handed, number + 1, each.text, answer,
                     right.get(str(number), ""), each.solution)  # fmt: skip
            writer.writerow([spreadsheet(printable(str(cell))) for cell in texts])
    return text.getvalue()


def _percent(text: str, rate: float) -> Question:
    return Question(text, f"{rate:.1%}", 100 * rate, 0.5)


def _number(text: str, key: float) -> Question:
    """A question with a number, which may be rounded by 1 %."""
    return Question(text, f"{key:.4g}", key, max(abs(key) / 100, 1e-9))


def _quiz(rng: np.random.Generator) -> list[Question]:
    """Ten questions from the lesson."""

    def one_of(*values: float) -> float:
        return float(rng.choice(values))

    def whole(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    half, small = (one_of(0.1, 0.5, 1, 2, 3, 5) for _ in range(2))
    each, many = one_of(0.02, 0.05, 0.1, 0.2), whole(3, 12)
    fine, wide, share = (one_of(0.1, 0.2, 0.25, 0.5, 2, 4) for _ in range(3))
    oldest, parts, sum_of, age = 5 * whole(12, 20), whole(2, 9), whole(9000, 12000), whole(18, 65)
    seats, worlds, more = 2 * whole(8, 20), whole(3, 9), whole(3, 9)
    return [
        _percent(f"An answer keeps ε = {half:g}. Before it, it was as likely as not that you are "
                 "in the file. How often is a guess right at most after it, in per cent?",
                 1 / (1 + math.exp(-half))),
        _number(f"{many} answers keep ε = {each:g} each. Which ε do they keep together?",
                many * each),
        _number(f"A count keeps ε = {fine:g}. What is the scale of its noise?", 1 / fine),
        _number(f"A count keeps ε = {wide:g}. How far is it off at most in 95 of 100 cases? "
                "The natural logarithm of 20 is 2.996.", math.log(20) / wide),
        _number(f"Ages are declared from 0 to {oldest}, and a person may come or go. What is the "
                f"scale of the noise of a sum of ages at ε = {share:g}?", oldest / share),
        _number(f"A budget of ε = {share:g} is divided over {parts} counts. What is the scale of "
                "the noise of each?", parts / share),
        _number(f"SUM(age) is exactly {sum_of}, and without Abel Woods {sum_of - age}. How old "
                "is he?", age),
        _number(f"A room has {seats} secret bits. How many does tossing coins get right on "
                "average?", seats / 2),
        _percent(f"A secret is one of {worlds}, all as likely. How often is a guess without any "
                 "answer right, in per cent?", 1 / worlds),
        _percent(f"A secret is one of {more}, all as likely. How often is a guess right at most at "
                 f"ε = {small:g}, in per cent?", 1 / (1 + (more - 1) * math.exp(-small))),
    ]  # fmt: skip
