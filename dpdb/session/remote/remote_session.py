"""A session of a server's: `dpdb.connect("https://…", token=…)`.

It answers as `Session` does, and gives the same answers and errors. The server is told statements
and values, and nothing else; what it sends is read as data of known types, in bounded length, and
runs nothing here.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from dpdb.answers.answer import Answer
from dpdb.answers.release_reports import EXACT, LOCAL
from dpdb.answers.wire import from_wire
from dpdb.errors import DpdbError, InvalidOption, Place, ServerError, UsageError, printable
from dpdb.ledger.protocol import Balance
from dpdb.ledger.terms import policy_in
from dpdb.policy.catalog import Kind, Policy
from dpdb.policy.numbers import as_written, decimal
from dpdb.records import is_sound
from dpdb.session.free_statements import Settings
from dpdb.session.remote.server_link import Server
from dpdb.sql.text.parameters import Parameters, as_json, members_of

if TYPE_CHECKING:
    from dpdb.session.session import Loss, Session

_SETS_NOTHING = re.compile(r"\s*(select|explain|show|desc|describe|with|from)\b", re.IGNORECASE)
_FRESH = 1.0
"""Seconds for which the balance that came with an answer is taken as that of now."""


class RemoteSession:
    """Answers statements as a `Session` of a server does, within the budget of one analyst.

    Threads may share it: it asks one statement at a time.
    """

    is_remote = True
    teach = False
    """No server teaches: its answers are private."""

    def __init__(self, address: str, token: str | None = None):
        """`token` is the analyst's; a server without accounts needs none.

        Raises UsageError, or ServerError where no server of dpdb answers.
        """
        self._server = Server(address, token)
        self._closed = False
        try:
            self._policy = policy_in(json.loads(self._server.ask("/tables")))
            if not is_sound(self._policy, Policy):
                raise ValueError("no policy")
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            raise self._unread from None
        self._settings: Settings | None = None
        self._known: Balance | None = None
        self._since = -math.inf

    def __repr__(self) -> str:
        """The server, its tables, and what is left of the budget."""
        balance, budget = self.balance, self.balance.budget
        tables = ", ".join(printable(table.name) for table in self.policy.tables)
        epsilon = f"ε {decimal(balance.epsilon_left, 6)} of {decimal(budget.epsilon)}"
        queries = f"{balance.queries_left} of {budget.queries} queries left"
        return f"<RemoteSession of {self._server.name} on {tables}: {epsilon}, {queries}>"

    def __enter__(self) -> Self:
        """The session, which the end of the `with` closes."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def policy(self) -> Policy:
        """The policy, as far as the server tells it; its tables have no rows here."""
        return self._policy

    @property
    def balance(self) -> Balance:
        """The budget, and what is left of it, no older than a second."""
        if time.monotonic() - self._since > _FRESH:
            self._answered("/budget")
        assert self._known is not None
        return self._known

    @property
    def last_balance(self) -> Balance:
        """The balance that came with the last answer; it asks nothing, if there was one."""
        return self.balance if self._known is None else self._known

    @property
    def settings(self) -> Settings:
        """The settings of the server's session, after the last SET of this one."""
        if self._settings is None:
            told = {str(name): value for name, value, *_ in self.execute("SHOW ALL").rows}
            try:
                self._settings = Settings.of(told)
            except (ValueError, DpdbError):
                raise self._unread from None
        return self._settings

    @property
    def on_trial(self) -> bool:
        """Whether the next statement is answered from made-up rows."""
        return self.settings.trial

    def close(self) -> None:
        """Answer no more statements; answers that were given stay."""
        self._closed = True
        self._server.close()

    def execute(
        self, text: str, parameters: Parameters = None, *, epsilon: Loss = None, delta: Loss = None
    ) -> Answer:
        """Answer one statement, as `Session.execute` does."""
        return self._asked("/query", text, parameters, epsilon, delta)

    sql = execute

    def explain(
        self, text: str, parameters: Parameters = None, *, epsilon: Loss = None, delta: Loss = None
    ) -> Answer:
        """EXPLAIN of a SELECT, as `Session.explain` gives it; free."""
        return self._asked("/explain", text, parameters, epsilon, delta)

    def quote(self, text: str) -> Answer:
        """The price of a SELECT, as `Session.quote` gives it; free."""
        return self._asked("/price", text, None, None, None)

    def plan(self, statements: Sequence[str | tuple[object, ...]]) -> Answer:
        """Plan statements together, as `Session.plan` does."""
        members = [
            [text, as_json(values), {name: _written(name, each) for name, each in options.items()}]
            for text, values, options in members_of(statements)
        ]
        return self._answered("/plan", {"statements": members})

    def answers(self) -> tuple[Answer, ...]:
        """The answers that this analyst was given, as `Session.answers` has them; free."""
        told = self._told("/answers", None)
        try:
            listed = json.loads(told)
            if isinstance(listed, list):
                return tuple(self._read(json.dumps(each)) for each in listed)
        except (ValueError, RecursionError):
            pass
        raise self._unread

    def trial(self) -> Session:
        """A session of this process on rows that are made up from the policy; free."""
        from dpdb.session.session import Session  # noqa: PLC0415 (it imports much)
        from dpdb.trial.policy import trial_policy  # noqa: PLC0415

        return Session(trial_policy(self._policy))

    @property
    def _unread(self) -> ServerError:
        return ServerError(
            f"{self._server.name} sends what is no answer of this version of dpdb",
            hint="is it a server of dpdb? dpdb serve POLICY starts one",
        )

    def _asked(
        self, path: str, text: str, parameters: Parameters, epsilon: Loss, delta: Loss
    ) -> Answer:
        if not isinstance(text, str):
            raise UsageError("a statement is a text")
        body: dict[str, Any] = {"statement": text}
        options = {"epsilon": epsilon, "delta": delta}
        try:
            if parameters is not None:
                body["parameters"] = as_json(parameters)
            body |= {n: _written(n, each) for n, each in options.items() if each is not None}
        except DpdbError as error:
            error.statement, error.place = text, error.place or Place(1, 1)
            raise
        return self._answered(path, body)

    def _answered(self, path: str, body: Mapping[str, object] | None = None) -> Answer:
        told = self._told(path, body)
        answer = self._read(told)
        if not answer.trial or self._known is None:  # a trial has a budget of its own
            self._known = answer.balance
        self._since = time.monotonic()
        return answer

    def _read(self, told: str) -> Answer:
        """The answer that the server tells, if it can be one."""
        try:
            answer = from_wire(told)
        except UsageError:
            raise self._unread from None
        if not (is_sound(answer, Answer) and _fits(answer)):
            raise self._unread
        return answer

    def _told(self, path: str, body: Mapping[str, object] | None) -> str:
        """The text of a reply; what the statement may have changed is asked for anew."""
        if self._closed:
            raise UsageError("the session is closed", hint="dpdb.connect(…) makes another")
        self._since = -math.inf
        statement = str((body or {}).get("statement", ""))
        if path == "/query" and not _SETS_NOTHING.match(statement):
            self._settings = None
        try:
            return self._server.ask(path, body)
        except DpdbError as error:
            error.statement = error.statement or statement
            raise error from None


