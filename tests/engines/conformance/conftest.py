"""The rows that both engines are asked about."""

import pytest

from tests.support.two_engines import World, two_engines


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return two_engines(tmp_path_factory.mktemp("world"), seed=1)
