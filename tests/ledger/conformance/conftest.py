"""Every ledger is held to the same tests: another one is another line here."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpdb.ledger.memory import MemoryLedger
from dpdb.ledger.protocol import Ledger
from dpdb.policy.budget import Budget, Neighbors
from tests.support.plain_ledger import PlainLedger

OpenLedger = Callable[[Budget, Neighbors], Ledger]
LEDGERS: dict[str, OpenLedger] = {"memory": MemoryLedger, "plain": PlainLedger}


@pytest.fixture(params=LEDGERS)
def open_ledger(request: pytest.FixtureRequest) -> OpenLedger:
    """Opens a ledger of which nothing is spent."""
    return LEDGERS[request.param]
