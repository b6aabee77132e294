"""Sessions of this process behind the server's own application, each an analyst's by token."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dpdb.answers.formats.json_lines import dumped
from dpdb.ledger.terms import public_terms
from dpdb.server.messages import Desk, People, Reply, Request
from dpdb.server.worker import reply_to
from dpdb.session.session import Session
from tests.server.served import Served


@dataclass
class _One:
    """The sessions of a worker, which are one."""

    session: Session
    anew: set[str] = field(default_factory=set)

    def of(self, _: str) -> Session:
        return self.session

    def tables(self, _: object) -> str:
        return dumped(public_terms(self.session.policy))


@dataclass
class _Analysts(Desk, People):
    """Analysts, whose tokens are their names, and their sessions."""

    session_of: Callable[[str], Session | None]
    names = ("somebody",)
    waiting, restarts = (0,), 0

    def by_password(self, name: str, password: str) -> None:
        return None

    def by_token(self, token: str) -> str | None:
        return None if self.session_of(token) is None else token

    def mark(self, name: str) -> str:
        return name

    async def ask(self, request: Request) -> Reply:
        sessions: Any = _One(self.session_of(request.analyst))
        reply = await asyncio.to_thread(reply_to, Request.read(request.line), sessions)
        return Reply.read(reply.line)

    async def close(self) -> None:
        return None


@contextmanager
def served(session_of: Callable[[str], Session | None]) -> Iterator[str]:
    """The address of a server; `session_of` gives the session of a token."""
    analysts = _Analysts(session_of)
    with Served(None, analysts, desk=analysts) as server:
        yield server.origin
