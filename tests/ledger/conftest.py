"""Folders for ledgers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lasting import folder_in_memory


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_in_memory() as made:
        yield made
