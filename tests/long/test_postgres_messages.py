"""A door of PostgreSQL's protocol that is sent a million broken messages answers who is in order."""

from __future__ import annotations

import asyncio
import logging
from random import Random

import pytest

from tests.long.parts import Part
from tests.server.postgres.mutated import Told, attacked, knocked, unlimited


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.examples(1_000_000, 1_000, most=100_000)
def test_broken_messages(
    part: Part,
    tmp_path,
    tried,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """After a login and before one: no error of the server's own, and no answer that is not paid."""
    caplog.set_level(logging.ERROR)
    unlimited(monkeypatch)
    desk, before = Told(tmp_path), resident()
    after = asyncio.run(attacked(desk, Random(part.seed), part.examples * 3 // 4))
    strangers = asyncio.run(knocked(desk, Random(part.seed), part.examples // 4))
    assert not caplog.records, caplog.text
    assert resident() - before < 100_000_000
    tried(f"{part}: after login {after}, before {strangers}")
