"""Measure the time to the first prompt and to the first answer.

    python scripts/startup.py [ROUNDS]

For comparison, it also measures an empty Python program and the import of pandas. The goal is a
prompt within 0.25 s on an idle machine.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pexpect

PEOPLE = Path(__file__).parents[1] / "sample_data" / "people.csv"
ROUNDS = 7


def main() -> None:
    """Print the median of each time over some rounds."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    for name, measure in {
        "python -c pass": lambda: [_python("pass")],
        'python -c "import pandas"': lambda: [_python("import pandas")],
    }.items():
        _report([name], rounds, measure)
    with tempfile.TemporaryDirectory() as home:
        _report(["dpdb people.csv, prompt", "… and the first answer"], rounds, lambda: _shell(home))


def _report(names: list[str], rounds: int, measure: Callable[[], list[float]]) -> None:
    times = zip(*(measure() for _ in range(rounds)), strict=True)
    for name, taken in zip(names, times, strict=True):
        print(f"{name:<28}{statistics.median(taken):6.3f} s")


def _python(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started


def _shell(home: str) -> list[float]:
    """The seconds to the first prompt, and from there to the answer of a count typed at once."""
    started = time.perf_counter()
    child = pexpect.spawn(
        sys.executable, ["-m", "dpdb", str(PEOPLE)], env={"HOME": home, "TERM": "xterm"}, timeout=60
    )
    child.delaybeforesend = None
    child.expect("dpdb>")
    prompted = time.perf_counter()
    child.send("SELECT COUNT(*) FROM people;\r")
    child.expect("spent")
    answered = time.perf_counter()
    child.close(force=True)
    return [prompted - started, answered - started]


if __name__ == "__main__":
    main()
