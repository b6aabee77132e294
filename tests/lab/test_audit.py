"""The audit finds the mistakes, and nothing where there is none.

All seeds are fixed, so that the tests are deterministic. A bound holds with `CONFIDENCE`.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from dpdb import manual
from dpdb.errors import StudentFileError, UsageError
from dpdb.interfaces.commands.lab.attacks import main
from dpdb.lab.attacks.chances import NoiseDistribution
from dpdb.lab.classroom.audit import (
    CONFIDENCE,
    FOR_CHOICE,
    AuditReport,
    as_text,
    binary_places,
    epsilon_at_least,
    report,
    sizes,
)
from dpdb.lab.classroom.mechanisms import EXERCISES, Exercise, Mechanism
from dpdb.lab.classroom.player import File
from dpdb.lab.trial import at_least

RUNS = FOR_CHOICE + 4_000
RIGHT = ("laplace", "randomised-response", "sparse-vector-1", "sparse-vector-2")
MORE = {"sparse-vector-3": FOR_CHOICE + 20_000}
"""Runs of what loses little more than it claims, and in a rare event."""
EXAMPLE = manual.topic("audit").partition("```python\n")[2].partition("```")[0]
BY_SIZE, BY_BITS = "by its size", "by its last bits"


def audited(mechanism: Mechanism, runs: int = RUNS) -> AuditReport:
    outputs = mechanism.outputs(runs, np.random.default_rng(1))
    return report(mechanism.epsilon, mechanism.values, outputs)


def alone(name: str) -> Exercise:
    [found] = [each for each in EXERCISES if each.name == name]
    return found


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda each: each.name)
def test_every_mistake_is_found_by_what_it_is(exercise: Exercise) -> None:
    """And nothing is found against what is right: each bound holds with `CONFIDENCE`."""
    found = audited(exercise.mechanism, MORE.get(exercise.name, RUNS))
    wrong = [BY_BITS] if exercise.name == "doubles" else [BY_SIZE]
    assert found.broken == ([] if exercise.name in RIGHT else wrong)
    assert exercise.explanation.startswith("No mistake") == (exercise.name in RIGHT)
    # What has just enough noise comes near to its ε.
    if exercise.name in ("laplace", "randomised-response"):
        assert max(each.epsilon for each in found.findings.values()) > 0.7


def test_the_bound_of_the_third_sparse_vector_is_below_its_law() -> None:
    """Three no, and a number up to `most` is told: summed over the noise of the threshold."""
    found = audited(alone("sparse-vector-3").mechanism, MORE["sparse-vector-3"]).findings[BY_SIZE]
    noise, most = NoiseDistribution.of([2]), math.floor(found.event.threshold)

    def chance(person: int) -> float:
        last = 1 - person
        return sum(
            noise.at(level)
            * (1 - noise.at_least(level - person)) ** 3
            * (noise.at_least(level - last) - noise.at_least(most + 1 - last))
            for level in range(-60, most + 1)
        )

    assert (found.event.above, found.event.likelier) == (False, 1)
    assert 1 < found.epsilon <= math.log(chance(0) / chance(1))


def test_half_the_noise_is_found() -> None:
    """A mechanism of ε = 2 that claims 1."""
    half = Mechanism(lambda values, epsilon, rng: alone("laplace").function(values, 2, rng))
    found = audited(half).findings[BY_SIZE].epsilon
    assert 1 < found < 2


def test_the_bound_has_closed_forms_at_its_ends() -> None:
    """[CP34]: with n of n the lower end of P is (α/2)^(1/n), with none the upper end of Q is the rest."""
    end = ((1 - CONFIDENCE) / 2) ** (1 / 500)
    assert epsilon_at_least(500, 0, 500) == pytest.approx(math.log(end / (1 - end)))
    assert epsilon_at_least(0, 500, 500) == 0
    assert epsilon_at_least(250, 250, 500) == 0


def test_the_bound_is_above_the_truth_as_rarely_as_it_says() -> None:
    """All outcomes of 15 runs on either side, where the event has P = e^ε·Q."""
    runs, epsilon, confidence = 15, 1.0, 0.9
    likely, rare = 0.6, 0.6 * math.exp(-epsilon)

    def weight(hits: int, rate: float) -> float:
        return at_least(hits, runs, rate) - at_least(hits + 1, runs, rate)

    wrong = sum(
        weight(hits, likely) * weight(others, rare)
        for hits in range(runs + 1)
        for others in range(hits)
        if epsilon_at_least(hits, others, runs, confidence) > epsilon
    )
    assert 0 < wrong <= 1 - confidence


def test_binary_places_of_a_double() -> None:
    values = np.array([[0.0], [-5.0], [0.75], [0.1], [2.0**-60], [2.0**60 + 2.0**10]])
    [places] = binary_places(values).values()
    # 0.1 is 0x1.999999999999ap-4, whose last hexadecimal digit is even.
    assert places.tolist() == [0, 0, 2, 55, 60, 0]


def test_several_answers_are_compared() -> None:
    read = sizes(np.array([[1.0, 4.0, 10.0]]))
    assert {name: values.tolist() for name, values in read.items()} == {
        "answer 1": [1], "answer 2": [4], "answer 3": [10], "the mean": [5],
        "answer 1 - answer 2": [-3], "answer 1 - answer 3": [-9], "answer 2 - answer 3": [-6],
    }  # fmt: skip


def test_the_text_shows_counts_and_verdict() -> None:
    text = as_text(audited(alone("reused-noise").mechanism))
    assert "answer 1 - answer 2 ≥ 2.5: in 4,000 of 4,000 runs with the person, in 0 without" in text
    assert "✘ it does not keep ε = 1: by its size it tells more" in text


def test_the_list_names_every_mechanism(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-2]] == [each.name for each in EXERCISES]
    assert max(map(len, lines)) <= 100
    with pytest.raises(UsageError, match="no mechanism is called fixed-sead") as caught:
        main(["audit", "fixed-sead"])
    assert caught.value.hint == "did you mean fixed-seed?"


def test_the_manuals_mechanism_keeps_its_promise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And without `round` it does not, as the manual says."""
    path = tmp_path / "salaries.py"
    path.write_text(EXAMPLE, encoding="utf-8")
    assert main(["audit", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["epsilon"], told["values"], told["broken"]) == (0.5, [33, 41, 65], False)
    assert 0.3 < told["bounds"][0]["epsilon"] <= 0.5
    unrounded = re.sub(r"round\((.*)\)", r"\1", EXAMPLE)
    assert audited(File("salaries", unrounded).mechanism).broken == [BY_BITS]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "m.py: there is no function `mechanism"),
        ("def mechanism(v, e, r): return 1\nEPSILON = 0", "m.py: EPSILON is a number"),
        ("def mechanism(v, e, r): return 1\nVALUES = 'abc'", "m.py: VALUES is a list of numbers"),
        ("def mechanism(v, e, r): return None", "has to return a number"),
        ("def mechanism(v, e, r): return (1,) * int(1 + r.integers(2))", "has to return a number"),
        ("def mechanism(v, e, r):\n    return 1 / 0", "m.py, line 2, in mechanism: ZeroDivision"),
    ],
    ids=["none", "epsilon", "values", "nothing", "lengths", "exception"],
)
def test_files_that_cannot_be_audited(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudentFileError, match=re.escape(message)):
        main(["audit", str(path)])
