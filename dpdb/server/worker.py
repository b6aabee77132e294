"""A worker: a process that holds the tables and the sessions, one for each analyst.

`python -m dpdb.server.worker FD` speaks with the front over the socket FD, in lines. The first says
what to open; the reply to it is empty, or an error. A request is a line of a number, 0 or 1, and a
`Request`; 1 says that the analyst's session was in a worker that was lost. Its reply has the
number, and a `Reply`. Requests are answered at once, in threads, and replies come in any order.

The worker begins no request after the front is gone, and ends when those that it has begun have
been answered, so that what they release is kept. What it prints goes nowhere. Its memory is not
written to a file when it crashes.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from threading import Lock
from typing import Any, assert_never

from dpdb.answers.answer import Answer
from dpdb.answers.formats.json_lines import as_json, dumped, error_as_json
from dpdb.answers.record import Cell, Detail
from dpdb.answers.suggested_bounds import plain_value
from dpdb.answers.wire import to_wire
from dpdb.errors import STAYS_PAID, DpdbError, InvalidOption, TooLarge, UsageError, reportable
from dpdb.ledger.protocol import FREE
from dpdb.ledger.terms import public_terms
from dpdb.policy.catalog import Column, Policy, Table, Value
from dpdb.policy.numbers import exact_number, ratio
from dpdb.server.messages import AT_ONCE, LONGEST_REPLY, Action, Reply, Request, Shape
from dpdb.session.backends import Backends
from dpdb.session.connect import policy_of
from dpdb.session.session import Session
from dpdb.sql.text.parameters import from_json, members_of

MOST_SESSIONS = 1_000
"""The sessions that are held; when there is another, that which was asked longest ago ends."""
ANEW = "settings, plans and temporary tables of your session began anew"


class Sessions:
    """The sessions of a policy, each an analyst's; a budget without a name has one, for all."""

    def __init__(self, policy: Policy, workers: int = 1) -> None:
        """Sessions of one of so many workers, which share the memory for pools.

        Raises DpdbError where the policy's tables or its ledger cannot be opened.
        """
        self.lasts = policy.lasting is not None
        """Whether the budget has a name."""
        self._policy = policy
        self._backends = Backends(policy, pools=workers)
        self._held: OrderedDict[str, Session] = OrderedDict()
        self.anew: set[str] = set()
        """The analysts whose sessions began anew, and who have not been told."""
        self._lock = Lock()
        if not self.lasts:
            self._common = Session(policy, backends=self._backends)

    def tables(self, shape: Shape) -> str:
        """Tables and columns, as `Action.TABLES` says."""
        known = self._backends.known()
        match shape:
            case Shape.JSON:
                return dumped([_table(table) for table in known.tables])
            case Shape.RECORD:
                return dumped(public_terms(known))
        assert_never(shape)

    def of(self, analyst: str) -> Session:
        """The analyst's session."""
        if not self.lasts:
            return self._common
        with self._lock:
            session = self._held.get(analyst)
            if session is None:
                session = Session(self._policy, analyst=analyst, backends=self._backends)
                self._held[analyst] = session
            self._held.move_to_end(analyst)
            if len(self._held) > MOST_SESSIONS:
                self.anew.add(self._held.popitem(last=False)[0])
            return session


def reply_to(request: Request, sessions: Sessions) -> Reply:
    """The answer or the error of the analyst's session."""
    try:
        if request.action is Action.TABLES:
            return Reply(sessions.tables(request.shape))
        session = sessions.of(request.analyst)
        if request.action is Action.ANSWERS:
            bodies = [_body(each, request.shape) for each in session.answers()]
            return Reply(f"[{','.join(bodies)}]")
        answer = _answer(request, session)
        if request.action is Action.EXECUTE and request.analyst in sessions.anew:
            sessions.anew.discard(request.analyst)
            answer = replace(answer, note_detail=Detail.of((*answer.notes, ANEW)))
        paid = request.action is Action.EXECUTE and answer.cost != FREE and not answer.explain
        epsilon = str(answer.cost.epsilon) if paid else "0"
        return Reply(_body(answer, request.shape), paid=paid, epsilon=epsilon)
    except Exception as error:
        return failed(request, reportable(error))


