"""How tests run: on a short tick, the same examples every time, none failing for being slow."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from dpdb.session import tick
from tests.support.brute import tables_in_memory

tick.TICK = 1e-6  # tests run many statements, and have nobody to hide their time from

settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--scale",
        type=float,
        default=0.0,
        help="how much of tests/long runs: 1 is what `make test-long` runs, 0 a few examples",
    )


@pytest.fixture(scope="module")
def in_memory() -> Iterator[None]:
    """Tables of `tests.support.brute` are read from memory."""
    with tables_in_memory():
        yield
