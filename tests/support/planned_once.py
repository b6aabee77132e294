"""Statements that are sent again and again are read once and planned once.

What a statement means follows from its text and the policy, and its plan from that, its share of
the budget, the groups of releases that are remembered and, where it is public, the number of rows:
none of the modules behind these two steps imports an engine. Tests that ask the same of many files,
or of many draws of noise, need not work it out for each. The number of rows is asked for again each
time, as without this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar
from unittest import mock

from dpdb.errors import DpdbError
from dpdb.plan.logical.query import Query
from dpdb.plan.physical.context import RowCount
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import ReleasedGroup
from dpdb.plan.planner import plan
from dpdb.plan.relations.relations import NO_FACTS, Facts
from dpdb.policy.catalog import Policy, Table
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.session import session
from dpdb.session.purchases import query_plans
from dpdb.sql.selects.binder import NO_TABLES
from dpdb.sql.selects.statements import Statement, statement
from dpdb.sql.text.parameters import Values

Made = TypeVar("Made")


@dataclass(frozen=True)
class _Planned:
    """A plan or a refusal, and all that it was made from."""

    asked: tuple[object, ...]
    counts: tuple[tuple[Table, int], ...]
    made: Plan | DpdbError

    def answers(self, asked: tuple[object, ...], rows: RowCount) -> bool:
        """Whether this was asked; asks for the same numbers of rows as planning."""
        return self.asked == asked and all(rows(table) == count for table, count in self.counts)


@dataclass
class _Memory:
    """The statements and the plans so far."""

    statements: dict[tuple[str, int | None], list[tuple[Policy, Statement | DpdbError]]] = field(
        default_factory=dict
    )
    plans: dict[int, list[_Planned]] = field(default_factory=dict)
    """By the identity of a query's outputs, which the same statement shares with itself."""

    def statement(
        self,
        text: str,
        policy: Policy,
        facts: Facts = NO_FACTS,
        values: Values = (),
        *,
        today: int | None = None,
        temporary: Mapping[str, Query] = NO_TABLES,
    ) -> Statement:
        """What the text means for a policy of these tables: no other part of it has a say."""
        if values or temporary:
            return statement(text, policy, facts, values, today=today, temporary=temporary)
        known = self.statements.setdefault((text, today), [])
        for other, read in known:
            if other.tables == policy.tables:
                return _given(read)
        known.append((policy, _made(lambda: statement(text, policy, facts, today=today))))
        return _given(known[-1][1])

    def plan(
        self,
        query: Query,
        policy: Policy,
        share: BudgetShare,
        rows: RowCount,
        remembered: tuple[ReleasedGroup, ...] = (),
        **more: Any,
    ) -> Plan:
        known = self.plans.setdefault(id(query.outputs), [])
        asked = (share, more, remembered, query, policy)
        for planned in known:
            if planned.answers(asked, rows):
                return _given(planned.made)
        counts: list[tuple[Table, int]] = []

        def counted(table: Table) -> int:
            counts.append((table, rows(table)))
            return counts[-1][1]

        made = _made(lambda: plan(query, policy, share, counted, remembered, **more))
        known.append(_Planned(asked, tuple(counts), made))
        return _given(made)


def _made(make: Callable[[], Made]) -> Made | DpdbError:
    """What is made, or why it is refused."""
    try:
        return make()
    except DpdbError as error:
        return error.with_traceback(None)


def _given(made: Made | DpdbError) -> Made:
    """What was made; a refusal is raised again, as if for the first time."""
    if isinstance(made, DpdbError):
        raise copy(made)
    return made


@contextmanager
def planned_once() -> Iterator[None]:
    """Sessions read and plan each statement once."""
    memory = _Memory()
    with (
        mock.patch.object(session, "statement", memory.statement),
        mock.patch.object(query_plans, "plan", memory.plan),
    ):
        yield
