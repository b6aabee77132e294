"""The manual's table of what is in the papers: every command works and prints what its row says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

from dpdb import manual
from dpdb.interfaces.cli.main import main

ROOT = Path(__file__).parents[2]
SECTION = manual.page("papers")
LINES = [line for line in SECTION.splitlines() if line.startswith("|")]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in LINES[2:]]


def facts(page: str) -> str:
    """A page with single spaces, and after it the cells of its tables as `column value`."""
    found, heads, before = [page.replace("|", " ")], [], []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if line and set(line) <= set("-+"):
            heads = before
        elif heads and len(cells) == len(heads):
            found += [f"{head} {cell}" for head, cell in zip(heads, cells, strict=True)]
        before = cells
    return re.sub(r"\s+", " ", "\n".join(found))


def commands(line: str) -> list[list[str]]:
    """The words of each command between semicolons."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    return [list(group) for end, group in groupby(words, ";".__eq__) if not end]


def by_the_shell(line: str) -> str:
    """What the shell prints that is given the line."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        ["sh", "-ec", line],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return run.stdout


@pytest.mark.parametrize(("example", "line"), [(row[1], row[2].strip("`")) for row in ROWS])
def test_command_of_the_manual(
    example: str,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It works as it stands, and prints what the row says it does."""
    if all(words[0] == "dpdb" for words in commands(line)):
        # The same without a process for each, which takes longer than what it is asked.
        monkeypatch.chdir(ROOT)
        assert [main(words[1:]) for words in commands(line)] == [0] * len(commands(line))
        shown = capsys.readouterr().out
    else:
        shown = by_the_shell(line)
    values = re.findall(r"`(.+?)`", example)
    assert values
    for value in values:
        assert re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.]\d|\w)", facts(shown)), value


def test_every_paper_has_its_commands() -> None:
    papers = ["Shoaran, Thomo, Weber", "Lee, Clifton", "6 Key Equations", "Evans, Girkins", "Hu: "]
    named = [name for name, _, _ in ROWS if name]
    assert len(named) == len(papers)
    assert all(paper in name for paper, name in zip(papers, named, strict=True))
