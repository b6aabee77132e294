"""A table of a PostgreSQL server: how fast it is read, and queried, beside what its client can."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
from bench_tools import Act, medians, milliseconds, session, show, write_people
from psycopg import sql

from dpdb.engines.sources.opening import open_source
from dpdb.policy.catalog import Policy, Table
from dpdb.policy.server_tables import server_table

ROWS = 1_000_000
ROUNDS = 3
_CREATE = sql.SQL(
    "CREATE TABLE {} (name text, age integer, income numeric(9, 2), zip integer, net_worth integer)"
)
QUERIES = (
    "SELECT COUNT(*) FROM people",
    "SELECT AVG(income) FROM people",
    "SELECT zip, COUNT(*) FROM people GROUP BY zip",
)


def run(directory: Path, address: str | None = None) -> None:
    """Measure the section and print its tables, where there is a database to write a table into."""
    if address is None:
        print("server: left out, as no database is named with --postgresql\n")
        return
    with (
        psycopg.connect(address, autocommit=True) as connection,
        _table(directory, connection, address) as table,
    ):
        _loading(connection, table)
        _queries(connection, table)


@contextmanager
def _table(directory: Path, connection: psycopg.Connection, address: str) -> Iterator[Table]:
    """A table of people on the server, which is dropped in the end."""
    people = write_people(directory / "people.csv", ROWS)
    name = f"dpdb_bench_{time.time_ns()}"
    connection.execute(_CREATE.format(sql.Identifier(name)))
    try:
        copied = sql.SQL("COPY {} FROM STDIN (FORMAT csv, HEADER)").format(sql.Identifier(name))
        with connection.cursor().copy(copied) as copy:
            copy.write(people.path.read_bytes())
        separator = "&" if "?" in address else "?"
        yield replace(people, server=server_table(f"{address}{separator}table={name}"))
    finally:
        connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))


def _loading(connection: psycopg.Connection, table: Table) -> None:
    """Time the load of columns, and what the client takes to receive them."""
    columns = [column.name for column in table.columns]
    rows = []
    for what, names in (("all columns", columns), ("one column", ["income"])):
        turns: dict[str, Act] = {
            "dpdb": lambda names=names: open_source(table).load(names),  # type: ignore[misc]
            "COPY": lambda names=names: _received(connection, table, names),  # type: ignore[misc]
        }
        taken = medians(turns, ROUNDS)
        ratio = taken["dpdb"] / taken["COPY"]
        rows.append((what, *map(milliseconds, taken.values()), f"{ratio:.2f}"))
    show(
        f"server: {ROWS:,} rows of PostgreSQL are loaded, medians of {ROUNDS} in turns, in ms",
        ("what", "dpdb", "COPY", "/ COPY"),
        rows,
        "COPY: the same columns are received as text, and dropped.",
    )


def _received(connection: psycopg.Connection, table: Table, names: Sequence[str]) -> None:
    assert table.server is not None
    listed = sql.SQL(", ").join(map(sql.Identifier, names))
    query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(
        listed, sql.Identifier(table.server.table)
    )
    with connection.cursor().copy(query) as copy:
        for _ in copy:
            pass


def _queries(connection: psycopg.Connection, table: Table) -> None:
    """Time queries of blocks that are received anew, and of columns that are held in memory."""
    assert table.server is not None
    streamed = session(Policy((replace(table, engine="stream"),)))
    held = session(Policy((replace(table, engine="memory"),)))
    rows = []
    for query in QUERIES:
        exact = query.replace("people", table.server.table)
        turns: dict[str, Act] = {
            "stream": lambda query=query: streamed.execute(query),  # type: ignore[misc]
            "memory": lambda query=query: held.execute(query),  # type: ignore[misc]
            "server": lambda exact=exact: connection.execute(exact).fetchall(),  # type: ignore[misc]
        }
        taken = medians(turns, ROUNDS)
        shown = query.removeprefix("SELECT ").replace(" FROM people", "")
        ratio = taken["stream"] / taken["server"]
        rows.append((shown, *map(milliseconds, taken.values()), f"{ratio:.2f}"))
    show(
        f"server: {ROWS:,} rows of PostgreSQL, warm sessions, medians of {ROUNDS} in turns, in ms",
        ("query", "stream", "memory", "PostgreSQL", "stream / PostgreSQL"),
        rows,
        "PostgreSQL: the server's own exact answer.",
    )
