"""A door that is sent broken messages stays in order: a short form of the check in tests/long."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

from tests.server.postgres.mutated import Told, attacked, knocked, unlimited


def test_broken_messages_after_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlimited(monkeypatch)
    seen = asyncio.run(attacked(Told(tmp_path), Random(33), 3000))
    assert min(seen.values()) > 20


def test_broken_messages_before_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a proof that was captured, too: nobody is let in, and nothing is paid."""
    unlimited(monkeypatch)
    seen = asyncio.run(knocked(Told(tmp_path), Random(34), 1000))
    assert min(seen.values()) > 20
