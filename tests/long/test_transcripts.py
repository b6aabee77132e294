"""Neighbouring files, exact results overwritten: not a byte differs, whatever is asked.

Each exact result is replaced by one constant in the representation that it came in, and there is
no noise. The rows are then seen through that representation alone. Keys that are found in the data
are rare.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dpdb.engines import memory, streams
from dpdb.engines.protocol import Exact, KeyCounts, OpenEngine
from dpdb.engines.statistics import accumulators
from dpdb.interfaces.cli import main as cli
from dpdb.privacy.noise import exponential, smooth
from dpdb.privacy.noise.system import SystemNoise
from tests.long.neighbours import neighbouring
from tests.long.parts import Part
from tests.long.statements import ASKED
from tests.sql.test_corpora import ACCEPTED, REFUSED
from tests.support.hostile_rows import HOSTILE
from tests.support.noiseless import Noiseless
from tests.system.test_transcript import _first_difference

SUPPORT = Path(__file__).parents[1] / "support"
PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.csv"
FORMATS = ["json", "table", "csv", "markdown", "vertical"]
CONSTANTS = [2**53 + 1, 5, 0, -(2**60) - 1]
TOGETHER = 50
"""So many statements are asked of a pair of files."""
ENOUGH = "SET epsilon = 40"
"""For each statement: so much that noise about the largest numbers fits 64 bits."""
PLENTY = ["--on-error", "continue", "--epsilon", "10000", "--queries", "100000", "--delta", "0.01"]


def _overwritten(cells, constant: int) -> Exact:
    """As many cells of the same types; what is selected from is three zeros."""
    if isinstance(cells, list):
        return Exact([np.zeros(3, dtype=each.dtype) for each in cells])
    return Exact(np.full_like(cells, constant))


def _rare(engine: type[OpenEngine]) -> Callable[..., KeyCounts]:
    """What finds keys in the data, each of them of one unit: those are never shown."""
    found = engine.key_counts

    def key_counts(*asked) -> KeyCounts:
        keys = found(*asked)
        return replace(keys, units=np.ones_like(keys.units))

    return key_counts


@pytest.fixture(autouse=True)
def _without_noise(monkeypatch):
    """Of every selection the middle."""

    def middle(values, ends, *rest):
        return (ends[0] + ends[1]) // 2

    monkeypatch.setattr(SystemNoise, "laplace", lambda self, scale, size: np.zeros(size, np.int64))
    monkeypatch.setattr(SystemNoise, "gaussian", lambda self, scale, size: np.zeros(size, np.int64))
    monkeypatch.setattr(SystemNoise, "below", lambda self, bound: Noiseless().below(bound))
    monkeypatch.setattr(exponential, "select_value", middle)
    monkeypatch.setattr(exponential, "select_index", lambda counts, *rest: 0)
    monkeypatch.setattr(smooth, "release", middle)
    # Answers need not wait for a tick of the clock.
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


def _transcript(folder: Path, files: list[str], asked: str, turn: int, capsys):
    """The exit code, standard output and standard error of a run."""
    constant, form = CONSTANTS[turn % len(CONSTANTS)], FORMATS[turn % len(FORMATS)]
    with pytest.MonkeyPatch.context() as patched:
        # Messages name files as they were named.
        patched.chdir(folder)
        patched.setattr(accumulators, "Exact", lambda cells: _overwritten(cells, constant))
        for opened in (memory.MemoryEngine, streams.StreamEngine):
            patched.setattr(opened, "key_counts", _rare(opened))
        code = cli.main([*files, "-c", asked, "--format", form, *PLENTY])
    shown = capsys.readouterr()
    assert "dpdb failed" not in shown.out + shown.err
    return code, shown.out, shown.err


def _compare(folders: list[Path], files: list[str], statements: list[str], turn: int, capsys):
    """The same from both of the files; every turn has another format and another constant."""
    asked = ";\n".join(statements)
    one, other = (_transcript(each, files, asked, turn, capsys) for each in folders)
    if turn % len(FORMATS) == 0:
        # Without answers transcripts would be equal because nothing was looked at.
        assert one[1].count('"budget"') > len(statements) / 3
    for a, b in zip(one[1:], other[1:], strict=True):
        assert _first_difference(a, b) is None
    assert one == other


@pytest.mark.examples(10_000, 25)
def test_random_statements_on_neighbouring_files(part: Part, tmp_path, capsys, tried):
    statements: list[str] = []
    part.each(ASKED, statements.append)
    chance = Random(part.seed)
    for at in range(0, len(statements), TOGETHER):
        folder = tmp_path / str(at)
        neighbouring(folder, chance)
        asked = [ENOUGH, *statements[at : at + TOGETHER]]
        _compare([folder / "one", folder / "other"], ["t.csv"], asked, at // TOGETHER, capsys)
    tried(f"{part}: {len(statements)} statements")


def _changed(lines: list[bytes], chance: Random) -> list[bytes]:
    """One more row, of strange cells or of cells from anywhere; as wide as the others."""
    width = lines[0].count(b",") + 1
    pool = [cell for row in HOSTILE.values() for cell in row.split(b",") if len(cell) < 100]
    pool = [cell for cell in pool if cell.count(b'"') % 2 == 0 and b"\n" not in cell]
    cells = [cell for line in lines[1:200] for cell in line.split(b",")]
    row = [chance.choice(pool if chance.random() < 0.5 else cells) for _ in range(width)]
    where = chance.randrange(1, len(lines))
    return [*lines[:where], b",".join(row), *lines[where:]]


def _files(folder: Path, sources: list[Path], chance: Random | None) -> Path:
    folder.mkdir()
    for source in sources:
        lines = source.read_bytes().splitlines()[:500]
        changed = lines if chance is None else _changed(lines, chance)
        (folder / source.name).write_bytes(b"\n".join(changed) + b"\n")
        # Of two files in one session the budgets must agree.
        policy = source.with_suffix(".toml").read_text(encoding="utf-8")
        policy = re.sub(r"\[budget\][^[]*", "", policy)
        (folder / f"{source.stem}.toml").write_text(policy, encoding="utf-8")
    return folder


@pytest.mark.examples(40, 1, most=len(FORMATS))
def test_all_statements_of_the_corpora_on_neighbouring_files(part: Part, tmp_path, capsys, tried):
    """Those that are answered and those that are refused, and what they would cost."""
    asked = ["SET epsilon = 1", *ACCEPTED, *(entry.text for entry in REFUSED)]
    asked += [f"EXPLAIN {text}" for text in asked if text.startswith("SELECT")]
    # A string that does not end, and a comment, would take the rest with them.
    asked = [text for text in asked if text.count("'") % 2 == 0 and "--" not in text]
    asked = [text for text in asked if text.count('"') % 2 == 0 and "/*" not in text]
    asked = asked if part.examples > 1 else asked[:1] + asked[1::16]
    sources, files = [PEOPLE, SUPPORT / "visits.csv"], ["people.csv", "visits.csv"]
    usual = _files(tmp_path / "usual", sources, None)
    chance = Random(part.seed)
    # A part goes through all formats, and the parts together through all constants for each.
    first = len(FORMATS) * (part.seed - 1)
    for turn in range(first, first + part.examples):
        changed = _files(tmp_path / str(turn), sources, chance)
        _compare([usual, changed], files, asked, turn, capsys)
    tried(f"{part}: {len(asked)} statements on each of {part.examples} pairs of files")
