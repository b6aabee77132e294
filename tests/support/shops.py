"""Small shops of several tables, whose lines are about the customers of their orders."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy

POLICY = """\
[budget]
epsilon = 10_000
queries = 1_000
[privacy]
unit_name = "customer"
[tables.customers]
unit = "id"
key = "id"
[tables.customers.columns]
id = {{ type = "{kind}" }}
[tables.orders]
unit = "customer_id"
key = "id"
rows_per_unit = 20
[tables.orders.columns]
id = {{ type = "{kind}" }}
customer_id = {{ type = "{kind}" }}
[tables.lines]
unit = "order_id -> orders.id"
key = "id"
rows_per_unit = {cap}
[tables.lines.columns]
id = {{ type = "{kind}" }}
order_id = {{ type = "{kind}" }}
quantity = {{ type = "integer", bounds = [0, 99] }}
[tables.claims]
unit = "line_id -> lines.id"
rows_per_unit = {cap}
[tables.claims.columns]
line_id = {{ type = "{kind}" }}
amount = {{ type = "integer", bounds = [0, 99] }}
"""
Rows = Sequence[Sequence[object]]
"""Rows of cells; None is an empty one."""
HEADERS = {
    "customers": "id",
    "orders": "id,customer_id",
    "lines": "id,order_id,quantity",
    "claims": "line_id,amount",
}


def shop(folder: Path, kind: str = "integer", cap: int = 60, **tables: Rows) -> Policy:
    """The policy of a shop with these rows; a table that is not given has none."""
    for name, header in HEADERS.items():
        rows = "\n".join([f"{header},extra", *map(_line, tables.get(name, ()))])
        (folder / f"{name}.csv").write_text(rows + "\n", encoding="utf-8")
    (folder / "shop.toml").write_text(POLICY.format(kind=kind, cap=cap), encoding="utf-8")
    return read_policy(folder / "shop.toml")


def _line(cells: Iterable[object]) -> str:
    return ",".join(["" if cell is None else str(cell) for cell in cells] + ["."])


def random_shop(chance: random.Random) -> dict[str, list[tuple[object, ...]]]:
    """Rows of all tables, with NULLs, and with names of rows that are not there."""
    people = [*range(1, 6), None, 1e30]
    return {
        "customers": [(person,) for person in range(1, 5)],
        "orders": [(number, chance.choice(people)) for number in (*range(11, 23), None, None)],
        "lines": [
            (number, chance.choice([*range(10, 25), None]), chance.randrange(4))
            for number in (*range(100, 140), None)
        ],
        "claims": [
            (chance.choice([*range(99, 142), None]), chance.randrange(3)) for _ in range(60)
        ],
    }
