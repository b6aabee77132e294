"""Attacks in students' files: what they are told when they fail, and what they cannot do.

All seeds are fixed, so that the tests are deterministic.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dpdb import manual
from dpdb.errors import StudentFileError
from dpdb.interfaces.commands.lab.attacks import main
from dpdb.lab.catalogue import find
from dpdb.lab.classroom import attack_file
from dpdb.lab.classroom.box import TIME_LIMIT, StudentFile
from dpdb.lab.classroom.messages import (
    STORY,
    Unfit,
    dealt,
    described,
    description,
    plain,
    scenario,
)
from dpdb.lab.classroom.player import File, failure
from dpdb.lab.foils import DoubleLaplace, Rounded
from dpdb.lab.scenario import Scenario

EXAMPLE = manual.page("teaching").partition("```python\n")[2].partition("```")[0]
"""The attack in the manual, as it stands there."""
RUN = EXAMPLE.partition("        everybody =")[0]
"""The same without the body of `run`."""


def written(folder: Path, text: str, name: str = "newcomer.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_manuals_example_is_short_and_runs_anywhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    statements = [line for line in EXAMPLE.splitlines() if line.strip()]
    assert len(statements) <= 22
    path = written(tmp_path, f"{EXAMPLE}\n        print('never')\nprint('read')")
    assert main([str(path), "--trials", "10", "--epsilon", "1"]) == 0
    printed = capfd.readouterr()
    assert "The newcomer's salary" in printed.out
    assert "100.0 % [69.2, 100.0]" in printed.out
    # What a file prints is not among the results, but is not lost.
    assert "read" not in printed.out
    assert "read" in printed.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "there is no attack in it"),
        (f"{EXAMPLE}\nclass Second(Newcomer): pass", "Newcomer and Second"),
        ("from dpdb.lab.attack import Attack\nclass A(Attack): pass",
         "A does not define run and scenario"),
        ("\n\n1 / 0", "line 3: ZeroDivisionError: division by zero\n  1 / 0"),
        ("print(1", "line 1: SyntaxError: '(' was never closed\n  print(1"),
        ("import json\n\ndef f():\n    json.loads('x')\nf()",
         "line 4, in f: JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n"
         "  json.loads('x')"),
        ("raise SystemExit(2)", "line 1: SystemExit: 2\n  raise SystemExit(2)"),
    ],
    ids=["none", "two", "abstract", "exception", "syntax", "in a library", "exit"],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_told_why(text: str, message: str) -> None:
    file = File("newcomer", text)
    with pytest.raises(BaseException) as caught:  # noqa: PT011 (SystemExit, too)
        _ = file.attack
    assert message in failure(caught.value, file)


@pytest.mark.parametrize(
    ("body", "message", "hint"),
    [
        ("return 1 / 0", r"newcomer.py, line \d+, in run: ZeroDivisionError: division by zero",
         "that line is `return 1 / 0`"),
        ("return 5", "newcomer.py: run returned int, not Guess", None),
        ("return Guess({1}, '')", "newcomer.py: a number, a text or a tuple of them .* not set",
         None),
        ("session.execute('SELECT name FROM people')", "line .*, in run: Refused: no column name",
         "that line is `session.execute('SELECT name FROM people')`"),
        ("import os; os._exit(3)", r"its process ended before it had answered \(exit code 3\)",
         None),
    ],
    ids=["exception", "no guess", "no plain guess", "refused", "dead"],
)  # fmt: skip
def test_a_run_that_fails_is_told_where(
    body: str, message: str, hint: str | None, tmp_path: Path
) -> None:
    path = written(tmp_path, f"{RUN}        {body}")
    with pytest.raises(StudentFileError, match=message) as caught:
        main([str(path), "--trials", "1", "--epsilon", "1"])
    assert caught.value.hint == hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("told", ["(2, 1)", "(0, 0)", "(0, 10**6)", "1", "(0.5, 1)"])
def test_a_score_is_so_many_of_a_few_guesses(told: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"{EXAMPLE}\n    def score(self, guess, truth): return {told}\n")
    with pytest.raises(StudentFileError, match="score returns"):
        main([str(path), "--trials", "1", "--epsilon", "1"])


def test_what_a_file_says_of_itself_moves_no_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = "".join(f"    {name} = '\\x1b]0;x\\x07\\x9b'\n" for name in STORY)
    path = written(tmp_path, f"{EXAMPLE}\n{story}")
    for more in ([], ["--json"]):
        assert main([str(path), "--trials", "1", "--epsilon", "1", *more]) == 0
        shown = capsys.readouterr().out
        assert not any(character in shown for character in "\x1b\x07\x9b")


def test_a_file_has_a_time_limit(tmp_path: Path) -> None:
    path = written(tmp_path, "while True: pass")
    with pytest.raises(StudentFileError, match="not done after 1 seconds, and was ended"):
        main([str(path), "--limit", "1"])


STAYING = """
import os, time
from pathlib import Path
if os.fork() == 0:
    os.setsid()
    time.sleep(4)
    Path({!r}).touch()
    os._exit(0)
