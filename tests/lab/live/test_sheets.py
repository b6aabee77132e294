"""Sheets: answers that are kept, numbers that are marked, who is stuck, and the quiz."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

import pytest

from dpdb.lab.catalogue import catalogue
from dpdb.lab.live import sheets
from dpdb.lab.live.sheets import PATIENCE, QUIZ, questions
from tests.lab.live.taught import Taught

KEYS = (
    lambda e: 100 / (1 + math.exp(-e)),
    lambda n, e: n * e,
    lambda e: 1 / e,
    lambda e, *_: math.log(20) / e,
    lambda _, oldest, e: oldest / e,
    lambda e, n: n * (1 / e),
    lambda whole, rest: whole - rest,
    lambda n: n / 2,
    lambda m, *_: 100 / m,
    lambda m, e: 100 * math.exp(e) / (math.exp(e) + m - 1),
)
"""The keys of the ten questions, from the numbers that stand in their texts."""


def keys(asked: list[str]) -> list[float]:
    """The right answers to a quiz, as a student works them out."""
    numbers = [[float(each) for each in re.findall(r"\d+(?:\.\d+)?", text)] for text in asked]
    return [key(*found) for key, found in zip(KEYS, numbers, strict=True)]


def test_the_quiz_has_other_numbers_for_each_and_a_key() -> None:
    seen = set()
    for seat in range(1, 31):
        asked = questions(QUIZ, 2026, seat)
        seen.add(tuple(each.text for each in asked))
        for question, key in zip(asked, keys([each.text for each in asked]), strict=True):
            assert question.key == pytest.approx(key)
            assert question.is_right(f" {key:.4g} %".replace(".", ","))
            assert not question.is_right(f"{1.03 * key + 0.6:.4g}")
    assert len(seen) == 30
    assert questions(QUIZ, 2026, 1) == questions(QUIZ, 2026, 1)


def test_every_attack_has_a_sheet_and_marks_only_numbers() -> None:
    for name, attack in catalogue().items():
        asked = questions(name, 1, 1)
        assert [each.text for each in asked][-len(attack.tasks) :] == [
            t.question for t in attack.tasks
        ]
        if attack.worlds is not None:
            assert asked[1].is_right(f"{100 / attack.worlds:.1f}")
        marked = sheets.marks(asked, {str(n): "nonsense" for n in range(len(asked))})
        assert set(marked.values()) <= {False}
        numbers = [task for task in attack.tasks if task.answer is not None]
        assert len(marked) == (4 if attack.worlds else 0) + len(numbers)
        for task in numbers:
            [own] = [each for each in asked if each.text == task.question]
            assert own.is_right(f"{task.answer:.2f}")


@pytest.mark.parametrize("text", ["500,000", "500.000", "500 000", "500000.4"])
def test_thousands_may_be_set_apart(text: str) -> None:
    asked = questions("randomised-response", 1, 1)
    assert [each.is_right(text) for each in asked].count(True) == 1


def test_answers_are_kept_checked_and_handed_in(tmp_path: Path) -> None:
    with Taught(tmp_path) as served:
        _, ada = served.join("Ada")
        _, bob = served.join("Bob")
        served.teach("show:sheet")
        assert "Look at the projector" in served.get("/", ada).text
        assert served.get("/sheet.csv", served.get(served.teacher).cookie).status == 404
        served.teach("sheet", sheet="membership")
        form = {"sheet": "membership", "q0": "<b>", "q1": "50", "q2": "99"}
        assert served.post("/seat", form | {"do": "keep"}, ada).status == 303
        page = served.get("/", ada).text
        assert "&lt;b&gt;" in page
        assert "✓ right" not in page
        for _ in range(3):
            served.post("/seat", form | {"do": "check"}, ada)
        page = served.get("/", ada).text
        assert ("✓ right" in page, "✘ not yet" in page, "Solution" in page) == (True, True, False)
        state = served.file.state
        told = {each.seat.name: each for each in sheets.progress(state, state.sheet_at)}
        assert (told["Ada"].answered, told["Ada"].right, told["Ada"].stuck) == (3, 1, "question 3")
        assert told["Bob"].stuck == ""
        later = sheets.progress(state, state.sheet_at + PATIENCE + 60)[1]
        assert later.stuck == "no change for 6 min"
        assert served.post("/seat", form | {"do": "hand", "sheet": QUIZ}, bob).status == 400
        served.post("/seat", form | {"do": "hand"}, ada)
        served.post("/seat", form | {"do": "keep", "q1": "60"}, ada)
        served.teach("solve:on")
    with Taught(tmp_path) as served:
        page = served.get("/", ada).text
        assert 'value="50" readonly' in page
        assert "Solution" in page
        cookie = served.get(served.teacher).cookie
        rows = list(csv.DictReader(io.StringIO(served.get("/sheet.csv", cookie).text)))
        assert (rows[1]["answer"], rows[1]["right"], rows[1]["key"]) == ("50", "True", "50.0%")
        assert served.get("/sheet.csv", ada).status == 403
