"""`--restricted`: whoever reaches dpdb alone reaches no other file or program through it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from dpdb.interfaces.cli.batch import Batch
from dpdb.interfaces.console import terminal as progress
from dpdb.interfaces.console.settings import ShellSettings
from dpdb.interfaces.prompt.prompt import completer_of
from dpdb.policy.reading.reader import policy_for
from tests.support.command_line import COUNT, Run
from tests.support.terminal import Terminal


@pytest.mark.parametrize("command", [".read {}", ".output {}", ".once {}", ".OUTPUT", "\\i {}"])
def test_commands_for_files(people: Path, run: Run, tmp_path: Path, command: str) -> None:
    file = tmp_path / "file"
    ran = run(people, "--restricted", "--on-error", "continue",
              stdin=f"{command.format(file)}\n{COUNT};\n")  # fmt: skip
    assert ran.code in (1, 2)
    assert "error: " in ran.err
    assert "COUNT(*)" in ran.out
    assert not file.exists()


@pytest.mark.parametrize(
    "words", [["-f", "x.sql"], ["-o", "x"], ["--config", "x.toml"], ["--teach"]], ids=lambda w: w[0]
)
def test_options_for_files(people: Path, run: Run, words: list[str]) -> None:
    ran = run(people, "--restricted", *words, stdin=COUNT)
    assert (ran.code, ran.out) == (2, "")
    assert f"{words[0]} does not go with --restricted" in ran.err


def test_the_file_is_given(run: Run) -> None:
    assert "is given with a policy" in run("--restricted").err


def test_the_environment_does_not_say_what_python_runs(people: Path, tmp_path: Path) -> None:
    """Where variables are passed on, modules and the interpreter itself would be the analyst's."""
    for name in ("sitecustomize.py", "numpy.py", "dpdb.py"):
        (tmp_path / name).write_text("raise SystemExit('not dpdb')\n")
    ran = subprocess.run(
        [sys.executable, "-I", "-m", "dpdb", str(people), "--restricted"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONINSPECT": "1"},
        input=COUNT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout.split()[0]) == (0, "COUNT(*)")
    assert ">>>" not in ran.stderr


@pytest.mark.parametrize("restricted", [True, False])
def test_how_much_of_the_file_is_read_is_not_shown(
    people: Path, run: Run, monkeypatch: pytest.MonkeyPatch, restricted: bool
) -> None:
    """Each part of a file that is read would be told, and so how large it is."""
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    ran = run(people, *["--restricted"] * restricted, stdin=COUNT)
    assert ran.code == 0
    assert ("loading" in ran.err) is not restricted


def test_names_of_files_are_not_completed(people: Path, tmp_path: Path, run: Run) -> None:
    """Those of a folder are its owner's."""
    (tmp_path / "patient-7.csv").touch()
    for restricted in (True, False):
        console = Batch(policy_for(people), ShellSettings(), None, [], restricted=restricted)  # type: ignore[arg-type]
        completer = completer_of(console, teach=False)
        typed = Document(f".read {tmp_path}/")
        offered = [each.text for each in completer.get_completions(typed, CompleteEvent())]
        assert (offered == ["patient-7.csv"]) is not restricted
    assert ".read" in run(people, stdin=".help").err
    assert ".read" not in run(people, "--restricted", stdin=".help").err


def test_the_prompt_keeps_no_history_and_opens_no_editor(people: Path, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\ntouch {opened}\n")
    editor.chmod(0o700)
    with Terminal(str(people), "--restricted", home=tmp_path, EDITOR=str(editor)) as terminal:
        terminal.wait_for_prompt()
        terminal.send("SHOW TABLES\x18\x05;\r")  # Ctrl-X Ctrl-E
        terminal.wait_for_prompt(2)
        terminal.send(".editing vi\r")
        terminal.wait_for_prompt(3)
        terminal.send("SHOW TABLES\x1bv\x1b!a;\r")
        terminal.wait_for_prompt(4)
        terminal.send("\x04")
        assert "people" in terminal.end()
    assert not opened.exists()
    assert not list(tmp_path.rglob("history"))
