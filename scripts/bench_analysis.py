"""The speed of Gaussian noise and of options, and of `dpdb risk` on a large file."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from bench_tools import medians, milliseconds, show, write_people

from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.privacy.noise.sources import source
from dpdb.session.session import Session

CELLS = 100_000
ROWS = 1_000_000
ROUNDS = 11
RISK_ROUNDS = 3
QUERIES = {
    "AVG(income)": "mechanism = 'gaussian'",
    "MEDIAN(income)": "sensitivity = 'smooth'",
    "MAX(net_worth)": "sensitivity = 'smooth'",
    "COUNT(*)": "relative_error = 0.1",
}


def run(directory: Path) -> None:
    """Measure the section and print its tables."""
    _noise()
    table = write_people(directory / "people.csv", ROWS)
    _queries(Policy((table,)))
    _risk(table.path)


def _noise() -> None:
    noise = source("system")
    rows = []
    for deviation in (10, 10**8):
        taken = medians(
            {
                "laplace": lambda d=deviation: noise.laplace(Fraction(d), CELLS),  # type: ignore[misc]
                "gaussian": lambda d=deviation: noise.gaussian(Fraction(d**2), CELLS),  # type: ignore[misc]
            },
            ROUNDS,
        )
        rows.append(_compared(f"scale {deviation:.0e}", taken["gaussian"], taken["laplace"]))
    show(
        f"analysis: {CELLS:,} draws of noise, medians of {ROUNDS} in turns, in ms",
        ("noise", "gaussian", "laplace", "ratio"),
        rows,
    )


def _queries(policy: Policy) -> None:
    """Time each query with its usual options and with another one."""
    plenty = Budget(Fraction(10**9), Fraction(999, 1000), 10**9)
    private = Session(replace(policy, budget=plenty))
    for setting in ("repeats = 'fresh'", "epsilon = 0.1"):
        private.execute(f"SET {setting}")
    rows = []
    for query, option in QUERIES.items():
        options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS(delta = 1e-9, {option})"
        taken = medians(
            {
                "with": lambda q=query, o=options: private.execute(f"SELECT {o} {q} FROM people"),  # type: ignore[misc]
                "without": lambda q=query: private.execute(f"SELECT {q} FROM people"),  # type: ignore[misc]
            },
            ROUNDS,
        )
        rows.append(_compared(f"{query}, {option}", taken["with"], taken["without"]))
    show(
        f"analysis: {ROWS:,} rows, warm session, medians of {ROUNDS} in turns, in ms",
        ("query", "with option", "without", "ratio"),
        rows,
    )


def _risk(path: Path) -> None:
    """Time the whole process, beside one that only reads the file."""
    dpdb = str(Path(sys.executable).with_name("dpdb"))
    reading = [sys.executable, "-c", f"import pandas; pandas.read_csv({str(path)!r})"]
    rows = []
    for statistic in ("AVG(income)", "MEDIAN(income)"):
        query = f"SELECT {statistic} FROM people"
        asking = [dpdb, "risk", str(path), "--query", query, "--max-risk", "0.01"]
        taken = medians(
            {"dpdb": lambda a=asking: _finish(a), "pandas": lambda: _finish(reading)},  # type: ignore[misc]
            RISK_ROUNDS,
        )
        rows.append(_compared(f"dpdb risk, {statistic}", taken["dpdb"], taken["pandas"]))
    show(
        f"analysis: {ROWS:,} rows, whole processes, medians of {RISK_ROUNDS} in turns, in ms",
        ("command", "dpdb risk", "pandas.read_csv", "ratio"),
        rows,
    )


def _finish(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _compared(name: str, ours: float, theirs: float) -> tuple[str, ...]:
    return name, milliseconds(ours), milliseconds(theirs), f"{ours / theirs:.2f}"
