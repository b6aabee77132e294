"""The scores of a class: a table that compares, and files that cannot improve on asking.

All seeds are fixed, so that the tests are deterministic.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from dpdb.errors import UsageError
from dpdb.interfaces.commands.lab.attacks import main
from dpdb.lab.catalogue import find
from dpdb.lab.classroom import box, scores
from dpdb.lab.classroom.box import TIME_LIMIT
from dpdb.lab.classroom.scores import (
    ONE_IN,
    Played,
    Row,
    Rules,
    Score,
    as_table,
    class_scores,
    ranked,
    row,
    score,
)
from dpdb.lab.classroom.walls import Sandbox
from dpdb.lab.database import Protected
from dpdb.lab.pages import html, terminal
from tests.lab.test_student_files import EXAMPLE, written

MEMORY = """
from dpdb.lab.attacks.query_sets import Differencing
from dpdb.lab.attack import Guess

FOUND = []

class Memory(Differencing):
    worlds = 1

    def run(self, session, rng):
        guess = super().run(session, rng)
        FOUND.append(guess.value)
        return Guess(FOUND[(len(FOUND) - 1) % 20], "remembered")

    def scenario(self, rng):
        raise AssertionError("that of the task is used")
"""
"""An attack that answers, under privacy, what it found out without it."""


def rows_of(text: str) -> dict[tuple[str, str], dict[str, str]]:
    return {(row["student"], row["defence"]): row for row in csv.DictReader(io.StringIO(text))}


def test_a_class_is_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One file succeeds, one fails; each has a page, and the table links both."""
    files, out = tmp_path / "files", tmp_path / "out"
    files.mkdir()
    written(files, EXAMPLE, "ada & bob.py")
    written(files, "1 / 0", "=cyd.py")
    written(files, "nothing", "notes.txt")
    words = ["--score", str(files), "--trials", "10", "--seed", "1", "--csv", "--html", str(out)]
    assert main(words) == 0
    rows = rows_of(capsys.readouterr().out)
    assert set(rows) == {("ada & bob", "no protection"), ("ada & bob", "ε = 1"), ("'=cyd", "")}
    exact, private = rows["ada & bob", "no protection"], rows["ada & bob", "ε = 1"]
    assert (exact["hits"], exact["tries"], exact["epsilon_used"]) == ("10", "10", "")
    assert float(private["rate"]) < float(private["high"])
    assert float(private["ceiling"]) == pytest.approx(0.2536, abs=1e-4)
    assert private["epsilon_used"] == "1.0"
    assert "=cyd.py, line 1: ZeroDivisionError" in rows["'=cyd", ""]["error"]
    assert {path.name for path in out.iterdir()} == {"ada & bob.html", "=cyd.html", "index.html"}
    index = (out / "index.html").read_text(encoding="utf-8")
    assert set(re.findall(r'<a href="([^"]+)"', index)) == {"ada%20%26%20bob.html", "%3Dcyd.html"}
    assert "<div>hint: that line is `1 / 0`</div>" in index
    assert "ZeroDivisionError" in (out / "=cyd.html").read_text(encoding="utf-8")


