"""Running the command line within the test's own process, and small files to run it on."""

from __future__ import annotations

import io
import json
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dpdb.interfaces.cli.main import main

PEOPLE = Path(__file__).parents[3] / "sample_data" / "people.csv"


PATIENCE = 15
"""Seconds until a test is given up: what is here takes one at most, or would take hours."""


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """Ends a test that hangs, so that the others are run."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def give_up(*_: object) -> None:
        pytest.fail(f"not done after {PATIENCE} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True)
class Ran:
    """What a run of the command line left behind."""

    code: int
    out: str
    err: str

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The lines of `--json`."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def rows(self) -> list[list[Any]]:
        """The rows of the only answer."""
        [answer] = self.answers
        return answer["rows"]


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `dpdb` with these words; `stdin` is its standard input."""

    def run(*words: object, stdin: str = "") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as left:  # argparse's way
            code = 0 if left.code is None else int(left.code)
        shown = capsys.readouterr()
        return Ran(code, shown.out, shown.err)

    return run


@pytest.fixture
def people() -> Path:
    return PEOPLE


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Writes a CSV file, and the policy beside it if there is one."""

    def make(rows: str | bytes, policy: str | bytes | None = None, name: str = "t") -> Path:
        path = tmp_path / f"{name}.csv"
        path.write_bytes(rows if isinstance(rows, bytes) else rows.encode())
        if policy is not None:
            text = policy if isinstance(policy, bytes) else policy.encode()
            (tmp_path / f"{name}.toml").write_bytes(text)
        return path

    return make
