"""The rows of SHOW and DESCRIBE: they never depend on rows of data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from fractions import Fraction

from dpdb.answers import suggested_bounds
from dpdb.answers.record import Cell
from dpdb.errors import UnknownName, Unsupported
from dpdb.ledger.protocol import Balance, Ledger, QueryLimit, Recorded
from dpdb.policy.budget import SMALLEST_DELTA, Budget, Composition
from dpdb.policy.catalog import Policy
from dpdb.policy.names import suggestion
from dpdb.privacy.accounting.accountants import Concentrated
from dpdb.privacy.accounting.composition import (
    ComposedLoss,
    Theorem,
    advanced,
    concentrated,
    sequential,
)
from dpdb.session.settings import Settings
from dpdb.sql.selects.statements import (
    Describe,
    Listed,
    ShowBudget,
    ShowHistory,
    ShowSettings,
    ShowTables,
)

CellRows = tuple[tuple[Cell, ...], ...]
BUDGET_COLUMNS = ("budget", "total", "spent", "left")
HISTORY_COLUMNS = ("time", "statement", "epsilon", "delta")
TABLE_COLUMNS = ("table", "columns", "unit")
SETTING_COLUMNS = ("setting", "value", "meaning")


def listing(
    statement: Listed,
    policy: Policy,
    ledger: Ledger,
    settings: Settings,
    limits: tuple[QueryLimit, ...],
    *,
    teach: bool,
) -> tuple[tuple[str, ...], CellRows]:
    """The columns and the rows that a statement lists; `limits` hold besides the ledger's."""
    match statement:
        case ShowBudget():
            balance = ledger.balance
            share = balance.share.epsilon if settings.epsilon is None else settings.epsilon
            limits = (*ledger.query_limits, *limits)
            return BUDGET_COLUMNS, budget_rows(balance, share, limits)
        case ShowHistory():
            return HISTORY_COLUMNS, _history_rows(ledger.history())
        case ShowTables():
            return TABLE_COLUMNS, table_rows(policy)
        case ShowSettings():
            return SETTING_COLUMNS, settings.rows(teach=teach)
        case Describe():
            return suggested_bounds.COLUMN_COLUMNS, _column_rows(policy, statement)


def budget_rows(balance: Balance, share: Fraction, limits: Iterable[QueryLimit]) -> CellRows:
    """Total, spent and left of the budget, and the session's ε by each composition theorem."""
    budget, delta = balance.budget, balance.budget.delta
    rows: list[tuple[Cell, ...]] = [
        _amount("epsilon", budget.epsilon, balance.epsilon_spent, balance.epsilon_left),
        *_accounts(balance),
        _amount("delta", delta, balance.delta_spent, balance.delta_left),
        *map(_queries, limits),
        ("epsilon per query", float(share), None, None),
    ]
    if delta < SMALLEST_DELTA:
        spent = sequential(balance.sums)
        return (*rows, (f"epsilon by {Theorem.SEQUENTIAL}", None, float(spent), None))
    # Of a budget that only the sum can pay for nothing need be said.
    paying = None if budget.composition is Composition.PURE else balance.theorem()
    for theorem in Theorem:
        epsilon = _epsilon_by(theorem, budget, balance.sums)
        label = f"epsilon by {theorem}{', which pays' if theorem is paying else ''}"
        rows.append((label, None, None if epsilon is None else float(epsilon), None))
    return tuple(rows)


def _epsilon_by(theorem: Theorem, budget: Budget, sums: ComposedLoss) -> Fraction | None:
    """The ε that a theorem has for these sums; None where they leave it no δ."""
    match theorem:
        case Theorem.SEQUENTIAL:
            return sequential(sums) if sums.delta <= budget.delta else None
        case Theorem.ADVANCED:
            slack = budget.delta - sums.delta
            return min(sequential(sums), advanced(sums, slack)) if slack > 0 else None
        case Theorem.CONCENTRATED:
            keeper = Concentrated(budget)
            return concentrated(sums, keeper.slack) if sums.rho_delta <= keeper.delta else None


def _history_rows(history: tuple[Recorded, ...] | None) -> CellRows:
    """SHOW HISTORY: the asker's own statements; raises Unsupported where none are recorded."""
    if history is None:
        raise Unsupported(
            "the budget of a session keeps no history",
            hint="at the prompt .history lists statements",
        )
    return tuple(
        (utc_time(one.time), one.statement, float(one.price.epsilon), float(one.price.delta))
        for one in history
    )


_CALENDAR = 146_097 * 86_400
"""The seconds of 400 years."""


def utc_time(seconds: int) -> str:
    """The time so many seconds after 1970 began, in UTC; a clock can be in any year."""
    # The calendar is the same again after 400 years.
    cycles, within = divmod(seconds, _CALENDAR)
    moment = datetime.fromtimestamp(within, UTC)
    return f"{moment.year + 400 * cycles:04}-{moment:%m-%d %H:%M:%S}"


def table_rows(policy: Policy) -> CellRows:
    """SHOW TABLES: each table, how many columns are declared for it, and whom a row is about."""
    return tuple(
        (table.name, len(table.columns), "public" if table.public else table.unit_as_written)
        for table in policy.tables
    )


def _column_rows(policy: Policy, statement: Describe) -> CellRows:
    """DESCRIBE: what is declared about each column of a table."""
    table = policy.table(statement.table)
    if table is None:
        known = [table.name for table in policy.tables]
        hint = suggestion(statement.table, known, "tables")
        raise UnknownName(f"no table {statement.table}", hint=hint, place=statement.place)
    return tuple(suggested_bounds.column_row(table, column) for column in table.columns)


def _queries(limit: QueryLimit) -> tuple[Cell, ...]:
    left = None if limit.most is None else limit.most - limit.asked
    return limit.name, limit.most, limit.asked, left


def _amount(name: str, total: Fraction, spent: Fraction, left: Fraction) -> tuple[Cell, ...]:
    return name, float(total), float(spent), float(left)


def _accounts(balance: Balance) -> Iterator[tuple[Cell, ...]]:
    """Of whose account an analyst with a limit is shown ε: what is left is the lesser of two."""
    if balance.own is not None:
        left = max(balance.own.epsilon_left, Fraction(0))
        yield "epsilon of your own limit", float(balance.own.budget.epsilon), None, float(left)
        if balance.is_short_of_own:
            yield "epsilon of the whole budget", None, None, float(balance.epsilon_left)
