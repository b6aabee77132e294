"""What a fresh process takes that answers queries about files, beside one of DuckDB."""

from __future__ import annotations

import json
import os
import pickle
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench_tools import with_plenty

from dpdb.policy.catalog import Policy

_PEAK = """
status = Path("/proc/self/status").read_text()
print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
"""
_PRIVATE = f"""
import pickle, sys
from pathlib import Path
from dpdb.session.session import Session
policy, queries = pickle.loads(Path(sys.argv[1]).read_bytes())
private = Session(policy)
private.execute("SET epsilon = 0.1")
for query in queries:
    private.execute(query)
{_PEAK}
"""
_EXACT = f"""
import json, sys
from pathlib import Path
import duckdb
tables, queries = json.loads(Path(sys.argv[1]).read_text())
exact = duckdb.connect()
exact.execute("SET enable_progress_bar = false")
exact.execute("SET temp_directory = ?", [sys.argv[1] + ".spill"])
for name, path in tables.items():
    exact.execute(f"CREATE VIEW {{name}} AS SELECT * FROM '{{path}}'")
for query in queries:
    exact.execute(query).fetchall()
{_PEAK}
"""


class Fresh(NamedTuple):
    """What a process takes: the seconds from its start to its end, and MiB at its peak."""

    seconds: float
    peak: float


def fresh(
    policy: Policy, queries: Sequence[str], files: Sequence[Path], directory: Path, rounds: int
) -> tuple[Fresh, Fresh]:
    """The medians of processes of dpdb and of DuckDB that are asked these queries in turns."""
    asked, plain = directory / "asked.pickle", directory / "asked.json"
    asked.write_bytes(pickle.dumps((with_plenty(policy), queries)))
    tables = {table.name: str(table.path) for table in policy.tables}
    plain.write_text(json.dumps([tables, queries]), encoding="utf-8")
    programs = ((_PRIVATE, asked), (_EXACT, plain))
    found: list[list[Fresh]] = [[], []]
    for _ in range(rounds):
        for taken, (program, argument) in zip(found, programs, strict=True):
            _forget(files)
            taken.append(_run(program, argument))
    private, exact = (
        Fresh(*(statistics.median(figures) for figures in zip(*each, strict=True)))
        for each in found
    )
    return private, exact


def _run(program: str, argument: Path) -> Fresh:
    command = [sys.executable, "-c", program, str(argument)]
    started = time.perf_counter()
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    return Fresh(time.perf_counter() - started, int(process.stdout) / 1024)


def _forget(files: Sequence[Path]) -> None:
    """Have the system drop what it keeps of files in memory, as far as it lets itself be told."""
    for path in files:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
