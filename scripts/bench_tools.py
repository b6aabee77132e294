"""Tools that the sections of the benchmark share: data, sessions, processes, timing and tables."""

from __future__ import annotations

import math
import pickle
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from unittest import mock

import duckdb

from dpdb.answers.formats.render import RULED, grid
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.session.session import Session
from dpdb.session.timing import gate

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "sample_data" / "people.csv"
ZIPS = tuple(range(10_001, 10_001 + 40 * 997, 997))

_COLUMNS = (
    Column("name", Kind.TEXT),
    Column("age", Kind.INTEGER, Fraction(18), Fraction(65)),
    Column("income", Kind.NUMBER, Fraction(0), Fraction(10**6), step=Fraction(1, 100)),
    Column("zip", Kind.INTEGER, Fraction(ZIPS[0]), Fraction(ZIPS[-1]), values=ZIPS),
    Column("net_worth", Kind.INTEGER, Fraction(-(10**6)), Fraction(10**7)),
)
# First and last names combine; none of the other columns repeats a pattern.
_PEOPLE = """
    COPY (
        SELECT
            'First' || (random() * {parts})::INTEGER
                || ' Last' || (random() * {parts})::INTEGER AS name,
            18 + floor(random() * 48)::INTEGER AS age,
            round(pow(random(), 4) * 1000000, 2)::DECIMAL(9, 2) AS income,
            10001 + 997 * floor(random() * 40)::INTEGER AS zip,
            floor(random() * 11000000)::INTEGER - 1000000 AS net_worth
            {more}
        FROM range({rows})
    ) TO '{path}' ({format})
"""


def _leave_at_once(*_: object) -> None:
    """Answers leave on a tick of 10 ms or more. What is measured is the work until then."""


mock.patch.object(gate, "wait_to_leave", new=_leave_at_once).start()

Act = Callable[[], object]
Rows = Sequence[Sequence[object]]


def write_people(
    path: Path, rows: int, names: int = 40_000, more: Mapping[Column, str] = MappingProxyType({})
) -> Table:
    """Write a file of invented people, who have about so many names, and declare it.

    It is a Parquet file where its name says so, and else a CSV file. `more` has further columns,
    and what DuckDB is to fill each with.
    """
    written = "FORMAT parquet" if path.suffix == ".parquet" else "HEADER, DELIMITER ','"
    filled = {
        "rows": rows,
        "path": path,
        "parts": math.isqrt(names),
        "format": written,
        "more": "".join(f", {filled} AS {column.name}" for column, filled in more.items()),
    }
    with duckdb.connect() as connection:
        connection.execute(_PEOPLE.format(**filled))
    return Table("people", path, (*_COLUMNS, *more))


def with_plenty(policy: Policy) -> Policy:
    """The policy with a budget that no benchmark exhausts."""
    return replace(policy, budget=Budget(Fraction(10**9), Fraction(0), 10**9))


def session(policy: Policy, epsilon: str = "0.1") -> Session:
    """A session with an ample budget, in which repeated queries are executed again."""
    opened = Session(with_plenty(policy))
    opened.execute("SET repeats = 'fresh'")
    opened.execute(f"SET epsilon = {epsilon}")
    return opened


class Process(NamedTuple):
    """A process: the seconds of its work and of all of it, and the MiB at its peak.

    `together` are those of its own processes at their peaks, too.
    """

    work: float
    whole: float
    peak: float
    together: float


_PROGRAM = """
import pickle, sys, time
from pathlib import Path
{imports}
given = pickle.loads(Path(sys.argv[1]).read_bytes())
started = time.perf_counter()
{work}
taken = time.perf_counter() - started
peaks = []
begun = [each.read_text().split() for each in Path("/proc/self/task").glob("*/children")]
for process in ["self", *sum(begun, [])]:
    lines = Path(f"/proc/{{process}}/status").read_text().splitlines()
    peaks += [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
print()
print(taken, max(peaks), sum(peaks))
"""


def fresh(
    programs: Mapping[str, tuple[str, str]], given: object, directory: Path, rounds: int
) -> dict[str, Process]:
    """The medians of fresh processes in turns, each of imports and work on what is `given`.

    The peak is that of the largest process.

    Linux is asked for the peak since exec, as a child would inherit its parent's in ru_maxrss.
    """
    argument = directory / "given.pickle"
    argument.write_bytes(pickle.dumps(given))
    found: dict[str, list[Process]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, (imports, work) in programs.items():
            program = _PROGRAM.format(imports=imports, work=work)
            started = time.perf_counter()
            ended = subprocess.run(
                [sys.executable, "-c", program, str(argument)],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            whole = time.perf_counter() - started
            work_seconds, *peaks = map(float, ended.stdout.splitlines()[-1].split())
            found[name].append(Process(work_seconds, whole, *(peak / 1024 for peak in peaks)))
    return {
        name: Process(*map(statistics.median, zip(*each, strict=True)))
        for name, each in found.items()
    }


def medians(contestants: Mapping[str, Act], rounds: int) -> dict[str, float]:
    """The median of the seconds that each contestant took, in turns, after one round to warm up."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, act in contestants.items():
            started = time.perf_counter()
            act()
            if number:
                times[name].append(time.perf_counter() - started)
    return {name: statistics.median(taken) for name, taken in times.items()}


def milliseconds(seconds: float) -> str:
    """Seconds as milliseconds, with three decimals below 10 and one from there on."""
    value = seconds * 1000
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def met(reached: bool) -> str:
    """Whether a goal is reached, as a word for a table."""
    return "yes" if reached else "no"


def show(title: str, headers: Sequence[str], rows: Rows, note: str = "") -> None:
    """Print a table under its title, and a note below it."""
    print(f"\n{title}\n")
    columns = [*map(list, zip(*rows, strict=True))]
    print(grid(headers, columns, RULED, [i > 0 for i in range(len(headers))]))
    if note:
        print(note)
    print(flush=True)
