"""`--restricted`: whoever reaches dpdb alone reaches no other file or program through it."""

from __future__ import annotations

from pathlib import Path

import pytest

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


def test_the_prompt_keeps_no_history_and_opens_no_editor(people: Path, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\ntouch {opened}\n")
    editor.chmod(0o700)
    with Terminal(str(people), "--restricted", home=tmp_path, EDITOR=str(editor)) as terminal:
        terminal.wait_for_prompt()
        terminal.send("SHOW TABLES\x18\x05;\r")  # Ctrl-X Ctrl-E
        terminal.wait_for_prompt(2)
        terminal.send("\x04")
        assert "people" in terminal.end()
    assert not opened.exists()
    assert not list(tmp_path.rglob("history"))
