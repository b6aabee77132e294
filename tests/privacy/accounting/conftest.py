"""Each of the theorems in turn."""

import pytest

from dpdb.policy.budget import Composition


@pytest.fixture(params=Composition)
def composition(request: pytest.FixtureRequest) -> Composition:
    return Composition(request.param)
