"""The time and the peak memory of reading a large CSV file, beside those of pandas.read_csv."""

from __future__ import annotations

from pathlib import Path

from bench_tools import fresh, met, show, write_people

ROWS = 1_000_000
NAMES = ROWS // 2
ROUNDS = 3
_SOURCE = "from dpdb.engines.sources.csv_source import CsvSource"
_AVERAGE = (
    "main([str(given.path), '--bounds', 'income=0:1000000', '-c',"
    " 'SELECT AVG(income) FROM people'])"
)
PANDAS, ONE = "pandas.read_csv", "pandas.read_csv, one column"
PROGRAMS = {
    PANDAS: ("import pandas", "pandas.read_csv(given.path)"),
    ONE: ("import pandas", "pandas.read_csv(given.path, usecols=['income'])"),
    "all columns": (_SOURCE, "CsvSource(given).load([c.name for c in given.columns])"),
    "one column": (_SOURCE, "CsvSource(given).load(['income'])"),
    "dpdb -c 'SELECT AVG(income)'": ("from dpdb.interfaces.cli.main import main", _AVERAGE),
}
GOALS = {
    "all columns": (PANDAS, 1.5, False),
    "one column": (ONE, 2, False),
    "dpdb -c 'SELECT AVG(income)'": (ONE, 2, True),
}
"""The reference of each, the most that its time may be as a multiple of the reference's, and
whether whole processes are compared, with the start of Python."""


def run(directory: Path) -> None:
    """Measure the section and print its table."""
    table = write_people(directory / "people.csv", ROWS, NAMES)
    taken = fresh(PROGRAMS, table, directory, ROUNDS)
    rows = []
    for name, (reference, goal, whole) in GOALS.items():
        ours, theirs = taken[name], taken[reference]
        ratio = ours.whole / theirs.whole if whole else ours.work / theirs.work
        cells = (f"{ours.work:.2f}", f"{ours.whole:.2f}", f"{ratio:.2f}", f"{goal:g}")
        rows.append((name, *cells, met(ratio <= goal), f"{ours.peak:.0f}", f"{theirs.peak:.0f}"))
    show(
        f"loading: {ROWS:,} rows, about {NAMES:,} names, "
        f"{table.path.stat().st_size / 2**20:.0f} MiB, medians of {ROUNDS} fresh processes",
        ("what", "s", "process s", "/ pandas", "goal", "met", "peak MiB", "pandas'"),
        rows,
    )
