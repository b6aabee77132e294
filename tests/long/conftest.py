"""Long checks are marked with how many examples they try; `--scale` says how many of them run.

In the ordinary suite, at scale 0, a few do: so many that the checks themselves stay in order.
"""

from __future__ import annotations

import math

import pytest

from tests.long.parts import parts


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "examples(number, few, most=…): tried at scale 1, in the ordinary suite, and in one part",
    )


def _examples(config: pytest.Config, number: int, few: int) -> int:
    return max(few, math.ceil(number * config.getoption("--scale")))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A check that takes a part runs once for each of them."""
    marker = metafunc.definition.get_closest_marker("examples")
    if marker is not None and "part" in metafunc.fixturenames:
        examples = _examples(metafunc.config, *marker.args)
        metafunc.parametrize("part", parts(examples, **marker.kwargs), ids=str)


@pytest.fixture
def examples(request: pytest.FixtureRequest) -> int:
    """How many examples a check tries that is not divided into parts."""
    marker = request.node.get_closest_marker("examples")
    assert marker is not None
    return _examples(request.config, *marker.args)


@pytest.fixture
def tried(record_property):
    """Writes down what was tried, to be printed when all is done."""
    return lambda text: record_property("tried", text)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if not config.getoption("--scale"):
        return
    terminalreporter.section("tried")
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, text in report.user_properties:
                if name == "tried":
                    terminalreporter.line(f"{outcome} {report.nodeid}: {text}")
