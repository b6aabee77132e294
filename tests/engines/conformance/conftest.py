"""Every engine is held to the same tests: another one is another line here."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.protocol import Engine
from tests.support.plain_engine import PlainEngine
from tests.support.streams import SmallBlocks
from tests.support.two_engines import World, two_engines

OpenEngine = Callable[..., Engine]
"""Takes `tables`, where chains of units lead through several."""
ENGINES: dict[str, OpenEngine] = {
    "memory": MemoryEngine,
    "stream": SmallBlocks,
    "plain": PlainEngine,
}


@pytest.fixture(params=ENGINES, scope="module")
def open_engine(request: pytest.FixtureRequest) -> OpenEngine:
    """Opens an engine that has read nothing yet."""
    return ENGINES[request.param]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, open_engine: OpenEngine) -> World:
    """The same rows in the engine and in DuckDB."""
    return two_engines(tmp_path_factory.mktemp("world"), seed=1, engine=open_engine())


@pytest.fixture(scope="module")
def plain_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """In the plain engine, which is there to compare with: every ninth question is enough."""
    return two_engines(tmp_path_factory.mktemp("world"), seed=1, engine=PlainEngine())


@pytest.fixture(params=[name for name in ENGINES if name != "plain"], scope="module")
def open_fast_engine(request: pytest.FixtureRequest) -> OpenEngine:
    """Opens an engine that is to be compared with the plain one, or asked very often."""
    return ENGINES[request.param]


@pytest.fixture(scope="module")
def fast_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """For what an expression is for each row: engines differ in how rows are put together."""
    return two_engines(tmp_path_factory.mktemp("world"), seed=1, engine=MemoryEngine())
