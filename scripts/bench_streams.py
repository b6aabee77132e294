"""Going over Parquet files beside DuckDB's exact answers: speed and memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
from bench_tools import (
    ZIPS,
    Act,
    fresh,
    medians,
    met,
    milliseconds,
    session,
    show,
    with_plenty,
    write_people,
)

from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.storage import files_of
from dpdb.session.session import Session

ROWS = 5_000_000
PART = 5_000_000
"""The most rows of a file."""
ROUNDS, ROUNDS_OF_ROWS = 3, 7
"""Queries about rows take less time, which differs more. Of more rows than usual, one is enough."""
WORKERS = 2
"""The processes of the pool; DuckDB has as many threads."""
MOST_MEMORY = 500
"""In MiB, of a process."""
CITIES = tuple(sorted(f"City {number}" for number in range(20)))
FEWER = 2
"""The table of units has so many times fewer rows; it is still large enough to be streamed."""
ROWS_PER_CUSTOMER = 5
"""Rows of a customer on average, and the most that are counted."""
QUERIES = {
    "SELECT COUNT(*) FROM people": 1.5,
    f"SELECT COUNT(*) FROM people WHERE zip = {ZIPS[7]}": 1.9,
    "SELECT SUM(income) FROM people WHERE age < 40": 1.4,
    "SELECT AVG(income) FROM people": 1.9,
    "SELECT VARIANCE(age) FROM people": 0.9,
    "SELECT zip, COUNT(*) FROM people GROUP BY zip": 1.2,
    "SELECT MEDIAN(income) FROM people": 0.75,
    "SELECT MAX(income) FROM people": 3.3,
    "SELECT COUNT(DISTINCT age) FROM people": 1.7,
    f"SELECT COUNT(*) FROM people WHERE city = '{CITIES[7]}'": 2.6,
    "SELECT city, COUNT(*) FROM people GROUP BY city": 2.2,
    "SELECT COUNT(*) FROM people WHERE name LIKE '%77%'": 1.25,
    "SELECT COUNT(DISTINCT name) FROM people": 1.85,
}
"""Each with the most times that it is to take of what DuckDB takes, with threads or the pool."""
SCANNED = {"SELECT MAX(income) FROM people": "SELECT MAX(income + 0) FROM people"}
"""The question to DuckDB instead, if it would look into a file's statistics and at no row."""


_CAPPED = f"""SELECT {{}} FROM (SELECT * FROM visits{{}}
    QUALIFY row_number() OVER (PARTITION BY customer ORDER BY hash(visits)) <= {ROWS_PER_CUSTOMER}
){{}}"""
_PARTS = (
    ("COUNT(*)", "", ""),
    ("SUM(income)", " WHERE age < 40", ""),
    ("city, COUNT(*)", "", " GROUP BY city"),
    ("COUNT(DISTINCT customer)", "", ""),
)
FACTOR = 1.5
"""The most times that a query about customers is to take of what DuckDB takes."""
CAPPED = {
    f"SELECT {select} FROM visits{where}{keys}": _CAPPED.format(select, where, keys)
    for select, where, keys in _PARTS
}
"""Queries about customers, and the same to DuckDB, of about as many rows of each as dpdb counts."""


