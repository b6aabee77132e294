"""The speed and the peak memory of going over a Parquet file, beside DuckDB's exact answers."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import duckdb
from bench_tools import ZIPS, medians, met, milliseconds, session, show, write_people

from dpdb.policy.catalog import Policy

ROWS = 5_000_000
ROUNDS = 3
FACTOR = 1.5
MOST_MEMORY = 500
"""In MiB, of a process that answers all queries."""
QUERIES = (
    "SELECT COUNT(*) FROM people",
    f"SELECT COUNT(*) FROM people WHERE zip = {ZIPS[7]}",
    "SELECT SUM(income) FROM people WHERE age < 40",
    "SELECT AVG(income) FROM people",
    "SELECT VARIANCE(age) FROM people",
    "SELECT zip, COUNT(*) FROM people GROUP BY zip",
    "SELECT MEDIAN(income) FROM people",
    "SELECT COUNT(DISTINCT age) FROM people",
)
_ALL = """
import pickle, sys
from pathlib import Path
from bench_tools import session
policy, queries = pickle.loads(Path(sys.argv[1]).read_bytes())
private = session(policy)
for query in queries:
    private.execute(query)
status = Path("/proc/self/status").read_text()
print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
"""


def run(directory: Path) -> None:
    """Measure the section and print its table."""
    table = write_people(directory / "people.parquet", ROWS)
    private = session(Policy((table,)))
    with duckdb.connect() as exact:
        exact.execute(f"CREATE VIEW people AS SELECT * FROM '{table.path}'")
        rows = [
            _row(
                query,
                medians(
                    {
                        "dpdb": lambda query=query: private.execute(query),  # type: ignore[misc]
                        "DuckDB": lambda query=query: exact.execute(query).fetchall(),  # type: ignore[misc]
                    },
                    ROUNDS,
                ),
            )
            for query in QUERIES
        ]
    size = table.path.stat().st_size / 2**20
    peak = _peak(Policy((table,)), directory)
    show(
        f"streams: {ROWS:,} rows of Parquet, {size:.0f} MiB, medians of {ROUNDS} in turns, in ms",
        ("query", "dpdb", "DuckDB", "/ DuckDB", f"{FACTOR} x DuckDB"),
        rows,
        f"A process that answers all of them has a peak of {peak:.0f} MiB; "
        f"at most {MOST_MEMORY}: {met(peak <= MOST_MEMORY)}.",
    )


def _row(query: str, taken: dict[str, float]) -> tuple[str, ...]:
    private, exact = taken["dpdb"], taken["DuckDB"]
    return (
        query.removeprefix("SELECT ").replace(" FROM people", ""),
        milliseconds(private),
        milliseconds(exact),
        f"{private / exact:.2f}",
        met(private <= FACTOR * exact),
    )


def _peak(policy: Policy, directory: Path) -> float:
    """The peak memory in MiB of a fresh process that answers all queries."""
    asked = directory / "asked.pickle"
    asked.write_bytes(pickle.dumps((policy, QUERIES)))
    command = [sys.executable, "-c", _ALL, str(asked)]
    process = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent
    )
    return int(process.stdout) / 1024
