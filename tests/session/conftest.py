"""Sessions behind a server, for tests that hold for any session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dpdb
from dpdb.session.connect import connect
from tests.support.served import served

_SESSIONS: dict[str, dpdb.Session] = {}


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with served(_SESSIONS.get) as address:
        yield address


@pytest.fixture(params=["here", "served"])
def anywhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`dpdb.connect`, and the module's `Session`, make a session here, or one of a server."""
    opened = []

    def behind(make: Callable[..., dpdb.Session]) -> Callable[..., Any]:
        def made(*sources: Any, **options: Any) -> Any:
            token = f"token-{len(_SESSIONS)}"
            _SESSIONS[token] = make(*sources, **options)
            opened.append(connect(request.getfixturevalue("server"), token=token))
            return opened[-1]

        return made

    if request.param == "served":
        monkeypatch.setattr(dpdb, "connect", behind(connect), raising=False)
        if hasattr(request.module, "Session"):
            monkeypatch.setattr(request.module, "Session", behind(request.module.Session))
    yield
    for each in opened:
        each.close()
    _SESSIONS.clear()
