"""HKUST's fifteen statements over TPC-H and graphs, with policies that protect two owners a row.

The statements are those that DPSQL is measured on (hkustDB/DPSQL, Test), with their conditions and
groups. Its relation `ids`, which joins the private rows, is the policy here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas

from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.policy.frames import held_frame
from dpdb.policy.reading.reader import policy_in

_ID = {"type": "integer"}
_NATION = {"type": "integer", "values": "nation.n_nationkey"}
_DAY = {"type": "date", "bounds": ["1992-01-01", "1998-12-31"]}
_OFFERED = "(l_partkey, l_suppkey) -> partsupp.(ps_partkey, ps_suppkey)"
_NAMED: Mapping[str, Mapping[str, str]] = {
    "customer": {
        "customer": "c_custkey",
        "orders": "o_custkey",
        "lineitem": "l_orderkey -> orders.o_orderkey",
    },
    "purchase": {"orders": "o_orderkey", "lineitem": "l_orderkey -> orders.o_orderkey"},
    "supplier": {"supplier": "s_suppkey", "lineitem": "l_suppkey"},
    "offer": {"partsupp": "ps_id", "lineitem": _OFFERED},
    "node": {"node": "id"},
}
"""For each kind of unit the columns that name one, by table."""
_COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "customer": {"c_custkey": _ID, "c_nationkey": _NATION},
    "supplier": {"s_suppkey": _ID, "s_nationkey": _NATION},
    "partsupp": {"ps_id": _ID, "ps_partkey": _ID, "ps_suppkey": _ID},
    "orders": {"o_orderkey": _ID, "o_custkey": _ID, "o_orderdate": _DAY},
    "lineitem": {
        "l_orderkey": _ID,
        "l_linenumber": _ID,
        "l_partkey": _ID,
        "l_suppkey": _ID,
        "l_extendedprice": {"type": "number", "bounds": [0, 105_000], "step": 0.01},
        "l_discount": {"type": "number", "bounds": [0, 0.1], "step": 0.01},
        "l_shipdate": _DAY,
    },
    "nation": {"n_nationkey": _ID, "n_name": {"type": "text"}},
    "node": {"id": _ID},
    "edge": {"from_id": _ID, "to_id": _ID, "date": _ID},
}
_KEYS: Mapping[str, str | list[str]] = {
    "customer": "c_custkey",
    "supplier": "s_suppkey",
    "partsupp": ["ps_partkey", "ps_suppkey"],
    "orders": "o_orderkey",
    "nation": "n_nationkey",
    "node": "id",
}
_REVENUE = "l_extendedprice * (1 - l_discount) / 1000"
_SUPPLIED = "s_suppkey = l_suppkey AND o_orderkey = l_orderkey"
_BOUGHT = "o_orderkey = l_orderkey AND c_custkey = o_custkey AND c_nationkey = n_nationkey"
_IN_STOCK = "ps_suppkey = l_suppkey AND ps_partkey = l_partkey"
_HUNDRED_DAYS = "l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1995-04-10'"
_NATIONS = (
    "nation n1, nation n2, customer, orders, lineitem, supplier WHERE n1.n_nationkey = c_nationkey"
    " AND n2.n_nationkey = s_nationkey AND c_custkey = o_custkey AND o_orderkey = l_orderkey"
    " AND l_suppkey = s_suppkey"
)
_NEAR = (
    "supplier, lineitem, orders, customer, nation WHERE s_suppkey = l_suppkey"
    f" AND {_BOUGHT} AND n_nationkey = s_nationkey"
)


@dataclass(frozen=True)
class Statement:
    """A statement, whom it protects, and the groups in which a unit of each kind can be."""

    kinds: tuple[str, ...]
    text: str
    groups: tuple[int, int] = (1, 1)
    keys: int = 0
    """The number of columns of its keys."""


def _by_year(january: str, next_january: str) -> str:
    return (
        f"((l_shipdate BETWEEN DATE '{january[0:10]}' AND DATE '{january[10:]}')"
        f" OR (l_shipdate BETWEEN DATE '{next_january[0:10]}' AND DATE '{next_january[10:]}'))"
    )


_YEAR = "EXTRACT(year FROM l_shipdate)"
_NEAR_BY_NATION = f"SELECT n_name, SUM({_REVENUE}) FROM {_NEAR} GROUP BY n_name"
_OF_TWO_YEARS = "o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31'"
ANSWERED = {
    "Q5": Statement(("customer", "supplier"), f"SELECT COUNT(*) FROM {_NEAR}"),
    "Q7": Statement(("customer", "supplier"), f"SELECT SUM({_REVENUE}) FROM {_NATIONS}"),
    "Q8": Statement(
        ("customer", "supplier"), f"SELECT COUNT(*) FROM {_NATIONS} AND {_OF_TWO_YEARS}"
    ),
    "Q21": Statement(
        ("purchase", "supplier"),
        f"SELECT COUNT(*) FROM supplier, lineitem, orders WHERE {_SUPPLIED}",
    ),
    "Q13": Statement(("customer", "supplier"), _NEAR_BY_NATION, (1, 1), 1),
    "Q4": Statement(
        ("customer", "supplier"),
        f"SELECT n_name, {_YEAR}, SUM({_REVENUE}) FROM supplier, lineitem, orders, customer, nation"
        f" WHERE s_suppkey = l_suppkey AND {_BOUGHT} AND "
        f"{_by_year('1995-01-011995-02-01', '1996-01-011996-02-08')} GROUP BY n_name, {_YEAR}",
        (2, 50),
        2,
    ),
    "Q6": Statement(
        ("customer", "offer"),
        f"SELECT n_name, COUNT(*) FROM partsupp, lineitem, orders, customer, nation"
        f" WHERE {_IN_STOCK} AND {_BOUGHT}"
        " AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1995-02-28' GROUP BY n_name",
        (1, 25),
        1,
    ),
    "Q17": Statement(
        ("customer", "offer"),
        f"SELECT n_name, {_YEAR}, COUNT(*) FROM partsupp, lineitem, orders, customer, nation"
        f" WHERE {_IN_STOCK} AND {_BOUGHT} AND "
        f"{_by_year('1998-01-011998-01-31', '1997-01-011997-01-31')} GROUP BY n_name, {_YEAR}",
        (2, 50),
        2,
    ),
    "Q8_100": Statement(
        ("purchase", "offer"),
        f"SELECT l_shipdate, SUM({_REVENUE}) FROM partsupp, lineitem, orders"
        f" WHERE {_IN_STOCK} AND o_orderkey = l_orderkey AND {_HUNDRED_DAYS} GROUP BY l_shipdate",
        (100, 100),
        1,
    ),
}
_COUNT_EDGES = "belong to 4 units, 2 are possible", "join on a key, or count edges"
REFUSED = {
    "Q32": (
        Statement(
            ("purchase", "offer"),
            f"SELECT l_shipdate, MAX({_REVENUE}) FROM partsupp, lineitem, orders WHERE {_IN_STOCK}"
            f" AND o_orderkey = l_orderkey AND {_HUNDRED_DAYS} GROUP BY l_shipdate",
        ),
        "MAX of rows of a purchase and an offer",
        "COUNT(*) FILTER (WHERE x > …)",
    ),
    "newQ7": (
        Statement(
            ("customer", "supplier"),
            f"SELECT MAX({_REVENUE}) FROM customer, supplier, orders, lineitem WHERE {_SUPPLIED}"
            " AND c_custkey = o_custkey AND l_shipdate >= DATE '1995-01-01'"
            " AND l_shipdate <= DATE '1996-12-31'",
        ),
        "MAX of rows of a customer and a supplier",
        "COUNT(*) FILTER (WHERE x > …)",
    ),
    "path": (
        Statement(
            ("node",),
            "SELECT COUNT(*) FROM edge r4, edge r5"
            " WHERE r4.to_id = r5.from_id AND r4.from_id < r5.to_id",
        ),
        *_COUNT_EDGES,
    ),
    "triangle": (
        Statement(
            ("node",),
            "SELECT COUNT(*) FROM edge r4, edge r5, edge r6 WHERE r4.from_id = r6.to_id"
            " AND r5.from_id = r4.to_id AND r6.from_id = r5.to_id AND r4.from_id < r5.from_id"
            " AND r5.from_id < r6.from_id",
        ),
        *_COUNT_EDGES,
    ),
    "multiTriangle": (
        Statement(
            ("node",),
            "SELECT COUNT(*) FROM edge e1, edge e2, edge e3, node n1, node n2, node n3"
            " WHERE e1.to_id = e2.from_id AND e2.to_id = e3.from_id AND e3.to_id = e1.from_id"
            " AND e1.to_id = n2.id AND e2.to_id = n3.id AND e3.to_id = n1.id AND n1.id > n2.id"
            " AND n2.id > n3.id GROUP BY e1.date",
        ),
        *_COUNT_EDGES,
    ),
    "rectangle": (
        Statement(
            ("node",),
            "SELECT COUNT(*) FROM edge r5, edge r6, edge r7, edge r8 WHERE r5.from_id = r8.to_id"
            " AND r6.from_id = r5.to_id AND r7.from_id = r6.to_id AND r8.from_id = r7.to_id"
            " AND r5.from_id < r6.from_id AND r5.from_id < r7.from_id AND r5.from_id < r8.from_id"
            " AND r6.from_id < r8.from_id",
        ),
        *_COUNT_EDGES,
    ),
}
"""Each statement with the message and the hint of its refusal."""

Frames = Mapping[str, pandas.DataFrame]


def frames(scale: float, seed: int = 1) -> Frames:
    """Tables drawn as TPC-H has them: uniform customers, parts and days, four suppliers a part."""
    draw = np.random.default_rng(seed)
    customers, suppliers, parts, orders = (
        round(scale * number) for number in (150_000, 10_000, 200_000, 1_500_000)
    )
    part = np.repeat(np.arange(1, parts + 1), 4)
    place = np.tile(np.arange(4), parts)
    supplier = (part + place * (suppliers // 4)) % suppliers + 1
    lines = draw.integers(1, 8, orders)
    order = np.repeat(np.arange(1, orders + 1), lines)
    day = draw.integers(0, 2_406, orders)
    offered = draw.integers(0, len(part), len(order))
    quantity = draw.integers(1, 51, len(order))
    price = 90_000 + part[offered] // 10 % 20_001 + 100 * (part[offered] % 1_000)
    buyers = np.flatnonzero(np.arange(customers) % 3) + 1  # a third of all customers never order
    first = np.datetime64("1992-01-01")
    return {
        "customer": pandas.DataFrame({
            "c_custkey": np.arange(1, customers + 1),
            "c_nationkey": draw.integers(0, 25, customers),
        }),
        "supplier": pandas.DataFrame({
            "s_suppkey": np.arange(1, suppliers + 1),
            "s_nationkey": draw.integers(0, 25, suppliers),
        }),
        "partsupp": pandas.DataFrame({
            "ps_id": draw.permutation(len(part)), "ps_partkey": part, "ps_suppkey": supplier,
        }),
        "orders": pandas.DataFrame({
            "o_orderkey": np.arange(1, orders + 1),
            "o_custkey": draw.choice(buyers, orders),
            "o_orderdate": (first + day).astype(str),
        }),
        "lineitem": pandas.DataFrame({
            "l_orderkey": order,
            "l_linenumber": np.arange(len(order)),
            "l_partkey": part[offered],
            "l_suppkey": supplier[offered],
            "l_extendedprice": (quantity * price / 100).round(2),
            "l_discount": (draw.integers(0, 11, len(order)) / 100).round(2),
            "l_shipdate": (first + day[order - 1] + draw.integers(1, 122, len(order))).astype(str),
        }),
        "nation": pandas.DataFrame({
            "n_nationkey": np.arange(25), "n_name": [f"nation {i}" for i in range(25)],
        }),
        "node": pandas.DataFrame({"id": np.arange(1, 5)}),
        "edge": pandas.DataFrame({"from_id": [1, 2, 3], "to_id": [2, 3, 1], "date": [1, 1, 1]}),
    }  # fmt: skip


def policy_of(kinds: tuple[str, ...], tables: Frames, room: int) -> Policy:
    """The policy that protects these kinds of units, each with this room."""
    sections = dict(_sections(kinds, room))
    read = policy_in({"privacy": {"units": [*kinds]}, "tables": sections})
    held = (replace(each, frame=held_frame(tables[each.name])) for each in read.tables)
    return replace(read, tables=tuple(held), budget=Budget(Fraction(10**6), Fraction(0), 10**6))


def _sections(kinds: tuple[str, ...], room: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, columns in _COLUMNS.items():
        unit: dict[str, Any] = {k: _NAMED[k][name] for k in kinds if name in _NAMED[k]}
        if name == "edge" and kinds == ("node",):
            unit = {"node": ["from_id", "to_id"]}
        section: dict[str, Any] = {"columns": dict(columns)}
        if name in _KEYS:
            section["key"] = _KEYS[name]
        if name == "nation":
            yield name, {**section, "public": True}
        elif unit:
            alone = section.get("key") == next(iter(unit.values()))
            yield name, {**section, "unit": unit, "rows_per_unit": 1 if alone else room}