time.sleep(60)
"""


def test_nobody_waits_for_what_has_left_the_group(tmp_path: Path) -> None:
    """It holds the socket, from which a message could still come."""
    gone = tmp_path / "gone"
    path = written(tmp_path, STAYING.format(str(gone)))
    with pytest.raises(StudentFileError, match="not done after 1 seconds, and was ended"):
        main([str(path), "--limit", "1"])
    assert not gone.exists()


def test_there_has_to_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(StudentFileError, match="there is no file"):
        main([str(tmp_path / "nobody.py")])


CHEATING = (
    RUN.replace("        pay =", "        global NOTE\n        pay =").replace(
        "        return Scenario", "        NOTE = pay[-1]\n        return Scenario"
    )
    + """
        import gc, os
        from dpdb.lab.database import Protected, Unprotected
        from dpdb.session.session import Session
        Protected.open = Unprotected.open
        Session.execute = lambda *_: None
        sessions = [each for each in gc.get_objects() if type(each) is Session]
        seen = [globals().get("NOTE"), sessions, os.environ.get("SECRET")]
        return Guess(None, repr([*seen, session.execute("SELECT COUNT(*) FROM people").rows]))
"""
)


def test_who_runs_has_neither_truth_nor_data_nor_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A note of the truth, a patched session and a patched defence are in other processes."""
    monkeypatch.setenv("SECRET", "of the teacher")
    path = written(tmp_path, CHEATING)
    assert main([str(path), "--trials", "2", "--epsilon", "0.001", "--json"]) == 0
    exact, private = json.loads(capsys.readouterr().out)["acts"]
    assert exact["inference"] == "[None, [], None, ((11,),)]"
    assert (exact["hits"], private["side"]) == (0, "private")
    assert private["inference"].startswith("[None, [], None, ((")


GOOD = json.loads(json.dumps(dealt(Scenario("id = { type = 'integer' }", [(1,)], truth=(1, "a")))))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": "../../people"}, "a table cannot be called"),
        ({"table": "a b"}, "a table cannot be called"),
        ({"columns": "id = 5"}, "the columns of its scenario"),
        ({"columns": 5}, "columns is a text"),
        ({"neighbors": "nobody"}, "neighbors is"),
        ({"unit": "patient"}, "the unit is not one of the columns id"),
        ({"rows": [["1", "2"]]}, "not every row has a cell for each of id"),
        ({"rows": [[1]]}, "a cell is a text"),
        ({"rows": [["\ud800"]]}, "a cell has half a character"),
        ({"rows_per_unit": 0}, "rows_per_unit is a whole number"),
        ({"truth": {"a": 1}}, "a number, a text or a tuple"),
    ],
)
def test_a_scenario_is_checked_before_it_is_used(change: dict[str, object], message: str) -> None:
    assert scenario(GOOD).truth == (1, "a")
    with pytest.raises(Unfit, match=message):
        scenario({**GOOD, **change})


def test_every_attack_of_the_catalogue_with_plain_defences_can_be_described() -> None:
    """What is sent is what was there."""
    for name in ("differencing", "averaging", "possible-worlds", "noise-scale", "group-keys"):
        attack = find(name)
        if name == "group-keys":
            with pytest.raises(Unfit, match="not of KeysOfTheRows"):
                described(attack)
            continue
        told = description(json.loads(json.dumps(described(attack))))
        assert told == {part: getattr(attack, part) for part in told}


DOUBLES = {
    "kind": "DoubleLaplace",
    "budget": 1.0,
    "queries": 1,
    "sensitivity": "1",
    "called": "doubles",
}


@pytest.mark.parametrize(
    "change", [{"queries": 0}, {"queries": True}, {"worlds": "many"}, {"foils": [{"kind": "Rounded", "to": -1}]},
     {"foils": [{**DOUBLES, "sensitivity": "1e2"}]}]
)  # fmt: skip
def test_a_description_is_checked_before_it_is_used(change: dict[str, object]) -> None:
    told = {**described(find("differencing")), "foils": [{"kind": "Rounded", "to": 5}]}
    assert description(told)["foils"] == (Rounded(5),)
    assert description({**told, "foils": [DOUBLES]})["foils"] == (DoubleLaplace(1.0),)
    with pytest.raises(Unfit):
        description({**told, **change})


def test_plain_values_come_back_as_they_were() -> None:
    value = (1, 2.5, True, None, "a", (0.1 + 0.2, ()))
    assert plain(json.loads(json.dumps(plain(value)))) == value
    assert plain(np.array([[1, 2], [3, 4]])) == ((1, 2), (3, 4))
    assert plain(np.float64(1.5)) == 1.5
    assert type(plain(np.int64(3))) is int


def test_a_fraction_that_is_none_is_the_files_fault() -> None:
    off = {
        "kind": "DoubleLaplace", "budget": 1.0, "queries": 1, "sensitivity": "1/0", "called": "",
    }  # fmt: skip
    told = {**described(find("differencing")), "off": off}
    with pytest.raises(StudentFileError, match="sent what cannot be read"):
        attack_file.checked(StudentFile("newcomer", ""), lambda: description(told))


def test_a_guess_of_another_kind_is_the_files_fault(tmp_path: Path) -> None:
    """The score of an attack of the catalogue counts on guesses of its own kind."""
    path = written(tmp_path, f"{RUN}        return Guess((1, 2), '')")
    with (
        attack_file.opened(
            StudentFile.read(path), TIME_LIMIT, task=find("reconstruction")
        ) as attack,
        pytest.raises(StudentFileError, match="its guess is not of the kind"),
    ):
        attack.score((1, 2), (1, 0, 1))
