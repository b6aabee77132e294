"""The speed of a warm session on a million rows, beside numpy by hand and DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd
from bench_tools import ZIPS, medians, met, milliseconds, session, show, write_people

from dpdb.policy.catalog import Policy

ROWS = 1_000_000
ROUNDS = 51
FACTOR = 3
OVERHEAD = 0.001
"""The seconds allowed for all but the exact results: parsing, planning, paying, noise, answer."""


class Arrays(NamedTuple):
    """The columns as pandas reads them, and the index of every row's zip among the zips."""

    age: npt.NDArray[np.int64]
    income: npt.NDArray[np.float64]
    zip: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]


ByHand = Callable[[Arrays], object]

QUERIES: dict[str, ByHand] = {
    "SELECT COUNT(*) FROM people": lambda a: len(a.age),
    f"SELECT SUM(age) FROM people WHERE zip = {ZIPS[7]}": lambda a: a.age[a.zip == ZIPS[7]].sum(),
    "SELECT AVG(income) FROM people": lambda a: a.income.mean(),
    "SELECT zip, COUNT(*) FROM people GROUP BY zip": lambda a: np.bincount(
        a.place, minlength=len(ZIPS)
    ),
    "SELECT VARIANCE(age) FROM people": lambda a: a.age.var(ddof=1),
}


def run(directory: Path) -> None:
    """Measure the section and print its table."""
    table = write_people(directory / "people.csv", ROWS)
    private = session(Policy((table,)))
    arrays = _arrays(table.path)
    with duckdb.connect() as exact:
        exact.execute(f"CREATE TABLE people AS SELECT * FROM read_csv('{table.path}')")
        rows = [
            _row(
                query,
                medians(
                    {
                        "dpdb": lambda query=query: private.execute(query),  # type: ignore[misc]
                        "numpy": lambda by_hand=by_hand: by_hand(arrays),  # type: ignore[misc]
                        "DuckDB": lambda query=query: exact.execute(query).fetchall(),  # type: ignore[misc]
                    },
                    ROUNDS,
                ),
            )
            for query, by_hand in QUERIES.items()
        ]
    show(
        f"speed: {ROWS:,} rows, warm session, medians of {ROUNDS} in turns, in ms",
        ("query", "dpdb", "numpy", "DuckDB", "/ numpy", "/ DuckDB", "3 x numpy + 1", "DuckDB + 1"),
        rows,
        "The last two columns: whether dpdb stays within that.",
    )


def _arrays(path: Path) -> Arrays:
    frame = pd.read_csv(path, usecols=["age", "income", "zip"])
    age, income, area = (frame[name].to_numpy() for name in ("age", "income", "zip"))
    return Arrays(age, income, area, np.searchsorted(ZIPS, area))


def _row(query: str, taken: dict[str, float]) -> tuple[str, ...]:
    private, by_hand, exact = taken["dpdb"], taken["numpy"], taken["DuckDB"]
    return (
        query.removeprefix("SELECT ").replace(" FROM people", ""),
        milliseconds(private),
        milliseconds(by_hand),
        milliseconds(exact),
        f"{private / by_hand:.2f}" if by_hand > 1e-5 else "-",
        f"{private / exact:.2f}",
        met(private <= FACTOR * by_hand + OVERHEAD),
        met(private <= exact + OVERHEAD),
    )
