"""The lines before the first prompt."""

from __future__ import annotations

from wcwidth import wcswidth

from dpdb.errors import printable
from dpdb.interfaces.shell import column_facts
from dpdb.interfaces.shell.terminal import cut
from dpdb.ledger.protocol import Balance
from dpdb.policy.budget import Budget, Composition
from dpdb.policy.catalog import Policy, Table
from dpdb.policy.numbers import decimal

TEACHING = (
    "teaching mode, no answer is private (.help teaching)",
    "it allows SET dp = off, SET sensitivity = 'local' and SET reveal = on",
)


def greeting(policy: Policy, width: int, *, teach: bool = False) -> str:
    """Two lines of `width` columns: the tables, and the budget with a query's share of it.

    In teaching mode, what it allows follows.
    """
    budget = policy.budget
    epsilon, queries = decimal(budget.epsilon), budget.queries
    limits = f"ε {epsilon}, k {queries} for this session"
    if policy.lasting is not None:
        limits = f"ε {epsilon} {policy.lasting.duration}, k {queries} a session"
    each = f"{limits}: {_share(budget)} a query"
    known = (
        f"{each} · .help explains, .ask builds a query, .quit leaves",
        f"{each} · .help, .ask, .quit",
        each,
    )
    second = next((text for text in known if wcswidth(text) <= width), limits)
    lines = [cut(_tables(policy.tables, width), width), second]
    return "\n".join(lines + [cut(line, width) for line in TEACHING if teach])


def _share(budget: Budget) -> str:
    """The ε of one query that counts: an even part, or as much as zCDP allows."""
    share = Balance.after(budget).share
    if share.concentrated:
        return f"by zcdp at δ {decimal(budget.delta)}, ε {decimal(share.epsilon, 3)}"
    by = "" if budget.composition is Composition.PURE else "by the sum of ε, "
    return f"{by}ε/k = {decimal(share.epsilon)}"


def _tables(tables: tuple[Table, ...], width: int) -> str:
    """The tables with as many of their columns as there is room for."""
    room = width // len(tables) - len(tables)
    return " ".join(_table(table, room) for table in tables)


def _table(table: Table, room: int) -> str:
    items = [f"{printable(column.name)} {column_facts.about(column)}" for column in table.columns]
    for number in range(len(items), -1, -1):
        left = len(items) - number
        listed = [*items[:number], *([f"{left} more: .schema"] if left else [])]
        text = f"{printable(table.name)}({', '.join(listed)})"
        if wcswidth(text) <= room:
            break
    return text
