"""The speed on ten thousand rows: single queries, many noisy cells, and the whole process."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

from bench_tools import SAMPLE, Act, medians, met, milliseconds, session, show

from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.noise.sources import source

ROUNDS = 101
GOAL = 0.003
QUERIES = (
    "SELECT COUNT(*) FROM people",
    "SELECT SUM(age) FROM people WHERE zip = 31643",
    "SELECT AVG(income) FROM people",
    "SELECT AVG(income) FROM people WHERE age >= 40 AND zip IN (10025, 31643)",
    "SELECT MEDIAN(income) FROM people",
    "SELECT MAX(net_worth) FROM people",
    "SELECT VARIANCE(age) FROM people",
    "SELECT zip, COUNT(*) FROM people GROUP BY zip",
    "SELECT zip, COUNT(*), AVG(age) FROM people GROUP BY zip HAVING COUNT(*) > 9 ORDER BY 2",
    "SELECT COUNT(*) FROM people WHERE income > (SELECT AVG(income) FROM people)",
)
CELLS = (250, 400)
CELL_ROUNDS = 11
PROCESS_ROUNDS = 9
PROCESS_TIMES = 1.6


def run(directory: Path) -> None:
    """Measure the section and print its tables."""
    _queries()
    _cells(directory)
    _process(directory)


def _queries() -> None:
    """Time each query in the same text again and again, and in a text of its own each time.

    The same text is parsed and bound once. All else is done for every answer, as repeats are
    fresh: the plan, the charge, the exact results, the noise, the intervals.
    """
    private = session(read_policy(SAMPLE.with_suffix(".toml")))
    rows = []
    for query in QUERIES:
        numbers = itertools.count()
        turns: dict[str, Act] = {
            "again": lambda q=query: private.execute(q),  # type: ignore[misc]
            "first": lambda q=query, n=numbers: private.execute(_anew(q, next(n))),  # type: ignore[misc]
        }
        taken = medians(turns, ROUNDS)
        reached = met(max(taken.values()) < GOAL)
        cells = (milliseconds(taken["again"]), milliseconds(taken["first"]))
        rows.append((query.removeprefix("SELECT "), *cells, f"< {GOAL * 1000:.0f}", reached))
    show(
        f"small: 10,000 rows, warm session, noise included, medians of {ROUNDS}, in ms",
        ("query", "text again", "new text", "goal", "met"),
        rows,
    )


def _anew(query: str, number: int) -> str:
    """The query in another text for each number: other aliases, and other limits if it has any."""
    named = query.replace(" FROM", f" AS a{number} FROM", 1)
    return re.sub(r"(>=? \d+)", rf"\1.{number:03}", named)


def _cells(directory: Path) -> None:
    """Time the noise of as many cells as an answer may have, alone and in an answer."""
    number = CELLS[0] * CELLS[1]
    private = session(Policy((_crossed(directory / "crossed.csv"),)))
    noise, query = source("system"), "SELECT a, b, COUNT(*) FROM crossed GROUP BY a, b"
    contestants: dict[str, tuple[Act, float]] = {
        "noise alone, scale 10": (lambda: noise.laplace(Fraction(10), number), 0.02),
        "noise alone, scale 10^8": (lambda: noise.laplace(Fraction(10**8), number), 0.02),
        "COUNT(*) GROUP BY a, b": (lambda: private.execute(query), 0.13),
    }
    taken = medians({name: act for name, (act, _) in contestants.items()}, CELL_ROUNDS)
    show(
        f"small: {number:,} noisy cells over 10,000 rows, medians of {CELL_ROUNDS} in turns, in ms",
        ("what", "median", "goal", "met"),
        [
            (name, milliseconds(taken[name]), f"< {goal * 1000:.0f}", met(taken[name] < goal))
            for name, (_, goal) in contestants.items()
        ],
    )


def _crossed(path: Path) -> Table:
    """A table of two columns whose declared values make many cells, most of them without rows."""
    lines = (f"{i * 7 % CELLS[0]},{i * 11 % CELLS[1]}\n" for i in range(10_000))
    path.write_text("a,b\n" + "".join(lines), encoding="utf-8")
    columns = (
        Column(name, Kind.INTEGER, Fraction(0), Fraction(size - 1), values=tuple(range(size)))
        for name, size in zip("ab", CELLS, strict=True)
    )
    return Table("crossed", path, tuple(columns))


def _process(directory: Path) -> None:
    """Time whole processes as they are once installed: their modules are compiled already.

    Whatever the environment says, compiled modules are kept in `directory`, where the round that
    warms up leaves them.
    """
    kept = {"PYTHONPYCACHEPREFIX": str(directory), "PYTHONDONTWRITEBYTECODE": ""}
    environment = {**os.environ, **kept}

    def finish(command: list[str]) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)

    dpdb = str(Path(sys.executable).with_name("dpdb"))
    count = [dpdb, str(SAMPLE), "-c", "SELECT COUNT(*) FROM people"]
    imports = [sys.executable, "-c", "import numpy, sqlglot"]
    turns: dict[str, Act] = {"dpdb": lambda: finish(count), "imports": lambda: finish(imports)}
    ours, theirs = medians(turns, PROCESS_ROUNDS).values()
    ratio = (f"{ours / theirs:.2f}", f"<= {PROCESS_TIMES}", met(ours <= PROCESS_TIMES * theirs))
    show(
        f"small: the whole process, medians of {PROCESS_ROUNDS} in turns, in ms",
        ("command", "dpdb", "import numpy, sqlglot", "ratio", "goal", "met"),
        [("dpdb people.csv -c 'SELECT COUNT(*) …'", *map(milliseconds, (ours, theirs)), *ratio)],
    )
