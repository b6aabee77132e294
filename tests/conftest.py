"""How tests run: on a short tick, the same examples every time, none failing for being slow."""

import gc
import os
import tempfile
from collections.abc import Iterator

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices; read when numpy is imported

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from dpdb.session.timing import tick
from tests.support import planned_once as planning
from tests.support.brute import tables_in_memory

tick.TICK = 1e-6  # tests run many statements, and have nobody to hide their time from

settings.register_profile(
    "suite",
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")
# Or the constants of all modules that happen to be imported would be among the examples: they would
# differ with the tests that ran before, and each worker would parse every file of dpdb.
providers._get_local_constants = lambda: providers._local_constants


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--scale",
        type=float,
        default=0.0,
        help="how much of tests/long runs: 1 is what `make test-long` runs, 0 a few examples",
    )


def pytest_collection() -> None:
    gc.disable()  # thousands of tests are made, and none is dropped


def pytest_collection_finish() -> None:
    gc.freeze()  # or each later search for garbage would go through all of them
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # libraries complain of what is left when Python ends


@pytest.fixture(scope="session", autouse=True)
def state() -> Iterator[None]:
    """What dpdb notes of the files that it writes is noted in a folder of the tests' own."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", folder)
        yield


@pytest.fixture(scope="module")
def in_memory() -> Iterator[None]:
    """Tables of `tests.support.brute` are read from memory."""
    with tables_in_memory():
        yield


@pytest.fixture
def planned_once() -> Iterator[None]:
    """Each statement of a test is read and planned once, however many sessions answer it."""
    with planning.planned_once():
        yield
