"""Small databases of several tables, and what SQL says of them: an oracle for relations.

SQLite evaluates the SQL, so that nothing is shared with dpdb. A relation R is unit-wise if R(D) is
the disjoint union of R(D_u) over the units u, and empty where there are no units.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from dpdb.engines.sources.opening import Sources
from dpdb.policy.catalog import Table
from tests.support.brute import Rows, RowsSource

Row = tuple[Any, ...]
Tables = Mapping[str, Sequence[Row]]

COLUMNS = {
    "c": ("id", "seg", "reg"),
    "o": ("id", "cust", "amt", "st"),
    "l": ("oid", "qty"),
    "b": ("cust", "ref"),
    "r": ("id", "name"),
    "rd": ("id", "day"),
}
"""Customers, their orders, the lines of orders, what customers bring back; regions, and days."""
PUBLIC = ("r", "rd")
POLICY = """
[budget]
epsilon = 10000
queries = 1000000
[privacy]
unit_name = "customer"
[tables.c]
path = "c.csv"
unit = "id"
key = "id"
columns.id = {{ type = "integer" }}
columns.seg = {{ type = "text", values = ["A", "B"] }}
columns.reg = {{ type = "integer" }}
[tables.o]
path = "o.csv"
unit = "cust"
key = "id"
rows_per_unit = {orders}
columns.id = {{ type = "integer" }}
columns.cust = {{ type = "integer" }}
columns.amt = {{ type = "integer", bounds = [0, 3] }}
columns.st = {{ type = "text", values = ["x", "y"] }}
[tables.l]
path = "l.csv"
unit = "oid -> o.id"
rows_per_unit = {lines}
columns.oid = {{ type = "integer" }}
columns.qty = {{ type = "integer", bounds = [0, 3] }}
[tables.b]
path = "b.csv"
unit = "cust"
rows_per_unit = {orders}
columns.cust = {{ type = "integer" }}
columns.ref = {{ type = "integer", references = "o.id" }}
[tables.r]
path = "r.csv"
public = true
key = "id"
columns.id = {{ type = "integer" }}
columns.name = {{ type = "text", values = ["n", "s"], nullable = false }}
[tables.rd]
path = "rd.csv"
public = true
at_most = {{ id = 2 }}
columns.id = {{ type = "integer" }}
columns.day = {{ type = "integer" }}
"""


def policy_text(*, orders: int = 2, lines: int = 3) -> str:
    """The policy of these tables with the caps on the rows of a customer."""
    return POLICY.format(orders=orders, lines=lines)


@dataclass(frozen=True)
class Database:
    """The rows of all tables, of which each private one has an owner."""

    tables: Tables

    def owner(self, table: str, row: Row) -> int | None:
        """The customer whose a row of a private table is."""
        match table:
            case "l":
                orders = {order[0]: order[1] for order in self.tables["o"]}
                return orders.get(row[0])
            case "o":
                return row[1]  # type: ignore[no-any-return]
        return row[0]  # type: ignore[no-any-return]

    @property
    def units(self) -> list[int]:
        """The customers who have a row."""
        found = {
            self.owner(name, row)
            for name, rows in self.tables.items()
            if name not in PUBLIC
            for row in rows
        }
        return sorted(owner for owner in found if owner is not None)

    def of(self, units: Sequence[int]) -> Database:
        """The rows of some customers, and all public ones."""
        return Database(
            {
                name: [row for row in rows if name in PUBLIC or self.owner(name, row) in units]
                for name, rows in self.tables.items()
            }
        )

    @cached_property
    def nobody(self) -> Database:
        """The public rows."""
        return self.of([])

    @cached_property
    def apart(self) -> list[Database]:
        """The rows of each customer, and all public ones."""
        return [self.of([unit]) for unit in self.units]

    @cached_property
    def without_one(self) -> list[Database]:
        """The rows of all customers but one, who is each of them in turn."""
        units = self.units
        return [self.of([each for each in units if each != unit]) for unit in units]

    @cached_property
    def connection(self) -> sqlite3.Connection:
        """The database in SQLite."""
        opened = sqlite3.connect(":memory:")
        for name, rows in self.tables.items():
            columns = COLUMNS[name]
            opened.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            opened.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        return opened

    def rows(self, sql: str) -> Counter[Row]:
        """The rows that SQLite finds, in no order."""
        return Counter(self.connection.execute(sql).fetchall())

    @cached_property
    def texts(self) -> dict[str, list[tuple[str, ...]]]:
        """The tables as the cells of CSV files."""
        return {
            name: [tuple("" if cell is None else str(cell) for cell in row) for row in rows]
            for name, rows in self.tables.items()
        }

    def write(self, folder: Path) -> None:
        """The tables as CSV files."""
        for name, rows in self.texts.items():
            lines = [",".join(cells) for cells in (COLUMNS[name], *rows)]
            (folder / f"{name}.csv").write_text("\n".join([*lines, ""]))

    @contextmanager
    def in_memory(self) -> Iterator[None]:
        """Engines read these rows, whatever the files of the tables hold."""

        def source(_: Sources, table: Table) -> RowsSource:
            return RowsSource(replace(table, path=Rows(self.texts[table.name])))  # type: ignore[arg-type]

        with mock.patch.object(Sources, "of", source):
            yield


def unit_wise(database: Database, sql: str) -> bool:
    """Whether the rows are those of each customer alone, and none are there without any."""
    apart: Counter[Row] = Counter()
    for customer in database.apart:
        apart += customer.rows(sql)
    return database.rows(sql) == apart and not database.nobody.rows(sql)


def random_database(random: Random) -> Database:
    """A few rows: with NULLs, keys that name nothing, and public keys that repeat.

    What a customer brings back is from an order of her own, or of nobody, as the policy says.
    """

    def any_of(*values: object) -> Any:
        return random.choice(values)

    def number() -> int | None:
        return any_of(None, 1, 2, 3)  # type: ignore[no-any-return]

    def ids() -> Iterator[int]:
        yield from random.sample(range(1, 4), random.randint(1, 3))

    tables: dict[str, list[Row]] = {
        "c": [(key, any_of("A", "B", None), number()) for key in ids()],
        "o": [(key, number(), number(), any_of("x", "y", None)) for key in ids()],
        "l": [(number(), number()) for _ in range(random.randint(0, 4))],
        "b": [],
        "r": [(key, any_of("n", "s")) for key in ids()],
        "rd": [(key, number()) for key in (1, 1, 2, None)[: random.randint(0, 4)]],
    }
    for _ in range(random.randint(0, 3)):
        customer = number()
        own = [order[0] for order in tables["o"] if order[1] == customer is not None]
        tables["b"].append((customer, any_of(None, 90 + (customer or 0), *own)))
    whole = Database(tables)
    return whole.of(whole.units)


DENSE = Database(
    {
        "c": [(1, "A", 1), (2, "B", 1)],
        "o": [(1, 1, 3, "x"), (2, 1, 3, "x"), (3, 2, 3, "y")],
        "l": [(1, 3), (1, 3), (1, 3), (3, 3)],
        "b": [(1, 1), (1, 2), (2, 3)],
        "r": [(1, "n"), (2, "s")],
        "rd": [(1, 1), (1, 2), (2, 3)],
    }
)
"""A customer with as many rows as count, each as large as can be, and another."""

SPARSE = Database(
    {
        "c": [(1, "A", 9), (2, "B", 2)],
        "o": [(1, 2, 1, "x"), (2, 2, 3, "x")],
        "l": [],
        "b": [],
        "r": [(1, "n")],
        "rd": [(1, 1), (2, 1)],
    }
)
"""A customer without orders, whose region is not there, and one with different orders."""
