"""The manual's table of what is in the papers: every command works and prints what its row says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpdb import manual

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


@pytest.mark.parametrize(("example", "command"), [row[1:] for row in ROWS])
def test_command_of_the_manual(example: str, command: str) -> None:
    """It works as it stands, and prints what the row says it does."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        ["sh", "-ec", command.strip("`")],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    values = re.findall(r"`(.+?)`", example)
    assert values
    for value in values:
        assert re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.]\d|\w)", facts(run.stdout)), value


def test_every_paper_has_its_commands() -> None:
    papers = ["Shoaran, Thomo, Weber", "Lee, Clifton", "6 Key Equations", "Evans, Girkins", "Hu: "]
    named = [name for name, _, _ in ROWS if name]
    assert len(named) == len(papers)
    assert all(paper in name for paper, name in zip(papers, named, strict=True))
