"""The statements of a connection, answered by itself, by the catalogue, or by the desk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from dpdb.answers.answer import Answer
from dpdb.answers.formats.json_lines import error_in
from dpdb.policy.catalog import Kind, Table
from dpdb.server.asking import Front, result
from dpdb.server.messages import Action, Request, Shape
from dpdb.server.postgres.catalogue import Catalogue, is_public, probed
from dpdb.server.postgres.control import Control
from dpdb.server.postgres.results import Column, Refusal, Result, promised, result_of
from dpdb.server.postgres.statements import DUMMIES, Statement, marked, parameter_kinds

_FREE = ("SHOW", "DESCRIBE", "DESC")
"""Words of statements that tell what is public, and so may be answered to be described."""
_ENDED = "the account, or its token, was made anew or removed"
_KNOWN = 5.0
"""Seconds for which the tables are not asked for again."""
_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "PIVOT", "SUMMARIZE", "TABLE")


class Questions:
    """The statements of one connection."""

    def __init__(
        self,
        front: Front,
        database: str,
        analyst: str,
        control: Control,
        is_known: Callable[[], bool],
    ):
        """`is_known` tells whether the analyst still is, with the same token."""
        self._front, self._analyst, self.control = front, analyst, control
        self._database, self._is_known = database, is_known
        self._tables: tuple[Table, ...] = ()
        self._until = 0.0
        self._asked: asyncio.Future[Any] | None = None

    def cancel(self) -> None:
        """Cancel the statement that is being answered; before its charge it is free."""
        if self._asked is not None:
            self._asked.cancel()

    async def kinds(self, text: str) -> list[Kind | None]:
        """The kind of each parameter of a statement; None where it is not known."""
        _, numbers = marked(text)
        if not numbers:
            return []
        if max(numbers) > len(set(numbers)) + 100:
            raise Refusal("42P02", "parameters are numbered from $1 on")
        return parameter_kinds(text, numbers, await self.tables())

    async def tables(self) -> tuple[Table, ...]:
        """The tables of the policy, which its owner can change."""
        now = time.monotonic()
        if now >= self._until:
            self._tables = await self._front.tables(self._analyst)
            self._until = now + _KNOWN
        return self._tables

    async def columns(
        self, statement: Statement, values: Sequence[Any] | None, kinds: Sequence[Kind | None]
    ) -> tuple[Column, ...] | None:
        """The columns of a statement's result, without answering it; None where it has no rows.

        `values` is None before they are sent. Raises DpdbError or Refusal.
        """
        if (shown := self.control.columns(statement.text)) is not None:
            return shown
        if statement.word == "EXPLAIN":
            return (("QUERY PLAN", Kind.TEXT),)
        if statement.word in _FREE:
            return result_of(
                await self._ask(Action.EXECUTE, statement, ()), intervals=False
            ).columns
        if statement.word not in _QUERIES:
            return None
        given = [DUMMIES[kind] for kind in kinds] if values is None else values
        if (told := await self._public(statement, given)) is not None:
            return told.columns
        plan = await self._ask(Action.EXPLAIN, statement, given)
        if not plan.kinds:  # no table is in it
            plan = await self._ask(Action.EXECUTE, statement, given)
        return promised(plan, intervals=self.control.intervals)

    async def result(self, statement: Statement, values: Sequence[Any]) -> Result:
        """The result of a statement, which is paid; raises DpdbError or Refusal."""
        told = self.control.result(statement.text)
        if told is not None:
            return told
        if statement.word in _QUERIES:
            told = await self._public(statement, values)
            if told is not None:
                return told
        answer = await self._ask(Action.EXECUTE, statement, values)
        if statement.word in ("SET", "CREATE", "DROP"):
            return Result(statement.word)
        return result_of(answer, intervals=self.control.intervals)

    async def _public(self, statement: Statement, values: Sequence[Any]) -> Result | None:
        """The answer to a statement about the catalogue, or for no rows of a table; free."""
        if not is_public(statement.text):
            return None
        tables = await self.tables()
        if not self._is_known():
            raise Refusal("28000", _ENDED)
        if (columns := probed(statement.text, tables)) is not None:
            return Result("SELECT 0", columns)
        catalogue = Catalogue(tables, self._database, self.control["session_authorization"])
        return await asyncio.to_thread(
            catalogue.result, statement.text, values, self.control.settings
        )

    async def _ask(self, action: Action, statement: Statement, values: Sequence[Any]) -> Answer:
        if not self._is_known():
            raise Refusal("28000", _ENDED)
        text, numbers = marked(statement.text)
        if numbers and max(numbers) > len(values):
            raise Refusal("42P02", f"there is no parameter ${max(numbers)}")
        given = [values[number - 1] for number in numbers] or None
        request = Request(self._analyst, action, text, given, shape=Shape.RECORD)
        self._asked = asyncio.ensure_future(self._front.ask(request))
        try:
            reply = await self._asked
        except asyncio.CancelledError:
            if not self._asked.cancelled() or _is_ending():
                raise
            raise Refusal(
                "57014",
                "canceling statement due to user request",
                "if it was begun, it is paid; asked again, its answer is then free",
            ) from None
        finally:
            self._asked = None
        if reply.error is not None:
            raise error_in(reply.body)
        answer = await asyncio.to_thread(result, reply)
        assert isinstance(answer, Answer)
        return answer


def _is_ending() -> bool:
    """Whether the connection itself is told to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
