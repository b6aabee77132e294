"""The rows of SHOW BUDGET, SHOW TABLES and DESCRIBE: they never depend on rows of data."""

from __future__ import annotations

from fractions import Fraction

from dpdb.answers import declarations
from dpdb.answers.record import Cell
from dpdb.errors import UnknownName
from dpdb.ledger.protocol import Balance
from dpdb.policy.budget import SMALLEST_DELTA
from dpdb.policy.catalog import Policy
from dpdb.policy.names import suggestion
from dpdb.privacy.accounting.accountants import Accountant, Advanced, Concentrated, Sequential
from dpdb.sql.statements import Describe

Rows = tuple[tuple[Cell, ...], ...]
BUDGET_COLUMNS = ("budget", "total", "spent", "left")
TABLE_COLUMNS = ("table", "columns")
COLUMN_COLUMNS = declarations.COLUMN_COLUMNS

THEOREMS: tuple[tuple[str, type[Accountant]], ...] = (
    ("sequential composition", Sequential),
    ("advanced composition", Advanced),
    ("zero-concentrated DP", Concentrated),
)


def budget_rows(balance: Balance, share: Fraction) -> Rows:
    """Total, spent and left of the budget, and the session's ε by each composition theorem."""
    budget, delta = balance.budget, balance.budget.delta
    queries = budget.queries
    rows: list[tuple[Cell, ...]] = [
        _amount("epsilon", budget.epsilon, balance.epsilon_left),
        _amount("delta", delta, balance.delta_left),
        ("queries", queries, queries - balance.queries_left, balance.queries_left),
        ("epsilon per query", float(share), None, None),
    ]
    for name, theorem in THEOREMS:
        keeper = theorem(budget)
        if delta >= SMALLEST_DELTA or theorem is Sequential:
            # The theorem gives no ε once releases have used more δ than it leaves them.
            silent = keeper.delta_spent(balance.sums) > keeper.delta
            spent = None if silent else float(keeper.epsilon(balance.sums))
            rows.append((f"epsilon by {name}", None, spent, None))
    return tuple(rows)


def table_rows(policy: Policy) -> Rows:
    """SHOW TABLES: each table, and how many columns are declared for it."""
    return tuple((table.name, len(table.columns)) for table in policy.tables)


def column_rows(policy: Policy, statement: Describe) -> Rows:
    """DESCRIBE: what is declared about each column of a table."""
    table = policy.table(statement.table)
    if table is None:
        known = [table.name for table in policy.tables]
        hint = suggestion(statement.table, known, "tables")
        raise UnknownName(f"no table {statement.table}", hint=hint, place=statement.place)
    return tuple(declarations.column_row(column) for column in table.columns)


def _amount(name: str, total: Fraction, left: Fraction) -> tuple[Cell, ...]:
    return name, float(total), float(total - left), float(left)
