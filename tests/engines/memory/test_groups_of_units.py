"""In how many groups a customer can be: in one, where the keys are about the customer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.policy.reading.reader import read_policy
from tests.support.exactly import planned
from tests.support.units import DENSE, SPARSE, Database, policy_text, random_database

MIXED = Database({**DENSE.tables, "o": [(1, 1, 1, "x"), (2, 1, 2, "y"), (3, 2, 3, "y")]})
"""A customer's orders differ, and so do the regions that they find."""
DATABASES = [DENSE, SPARSE, MIXED, *(random_database(Random(seed)) for seed in range(12))]
GROUPED = [
    # What is read, the column of the customer, the keys, and the most groups of a customer.
    ("c JOIN o ON c.id = o.cust", "c.id", "c.seg", 1),
    ("o JOIN c ON c.id = o.cust", "o.cust", "COALESCE(c.seg, 'A')", 1),
    ("c LEFT JOIN o ON c.id = o.cust", "c.id", "c.seg", 1),
    ("c JOIN o ON c.id = o.cust JOIN r ON r.id = c.reg", "c.id", "r.name, c.seg", 1),
    ("c LEFT JOIN r ON r.id = c.reg JOIN o ON c.id = o.cust", "c.id", "r.name", 1),
    ("(SELECT cust, COUNT(*) AS n FROM o GROUP BY cust) p JOIN o ON p.cust = o.cust", "o.cust",
     "p.n", 1),
    # Orders, and what they find, can differ.
    ("c JOIN o ON c.id = o.cust", "c.id", "o.st", 2),
    ("c JOIN o ON c.id = o.cust", "c.id", "c.seg, o.st", 2),
    ("c JOIN o ON c.id = o.cust JOIN r ON r.id = o.amt", "c.id", "r.name", 2),
    ("c JOIN rd ON rd.id = c.reg", "c.id", "FLOOR(CLAMP(rd.day, 1, 3))", 2),
]  # fmt: skip


@pytest.mark.parametrize(("read", "unit", "keys", "most"), GROUPED, ids=str)
def test_a_customer_is_in_so_many_groups(
    read: str, unit: str, keys: str, most: int, tmp_path: Path
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(policy_text())
    DENSE.write(tmp_path)
    policy = read_policy(path)
    sql = f"SELECT COUNT(DISTINCT {unit}) FROM {read} GROUP BY {keys}"
    plan = planned(sql, policy, MemoryEngine(tables=policy.tables))
    assert plan.releases[0].mechanism.sensitivity == most
    reached = 0
    for database in DATABASES:
        counts = []
        for tables in (database, *database.without_one):
            with tables.in_memory():
                [result] = MemoryEngine(tables=policy.tables).exact(plan, {})
            counts.append(np.asarray(result.cells))
        moved = [int(np.abs(counts[0] - others).sum()) for others in counts[1:]]
        assert max(moved, default=0) <= most
        reached = max([reached, *moved])
    assert reached == most


UNMATCHED = Database({**DENSE.tables, "b": [(1, None), (1, 1), (1, 2), (2, 3)]})
"""Of what the first customer brings back, one thing is of no order and two things are."""
BROUGHT = "b LEFT JOIN o ON o.cust = b.cust AND o.id = b.ref"


@pytest.mark.parametrize("made", [
    f"SELECT o.cust AS k, COUNT(*) AS n FROM {BROUGHT} GROUP BY o.cust",
    f"SELECT k, COUNT(*) AS n FROM (SELECT o.cust AS k FROM {BROUGHT}) GROUP BY k",
    "SELECT k, COUNT(*) AS n FROM (SELECT o.cust AS k, ROW_NUMBER() OVER (PARTITION BY b.cust)"
    f" AS place FROM {BROUGHT}) GROUP BY k",
])  # fmt: skip
def test_a_customer_has_two_rows_where_the_column_that_names_customers_can_be_null(
    made: str, tmp_path: Path
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(policy_text())
    UNMATCHED.write(tmp_path)
    policy = read_policy(path)
    sql = "SELECT SUM(p.n, contribution_bounds_per_group => (0, 1)) FROM"
    sql += f" ({made}) p LEFT JOIN o ON p.k = o.cust GROUP BY p.n"
    plan = planned(sql, policy, MemoryEngine(tables=policy.tables))
    reached = 0
    for key in "abcd":
        counts = []
        for database in (UNMATCHED, UNMATCHED.of([2])):
            with database.in_memory():
                [result] = MemoryEngine(tables=policy.tables).exact(
                    replace(plan, sample_key=key), {}
                )
            counts.append(np.asarray(result.cells))
        reached = max(reached, int(np.abs(counts[0] - counts[1]).sum()))
    # Which rows count of those joined is the key's choice.
    assert reached == 2
    assert plan.releases[0].mechanism.sensitivity == 2
