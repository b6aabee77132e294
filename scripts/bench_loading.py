"""The time and the peak memory of loading a large CSV file, beside those of pandas.read_csv."""

from __future__ import annotations

import json
import pickle
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from bench_tools import show, write_people

ROWS = 5_000_000
ROUNDS = 3

# Each runs in a process of its own, imports first. The parent's peak is inherited by ru_maxrss
# where a child starts as a copy of its parent, so Linux is asked for the peak since exec.
_MEASURE = """
import json, pickle, resource, sys, time
from pathlib import Path
def peak():
    status = Path("/proc/self/status")
    if status.exists():
        line = next(l for l in status.read_text().splitlines() if l.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
{imports}
table = pickle.loads(Path(sys.argv[1]).read_bytes())
before, started = peak(), time.perf_counter()
loaded = {load}
print(json.dumps([time.perf_counter() - started, peak(), before]))
"""
_CONTESTANTS = {
    "dpdb.engines.sources.csv_source": _MEASURE.format(
        imports="from dpdb.engines.sources.csv_source import CsvSource",
        load="CsvSource(table).load([column.name for column in table.columns])",
    ),
    "the same, counting rows": _MEASURE.format(
        imports="from dpdb.engines.sources.csv_source import CsvSource",
        load="CsvSource(table).load([])",
    ),
    "pandas.read_csv": _MEASURE.format(
        imports="import pandas, dpdb.policy.catalog", load="pandas.read_csv(table.path)"
    ),
}


class Load(NamedTuple):
    """One load: its seconds, and the peak memory in bytes after it and before it."""

    seconds: float
    peak: int
    before: int


def run(directory: Path) -> None:
    """Measure the section and print its table."""
    table = write_people(directory / "people.csv", ROWS)
    declared = directory / "table.pickle"
    declared.write_bytes(pickle.dumps(table))
    loads: dict[str, list[Load]] = {name: [] for name in _CONTESTANTS}
    for _ in range(ROUNDS):
        for name, program in _CONTESTANTS.items():
            loads[name].append(_load(program, declared))
    size = table.path.stat().st_size
    reference = statistics.median(load.seconds for load in loads["pandas.read_csv"])
    title = f"loading: {ROWS:,} rows, {size / 2**20:.0f} MiB"
    show(
        f"{title}, medians of {ROUNDS} fresh processes in turns",
        ("what", "s", "/ read_csv", "peak MiB", "of it imports", "peak / file", "growth / file"),
        [_row(name, results, size, reference) for name, results in loads.items()],
    )


def _load(program: str, declared: Path) -> Load:
    command = [sys.executable, "-c", program, str(declared)]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    return Load(*json.loads(process.stdout))


def _row(name: str, loads: list[Load], size: int, reference: float) -> tuple[str, ...]:
    seconds = statistics.median(load.seconds for load in loads)
    peak = statistics.median(load.peak for load in loads)
    before = statistics.median(load.before for load in loads)
    return (
        name,
        f"{seconds:.2f}",
        f"{seconds / reference:.2f}",
        f"{peak / 2**20:.0f}",
        f"{before / 2**20:.0f}",
        f"{peak / size:.2f}",
        f"{(peak - before) / size:.2f}",
    )
