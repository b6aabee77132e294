"""`--trial` and `dpdb trial`: made-up rows on the command line, which opens no data file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dpdb.answers.formats.footer import TRIAL
from dpdb.interfaces.cli.main import main
from dpdb.policy.reading.reader import read_policy
from dpdb.trial.policy import trial_files
from tests.support.terminal import Terminal

SAMPLES = Path(__file__).parents[3] / "sample_data"
COUNT = "SELECT COUNT(*) FROM people"


@pytest.fixture
def people(tmp_path: Path) -> str:
    """The policy of people.csv, without the data."""
    return str(shutil.copy(SAMPLES / "people.toml", tmp_path))


def test_every_object_of_json_is_marked(people: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"{COUNT}; EXPLAIN {COUNT}; SHOW BUDGET; SELECT b FROM people; {COUNT}"
    code = main([people, "--trial", "--json", "--on-error", "continue", "-c", words])
    assert code == 1
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(told) == 5
    assert main([people, "--trial", "--json", "--plan", "-c", f"{COUNT}; {COUNT}"]) == 0
    told += [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(told) == 8  # and the table of the plan
    assert all(next(iter(each)) == "trial" for each in told)
    assert not any({"cost", "budget"} & set(each) for each in told)


def test_a_file_of_answers_is_marked(people: str, tmp_path: Path) -> None:
    output = tmp_path / "out.txt"
    assert main([people, "--trial", "-o", str(output), "-c", COUNT]) == 0
    lines = output.read_text().splitlines()
    assert lines[0] == lines[-1] == f"-- {TRIAL} --"


def test_rows_are_written_as_files_to_hand_out(
    people: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new"
    assert main(["trial", people, "-o", str(folder)]) == 0
    written = (folder / "people.csv").read_bytes()
    assert dict(trial_files(read_policy(Path(people)))) == {"people.csv": written}
    # With the policy beside them they are data like any other, and give the answers of a trial.
    shutil.copy(people, folder)
    assert (
        main([str(folder / "people.csv"), "--teach", "--csv", "-c", f"SET dp = off; {COUNT}"]) == 0
    )
    assert capsys.readouterr().out.splitlines()[-1] == "10000"
    (folder / "people.csv").write_text("mine")
    assert main(["trial", people, "-o", str(folder)]) == 2
    assert (folder / "people.csv").read_text() == "mine"


def test_the_prompt_says_so(people: str, tmp_path: Path) -> None:
    data = shutil.copy(SAMPLES / "people.csv", tmp_path)
    with Terminal(str(data), home=tmp_path) as terminal:
        terminal.wait_for_prompt()
        terminal.send("SET trial = on;\r")
        terminal.wait(lambda t: t.cursor_line == "trial>")
        terminal.send(f"{COUNT};")
        terminal.wait(lambda t: "trial: would cost ε 0.1" in t.toolbar)
        assert "10 of 10 queries left" in terminal.toolbar
        terminal.send("\r")
        terminal.wait(lambda t: t.lines.count(f"-- {TRIAL} --") == 2)
        terminal.wait(lambda t: t.cursor_line == "trial>")
        terminal.send(f"EXPLAIN {COUNT};\r")
        terminal.wait(lambda t: t.lines.count(f"-- {TRIAL} --") == 4)
        terminal.wait(lambda t: t.cursor_line == "trial>")
        terminal.send("SET trial = off;\r")
        terminal.wait(lambda t: t.cursor_line == "dpdb>")
        terminal.send("\x04")
        assert "0 of 10 queries asked, ε 0 of 1 spent." in terminal.end()
