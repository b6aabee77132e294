"""Which rows count of a unit that has too many, worked out row by row from DuckDB's table.

The rule is in the docstring of dpdb.engines.units.row_hashes;
tests/engines/memory/test_contribution_bounds.py has every kind of column. Here whole statements are compared on what it leaves.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from typing import Any

import duckdb

from tests.support.row_hashes import Cell, row_hash

STEPS = {"n": 100, "m": 8}
"""How many steps a unit of these columns has."""
EPOCH = datetime.date(1970, 1, 1)


def _cell(name: str, value: Any) -> Cell:
    """A cell as it is hashed."""
    match value:
        case None | str():
            return value
        case bool():
            return int(value)
        case datetime.datetime():
            passed = value - datetime.datetime(1970, 1, 1)
            return passed // datetime.timedelta(**{"seconds" if name == "p" else "microseconds": 1})
        case datetime.date():
            return (value - EPOCH).days
    return round(value * STEPS.get(name, 1))


def sampled(duck: duckdb.DuckDBPyConnection, unit: str, limit: int, where: str) -> list[int]:
    """The ids of the rows that stay, of those for which `where` is true."""
    found = duck.execute(f"SELECT * FROM everything WHERE {unit} IS NOT NULL AND ({where})")
    names = [column[0] for column in found.description]
    units: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for row in found.fetchall():
        cells = dict(zip(names, row, strict=True))
        hashed = [("owner ", _cell(unit, cells[unit]))]
        hashed += [(f"column {name}", _cell(name, value)) for name, value in cells.items()]
        units[cells[unit]].append((row_hash("", hashed), cells["id"]))
    return [row for rows in units.values() for _, row in sorted(rows)[:limit]]
