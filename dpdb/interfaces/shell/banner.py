"""The two lines before the first prompt."""

from __future__ import annotations

from wcwidth import wcswidth

from dpdb.answers.formats.escape import printable
from dpdb.interfaces.shell import column_facts
from dpdb.interfaces.shell.terminal import cut
from dpdb.policy.budget import Budget, Composition
from dpdb.policy.catalog import Policy, Table
from dpdb.policy.numbers import decimal
from dpdb.privacy.accounting.accountants import accountant


def greeting(policy: Policy, width: int) -> str:
    """What can be asked about, and what a query gets, in two lines of `width`."""
    budget = policy.budget
    each = f"ε {decimal(budget.epsilon)}, k {budget.queries}: {_share(budget)} a query"
    more = f"{each} · .help explains, .ask builds a query, .quit leaves"
    tables = _tables(policy.tables, width)
    return f"{cut(tables, width)}\n{more if wcswidth(more) <= width else each}"


def _share(budget: Budget) -> str:
    """What a query gets: of ε in even parts, or as much as the theorem allows."""
    share = accountant(budget).share.epsilon
    if budget.composition is Composition.PURE:
        return f"ε/k = {decimal(share)}"
    return f"by {budget.composition} at δ {decimal(budget.delta)}, ε {decimal(share, 3)}"


def _tables(tables: tuple[Table, ...], width: int) -> str:
    """As many columns as there is room for, and how many more there are."""
    room = width // len(tables) - len(tables)
    return " ".join(_table(table, room) for table in tables)


def _table(table: Table, room: int) -> str:
    items = [f"{printable(column.name)} {column_facts.about(column)}" for column in table.columns]
    for kept in range(len(items), -1, -1):
        left = len(items) - kept
        listed = [*items[:kept], *([f"{left} more: .schema"] if left else [])]
        text = f"{printable(table.name)}({', '.join(listed)})"
        if wcswidth(text) <= room:
            break
    return text