def failed(request: Request, error: DpdbError) -> Reply:
    """The reply that tells an error."""
    paid = STAYS_PAID in (error.hint or "")
    return Reply.of_error(error.statement or request.text, error, paid=paid)


def _answer(request: Request, session: Session) -> Answer:
    epsilon, delta = _share(request.epsilon), _share(request.delta)
    text, values = request.text, from_json(request.parameters)
    match request.action:
        case Action.EXECUTE:
            return session.execute(text, values, epsilon=epsilon, delta=delta)
        case Action.EXPLAIN:
            return session.explain(text, values, epsilon=epsilon, delta=delta)
        case Action.QUOTE:
            return session.quote(text)
        case Action.PLAN:
            members = [
                (text, from_json(values), {name: _share(str(e)) for name, e in options.items()})
                for text, values, options in members_of(request.statements)
            ]
            return session.plan(members)
        case Action.BALANCE:
            return session.execute("SHOW BUDGET")
        case Action.ANSWERS | Action.TABLES:
            raise UsageError(f"{request.action} has no one answer")
    assert_never(request.action)


def _share(text: str | None) -> Fraction | None:
    if text is None:
        return None
    try:
        return exact_number(text) or ratio(text)
    except ValueError:
        raise InvalidOption("epsilon and delta are numbers") from None


def _body(answer: Answer, shape: Shape) -> str:
    match shape:
        case Shape.JSON:
            return as_json(answer)
        case Shape.RECORD:
            return to_wire(answer)
    assert_never(shape)


def _table(table: Table) -> dict[str, Any]:
    columns = [
        {
            "name": column.name,
            "type": str(column.kind),
            "nullable": column.nullable,
            "bounds": _listed(column, column.bounds),
            "values": _listed(column, column.values),
        }
        for column in table.columns
    ]
    unit = None if table.public else table.unit_in_words
    return {"name": table.name, "unit": unit, "columns": columns}


def _listed(column: Column, values: Iterable[Value] | None) -> list[Cell] | None:
    return None if values is None else [plain_value(value, column.kind) for value in values]


class _Front:
    """The socket to the front."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.lines = connection.makefile("rb")
        self._lock = Lock()

    def send(self, number: int, reply: Reply) -> None:
        """Send a reply; nobody is told where the front is gone."""
        line = reply.line
        if len(line) > LONGEST_REPLY:
            hint = f"{STAYS_PAID}; ask for fewer rows" if reply.paid else "ask for fewer rows"
            error = TooLarge("the answer is too long to be sent", hint=hint)
            line = Reply.of_error("", error, paid=reply.paid, epsilon=reply.epsilon).line
        with self._lock, suppress(OSError):
            self._connection.sendall(b"%d %b" % (number, line))


def serve(connection: socket.socket) -> None:
    """Answer the front's requests until it is gone."""
    front = _Front(connection)
    try:
        opening: Mapping[str, Any] = json.loads(front.lines.readline())
        policy = policy_of(*opening["sources"], **opening["options"])
        sessions = Sessions(policy, opening["workers"])
    except Exception as error:
        shown = reportable(error)  # for the owner, who has told the server what to open
        return front.send(0, Reply(error_as_json("", shown), shown.kind))
    front.send(0, Reply(json.dumps({"lasts": sessions.lasts})))

    def answer(number: bytes, lost: bytes, text: bytes) -> None:
        try:
            request = Request.read(text)
            if lost == b"1":
                sessions.anew.add(request.analyst)
            reply = reply_to(request, sessions)
        except Exception as error:  # it is nested too deeply to be read, or its error to be written
            reply = Reply.of_error("", reportable(error))
        front.send(int(number), reply)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        while line := front.lines.readline():
            threads.submit(answer, *line.split(b" ", 2))
    return None


def main() -> None:
    """Serve the front behind the file descriptor that is the argument."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Signals to all processes of a terminal or a service: the front ends its workers itself.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        serve(connection)


if __name__ == "__main__":
    main()
    os._exit(0)  # no thread is left but those of libraries
