"""Which rows count of a unit that has too many, worked out row by row from DuckDB's table.

The rule is in the docstring of dpdb.engines.memory.contribution_bounds; tests/engines/test_units.py has every kind of
column. Here whole statements are compared on what it leaves.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from hashlib import md5
from typing import Any

import duckdb

STEPS = {"n": 100, "m": 8}
"""How many steps a unit of these columns has."""
EPOCH = datetime.date(1970, 1, 1)


def _hexadecimal(text: str) -> str:
    return md5(text.encode()).hexdigest()


def _text(name: str, value: Any) -> str:
    """A cell as it is hashed."""
    match value:
        case None:
            return "~"
        case bool():
            return str(int(value))
        case str():
            return _hexadecimal(value)
        case datetime.datetime():
            passed = value - datetime.datetime(1970, 1, 1)
            return str(
                passed // datetime.timedelta(**{"seconds" if name == "p" else "microseconds": 1})
            )
        case datetime.date():
            return str((value - EPOCH).days)
    return str(round(value * STEPS.get(name, 1)))


def sampled(duck: duckdb.DuckDBPyConnection, unit: str, limit: int, where: str) -> list[int]:
    """The ids of the rows that stay, of those for which `where` is true."""
    found = duck.execute(f"SELECT * FROM everything WHERE {unit} IS NOT NULL AND ({where})")
    names = [column[0] for column in found.description]
    units: dict[Any, list[tuple[str, int]]] = defaultdict(list)
    for row in found.fetchall():
        cells = dict(zip(names, row, strict=True))
        texts = [_text(name, cells[name]) for name in (unit, *sorted(cells))]
        units[cells[unit]].append((_hexadecimal("|".join(["", *texts])), cells["id"]))
    return [row for rows in units.values() for _, row in sorted(rows)[:limit]]
