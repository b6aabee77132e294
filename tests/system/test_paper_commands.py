"""The manual's table of what is in the papers: every command works and prints what its row says."""

from __future__ import annotations

import re

import pytest

from dpdb import manual
from dpdb.interfaces.cli.main import main
from tests.support.shell_lines import ROOT, dpdb_arguments

SECTION = manual.page("papers")
LINES = [line for line in SECTION.splitlines() if line.startswith("|")]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in LINES[2:]]


def facts(page: str) -> str:
    """A page with single spaces, and after it the cells of its tables as `column value`."""
    found, heads, before = [page.replace("|", " ")], [], []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if line and set(line) <= set("-+|"):
            heads = before
        elif heads and len(cells) == len(heads):
            found += [f"{head} {cell}" for head, cell in zip(heads, cells, strict=True)]
        before = cells
    return re.sub(r"\s+", " ", "\n".join(found))


@pytest.mark.parametrize(("example", "line"), [(row[1], row[2].strip("`")) for row in ROWS])
def test_command_of_the_manual(
    example: str, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It works as it stands, and prints what the row says it does."""
    commands = dpdb_arguments(line)
    assert commands
    monkeypatch.chdir(ROOT)
    assert [main(words) for words in commands] == [0] * len(commands)
    shown = capsys.readouterr().out
    values = re.findall(r"`(.+?)`", example)
    assert values
    for value in values:
        assert re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.]\d|\w)", facts(shown)), value


def test_every_paper_has_its_commands() -> None:
    papers = ["Shoaran, Thomo, Weber", "Lee, Clifton", "6 Key Equations", "Evans, Girkins", "Hu: "]
    named = [name for name, _, _ in ROWS if name]
    assert len(named) == len(papers)
    assert all(paper in name for paper, name in zip(papers, named, strict=True))
