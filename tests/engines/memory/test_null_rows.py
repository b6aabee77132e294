"""Rows that are NULL add nothing to any statistic, whatever the column holds in their place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.values import exact_sums
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Policy
from dpdb.vectors.columns import Numbers
from tests.support.exactly import planned, raw, raw_of, write

POLICY = """
[budget]
epsilon = 1000
queries = 1000
[tables.t]
path = "t.csv"
[tables.t.columns]
x = { type = "integer", bounds = [18, 65] }
w = { type = "number", bounds = [-3, 70000], step = 0.5 }
c = { type = "integer", values = [-9, 3, 9] }
g = { type = "text", values = ["a", "b"] }
"""
KNOWN = "18,-3,-9,a\n65,70000,3,b\n40,0.5,9,a\n21,1.5,3,b\n"
NULLS = ["", ",,,\n" * 7, ",,,\n" * 7 + ",,,a\n,,,b\n" * 5]
"""No NULL; rows that are NULL throughout; and some that are in a group."""
SELECTS = [
    "SUM({0})", "AVG({0})", "VARIANCE({0})", "COUNT({0})", "COUNT(DISTINCT {0})",
    "SUM({0} * 2 + 1)", "VARIANCE({0} / 3)", "COUNT({0} / 3)", "MEDIAN({0})",
    "COUNT(*) FILTER (WHERE {0} IN (-9, 18, -3, 0, 3))",
    "COUNT(*) FILTER (WHERE {0} NOT IN (21, 40))", "COUNT(*) FILTER (WHERE {0} < 40)",
    "COUNT(*) FILTER (WHERE NOT {0} > 18)", "COUNT(*) FILTER (WHERE 0 < {0})",
    "SUM({0}) FILTER (WHERE {0} < 60)", "COUNT(DISTINCT {0}) FILTER (WHERE {0} < 60)",
    "SUM(CASE WHEN {0} < 60 THEN {0} ELSE 0 END)",
]  # fmt: skip
FROM = ["FROM t", "FROM t WHERE {0} BETWEEN 19 AND 50", "FROM t WHERE {0} <= 18"]


def _file(folder: Path, nulls: str) -> Policy:
    return write(folder, "t", "x,w,c,g\n" + nulls + KNOWN, POLICY)


def _exact(folder: Path, nulls: str, plans: Mapping[str, Plan]) -> dict[str, list[object]]:
    """The exact results of the plans on the file with these rows more."""
    _file(folder, nulls)
    engine = MemoryEngine()
    return {text: raw_of(plan, engine) for text, plan in plans.items()}


@pytest.mark.parametrize("column", "xwc")
def test_null_rows_change_no_statistic(tmp_path, column: str) -> None:
    # A group by itself, so that NULL has a group that is none of the cells.
    texts = [
        f"SELECT {keys}{select} {rows}{after}".format(column)
        for rows in FROM
        for keys, after in (("", ""), ("g, ", " GROUP BY g"))
        for select in SELECTS
    ]
    policy = _file(tmp_path, NULLS[0])
    plans = {text: planned(text, policy) for text in texts}
    usual, *others = (_exact(tmp_path, nulls, plans) for nulls in NULLS)
    assert all(found == usual for found in others)


def test_null_rows_hold_the_filler(tmp_path) -> None:
    engine, policy = MemoryEngine(), _file(tmp_path, NULLS[2])
    raw("SELECT SUM(x), SUM(w) FROM t", policy, engine)
    for column in engine._tables["t"].columns.values():
        if isinstance(column, Numbers):
            assert column.null is not None
            assert set(column.units[column.null].tolist()) == {column.filler}


numbers = st.lists(st.tuples(st.integers(-(2**19), 2**19), st.booleans()), max_size=30)


@given(numbers, st.integers(-(2**19), 2**19), st.sampled_from([1, 2]), st.integers(1, 5000))
def test_totals_around_a_centre_are_python_s(rows, centre, power, times) -> None:
    values = np.repeat(np.array([value for value, _ in rows], dtype=np.int32), times)
    mask = np.repeat(np.array([kept for _, kept in rows], dtype=np.bool_), times)
    terms = [(value - centre) ** power for value, _ in rows]
    largest = max(map(abs, terms), default=0)
    total = exact_sums.total(values, largest, centre=centre, power=power)
    assert total == sum(terms) * times
    kept = exact_sums.total(values, largest, mask, centre=centre, power=power)
    assert kept == sum(t for t, (_, kept) in zip(terms, rows, strict=True) if kept) * times
    groups = (~mask).astype(np.uint8)
    grouped = exact_sums.grouped_total(groups, values, 1, largest, centre=centre, power=power)
    assert grouped.tolist() == [kept]
