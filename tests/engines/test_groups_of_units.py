"""In how many groups a customer can be: in one, where the keys are about the customer."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from dpdb.engines.memory.engine import MemoryEngine
from dpdb.policy.reader import read_policy
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
        everybody, counts = database.units, []
        for absent in (None, *everybody):
            database.of([each for each in everybody if each != absent]).write(tmp_path)
            [result] = MemoryEngine(tables=policy.tables).exact(plan, {})
            counts.append(np.asarray(result.cells))
        moved = [int(np.abs(counts[0] - others).sum()) for others in counts[1:]]
        assert max(moved, default=0) <= most
        reached = max([reached, *moved])
    assert reached == most
