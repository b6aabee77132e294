"""Folders for ledgers, and a server for those that are in none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lasting import folder_in_memory, ledgers_on
from tests.support.postgres import Server, running_server


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_in_memory() as made:
        yield made


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server that forgets nothing."""
    with running_server("") as running:
        yield running


@pytest.fixture(params=["file", "server"])
def form(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the ledgers of a test are: its module says `usefixtures("form")`."""
    if request.param == "file":
        yield "file"
        return
    with ledgers_on(request.getfixturevalue("server")):
        yield "server"
