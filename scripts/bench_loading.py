"""The time and the peak memory of reading a large CSV file, beside those of pandas.read_csv.

Queries over the file as a stream follow, by one process and by two that share it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from bench_streams import WORKERS, started
from bench_tools import fresh, medians, met, milliseconds, session, show, write_people

from dpdb.policy.catalog import Policy, Table

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
STREAMED = {
    "no column": "SELECT COUNT(*) FROM people",
    "1 column": "SELECT SUM(income) FROM people",
    "3 columns": "SELECT zip, SUM(income) FROM people WHERE age < 40 GROUP BY zip",
    "5 columns": "SELECT zip, SUM(income) FROM people"
    " WHERE age < 40 AND net_worth > 0 AND name <> '' GROUP BY zip",
    "LIKE": "SELECT COUNT(*) FROM people WHERE name LIKE '%77%'",
}
FILES = 4
GAIN = 1.4
"""The least that two processes are to gain over one."""


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
    _shared(replace(table, also=(table.path,) * (FILES - 1)))


def _shared(table: Table) -> None:
    """Measure queries over the file as a stream, several times one after the other."""
    policy = Policy((replace(table, engine="stream", workers=1),))
    alone = session(policy)
    shared = started(Policy((replace(policy.tables[0], workers=WORKERS),)))
    rows = []
    for name, query in STREAMED.items():
        taken = medians(
            {"1": partial(alone.execute, query), "2": partial(shared.execute, query)}, ROUNDS
        )
        gain = taken["1"] / taken["2"]
        rows.append((name, *map(milliseconds, taken.values()), f"{gain:.2f}", met(gain >= GAIN)))
    headers = ("query of", "one process, ms", f"{WORKERS}, ms", "gain", f">= {GAIN}")
    title = f"{FILES} times the same file as a stream, {ROWS * FILES:,} rows, medians of {ROUNDS}"
    show(title, headers, rows)
