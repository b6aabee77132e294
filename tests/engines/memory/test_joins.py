"""Joins, EXISTS and IN, against SQLite: of each customer the rows that are its own."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.relations.leaves import Leaves, Rows
from dpdb.errors import TooLarge, Unsupported
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session.backends import PublicFacts
from dpdb.sql.selects.statements import statement
from tests.support.exactly import planned
from tests.support.relation_cases import ANSWERED, REFUSED, Answered
from tests.support.units import DENSE, SPARSE, Database, policy_text, random_database, unit_wise

DATABASES = [random_database(Random(seed)) for seed in range(12)]
FEW = [DENSE, SPARSE, DATABASES[0]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("units")
    DENSE.write(made)
    return made


def policy_of(folder: Path, orders: int = 2, lines: int = 3) -> Policy:
    path = folder / "policy.toml"
    path.write_text(policy_text(orders=orders, lines=lines))
    return read_policy(path)


@pytest.fixture(scope="module")
def capped(folder: Path) -> Policy:
    return policy_of(folder)


@pytest.fixture(scope="module")
def uncapped(folder: Path) -> Policy:
    return policy_of(folder, 100, 100)


def exact(plan: Plan, policy: Policy, database: Database) -> int:
    """What the engine finds in the database."""
    engine = MemoryEngine(tables=policy.tables)
    with database.in_memory():
        (result,) = engine.exact(plan, {})
    return int(result.cells[0])


def plan_of(sql: str, policy: Policy) -> Plan:
    return planned(sql, policy, MemoryEngine(tables=policy.tables))


each_answer = pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.sql)


@each_answer
def test_what_is_answered_is_unit_wise(case: Answered) -> None:
    assert all(unit_wise(database, f"SELECT * FROM {case.read}") for database in DATABASES)


@each_answer
def test_the_engine_finds_what_sqlite_finds(case: Answered, uncapped: Policy) -> None:
    plan = plan_of(case.sql, uncapped)
    for database in FEW:
        ((expected,),) = database.rows(case.sql)
        assert exact(plan, uncapped, database) == (expected or 0)


@each_answer
def test_a_customer_changes_it_by_no_more(case: Answered, capped: Policy) -> None:
    plan = plan_of(case.sql, capped)
    assert plan.releases[0].mechanism.sensitivity == case.change
    reached = 0
    for database in FEW[:2]:
        whole = exact(plan, capped, database)
        for others in database.without_one:
            moved = abs(whole - exact(plan, capped, others))
            assert moved <= case.change
            reached = max(reached, moved)
    assert (reached == case.change) is case.reached


@cache
def tried_database(seed: int) -> Database:
    return random_database(Random(seed))


@pytest.mark.parametrize(("read", "message"), REFUSED.items())
def test_what_is_refused_is_not_unit_wise(read: str, message: str, capped: Policy) -> None:
    with pytest.raises(Unsupported, match=message):
        statement(f"SELECT COUNT(*) FROM {read}", capped)
    tried = (tried_database(seed) for seed in range(400))
    assert any(not unit_wise(database, f"SELECT * FROM {read}") for database in tried)


ANOTHERS = Database(
    {**DENSE.tables, "b": [(1, 1), (1, 3), (2, 3), (2, 1)], "l": [(1, 3), (1, 2), (3, 1)]}
)
"""Customers bring back what others ordered, which the policy says that they do not."""
RETURNED = "SELECT COUNT(*) FROM b JOIN o ON b.ref = o.id"


def is_unit_wise(sql: str, policy: Policy) -> bool:
    """Whether what the engine finds is what it finds of each customer, added up."""
    plan = plan_of(sql, policy)
    apart = [exact(plan, policy, own) for own in ANOTHERS.apart]
    return exact(plan, policy, ANOTHERS) == sum(apart)


@pytest.mark.parametrize(
    "sql",
    [
        RETURNED,
        "SELECT COUNT(*) FROM b LEFT JOIN o ON b.ref = o.id",
        "SELECT COUNT(*) FROM b WHERE ref IN (SELECT id FROM o)",
        "SELECT COUNT(*) FROM o WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.ref = o.id AND amt > 0)",
        "SELECT COUNT(*) FROM b WHERE ref IN (SELECT o.id FROM o JOIN l ON l.oid = o.id)",
        "SELECT COUNT(*) FROM b WHERE ref IN (SELECT id FROM o WHERE id IN (SELECT oid FROM l))",
        "SELECT SUM(k) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY ref ORDER BY cust) AS k FROM b)",
        "SELECT SUM(k) FROM (SELECT COUNT(ref) OVER (PARTITION BY ref) AS k FROM b)",
    ],
)
def test_no_row_meets_one_of_another_customer(sql: str, capped: Policy) -> None:
    assert is_unit_wise(sql, capped)


def test_without_the_owner_rows_would_meet_those_of_others(
    capped: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = Leaves.values

    def without_owners(self: Leaves, rows: Rows, expressions: Any, *, owners: bool) -> Any:
        return values(self, rows, expressions, owners=False)

    monkeypatch.setattr(Leaves, "values", without_owners)
    assert not is_unit_wise(RETURNED, capped)


def test_a_cap_across_customers_would_choose_among_the_rows_of_all(
    capped: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Leaves.capped

    def across(self: Leaves, rows: Rows, limit: int) -> Rows:
        return kept(self, replace(rows, owners=np.zeros_like(rows.owners)), limit)

    monkeypatch.setattr(Leaves, "capped", across)
    assert not is_unit_wise("SELECT COUNT(*) FROM c JOIN o ON c.id = o.cust", capped)


def test_a_customer_with_many_rows_is_answered(capped: Policy) -> None:
    """50,000 rows of one customer would make 2,500,000,000 pairs: 122 of them enter."""
    orders = [(number, 1, 3, "x") for number in range(50_000)]
    crowd = Database({**DENSE.tables, "o": orders, "l": []})
    sql = "SELECT COUNT(*) FROM o a JOIN o d ON a.cust = d.cust WHERE ABS(a.id - d.id) < 50000"
    plan = plan_of(sql, capped)
    assert exact(plan, capped, crowd) == 4


def test_which_rows_count_does_not_depend_on_their_order(capped: Policy) -> None:
    orders = [(number, 1, number % 4, "x") for number in range(9)]
    plan = plan_of("SELECT SUM(amt * qty) FROM o JOIN l ON oid = o.id", capped)
    lines = [(number % 9, number % 3) for number in range(20)]
    found = {
        exact(plan, capped, Database({**DENSE.tables, "o": o, "l": lines}))
        for o in (orders, orders[::-1], orders[4:] + orders[:4])
    }
    assert len(found) == 1


def test_rows_without_a_key_count_in_their_order(capped: Policy) -> None:
    orders = [(None, 1, amount, "x") for amount in range(4)]
    plan = plan_of("SELECT SUM(amt) FROM c JOIN o ON c.id = o.cust", capped)
    for o in (orders, orders[::-1]):
        database = Database({**DENSE.tables, "o": o, "l": [], "b": []})
        assert exact(plan, capped, database) == o[0][2] + o[1][2]


def test_which_row_is_the_first_does_not_depend_on_their_order(capped: Policy) -> None:
    ranked = "(SELECT id, ROW_NUMBER() OVER (PARTITION BY cust ORDER BY st) AS k FROM o)"
    plan = plan_of(f"SELECT COUNT(*) FROM {ranked} WHERE k = 1 AND id IN (0, 2, 3)", capped)
    orders = [(number, number % 3, 1, "x") for number in range(9)]
    found = [
        exact(plan, capped, Database({**DENSE.tables, "o": o, "l": [], "b": []}))
        for o in (orders, orders[::-1], orders[4:] + orders[:4])
    ]
    assert len(set(found)) == 1


def test_public_rows_that_fan_out_too_far_are_refused(tmp_path: Path) -> None:
    days = [(None, 1) for _ in range(10_001)]
    Database({**DENSE.tables, "rd": days}).write(tmp_path)
    with pytest.raises(Unsupported, match="a row can meet 10001 rows of rd"):
        statement(
            "SELECT COUNT(*) FROM c JOIN rd ON c.reg = rd.day",
            policy_of(tmp_path),
            PublicFacts(None),
        )


@pytest.mark.parametrize(
    ("days", "text", "refused"),
    [
        (101, "SELECT COUNT(*) FROM o JOIN rd ON amt = rd.day", "can have 101000 rows in JOIN rd"),
        (100, "SELECT COUNT(*) FROM o JOIN rd ON amt = rd.day", "can take"),
        (10, "SELECT COUNT(*) FROM o JOIN rd ON amt = rd.day", None),
        (1_001, "SELECT COUNT(*) FROM c JOIN rd ON reg = rd.day", None),
        (
            101,
            "SELECT SUM(n) FROM (SELECT cust, COUNT(*) AS n FROM o JOIN rd ON amt = rd.day"
            " GROUP BY cust)",
            "can have 101000 rows in JOIN rd",
        ),
        (
            101,
            "SELECT SUM(k) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY cust) AS k FROM o"
            " JOIN rd ON amt = rd.day)",
            "can have 101000 rows in JOIN rd",
        ),
        (
            101,
            "SELECT COUNT(*) FROM (SELECT c.id FROM c UNION ALL SELECT cust FROM o JOIN rd"
            " ON amt = rd.day)",
            "can have 101000 rows in JOIN rd",
        ),
        (
            1,
            "SELECT COUNT(*) FROM c WHERE EXISTS (SELECT 1 FROM o JOIN l ON oid = o.id JOIN rd"
            " ON TRUE JOIN rd e ON TRUE WHERE o.cust = c.id)",
            None,
        ),
        (
            12,
            "SELECT COUNT(*) FROM c WHERE EXISTS (SELECT 1 FROM o JOIN l ON oid = o.id JOIN rd"
            " ON TRUE JOIN rd e ON TRUE WHERE o.cust = c.id)",
            "can have 144000 rows in JOIN rd#2",
        ),
        (2_237, "SELECT COUNT(*) FROM rd a JOIN rd b ON a.day = b.day", "make up to 5004169 rows"),
        (2_236, "SELECT COUNT(*) FROM rd a JOIN rd b ON a.day = b.day", None),
    ],
)
def test_joined_rows_that_are_held_are_bounded_by_public_facts(
    days: int, text: str, refused: str | None, tmp_path: Path
) -> None:
    Database({**DENSE.tables, "rd": [(None, 1)] * days}).write(tmp_path)
    policy = policy_of(tmp_path)
    if refused is None:
        assert statement(text, policy, PublicFacts(None))
    else:
        with pytest.raises(TooLarge, match=refused):
            statement(text, policy, PublicFacts(None))


def test_a_table_without_rows_is_joined(capped: Policy) -> None:
    nobody = Database(dict.fromkeys(DENSE.tables, ()))
    for case in ANSWERED:
        assert exact(plan_of(case.sql, capped), capped, nobody) == 0
