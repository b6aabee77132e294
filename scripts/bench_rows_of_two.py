"""The errors of rows of two units: lines of customers and suppliers, drawn like TPC-H's at SF 0.1.

The rooms are the best ones for these rows. The goal is a quarter of a percent of the exact answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import bench_accuracy
import numpy as np
import pandas
from bench_tools import show

from dpdb.policy.budget import Budget
from dpdb.policy.frames import held_frame
from dpdb.policy.reading.reader import policy_in
from dpdb.session.session import Session

RUNS = 20
GOAL = 0.0025
_WHOLE = {"type": "integer"}
_NATION = {"type": "integer", "values": [*range(25)]}
POLICY = {
    "privacy": {"units": ["customer", "supplier"]},
    "tables": {
        "customers": {
            "unit": {"customer": "id"}, "key": "id", "columns": {"id": _WHOLE, "nation": _NATION}
        },
        "suppliers": {
            "unit": {"supplier": "id"}, "key": "id", "columns": {"id": _WHOLE, "nation": _NATION}
        },
        "orders": {
            "unit": {"customer": "customer"}, "key": "id",
            "columns": {"id": _WHOLE, "customer": _WHOLE, "day": _WHOLE},
        },
        "lines": {
            "unit": {"customer": "order_id -> orders.id", "supplier": "supplier"},
            "rows_per_unit": 1_000,
            "columns": {
                "order_id": _WHOLE, "supplier": _WHOLE,
                "price": {"type": "number", "bounds": [0, 105], "step": 0.001},
            },
        },
    },
}  # fmt: skip
_OF_ORDERS = "lines l JOIN orders o ON o.id = l.order_id"
_NEAR = (
    f"{_OF_ORDERS} JOIN customers c ON c.id = o.customer JOIN suppliers s ON s.id = l.supplier"
    " WHERE c.nation = s.nation"
)
QUESTIONS = (
    ("Q5, same nation", "COUNT(*)", _NEAR, 39),
    ("Q8, two years", "COUNT(*)", f"{_OF_ORDERS} WHERE o.day < 731", 216),
    ("Q21, supplier and order", "COUNT(*)", "lines l", 725),
    ("Q7, revenue in 1,000s", "SUM(l.price)", "lines l", 250),
)
"""Names, aggregates, sources, and the rows in the room of each unit."""


def _tables() -> dict[str, pandas.DataFrame]:
    draw = np.random.default_rng(1)
    customers, suppliers, orders = 15_000, 1_000, 150_000
    buyers = np.flatnonzero(np.arange(customers) % 3)  # a third of all customers never order
    lines = np.repeat(np.arange(orders), draw.integers(1, 8, orders))
    price = draw.integers(1, 51, len(lines)) * draw.uniform(0.9, 2.1, len(lines))
    return {
        "customers": pandas.DataFrame(
            {"id": np.arange(customers), "nation": draw.integers(0, 25, customers)}
        ),
        "suppliers": pandas.DataFrame(
            {"id": np.arange(suppliers), "nation": draw.integers(0, 25, suppliers)}
        ),
        "orders": pandas.DataFrame({
            "id": np.arange(orders),
            "customer": draw.choice(buyers, orders),
            "day": draw.integers(0, 2_406, orders),
        }),
        "lines": pandas.DataFrame({
            "order_id": lines,
            "supplier": draw.integers(0, suppliers, len(lines)),
            "price": price.round(3),
        }),
    }  # fmt: skip


def run() -> None:
    """Measure the section and print its table."""
    title = f"accuracy, rows of two units: {RUNS} answers to each query on 600,000 lines, at ε = 1"
    show(title, bench_accuracy.HEADERS, list(_rows()), bench_accuracy.NOTE)


def _rows() -> Iterator[tuple[str, ...]]:
    """A row for each question: the RMSE of answers at ε = 1, rows left out included."""
    tables = _tables()
    policy = policy_in(POLICY)
    held = (replace(each, frame=held_frame(tables[each.name])) for each in policy.tables)
    policy = replace(policy, tables=tuple(held), budget=Budget(Fraction(10**5), Fraction(0), 10**5))
    with Session(policy, teach=True) as private:
        private.execute("SET repeats = 'fresh'")
        for name, aggregate, source, room in QUESTIONS:
            private.execute("SET dp = off")
            (exact,) = bench_accuracy.floats(
                private.execute(f"SELECT {aggregate} FROM {source}").rows[0]
            )
            private.execute("SET dp = on")
            options = f"OPTIONS(epsilon = 1, max_rows_contributed = {room})"
            text = f"SELECT WITH DIFFERENTIAL_PRIVACY {options} {aggregate} FROM {source}"
            told = bench_accuracy.floats([private.execute(text).rows[0] for _ in range(RUNS)])
            most = (GOAL * exact,)
            yield from bench_accuracy.errors(f"{name}: {exact:,.0f}", told, np.array([exact]), most)
