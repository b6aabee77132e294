"""Queries about one small table, planned without a file: nothing that plans reads one."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from dpdb.plan.logical.query import Query
from dpdb.plan.physical.plan import Plan
from dpdb.plan.planner import plan
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.sql.selects.statements import Select, statement

ROWS = 40
COLUMNS = (
    Column("id", Kind.INTEGER),
    Column("age", Kind.INTEGER, Fraction(0), Fraction(100), nullable=False),
    Column("pay", Kind.NUMBER, Fraction(0), Fraction(1000), Fraction(1, 100)),
    Column("wealth", Kind.NUMBER, Fraction(-(10**9)), Fraction(10**9), Fraction(1, 100)),
    Column("born", Kind.DATE, Fraction(0), Fraction(6)),
    Column("year", Kind.INTEGER, Fraction(1001), Fraction(2000)),
    Column("zip", Kind.INTEGER, Fraction(1), Fraction(3), values=(1, 2, 3), nullable=False),
    Column("city", Kind.TEXT, values=("Ely", "Rye")),
    Column("ok", Kind.BOOLEAN),
    Column("loose", Kind.NUMBER),
    Column("note", Kind.TEXT),
)


def small_policy(
    neighbors: Neighbors = Neighbors.ADD_REMOVE,
    *,
    unit: str | None = None,
    rows_per_unit: int = 1,
    composition: Composition = Composition.PURE,
) -> Policy:
    """One table `t`; its file is not there."""
    table = Table("t", Path("nowhere.csv"), COLUMNS, unit, rows_per_unit)
    budget = Budget(Fraction(1), Fraction(1, 10**6), 10, composition)
    return Policy((table,), budget, neighbors)


PRIVATE = small_policy()
PUBLIC = small_policy(Neighbors.REPLACE)
"""The number of rows is known to everybody."""


def query(text: str, policy: Policy = PRIVATE) -> Query:
    """The query of `SELECT text FROM t`; what is there already need not be added."""
    whole = text if text.startswith("SELECT") else f"SELECT {text}"
    found = statement(whole if "FROM t" in whole else f"{whole} FROM t", policy)
    assert isinstance(found, Select)
    return found.query


def known_rows(table: Table) -> int:
    """The number of rows of every table, where planning may ask for it."""
    return ROWS


def secret_rows(table: Table) -> int:
    """Where it may not ask."""
    raise AssertionError(f"the number of rows of {table.name} is not public")


def planned(
    text: str,
    policy: Policy = PRIVATE,
    share: BudgetShare = BudgetShare(Fraction(1)),  # noqa: B008 (frozen)
) -> Plan:
    """The plan of a query at `share`."""
    rows = known_rows if policy.neighbors is Neighbors.REPLACE else secret_rows
    return plan(query(text, policy), policy, share, rows)
