"""The messages between the front of a server and its workers: one line of JSON each.

A reply has nothing but what a session has given: an answer, or an error with its place and hint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Any, Protocol, Self

from dpdb.answers.formats.json_lines import error_as_json
from dpdb.errors import DpdbError, error_text, for_analysts
from dpdb.records import dataclass

LONGEST_REQUEST = 2**20
"""The most bytes of a request."""
LONGEST_REPLY = 2**26
"""The most bytes of a reply."""
AT_ONCE = 16
"""The statements that a worker answers at the same time."""


class Action(StrEnum):
    """The actions that a session is asked for."""

    EXECUTE = "execute"
    EXPLAIN = "explain"
    QUOTE = "quote"
    PLAN = "plan"
    ANSWERS = "answers"
    """The answers that were given before, each with its cost; the body is a list of them."""
    BALANCE = "balance"
    """The budget, as SHOW BUDGET answers."""
    TABLES = "tables"
    """Tables and columns as the policy declares them; as a record `ledger.terms.public_terms`.

    In JSON the body is a list of tables. A table has `name`, `unit` (null where it is public) and
    `columns`; a column has `name`, `type`, `nullable`, `bounds` (null, or the lowest and the
    highest value) and `values` (null, or all). Dates and timestamps are texts.
    """


class Shape(StrEnum):
    """The shape in which an answer is told."""

    JSON = "json"
    """The object of `--json`."""
    RECORD = "record"
    """All that an `Answer` holds, exact, but its plan (`dpdb.answers.wire`)."""


@dataclass(frozen=True)
class Request:
    """A statement of an analyst, or another question about the session."""

    analyst: str
    action: Action
    text: str = ""
    parameters: Sequence[Any] | Mapping[str, Any] | None = None
    epsilon: str | None = None
    """Exact, as text: 0.1 is a tenth."""
    delta: str | None = None
    statements: Sequence[Any] = ()
    """The statements of a plan, as `Session.plan` takes them."""
    shape: Shape = Shape.JSON

    @property
    def line(self) -> bytes:
        """The message on one line."""
        return json.dumps(asdict(self), separators=(",", ":")).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        """The request of a line."""
        fields = json.loads(line)
        return cls(**fields | {"action": Action(fields["action"]), "shape": Shape(fields["shape"])})


@dataclass(frozen=True)
class Reply:
    """An answer or an error."""

    body: str
    """JSON on one line, in the shape that was asked for."""
    error: str | None = None
    """The error's kind (`DpdbError.kind`); None for an answer."""
    paid: bool = False
    """Whether a charge was made."""
    epsilon: str = "0"
    """The ε of the charge, for the log."""
    reason: str = ""
    """The whole error, for the log, if the analyst is told an outline of it; else empty."""

    @classmethod
    def of_error(
        cls, statement: str, error: DpdbError, *, paid: bool = False, epsilon: str = "0"
    ) -> Self:
        """The reply that tells an error."""
        told = for_analysts(error)
        reason = "" if told is error else error_text("", error)
        return cls(error_as_json(statement, told), error.kind, paid, epsilon, reason)

    @property
    def line(self) -> bytes:
        """The message on one line."""
        return json.dumps(asdict(self), separators=(",", ":")).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        """The reply of a line."""
        return cls(**json.loads(line))


class Desk(Protocol):
    """Takes requests to the workers: one of each analyst at a time, in fair turns."""

    async def ask(self, request: Request) -> Reply:
        """The reply; a request that is cancelled before its charge is free.

        Raises `Busy` where the analyst's queue is full, and LedgerError where no worker answers.
        """
        ...

    @property
    def waiting(self) -> tuple[int, ...]:
        """For each worker the statements in its queues, for the custodian's metrics."""
        return ()

    @property
    def restarts(self) -> int:
        """The number of workers that ended and were replaced."""
        return 0

    async def close(self) -> None:
        """Take no more requests, and end the workers when those taken have left."""
        ...


class People(Protocol):
    """Who may ask, by password or token; a function of the accounts beside the ledger."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all accounts, in order; empty where there are none."""
        ...

    def by_password(self, name: str, password: str) -> str | None:
        """The analyst, or None; it takes as long for a name that does not exist.

        It blocks for a quarter of a second: call it in a thread, two at a time.
        """
        ...

    def by_token(self, token: str) -> str | None:
        """The analyst whose token it is, or None."""
        ...

    def verifier(self, name: str) -> str | None:
        """The verifier of SCRAM-SHA-256 of the account's token; None where there is none."""
        ...

    def decoy(self, name: str) -> str:
        """A verifier that no token fits, for a name without one: the same after a restart, too."""
        ...

    def mark(self, name: str) -> str | None:
        """A text of the account, another once it is made anew; None where there is none.

        A session ends when it changes.
        """
        ...
