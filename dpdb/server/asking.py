"""The part of the front that pages and programs share: who asks, and what was answered.

A question that was handed to the desk is answered and paid whoever goes away. What a page has asked
is kept for a while, in memory, so that the same form sent twice is answered once.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from dpdb.answers.answer import Answer
from dpdb.answers.formats.json_lines import error_in
from dpdb.answers.wire import from_wire
from dpdb.errors import Busy, DpdbError, LedgerError
from dpdb.ledger.terms import policy_in
from dpdb.policy.catalog import Table
from dpdb.records import dataclass
from dpdb.server.limits import Rates
from dpdb.server.log import Log
from dpdb.server.logins import Logins
from dpdb.server.messages import Action, Desk, People, Reply, Request, Shape

MOST_KEPT = 100
MOST_KEPT_BYTES = 4 * 1024 * 1024
"""The answers of an analyst that the front keeps, and their bytes; older ones are forgotten."""
_RATE = (100.0, 1000)
"""The requests of an analyst with an account: a second in the long run, and at once."""
_LIST_WAIT = 0.5
"""Seconds that a page waits for the list of earlier answers, which then comes with a later page."""
STATUSES: Mapping[str, int] = {
    "Busy": HTTPStatus.TOO_MANY_REQUESTS,
    "BudgetExceeded": HTTPStatus.CONFLICT,
    "InternalError": HTTPStatus.INTERNAL_SERVER_ERROR,
    "OutOfResources": HTTPStatus.SERVICE_UNAVAILABLE,
    "DataFileError": HTTPStatus.SERVICE_UNAVAILABLE,
    "PolicyError": HTTPStatus.SERVICE_UNAVAILABLE,
    "LedgerError": HTTPStatus.SERVICE_UNAVAILABLE,
    "ServerError": HTTPStatus.SERVICE_UNAVAILABLE,
}
"""The status of each kind of error; of all others 400, as the statement is refused."""


@dataclass(frozen=True)
class Setting:
    """The custodian's decisions about the server."""

    title: str
    origin: str
    """The scheme and host by which browsers know the server, such as `https://stats.example`."""
    everybody: str | None = None
    """The analyst that everybody is while there is no account; None beyond the loopback."""
    passing: bool = False
    """Whether the budget ends with the server."""
    metrics_token: str | None = None
    """The token with which Prometheus asks for the counters; None where nobody may."""

    @property
    def secure(self) -> bool:
        """Whether browsers reach the server by TLS."""
        return self.origin.startswith("https:")


@dataclass
class Given:
    """An answer that a page has asked for, or the wait for it."""

    id: str
    statement: str
    reply: asyncio.Future[Reply]
    line: Any = None
    """Its line in the history, once a page has made it."""

    async def answer(self) -> Answer | DpdbError:
        """The answer or the error."""
        return await asyncio.to_thread(result, await asyncio.shield(self.reply))


class _Known(People):
    """The accounts; while there is none, everybody is known as one analyst."""

    def __init__(self, people: People | None, everybody: str | None):
        self._people, self._everybody = people, everybody

    @property
    def everybody(self) -> str | None:
        """The analyst that everybody is; None for good once there is an account."""
        if self.names:
            self._everybody = None
        return self._everybody

    @property
    def names(self) -> tuple[str, ...]:
        return () if self._people is None else self._people.names

    def by_password(self, name: str, password: str) -> str | None:
        return None if self._people is None else self._people.by_password(name, password)

    def by_token(self, token: str) -> str | None:
        return None if self._people is None else self._people.by_token(token)

    def verifier(self, name: str) -> str | None:
        return None if self._people is None else self._people.verifier(name)

    def decoy(self, name: str) -> str:
        return "" if self._people is None else self._people.decoy(name)

    def mark(self, name: str) -> str | None:
        if self.everybody is not None:
            return "" if name == self.everybody else None
        return None if self._people is None else self._people.mark(name)


