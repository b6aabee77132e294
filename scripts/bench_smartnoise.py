"""The speed of a warm session beside SmartNoise's, which answers SQL privately over pandas."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bench_tools import ZIPS, Act, medians, milliseconds, session, show, write_people

from dpdb.policy.catalog import Kind, Policy, Table

ROWS = 1_000_000
ROUNDS = 5
QUERIES = (
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE age < 40",
    f"SELECT SUM(age) FROM people WHERE zip = {ZIPS[7]}",
    "SELECT AVG(income) FROM people",
    "SELECT zip, COUNT(*) FROM people GROUP BY zip",
)
_TYPES = {Kind.INTEGER: "int", Kind.NUMBER: "float", Kind.TEXT: "string"}
_ANSWERED = "answered"
_ANSWER = f"""
import json, sys, warnings
warnings.simplefilter("ignore")
import pandas
from snsql import Privacy, from_df
frame = pandas.read_csv(sys.argv[1])
privacy = Privacy(epsilon=0.1, delta=1e-6)
private = from_df(frame, metadata=json.loads(sys.argv[2]), privacy=privacy)
for query in sys.stdin:
    private.execute(query.replace("FROM ", "FROM public."))
    print("{_ANSWERED}", flush=True)
"""


def run(directory: Path, python: str = sys.executable) -> None:
    """Measure the section and print its table, where that Python has SmartNoise."""
    found = subprocess.run([python, "-c", "import snsql"], check=False, capture_output=True)
    if found.returncode:
        print(f"smartnoise: left out, as {python} has no package smartnoise-sql\n")
        return
    table = write_people(directory / "people.csv", ROWS)
    private = session(Policy((table,)))
    with _smartnoise(python, table) as ask:
        rows = []
        for query in QUERIES:
            turns: dict[str, Act] = {
                "dpdb": lambda query=query: private.execute(query),  # type: ignore[misc]
                "SmartNoise": lambda query=query: ask(query),  # type: ignore[misc]
            }
            taken = medians(turns, ROUNDS)
            ratio = taken["dpdb"] / taken["SmartNoise"]
            shown = query.removeprefix("SELECT ").replace(" FROM people", "")
            rows.append((shown, *map(milliseconds, taken.values()), f"{ratio:.4f}"))
    show(
        f"smartnoise: {ROWS:,} rows, warm sessions, medians of {ROUNDS} in turns, in ms",
        ("query", "dpdb", "SmartNoise", "/ SmartNoise"),
        rows,
    )


@contextmanager
def _smartnoise(python: str, table: Table) -> Iterator[_Asking]:
    """A process of SmartNoise that has read the table: its packages are not those of dpdb."""
    command = [python, "-c", _ANSWER, str(table.path), json.dumps(_metadata(table))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        yield _Asking(run.stdin, run.stdout)


class _Asking:
    """Asks a process for an answer, and waits until it has one."""

    def __init__(self, queries: IO[str], answers: IO[str]):
        self.queries, self.answers = queries, answers

    def __call__(self, query: str) -> None:
        print(query, file=self.queries, flush=True)
        for line in self.answers:
            if line.strip() == _ANSWERED:
                return
        raise RuntimeError(f"SmartNoise did not answer {query}")


def _metadata(table: Table) -> dict[str, object]:
    """What the policy declares, as SmartNoise is told it."""
    declared: dict[str, object] = {"row_privacy": True, "rows": ROWS}
    for column in table.columns:
        declared[column.name] = {"type": _TYPES[column.kind]}
        if column.bounds is not None:
            lower, upper = map(float, column.bounds)
            declared[column.name] = {"type": _TYPES[column.kind], "lower": lower, "upper": upper}
    return {"": {"public": {table.name: declared}}}