def test_a_terminal_shows_how_many_files_are_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the start, as the first file may take a minute."""
    written(tmp_path, "1 / 0", "cyd.py")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["--score", str(tmp_path)]) == 0
    shown = capsys.readouterr().err.split("\r\033[K")
    assert shown == ["", "0 of 1 files", "1 of 1 files", ""]


def test_a_task_has_its_own_secret_and_nothing_to_remember(tmp_path: Path) -> None:
    """Each defence has new secrets, and those of the task: of the file only `run` is used."""
    rules = Rules(find("differencing"), [0.1], trials=20, seconds=TIME_LIMIT, seed=1)
    scored = score(written(tmp_path, MEMORY, "mem.py"), rules)
    assert not scored.error
    assert scored.report is not None
    exact, private = scored.report.successes
    assert exact.hits == 20
    assert private.hits < 5
    assert private.ceiling == pytest.approx(find("differencing").ceiling(0.1))
    assert scored.rows[1].used == pytest.approx((0.1, 0.1, 0.1))
    assert scored.report.title == find("differencing").title
    assert (scored.report.idea, scored.report.remedy) == ("", "")  # those of two sums
    assert "THE SECRET" in terminal.page(scored.report)
    assert "THE IDEA" not in terminal.page(scored.report)
    assert "The idea" not in html.page(scored.report, [])


def tallied(student: str, hits: int, epsilon: float = 1.0, runs: int = 200) -> Row:
    """Runs against ε = 1 that used another ε, with so many right."""
    played = [Played(int(place < hits), 1, epsilon) for place in range(runs)]
    return row(student, Protected(1, 1), find("membership"), played, Sandbox.BUBBLEWRAP)


def test_ranks_are_shared_where_intervals_overlap() -> None:
    """73.1 % is the ceiling at ε = 1; Eve is right in 98 %, and Dan without asking."""
    rows = [tallied("cyd", 100), tallied("ada", 146), tallied("eve", 196), tallied("bob", 130)]
    table = ranked([*rows, tallied("dan", 140, epsilon=0)])
    assert [(each.student, each.rank, each.note) for each in table] == [
        ("ada", 1, "tie"),
        ("bob", 1, "tie"),
        ("cyd", 3, ""),
        ("eve", None, "not by asking"),
        ("dan", None, "not by asking"),
    ]
    assert table[-1].ceiling == 0.5
    # A single guess that was right is below everybody who shares its rank.
    assert ranked([tallied("luck", 1, runs=1), *rows])[0].student == "ada"
    shown = as_table([Score("all", None, tuple(rows))])
    assert "eve, ε = 1: ✘ not by asking" in shown


def test_a_row_of_honest_runs_is_marked_as_rarely_as_it_says() -> None:
    """The number of hits from which a row is marked, where half of the runs used ε = 1, half 0."""
    attack, runs = find("membership"), 40
    ceilings = [attack.ceiling(1), attack.ceiling(0)]
    chances = np.array([1.0])
    for place in range(runs):
        chances = np.convolve(chances, [1 - ceilings[place % 2], ceilings[place % 2]])

    def marked(hits: int) -> bool:
        played = [Played(int(place < hits), 1, 1 - place % 2) for place in range(runs)]
        return row("ada", Protected(1, 1), attack, played, Sandbox.USER).beyond

    first = next(hits for hits in range(runs + 1) if marked(hits))
    assert 0 < chances[first:].sum() < 1 / ONE_IN
    assert chances[first - 2 :].sum() > 1 / ONE_IN


def test_guesses_of_one_run_are_not_taken_for_independent() -> None:
    """Ten runs with all of a hundred bits right, or none: a coin for each run."""
    attack = find("reconstruction")
    played = [Played(100 * (place < 9), 100, 0.0) for place in range(10)]
    lucky = row("ada", Protected(1, 1), attack, played, Sandbox.USER)
    assert lucky.ceiling == 0.5
    assert not lucky.beyond
    assert row("eve", Protected(1, 1), attack, played[:9] * 3, Sandbox.USER).beyond


def test_folders_that_are_no_class(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        main(["--score", str(tmp_path)])
    with pytest.raises(UsageError, match="cannot read"):
        main(["--score", str(tmp_path / "nowhere")])
    written(tmp_path, EXAMPLE, "index.py")
    with pytest.raises(UsageError, match="has to be called something else"):
        main(["--score", str(tmp_path)])


def test_an_interrupt_ends_what_is_running(tmp_path: Path) -> None:
    """A file that would take a minute, and one that waits for its turn, are given up at once."""
    paths = [written(tmp_path, "while True: pass", f"{name}.py") for name in "abc"]
    paths.append(written(tmp_path, "nothing", "d.py"))
    rules = Rules(None, [1], trials=1, seconds=TIME_LIMIT, seed=1)

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        class_scores([paths[3], *paths[:3]], rules, interrupt)
    assert not box._RUNNING


def test_a_fault_of_the_lab_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(*_: object) -> None:
        raise ValueError("of a row")

    monkeypatch.setattr(scores, "run_once", faulty)
    rules = Rules(None, [1], trials=1, seconds=TIME_LIMIT, seed=1)
    assert score(written(tmp_path, EXAMPLE), rules).error == "newcomer.py: ValueError in the lab"
