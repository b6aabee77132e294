"""The statements of a connection, answered by itself, by the catalogue, or by the desk."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from dpdb.answers.answer import Answer
from dpdb.answers.formats.json_lines import error_in
from dpdb.errors import DpdbError, error_text
from dpdb.policy.catalog import Kind
from dpdb.server.asking import Front, result
from dpdb.server.messages import Action, Request, Shape
from dpdb.server.postgres.catalogue.statements import Answerable, bound, is_public, wants_nothing
from dpdb.server.postgres.catalogue.tables import Tables
from dpdb.server.postgres.control import Control
from dpdb.server.postgres.held import Cursors, asked
from dpdb.server.postgres.protocol import Refusal
from dpdb.server.postgres.results import Column, Copied, Result, promised, result_of
from dpdb.server.postgres.statements import (
    DUMMIES,
    ParameterKind,
    Statement,
    copied,
    marked,
    parameter_kinds,
    unvalued,
)

T = TypeVar("T")
_FREE = ("SHOW", "DESCRIBE", "DESC")
"""Words of statements that tell what is public, and so may be answered to be described."""
_ENDED = "the account, or its token, was made anew or removed"
_THREADS = 2
"""The threads that answer statements about the catalogue."""
_ENDS = ("COMMIT", "ROLLBACK", "DISCARD ALL")
_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "PIVOT", "SUMMARIZE", "TABLE")


class Catalogue:
    """The tables of the policy as it is now, for all connections.

    Each analyst has one statement about them answered at a time, in a few threads.
    """

    def __init__(self, front: Front, database: str):
        self._front, self._database = front, database
        self._made: tuple[int, Tables] | None = None
        """The tables, and how often processes had been replaced when they were asked for."""
        self._threads = ThreadPoolExecutor(_THREADS, "dpdb-catalogue")
        self._turns = defaultdict[str, asyncio.Lock](asyncio.Lock)

    async def tables(self, analyst: str) -> Tables:
        """The tables; asked for again once another process, which reads the policy, answers."""
        version = self._front.desk.restarts
        if self._made is None or self._made[0] != version:
            told = await self._front.tables(analyst)
            if not told:
                return Tables((), self._database)
            self._made = version, Tables(told, self._database)
        return self._made[1]

    async def work(self, analyst: str, of: Callable[[], T]) -> T:
        """The result of work for an analyst, when it is the analyst's turn."""
        async with self._turns[analyst]:
            return await asyncio.get_running_loop().run_in_executor(self._threads, of)

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Questions:
    """The statements of one connection."""

    def __init__(
        self,
        front: Front,
        catalogue: Catalogue,
        analyst: str,
        control: Control,
        is_known: Callable[[], bool],
    ):
        """`is_known` tells whether the analyst still is, with the same token."""
        self._front, self._analyst, self.control = front, analyst, control
        self._catalogue, self._is_known = catalogue, is_known
        self.cursors = Cursors()
        self._asked: asyncio.Future[Any] | None = None

    def cancel(self) -> None:
        """Cancel the statement that is being answered; before its charge it is free."""
        if self._asked is not None:
            self._asked.cancel()

    @property
    def version(self) -> int:
        """A number that becomes another when other processes have read the policy."""
        return self._front.desk.restarts

    async def kinds(self, text: str) -> list[ParameterKind]:
        """The kind of each parameter of a statement; None where it is not known."""
        _, numbers = marked(text := asked(text))
        if not numbers:
            return []
        if max(numbers) > len(set(numbers)) + 100:
            raise Refusal("42P02", "parameters are numbered from $1 on")
        tables = await self._catalogue.tables(self._analyst)
        return parameter_kinds(text, numbers, tables.tables)

    async def columns(
        self,
        statement: Statement,
        values: Sequence[Any] | None,
        kinds: Sequence[ParameterKind],
        *,
        intervals: bool,
    ) -> tuple[Column, ...] | None:
        """The columns of a statement's result, without answering it; None where it has no rows.

        `values` is None before they are sent. Raises DpdbError or Refusal.
        """
        if (shown := self.control.columns(statement.text)) is not None:
            return shown
        if (shown := self.cursors.fetched(statement)) is not None:
            return shown
        if statement.word == "EXPLAIN":
            return (("QUERY PLAN", Kind.TEXT),)
        if statement.word in _FREE:
            return result_of(
                await self._ask(Action.EXECUTE, statement, ()), intervals=False
            ).columns
        if statement.word not in _QUERIES:
            return None
        if (told := await self._public(statement, kinds, values)) is not None:
            return told.columns
        given = [DUMMIES[kind] for kind in kinds] if values is None else values
        plan = await self._ask(Action.EXPLAIN, statement, given)
        if not (plan.kinds or plan.cost.epsilon or plan.cost.queries):  # no table is in it
            plan = await self._ask(Action.EXECUTE, statement, given)
        return promised(plan, intervals=intervals)

    async def result(
        self,
        statement: Statement,
        values: Sequence[Any],
        kinds: Sequence[ParameterKind],
        *,
        intervals: bool | None,
    ) -> Result:
        """The result of a statement, which is paid; raises DpdbError or Refusal.

        `intervals` says whether their ends are columns; None for as it is set now.
        """
        if (copy := copied(statement)) is not None:
            select, form, header = copy
            if select.word not in _QUERIES:
                raise Refusal("42601", "COPY is for a SELECT")
            of = await self.result(select, values, kinds, intervals=intervals)
            sent = Copied(of.columns or (), of.rows, form, header)
            return Result(f"COPY {len(of.rows)}", notice=of.notice, copied=sent)
        told = self.control.result(statement.text)
        if told is not None:
            if told.tag in _ENDS and self.control.transaction == "I":
                self.cursors.end(told.tag)
            return told
        if statement.word == "DECLARE":
            transaction = self.control.transaction
            name, holds = self.cursors.begun(statement.text, transaction)
            select = Statement(asked(statement.text), statement.start)
            if select.word not in _QUERIES:
                raise Refusal("42601", "a cursor is for a SELECT")
            told = await self.result(select, values, kinds, intervals=intervals)
            return self.cursors.hold(name, told, holds=holds, within=transaction != "I")
        if (told := self.cursors.result(statement)) is not None:
            return told
        if statement.word in _QUERIES:
            public = await self._public(statement, kinds, values)
            if public is not None:
                rows = await self._catalogue.work(self._analyst, public.rows)
                return Result(f"SELECT {len(rows)}", public.columns, rows)
            if wants_nothing(statement.text):
                known = intervals if intervals is not None else self.control.intervals
                columns = await self.columns(statement, values, kinds, intervals=known)
                return Result("SELECT 0", columns)
        answer = await self._ask(Action.EXECUTE, statement, values)
        if statement.word in ("SET", "CREATE", "DROP"):
            return Result(statement.word)
        shown = self.control.intervals if intervals is None else intervals
        return result_of(answer, intervals=shown)

    async def _public(
        self, statement: Statement, kinds: Sequence[ParameterKind], values: Sequence[Any] | None
    ) -> Answerable | None:
        """A statement about the catalogue, or for no rows of a table, which is free."""
        if not is_public(statement.text):
            return None
        tables = await self._catalogue.tables(self._analyst)
        self._check_known()
        names = tables.told_to(self.control["session_authorization"], self.control.settings)
        text = statement.text
        return await self._catalogue.work(
            self._analyst, lambda: bound(text, kinds, values, tables, names)
        )

    def _check_known(self) -> None:
        """Refuse an analyst who is not known any more, or perhaps; why is for the data owner."""
        try:
            known = self._is_known()
        except DpdbError as error:
            print(error_text("", error), file=sys.stderr, flush=True)
            raise Refusal("58000", "this server cannot read its accounts", "try again") from None
        if not known:
            raise Refusal("28000", _ENDED)

    async def _ask(self, action: Action, statement: Statement, values: Sequence[Any]) -> Answer:
        self._check_known()
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
        return (
            replace(answer, columns=unvalued(statement.text, answer.columns)) if given else answer
        )


def _is_ending() -> bool:
    """Whether the connection itself is told to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
