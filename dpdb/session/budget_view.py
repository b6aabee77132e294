"""The rows of SHOW BUDGET, which follow from the ledger's balance and never from rows of data."""

from __future__ import annotations

from fractions import Fraction

from dpdb.answers.answer import Cell
from dpdb.ledger.protocol import Balance
from dpdb.policy.budget import SMALLEST_DELTA
from dpdb.privacy.accounting.accountants import Accountant, Advanced, Concentrated, Sequential

Rows = tuple[tuple[Cell, ...], ...]
BUDGET_COLUMNS = ("budget", "total", "spent", "left")


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
            without_epsilon = keeper.delta_spent(balance.sums) > keeper.delta
            spent = None if without_epsilon else float(keeper.epsilon(balance.sums))
            rows.append((f"epsilon by {name}", None, spent, None))
    return tuple(rows)


def _amount(name: str, total: Fraction, left: Fraction) -> tuple[Cell, ...]:
    return name, float(total), float(total - left), float(left)
