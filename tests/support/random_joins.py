"""Whether a random relation that is answered is unit-wise, and found as SQLite finds it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from dpdb.engines.memory import MemoryEngine
from dpdb.errors import DpdbError
from dpdb.policy.catalog import Policy
from tests.support.exactly import planned
from tests.support.random_relations import random_read
from tests.support.units import DENSE, PUBLIC, Database, unit_wise


def check(random: Random, policy: Policy, databases: Sequence[Database], folder: Path) -> bool:
    """Whether a random relation is answered; fails where that is wrong."""
    read = random_read(random)
    DENSE.write(folder)
    try:
        plan = planned(f"SELECT COUNT(*) FROM {read}", policy)
    except DpdbError:
        return False
    if plan.table.public:
        return False
    for database in databases:
        assert unit_wise(database, f"SELECT * FROM {read}"), read
    private = {name: rows for name, rows in databases[0].tables.items() if name not in PUBLIC}
    database = Database({**DENSE.tables, **private})
    database.write(folder)
    (result,) = MemoryEngine(tables=policy.tables).exact(plan, {})
    ((expected,),) = database.rows(f"SELECT COUNT(*) FROM {read}")
    assert int(result.cells[0]) == expected, read
    return True
