"""The errors of rows of two units, and the time and memory of the pass that fills their sums.

Errors are of lines of customers and suppliers, drawn like TPC-H's at SF 0.1. The rooms are the best
ones for these rows. The goal is a quarter of a percent of the exact answer.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

import bench_accuracy
import numpy as np
import pandas
from bench_tools import medians, met, show

from dpdb.engines.statistics.filled_sums import FilledSums
from dpdb.engines.units.filling import SharedRows
from dpdb.plan.expressions.expressions import Literal
from dpdb.plan.ranges.grids import Grid
from dpdb.plan.ranges.statistics import Total
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Kind
from dpdb.policy.frames import held_frame
from dpdb.policy.reading.reader import policy_in
from dpdb.session.session import Session
from dpdb.vectors.vector import Array

RUNS = 20
GOAL = 0.0025
ROWS = 10**6
PASSES = {"COUNT": 1, "SUM": 1, "SUM of 25 groups": 25}
"""What is filled, with the number of groups."""
SHARING = {"one unit each": (1, 1), "as at SF 0.1": (15_000, 1_000), "a unit a row": (ROWS, ROWS)}
"""The number of units of both kinds."""
SECONDS, BYTES = 0.3, 32
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


def filling() -> None:
    """Measure the pass of a million rows, from their owners to the sums, and print a table."""
    draw = np.random.default_rng(2)
    hashes = draw.integers(0, 2**64, ROWS, np.uint64)
    groups, values = draw.integers(0, 25, ROWS), draw.integers(0, 10**6, ROWS)
    every = np.ones(ROWS, np.bool_)

    def fill(what: str, first: Array, second: Array) -> None:
        shared = SharedRows.of(first, second, lambda rows: hashes[rows], same=False)
        sums = FilledSums(shared, None if PASSES[what] == 1 else groups, PASSES[what])
        if what == "COUNT":
            sums.count(every, (800, 800))
        else:
            grid = Grid(Fraction(1), 0, 10**6)
            statistic = Total(Literal(1, Kind.INTEGER), None, grid, rooms=(800, 32))
            sums.total(every, values, statistic)

    passes = {}
    for sharing, numbers in SHARING.items():
        one, other = ((draw.permutation(ROWS) % number).astype(np.int32) for number in numbers)
        passes.update({(what, sharing): partial(fill, what, one, other) for what in PASSES})
    taken = medians({" | ".join(name): act for name, act in passes.items()}, 5)
    rows = []
    for (what, sharing), act in passes.items():
        seconds = taken[f"{what} | {sharing}"]
        tracemalloc.start()
        act()
        size = tracemalloc.get_traced_memory()[1] / ROWS
        tracemalloc.stop()
        reached = met(seconds <= SECONDS), met(size <= BYTES)
        rows.append((what, sharing, f"{seconds:.2f}", reached[0], f"{size:.0f}", reached[1]))
    title = f"filling of {ROWS:,} rows of two units, goals {SECONDS} s and {BYTES} bytes a row"
    show(title, ("pass", "units", "s", "met", "bytes", "met"), rows)
