"""The lesson of the manual: its commands run, its minutes add up, its numbers are right."""

from __future__ import annotations

import math
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from dpdb import manual
from dpdb.interfaces.commands.lab import attacks as lab
from dpdb.interfaces.commands.lab import room as lab_room
from dpdb.lab.attacks import query_sets
from dpdb.lab.catalogue import find
from dpdb.lab.classroom.player import File
from dpdb.lab.database import Protected
from dpdb.lab.trial import run_trials

LESSON = manual.page("lesson")
COMMANDS = [
    command for block in re.findall(r"```sh\n(.*?)```", LESSON, re.DOTALL) for command in block.splitlines()
]  # fmt: skip
[FILE] = re.findall(r"```python\n(.*?)```", LESSON, re.DOTALL)
FEW = ["--trials", "1"]
pytestmark = pytest.mark.usefixtures("planned_once")


@pytest.fixture
def classroom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the lesson's file and a folder of files; typed is Enter.

    Attacks are few and the room is small, or most of the time would be theirs.
    """
    (tmp_path / "files").mkdir()
    for path in (tmp_path / "direct.py", tmp_path / "files" / "ada.py"):
        path.write_text(FILE, encoding="utf-8")
    some = {name: find(name) for name in ("differencing", "membership")}
    monkeypatch.setattr(lab, "catalogue", lambda: some)
    monkeypatch.setattr(lab_room, "USUAL", lab_room.FEWEST)
    monkeypatch.setattr("builtins.input", lambda _: "")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 9
    assert all(command.startswith("dpdb lab ") for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_lesson_runs(
    command: str,
    classroom: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = shlex.split(command)[2:]
    if "--step" in words:
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert lab.main(words if words[0] in ("room", "audit") else [*words, *FEW]) == 0
    printed = capsys.readouterr()
    assert "--html" in words or printed.out
    if "--html" in words:
        assert (classroom / words[words.index("--html") + 1]).exists()


def test_the_minutes_add_up_and_each_part_is_there() -> None:
    rows = re.findall(r"^\| (\d):(\d\d) \| (\d+) \| (\S+)", LESSON, re.MULTILINE)
    clock = 0
    for hours, minutes, length, _ in rows:
        assert int(hours) * 60 + int(minutes) == clock
        clock += int(length)
    assert clock == 90
    lengths = re.findall(r"^## .*, (\d+) minutes$", LESSON, re.MULTILINE)
    assert lengths == [length for _, _, length, _ in rows]


def test_what_it_says_of_epsilon() -> None:
    for epsilon in (0.1, 1, 5):
        ceiling = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert f"{ceiling * 100:.1f} % at ε = {epsilon:g}" in LESSON


def test_what_it_says_of_differencing() -> None:
    attack = find("differencing")
    assert f"the ceiling is {attack.ceiling(5):.0%}".replace("%", " %") in LESSON
    scales = [2 * (query_sets.MOST - query_sets.LEAST), 2 * query_sets.MOST]
    assert f"scale of {scales[0]} or {scales[1]}" in LESSON
    scenario = attack.scenario(np.random.default_rng(1))
    assert sum(age for _, age in scenario.rows) > 10_000
    assert round(100 * (attack.baseline or 0)) == 2
    assert "right in 2 of 100" in LESSON


@pytest.mark.parametrize(
    ("question", "right"),
    [("SELECT SUM(age) FROM people WHERE name = 'Abel Woods'", 6),
     ("SELECT MODE(age) FROM people WHERE name = 'Abel Woods'", 21)],
)  # fmt: skip
def test_how_often_the_lessons_attacks_succeed(question: str, right: int) -> None:
    """100 runs, 95 % intervals, at a fixed seed."""
    attack = File("mine", re.sub(r'"SELECT .*?"', f'"{question}"', FILE)).attack
    [rate] = run_trials(attack, (Protected(5, attack.queries),), 100, 1).rates
    assert rate.low < right / 100 < rate.high
    assert f"about {right}" in LESSON


def discrete_laplace(scale: float, size: tuple[int, ...]) -> np.ndarray:
    chance = np.random.default_rng(1)
    end = -math.expm1(-1 / scale)
    return chance.geometric(end, size) - chance.geometric(end, size)


def test_how_often_counts_succeed() -> None:
    """Counts of scale 6/ε; and 48 of scale 2/ε, as who changes leaves one and enters another."""
    # Of two whole numbers the nearer one is the truth if the noise is below 1 on one side.
    each = 1 / (1 + math.exp(-5 / 6))

    def halved(ages: int) -> float:
        """Chance of the right age of so many, of which some take five counts and some take six."""
        parts = (ages // 2, ages - ages // 2)
        return 1 if ages == 1 else each * sum(part / ages * halved(part) for part in parts)

    assert f"Six counts reach about {halved(48) * 100:.0f}" in LESSON
    noise = discrete_laplace(2 / 5, (40_000, 48))
    ages = np.arange(40_000) % 48
    noise[np.arange(40_000), ages] += 1
    assert f"groups about {np.mean(noise.argmax(axis=1) == ages) * 100:.0f}" in LESSON