class Front:
    """Asks the desk for people who are known, and keeps what their pages were answered."""

    def __init__(self, desk: Desk, setting: Setting, people: People | None, log: Log):
        self.desk, self.setting, self.log = desk, setting, log
        self.people = _Known(people, setting.everybody)
        self.logins = Logins(self.people)
        self._rates = Rates(*_RATE, time.monotonic)
        self._given: dict[str, OrderedDict[str, Given]] = {}
        self._listings: dict[str, asyncio.Task[None]] = {}

    async def ask(self, request: Request) -> Reply:
        """The reply to a request; errors of the desk are replies, too."""
        came, reply = self.log.now(), None
        try:
            if self.people.everybody is None and not self._rates.allows(request.analyst):
                raise Busy
            reply = await self.desk.ask(request)
        except (Busy, LedgerError) as error:
            reply = Reply.of_error("", error)
        finally:
            self.log.request(came, request, reply)
        return reply

    async def look(self, analyst: str, action: Action, text: str = "") -> Answer | DpdbError:
        """The answer to a question that costs nothing."""
        reply = await self.ask(Request(analyst, action, text, shape=Shape.RECORD))
        return await asyncio.to_thread(result, reply)

    async def tables(self, analyst: str) -> tuple[Table, ...]:
        """The tables, as the policy declares them; none if the desk does not say."""
        reply = await self.ask(Request(analyst, Action.TABLES, shape=Shape.RECORD))
        return () if reply.error else policy_in(json.loads(reply.body)).tables

    async def run(self, analyst: str, id: str, statement: str) -> Given:  # noqa: A002 (a form's)
        """The answer to a form; the same form again has the same answer, and asks nothing."""
        known = self._given.setdefault(analyst, OrderedDict())
        given = known.get(id)
        if given is None or given.statement != statement:
            request = Request(analyst, Action.EXECUTE, statement, shape=Shape.RECORD)
            asked = asyncio.ensure_future(self.ask(request))
            given = Given(id if given is None else fresh(), statement, asked)
            known[given.id] = given
            self._forget(known)
        reply = await asyncio.shield(given.reply)  # who goes away has paid
        if reply.error:
            known.pop(given.id, None)
        return given

    def given(self, analyst: str, id: str) -> Given | None:  # noqa: A002
        """An earlier answer of this analyst."""
        return self._given.get(analyst, OrderedDict[str, Given]()).get(id)

    def history(self, analyst: str) -> list[Given]:
        """All that was answered to this analyst, the last first."""
        known = self._given.get(analyst, OrderedDict[str, Given]())
        return [given for given in reversed(known.values()) if given.reply.done()]

    def list_anew(self, analyst: str) -> None:
        """Let the next page list all earlier answers again: programs have asked, too."""
        if not self.setting.passing:
            self._given.pop(analyst, None)
            self._listings.pop(analyst, None)

    async def list_earlier(self, analyst: str) -> None:
        """Begin to list what was answered before the server was started, and wait a little."""
        if self.setting.passing:
            return
        if analyst not in self._listings:
            self._listings[analyst] = asyncio.create_task(self._list(analyst))
        await asyncio.wait({self._listings[analyst]}, timeout=_LIST_WAIT)

    async def _list(self, analyst: str) -> None:
        reply = await self.ask(Request(analyst, Action.ANSWERS, shape=Shape.RECORD))
        if reply.error:
            return
        known = self._given.setdefault(analyst, OrderedDict())
        for answer in reversed(json.loads(reply.body)[-MOST_KEPT:]):
            done: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            done.set_result(Reply(json.dumps(answer)))
            given = Given(fresh(), answer["statement"], done)
            known[given.id] = given
            known.move_to_end(given.id, last=False)
        self._forget(known)

    def _forget(self, known: OrderedDict[str, Given]) -> None:
        """Forget the oldest answers of an analyst that are too many."""
        size = sum(len(each.reply.result().body) for each in known.values() if each.reply.done())
        while len(known) > 1 and (len(known) > MOST_KEPT or size > MOST_KEPT_BYTES):
            _, oldest = known.popitem(last=False)
            size -= len(oldest.reply.result().body) if oldest.reply.done() else 0


def result(reply: Reply) -> Answer | DpdbError:
    """The answer, or the error, of a reply in the shape of a record.

    A long answer takes a second, so that what serves many calls this in a thread.
    """
    return from_wire(reply.body) if reply.error is None else error_in(reply.body)


def fresh() -> str:
    """An id that nobody guesses."""
    return secrets.token_urlsafe(12)
