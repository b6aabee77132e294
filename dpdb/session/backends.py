"""Which engine and which ledger a session gets: nothing else names an implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.ledger.memory import MemoryLedger

if TYPE_CHECKING:
    from dpdb.engines.protocol import OpenEngine, Progress
    from dpdb.ledger.protocol import Ledger
    from dpdb.policy.catalog import Policy


def open_engine(progress: Progress | None = None) -> OpenEngine:
    """An engine that reads each table when it is first asked about it.

    It is imported here: pandas takes longer to import than the prompt to appear.
    """
    from dpdb.engines.memory.engine import MemoryEngine  # noqa: PLC0415

    return MemoryEngine(progress)


def open_ledger(policy: Policy) -> Ledger:
    """A ledger in which nothing of the policy's budget is spent yet."""
    return MemoryLedger(policy.budget, policy.neighbors)