def _fits(answer: Answer) -> bool:
    """Whether columns are of one length, and cells and the ends of intervals of their kind."""
    if answer.explain and answer.outline is None:
        exact = any(report.mechanism in (EXACT, LOCAL) for report in answer.releases)
        return exact and not answer.cells
    number, lengths = len(answer.columns), {len(column.cells) for column in answer.cells}
    for place, column in enumerate(answer.cells):
        held = [column.cells]
        if (accuracy := column.accuracy) is not None:
            held += accuracy.ends
            marks = accuracy.only_noise, accuracy.unknown
            lengths |= {len(each) for each in (*held, *marks) if each is not None}
        kind = _CELLS[answer.kinds[place]] if place < len(answer.kinds) else object
        if not all(cell is None or isinstance(cell, kind) for cells in held for cell in cells):
            return False
    named = {len(answer.cells), len(answer.kinds) or number, len(answer.origins) or number}
    return len(lengths) <= 1 and named <= {number, *([0] if answer.explain else [])}


_CELLS: Mapping[Kind, type | tuple[type, ...]] = {
    Kind.INTEGER: int,
    Kind.NUMBER: (int, float),
    Kind.BOOLEAN: bool,
    Kind.TEXT: str,
    Kind.DATE: str,
    Kind.TIMESTAMP: str,
}
"""The types of the cells of a column that are not NULL."""


def _written(name: str, value: Loss) -> str:
    """An ε or δ as the server reads it, exactly."""
    number = None if value is None else as_written(value)
    if number is None:
        raise InvalidOption(f"{name} is a number")
    return str(number)
