"""Every engine is held to the same tests: another one is another line here."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpdb.engines.memory.engine import MemoryEngine
from dpdb.engines.protocol import Engine
from tests.support.plain_engine import PlainEngine
from tests.support.two_engines import World, two_engines

OpenEngine = Callable[[], Engine]
ENGINES: dict[str, OpenEngine] = {"memory": MemoryEngine, "plain": PlainEngine}


@pytest.fixture(params=ENGINES, scope="module")
def open_engine(request: pytest.FixtureRequest) -> OpenEngine:
    """Opens an engine that has read nothing yet."""
    return ENGINES[request.param]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, open_engine: OpenEngine) -> World:
    """The same rows in the engine and in DuckDB."""
    return two_engines(tmp_path_factory.mktemp("world"), seed=1, engine=open_engine())
