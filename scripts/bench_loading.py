"""The time and the peak memory of reading a large CSV file, beside those of pandas.read_csv."""

from __future__ import annotations

import json
import pickle
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from bench_tools import met, show, write_people

ROWS = 1_000_000
NAMES = ROWS // 2
ROUNDS = 3

# Each runs in a process of its own, imports first. The parent's peak is inherited by ru_maxrss
# where a child starts as a copy of its parent, so Linux is asked for the peak since exec.
_MEASURE = """
import json, pickle, sys, time
from pathlib import Path
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024
{imports}
table = pickle.loads(Path(sys.argv[1]).read_bytes())
before, started = peak(), time.perf_counter()
loaded = {load}
print()
print(json.dumps([time.perf_counter() - started, peak() - before]))
"""
_SOURCE = "from dpdb.engines.sources.csv_source import CsvSource"
_PANDAS = "import pandas, dpdb.policy.catalog"
_SHELL = "from dpdb.interfaces.cli.main import main"


class Contestant(NamedTuple):
    """A way to read a file, and what it is compared with."""

    imports: str
    load: str
    reference: str
    goal: float | None = None
    """The most that the time may be, as a multiple of the reference's."""
    whole: bool = False
    """Whether the time of the whole process is compared, with the start of Python."""


_ALL, _ONE = "pandas.read_csv", "pandas.read_csv, usecols"
_CONTESTANTS = {
    "all columns": Contestant(
        _SOURCE, "CsvSource(table).load([c.name for c in table.columns])", _ALL, 1.5
    ),
    "one column": Contestant(_SOURCE, "CsvSource(table).load(['income'])", _ONE, 2),
    "counting rows": Contestant(_SOURCE, "CsvSource(table).load([])", _ONE),
    "dpdb -c 'SELECT COUNT(*)'": Contestant(
        _SHELL, "main([str(table.path), '-c', 'SELECT COUNT(*) FROM people'])", _ONE, whole=True
    ),
    "dpdb -c 'SELECT AVG(income)'": Contestant(
        _SHELL,
        "main([str(table.path), '--bounds', 'income=0:1000000', '-c',"
        " 'SELECT AVG(income) FROM people'])",
        _ONE,
        2,
        whole=True,
    ),
    _ALL: Contestant(_PANDAS, "pandas.read_csv(table.path)", _ALL),
    _ONE: Contestant(_PANDAS, "pandas.read_csv(table.path, usecols=['income'])", _ONE),
}


class Load(NamedTuple):
    """The seconds of a load, those of its whole process, and the bytes that its peak grows by."""

    seconds: float
    process: float
    growth: float


def run(directory: Path) -> None:
    """Measure the section and print its table."""
    table = write_people(directory / "people.csv", ROWS, NAMES)
    declared = directory / "table.pickle"
    declared.write_bytes(pickle.dumps(table))
    loads: dict[str, list[Load]] = {name: [] for name in _CONTESTANTS}
    for _ in range(ROUNDS):
        for name, contestant in _CONTESTANTS.items():
            loads[name].append(_load(contestant, declared))
    medians = {
        name: Load(*(statistics.median(figures) for figures in zip(*each, strict=True)))
        for name, each in loads.items()
    }
    size = table.path.stat().st_size
    show(
        f"loading: {ROWS:,} rows, about {NAMES:,} names, {size / 2**20:.0f} MiB,"
        f" medians of {ROUNDS} fresh processes in turns",
        ("what", "s", "process s", "/ pandas", "goal", "met", "growth"),
        [_row(name, contestant, medians, size) for name, contestant in _CONTESTANTS.items()],
        "/ pandas: of the same columns; of dpdb -c the whole process.\n"
        "growth: of the peak memory by the load, as a multiple of the file's size.",
    )


def _load(contestant: Contestant, declared: Path) -> Load:
    program = _MEASURE.format(imports=contestant.imports, load=contestant.load)
    command = [sys.executable, "-c", program, str(declared)]
    started = time.perf_counter()
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    taken = time.perf_counter() - started
    seconds, growth = json.loads(process.stdout.splitlines()[-1])
    return Load(seconds, taken, growth)


def _row(name: str, contestant: Contestant, medians: dict[str, Load], size: int) -> tuple[str, ...]:
    load, reference = medians[name], medians[contestant.reference]
    both = (load.process, reference.process) if contestant.whole else (load[0], reference[0])
    ratio, goal = both[0] / both[1], contestant.goal
    return (
        name,
        f"{load.seconds:.2f}",
        f"{load.process:.2f}",
        f"{ratio:.2f}",
        "" if goal is None else f"{goal:g}",
        "" if goal is None else met(ratio <= goal),
        f"{load.growth / size:.2f}",
    )
