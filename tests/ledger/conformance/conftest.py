"""Every ledger is held to the same tests: another one is another line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpdb.ledger.protocol import Ledger
from dpdb.ledger.spending import MemoryLedger
from dpdb.policy.budget import Budget, Neighbors
from tests.support.lasting import folder_in_memory, ledgers_on, opened
from tests.support.plain_ledger import PlainLedger

OpenLedger = Callable[[Budget, Neighbors], Ledger]
LEDGERS = ("memory", "plain", "lasting", "server")


@pytest.fixture(scope="session")
def ledgers() -> Iterator[Path]:
    """A folder for ledgers."""
    with folder_in_memory() as folder:
        yield folder


@pytest.fixture(params=LEDGERS)
def open_ledger(request: pytest.FixtureRequest, ledgers: Path) -> OpenLedger:
    """Opens a ledger of which nothing is spent."""
    match request.param:
        case "memory":
            return MemoryLedger
        case "plain":
            return PlainLedger
        case "lasting":
            return lambda budget, relation: opened(ledgers, budget, relation)
    server = request.getfixturevalue("server")

    def on_server(budget: Budget, relation: Neighbors) -> Ledger:
        with ledgers_on(server):
            return opened(ledgers, budget, relation)

    return on_server