def run(directory: Path, rows: int = ROWS) -> None:
    """Measure the section and print its tables."""
    people = _write(directory, "people", rows)
    visits = _write(directory, "visits", rows // FEWER)
    visits = replace(visits, unit="customer", rows_per_unit=ROWS_PER_CUSTOMER)
    policy = Policy((people, visits))
    pooled = Policy(tuple(replace(table, workers=WORKERS) for table in policy.tables))
    policy = Policy(tuple(replace(table, workers=1) for table in policy.tables))
    rounds, of_rows = (ROUNDS, ROUNDS_OF_ROWS) if rows <= ROWS else (1, 1)
    with duckdb.connect() as exact:
        exact.execute("SET temp_directory = ?", [str(directory / "spill")])
        exact.execute(f"SET threads = {WORKERS}")
        for table in policy.tables:
            exact.execute(f"CREATE VIEW {table.name} AS SELECT * FROM '{table.path}'")
        private, pool = session(policy), started(pooled)
        held: Any = pool._backends
        held = held._engine._pool
        _compared(
            f"{rows:,} rows of Parquet, {_size(people)}",
            {query: (SCANNED.get(query, query), goal) for query, goal in QUERIES.items()},
            {"threads": lambda: private, "pool": lambda: pool}, exact, rounds=of_rows,
            note="DuckDB is asked for MAX(income + 0): it would take the greatest value from the"
            " file's\nstatistics, of which dpdb makes no use, as its time would tell of rows.",
        )  # fmt: skip
        _compared(
            f"units in {rows // FEWER:,} rows of Parquet, {_size(visits)}",
            {query: (asked, FACTOR) for query, asked in CAPPED.items()},
            {"threads": lambda: session(policy), "pool": lambda: started(pooled, held)},
            exact, rounds=rounds,
            note=f"Units are customers, of whom at most {ROWS_PER_CUSTOMER} rows count; DuckDB is"
            " asked for as many rows of each.\nEach query has a session of its own, as one keeps"
            " which rows count.",
        )  # fmt: skip
    _memory({"threads": policy, "pool": pooled}, directory)


def started(policy: Policy, pool: object = None) -> Session:
    """A session whose pool has started, or that has this one."""
    opened = session(policy)
    if pool is None:
        opened.execute("SELECT COUNT(name) FROM people")
    backends: Any = opened._backends
    backends.engine(lambda _: None)
    engine = backends._engine
    engine._pool = engine._pool if pool is None else pool
    assert engine._pool.is_ready(None)
    return opened


def _write(directory: Path, name: str, rows: int) -> Table:
    """A table of so many rows in Parquet files, of which some are about the same customer."""
    customers = rows // ROWS_PER_CUSTOMER
    more = {
        Column("city", Kind.TEXT, values=CITIES): "'City ' || floor(random() * 20)::INTEGER",
        Column("customer", Kind.INTEGER, Fraction(0), Fraction(customers)): (
            f"floor(random() * {customers})::INTEGER"
        ),
    }
    names = min(rows // 100, 10**6)
    for number, first in enumerate(range(0, rows, PART)):
        part = directory / f"{name}-{number:03}.parquet"
        table = write_people(part, min(PART, rows - first), names, more)
    return replace(table, name=name, path=directory / f"{name}-*.parquet")


def _size(table: Table) -> str:
    return f"{sum(path.stat().st_size for path in files_of(table.path)) / 2**20:.0f} MiB"


def _compared(
    title: str,
    questions: dict[str, tuple[str, float]],
    private: dict[str, Callable[[], Session]],
    exact: duckdb.DuckDBPyConnection,
    *,
    rounds: int,
    note: str,
) -> None:
    """Time queries, each beside the question that DuckDB is asked for it."""
    rows = []
    for query, (asked, goal) in questions.items():
        turns: dict[str, Act] = {
            name: lambda query=query, of=of: of().execute(query)  # type: ignore[misc]
            for name, of in private.items()
        }
        turns["DuckDB"] = lambda asked=asked: exact.execute(asked).fetchall()  # type: ignore[misc]
        *ours, theirs = medians(turns, rounds).values()
        shown = re.sub("SELECT | FROM (people|visits)", "", query)
        ratios = [f"{each / theirs:.2f}" for each in ours]
        times = map(milliseconds, (*ours, theirs))
        rows.append((shown, *times, *ratios, f"{goal}", met(min(ours) <= goal * theirs)))
    headers = ("query", *private, "DuckDB", *(f"{name} /" for name in private), "goal", "met")
    show(f"streams: {title}, medians of {rounds} in turns, in ms", headers, rows, note)


_PRIVATE = """
private = Session(given[0])
private.execute("SET epsilon = 0.1")
for query in given[1]:
    private.execute(query)
    pool = getattr(private._backends._engine, "_pool", None)
    assert pool is None or pool.is_ready(None)
"""


def _memory(policies: dict[str, Policy], directory: Path) -> None:
    """Measure the peak memory of fresh processes."""
    program = ("from dpdb.session.session import Session", _PRIVATE)
    rows = []
    for by, policy in policies.items():
        for name, texts in (("all about rows", tuple(QUERIES)), ("all about units", tuple(CAPPED))):
            taken = fresh({name: program}, (with_plenty(policy), texts), directory, 1)[name]
            peak = (f"{taken.peak:.0f}", f"{taken.together:.0f}", met(taken.peak <= MOST_MEMORY))
            rows.append((f"{name}, {by}", f"{taken.whole:.2f}", *peak))
    headers = ("queries", "s", "peak MiB of a process", "of all", f"<= {MOST_MEMORY}")
    show("streams: fresh processes", headers, rows)
