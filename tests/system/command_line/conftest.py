"""Running the command line within the test's own process, and small files to run it on."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpdb.__main__ import main
from tests.support.command_line import PEOPLE, Make, Ran, Run

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
def make(tmp_path: Path) -> Make:
    """Writes a CSV file, and the policy beside it if there is one."""

    def make(rows: str | bytes, policy: str | bytes | None = None, name: str = "t") -> Path:
        path = tmp_path / f"{name}.csv"
        path.write_bytes(rows if isinstance(rows, bytes) else rows.encode())
        if policy is not None:
            text = policy if isinstance(policy, bytes) else policy.encode()
            (tmp_path / f"{name}.toml").write_bytes(text)
        return path

    return make
