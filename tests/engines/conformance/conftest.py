"""Every engine is held to the same tests: another one is another line here."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpdb.engines.memory.engine import MemoryEngine
from dpdb.engines.protocol import Engine
from tests.support.plain_engine import PlainEngine

OpenEngine = Callable[[], Engine]
ENGINES: dict[str, OpenEngine] = {"memory": MemoryEngine, "plain": PlainEngine}


@pytest.fixture(params=ENGINES, scope="module")
def open_engine(request: pytest.FixtureRequest) -> OpenEngine:
    """Opens an engine that has read nothing yet."""
    return ENGINES[request.param]
