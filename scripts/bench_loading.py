"""The time and the peak memory of reading a large CSV file, beside those of pandas.read_csv."""

from __future__ import annotations

import json
import pickle
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bench_tools import met, show, write_people

ROWS = 1_000_000
NAMES = ROWS // 2
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
before, started, busy = peak(), time.perf_counter(), time.process_time()
loaded = {load}
taken, busy = time.perf_counter() - started, time.process_time() - busy
print()
print(json.dumps([taken, busy, time.process_time(), peak(), before]))
"""
_SOURCE = "from dpdb.engines.sources.csv_source import CsvSource"
_PANDAS = "import pandas, dpdb.policy.catalog"
_NO_PYARROW = f"import sys; sys.modules['pyarrow'] = None; {_PANDAS}"
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
_WITHOUT = "pandas.read_csv, without pyarrow"
"""It holds texts as Python's then, and takes longer."""


class Time(NamedTuple):
    """How long something takes, and what all its threads take of processors: in seconds."""

    seconds: float
    busy: float


class Load(NamedTuple):
    """One load: its time, that of its process, and the peak memory after and before it."""

    time: Time
    process: Time
    peak: float
    before: float


def run(directory: Path) -> None:
    """Measure the section and print its table."""
    table = write_people(directory / "people.csv", ROWS, NAMES)
    declared = directory / "table.pickle"
    declared.write_bytes(pickle.dumps(table))
    contestants = dict(_CONTESTANTS)
    if find_spec("pyarrow") is not None:
        contestants[_WITHOUT] = contestants[_ALL]._replace(imports=_NO_PYARROW)
    loads: dict[str, list[Load]] = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, contestant in contestants.items():
            loads[name].append(_load(contestant, declared))
    medians = {name: _median(each) for name, each in loads.items()}
    size = table.path.stat().st_size
    show(
        f"loading: {ROWS:,} rows, about {NAMES:,} names, {size / 2**20:.0f} MiB,"
        f" medians of {ROUNDS} fresh processes in turns",
        (
            "what",
            "s",
            "process s",
            "/ pandas",
            "goal",
            "met",
            "CPU s",
            "/ pandas",
            "peak MiB",
            "imports",
            "growth",
        ),
        [_row(name, contestant, medians, size) for name, contestant in contestants.items()],
        "/ pandas: of the same columns; of dpdb -c the whole process. CPU s: of all its threads.\n"
        "growth: of the peak memory by the load, as a multiple of the file's size.",
    )


def _load(contestant: Contestant, declared: Path) -> Load:
    program = _MEASURE.format(imports=contestant.imports, load=contestant.load)
    command = [sys.executable, "-c", program, str(declared)]
    started = time.perf_counter()
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    taken = time.perf_counter() - started
    seconds, busy, whole, peak, before = json.loads(process.stdout.splitlines()[-1])
    return Load(Time(seconds, busy), Time(taken, whole), peak, before)


def _median(loads: list[Load]) -> Load:
    def of(figure: Callable[[Load], float]) -> float:
        return statistics.median(map(figure, loads))

    return Load(
        Time(of(lambda load: load.time.seconds), of(lambda load: load.time.busy)),
        Time(of(lambda load: load.process.seconds), of(lambda load: load.process.busy)),
        of(lambda load: load.peak),
        of(lambda load: load.before),
    )


def _row(name: str, contestant: Contestant, medians: dict[str, Load], size: int) -> tuple[str, ...]:
    load, reference = medians[name], medians[contestant.reference]
    ours, theirs = load.time, reference.time
    if contestant.whole:
        ours, theirs = load.process, reference.process
    ratio, goal = ours.seconds / theirs.seconds, contestant.goal
    return (
        name,
        f"{load.time.seconds:.2f}",
        f"{load.process.seconds:.2f}",
        f"{ratio:.2f}",
        "" if goal is None else f"{goal:g}",
        "" if goal is None else met(ratio <= goal),
        f"{load.time.busy:.2f}",
        f"{ours.busy / theirs.busy:.2f}",
        f"{load.peak / 2**20:.0f}",
        f"{load.before / 2**20:.0f}",
        f"{(load.peak - load.before) / size:.2f}",
    )
