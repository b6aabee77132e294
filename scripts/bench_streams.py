"""Going over Parquet files beside DuckDB's exact answers: speed and memory."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

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

ROWS = 5_000_000
PART = 5_000_000
"""The most rows of a file."""
ROUNDS, ROUNDS_OF_ROWS = 3, 7
"""Queries about rows take less time, which differs more. Of more rows than usual, one is enough."""
FACTOR = 1.5
MOST_MEMORY = 500
"""In MiB, of a process."""
CITIES = tuple(sorted(f"City {number}" for number in range(20)))
FEWER = 2
"""The table of units has so many times fewer rows; it is still large enough to be streamed."""
ROWS_PER_CUSTOMER = 5
"""Rows of a customer on average, and the most that are counted."""
QUERIES = (
    "SELECT COUNT(*) FROM people",
    f"SELECT COUNT(*) FROM people WHERE zip = {ZIPS[7]}",
    "SELECT SUM(income) FROM people WHERE age < 40",
    "SELECT AVG(income) FROM people",
    "SELECT VARIANCE(age) FROM people",
    "SELECT zip, COUNT(*) FROM people GROUP BY zip",
    "SELECT MEDIAN(income) FROM people",
    "SELECT MAX(income) FROM people",
    "SELECT COUNT(DISTINCT age) FROM people",
    f"SELECT COUNT(*) FROM people WHERE city = '{CITIES[7]}'",
    "SELECT city, COUNT(*) FROM people GROUP BY city",
    "SELECT COUNT(*) FROM people WHERE name LIKE '%77%'",
    "SELECT COUNT(DISTINCT name) FROM people",
)
SCANNED = {"SELECT MAX(income) FROM people": "SELECT MAX(income + 0) FROM people"}
"""The question to DuckDB instead, if it would look into a file's statistics and at no row."""


class OfUnits(NamedTuple):
    """A query about a table whose units are customers."""

    select: str
    where: str = ""
    group_by: str = ""

    @property
    def text(self) -> str:
        """The question to dpdb."""
        return f"SELECT {self.select} FROM visits{self.where}{self.group_by}"

    @property
    def capped(self) -> str:
        """The same question to DuckDB, about as many rows of each customer as dpdb counts."""
        return f"""
            SELECT {self.select} FROM (
                SELECT * FROM visits{self.where}
                QUALIFY row_number() OVER (PARTITION BY customer ORDER BY hash(visits))
                    <= {ROWS_PER_CUSTOMER}
            ){self.group_by}
            """


UNIT_QUERIES = (
    OfUnits("COUNT(*)"),
    OfUnits("SUM(income)", " WHERE age < 40"),
    OfUnits("city, COUNT(*)", group_by=" GROUP BY city"),
    OfUnits("COUNT(DISTINCT customer)"),
)


def run(directory: Path, rows: int = ROWS) -> None:
    """Measure the section and print its tables."""
    people = _write(directory, "people", rows)
    visits = _write(directory, "visits", rows // FEWER)
    visits = replace(visits, unit="customer", rows_per_unit=ROWS_PER_CUSTOMER)
    policy = Policy((people, visits))
    rounds, of_rows = (ROUNDS, ROUNDS_OF_ROWS) if rows <= ROWS else (1, 1)
    with duckdb.connect() as exact:
        exact.execute("SET temp_directory = ?", [str(directory / "spill")])
        for table in policy.tables:
            exact.execute(f"CREATE VIEW {table.name} AS SELECT * FROM '{table.path}'")
        _rows(f"{rows:,} rows of Parquet, {_size(people)}", policy, exact, of_rows)
        _units(f"{rows // FEWER:,} rows of Parquet, {_size(visits)}", policy, exact, rounds)
    _memory(policy, directory)


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


def _rows(about: str, policy: Policy, exact: duckdb.DuckDBPyConnection, rounds: int) -> None:
    """Time the queries about a table whose rows are the units."""
    private = session(policy)
    rows = []
    for query in QUERIES:
        asked = SCANNED.get(query, query)
        turns: dict[str, Act] = {
            "dpdb": lambda query=query: private.execute(query),  # type: ignore[misc]
            "DuckDB": lambda asked=asked: exact.execute(asked).fetchall(),  # type: ignore[misc]
        }
        taken = medians(turns, rounds)
        rows.append((_shown(query), *_compared(taken["dpdb"], taken["DuckDB"])))
    show(
        f"streams: {about}, medians of {rounds} in turns, in ms",
        ("query", "dpdb", "DuckDB", "/ DuckDB", f"{FACTOR} x DuckDB"),
        rows,
        "DuckDB is asked for MAX(income + 0): it would take the greatest value from the file's"
        " statistics,\nof which dpdb makes no use, as its time would tell of rows.",
    )


def _units(about: str, policy: Policy, exact: duckdb.DuckDBPyConnection, rounds: int) -> None:
    """Time the queries about a table whose units are customers."""
    rows = []
    for query in UNIT_QUERIES:
        turns: dict[str, Act] = {
            "dpdb": lambda query=query: session(policy).execute(query.text),  # type: ignore[misc]
            "capped": lambda query=query: exact.execute(query.capped).fetchall(),  # type: ignore[misc]
        }
        taken = medians(turns, rounds)
        rows.append((_shown(query.text), *_compared(taken["dpdb"], taken["capped"])))
    show(
        f"streams: units in {about}, medians of {rounds} in turns, in ms",
        ("query", "dpdb", "capped", "/ capped", f"{FACTOR} x capped"),
        rows,
        f"Units are customers, of whom at most {ROWS_PER_CUSTOMER} rows count. Capped: DuckDB, of"
        " as many rows of each.\nEach query has a session of its own, as one keeps which rows"
        " count.",
    )


_PRIVATE = """
private = Session(given[0])
private.execute("SET epsilon = 0.1")
for query in given[1]:
    private.execute(query)
"""


def _memory(policy: Policy, directory: Path) -> None:
    """Measure the peak memory of fresh processes."""
    asked = {"all about rows": QUERIES, "all about units": [q.text for q in UNIT_QUERIES]}
    rows = []
    for name, texts in asked.items():
        program = ("from dpdb.session.session import Session", _PRIVATE)
        taken = fresh({name: program}, (with_plenty(policy), texts), directory, 1)[name]
        rows.append(
            (name, f"{taken.whole:.2f}", f"{taken.peak:.0f}", met(taken.peak <= MOST_MEMORY))
        )
    show("streams: fresh processes", ("queries", "s", "peak MiB", f"<= {MOST_MEMORY}"), rows)


def _shown(query: str) -> str:
    return query.removeprefix("SELECT ").replace(" FROM people", "").replace(" FROM visits", "")


def _compared(private: float, exact: float) -> tuple[str, ...]:
    return (
        milliseconds(private),
        milliseconds(exact),
        f"{private / exact:.2f}",
        met(private <= FACTOR * exact),
    )
