"""A session: the one module that walks the whole way from text to answer."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.answers import accuracy_notes, contribution_notes, declarations, release_reports
from dpdb.answers.answer import Answer, Cell
from dpdb.errors import DpdbError, InternalError, InvalidOption, Place, UnknownName, did_you_mean
from dpdb.ledger.memory import MemoryLedger
from dpdb.ledger.protocol import FREE, Balance
from dpdb.plan.candidates import check_candidates
from dpdb.plan.plan import CONFIDENCE, Plan, at_once
from dpdb.plan.planner import outline, plan
from dpdb.plan.query import NO_OPTIONS, Options, Query
from dpdb.policy.budget import valid_budget
from dpdb.policy.catalog import Policy, Table
from dpdb.policy.numbers import decimal
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure
from dpdb.privacy.gradual_release import levels
from dpdb.privacy.noise.source import Noise
from dpdb.privacy.noise.sources import source
from dpdb.session import catalog_views
from dpdb.session.settings import Settings
from dpdb.session.tick import wait_for_tick
from dpdb.sql.statements import Assign, Describe, Select, ShowBudget, ShowTables, statement

if TYPE_CHECKING:
    from dpdb.engines.memory.engine import MemoryEngine, Progress
    from dpdb.plan.lowering import RowCount
    from dpdb.session.executor import Executor, Purchase


class Session:
    """Answers statements about the tables of a policy, within its budget.

    Everything but the noisy values is a function of the statements and the
    policy: the price is taken before any row is looked at. With `teach` the
    session may be told to forget its manners; no session can enter or leave that
    mode later. Every answer of such a session is marked as not private, and so is
    every answer whose noise can be foretold.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        noise: Noise | None = None,
        progress: Progress | None = None,
        teach: bool = False,
    ):
        valid_budget(policy.budget)
        self.policy = policy
        self.teach = teach
        self.settings = Settings()
        self._ledger = MemoryLedger(policy.budget, policy.neighbors)
        self._noise = source(policy.noise) if noise is None else noise
        self._timed = noise is None and not teach
        self._progress = progress
        self._loaded_engine: MemoryEngine | None = None
        self._purchases: dict[object, Purchase] = {}

    @property
    def balance(self) -> Balance:
        """The budget, and what is left of it."""
        return self._ledger.balance

    def execute(self, text: str) -> Answer:
        """Answer one statement, given without its `;`; raises DpdbError.

        Answers and errors leave on a tick; where noise can be foretold time tells nothing more.
        """
        started = time.monotonic()
        try:
            return self._execute(text)
        except DpdbError as error:
            # What is wrong with the statement as a whole is shown at its beginning.
            error.place = error.place or Place(1, 1)
            raise
        except Exception:
            # Its text could hold a cell: neither message nor traceback goes further.
            raise InternalError(
                "dpdb failed to answer this statement", hint="what it cost stays paid"
            ) from None
        finally:
            if self._timed:
                wait_for_tick(started)

    def price(self, text: str) -> Answer:
        """What a SELECT would cost, told without looking into a file.

        Under `replace` noise can hang on the number of rows. That is public, but no
        reason to load a file while somebody types: the noise is left out. Only where
        the noise is given, and the price hangs on that number, is it asked for.
        """
        found = statement(f"EXPLAIN {text}", self.policy)
        assert isinstance(found, Select)
        query = self._asked(found.query)
        rows = (lambda _: 1) if query.options.error is None else self._rows
        return replace(self._explained(text, query, rows), releases=())

    def _execute(self, text: str) -> Answer:
        found = statement(text, self.policy)
        match found:
            case Select(query=query, explain=True):
                return self._explained(text, self._asked(query), self._rows)
            case Select(query=query) if self.settings.unprotected:
                return self._unprotected(text, query)
            case Select(query=query) if query.options.relative_error is not None:
                return self._select_gradually(text, self._asked(query))
            case Select(query=query):
                return self._select(text, self._asked(query))
            case ShowBudget():
                share = self._share(self.settings.filled(NO_OPTIONS))
                rows = catalog_views.budget_rows(self.balance, share.epsilon)
                return self._shown(text, catalog_views.BUDGET_COLUMNS, rows)
            case ShowTables():
                tables = tuple((table.name, len(table.columns)) for table in self.policy.tables)
                return self._shown(text, ("table", "columns"), tables)
            case Describe():
                return self._describe(text, found)
            case Assign():
                return self._assign(text, found)

    @property
    def _private(self) -> bool:
        """Whether answers are: nothing is revealed, and nobody can foretell the noise."""
        return self._noise.private and not self.teach

    @property
    def _engine(self) -> MemoryEngine:
        """Made when first needed: numpy takes longer to import than the prompt to appear."""
        if self._loaded_engine is None:
            from dpdb.engines.memory.engine import MemoryEngine  # noqa: PLC0415

            self._loaded_engine = MemoryEngine(self._progress)
        return self._loaded_engine

    @property
    def _executor(self) -> Executor:
        from dpdb.session.executor import Executor  # noqa: PLC0415 (numpy)

        return Executor(self._engine, self._noise, self.teach)

    def _asked(self, query: Query) -> Query:
        """The query with the session's settings for what it leaves open."""
        return replace(query, options=self.settings.filled(query.options))

    def _share(self, options: Options) -> BudgetShare:
        """What a query may spend: what it asks for, or an even share."""
        share = self.balance.share
        if options.epsilon is not None:
            share = replace(share, epsilon=options.epsilon)
        return share if options.delta is None else replace(share, delta=options.delta)

    def _rows(self, table: Table) -> int:
        """The number of rows, asked for only where it is public."""
        return self._engine.rows(table)

    def _plan(self, query: Query, rows: RowCount) -> Plan:
        planned = plan(query, self.policy, self._share(query.options), rows)
        check_candidates(planned)
        return planned

    def _steps(self, query: Query, rows: RowCount) -> tuple[Plan, ...]:
        """The plans to be carried out one after the other, until an answer is as asked."""
        options = query.options
        if options.relative_error is None:
            return (self._plan(query, rows),)
        return tuple(
            self._plan(replace(query, options=replace(options, epsilon=epsilon)), rows)
            for epsilon in levels(self._share(options).epsilon)
        )

    def _select(self, text: str, query: Query) -> Answer:
        from dpdb.session.executor import buy, settled  # noqa: PLC0415 (numpy)

        planned = self._plan(query, self._rows)
        if planned.settled:
            return self._answer(text, planned, settled())
        before = None if self.settings.repeats_are_paid else self._purchases.get(planned.identity)
        if before is not None:
            return self._answer(text, planned, before, repeat=True)
        bought = buy(planned, query.options, self._ledger, self._executor)
        self._purchases[planned.identity] = bought
        return self._answer(text, planned, bought)

    def _select_gradually(self, text: str, query: Query) -> Answer:
        """An answer as accurate as asked, bought step by step while it is not."""
        from dpdb.session.executor import buy_gradually, settled  # noqa: PLC0415 (numpy)

        plans, options = self._steps(query, self._rows), query.options
        if plans[-1].settled:
            return self._answer(text, plans[-1], settled())
        identity = _identity(plans[-1], options)
        before = None if self.settings.repeats_are_paid else self._purchases.get(identity)
        if before is not None:
            return self._answer(text, plans[before.step], before, repeat=True)
        for bought in buy_gradually(plans, options, self._ledger, self._executor):
            # Kept at once: what a later step does not survive is paid for all the same.
            self._purchases[identity] = bought
        return self._answer(text, plans[bought.step], bought)

    def _answer(
        self, text: str, planned: Plan, bought: Purchase, *, repeat: bool = False
    ) -> Answer:
        from dpdb.answers.estimates import points  # noqa: PLC0415
        from dpdb.answers.rows import result_rows  # noqa: PLC0415 (numpy)

        released = bought.result
        noisy = released.noisy
        shown = result_rows(planned, points(planned, noisy.draws), noisy.subqueries, noisy)
        columns = tuple(output.label for output in planned.outputs)
        return Answer(
            statement=text,
            columns=columns,
            rows=shown.rows,
            intervals=shown.intervals,
            only_noise=shown.only_noise,
            releases=release_reports.reports(planned),
            cost=FREE if repeat else bought.price,
            balance=self.balance,
            query=True,
            repeat=repeat,
            private=self._private,
            revealed=released.revealed if self.settings.reveal else (),
            notes=bought.notes
            + accuracy_notes.claims(planned)
            + accuracy_notes.only_noise(columns, shown.only_noise),
        )

    def _explained(self, text: str, query: Query, rows: RowCount) -> Answer:
        planned, options = self._steps(query, rows)[-1], query.options
        released = (
            _identity(planned, options) in self._purchases and not self.settings.repeats_are_paid
        )
        lawless = self.settings.unprotected
        if not self.settings.protected or (not lawless and (released or planned.settled)):
            price = FREE
        elif options.relative_error is not None:
            price = self._ledger.price(ComposedLoss.of(planned.loss), None)
        else:
            price = self._ledger.price(ComposedLoss.of(planned.loss), planned.region)
        return Answer(
            statement=text,
            columns=tuple(output.label for output in planned.outputs),
            rows=(),
            releases=release_reports.reports(planned),
            cost=price,
            balance=self.balance,
            query=True,
            explain=True,
            private=self._private,
            notes=(
                *accuracy_notes.promised(options, planned),
                *accuracy_notes.claims(planned),
                *contribution_notes.altered(planned),
            ),
            plan=planned,
        )

    def _shown(
        self, text: str, columns: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...]
    ) -> Answer:
        return Answer(text, columns, rows, self.balance)

    def _unprotected(self, text: str, query: Query) -> Answer:
        """Teaching mode without privacy, or with the paper's, which is none."""
        from dpdb.answers.rows import result_rows  # noqa: PLC0415 (numpy)
        from dpdb.session.teaching import UnprotectedExecutor  # noqa: PLC0415

        planned = outline(query, self.policy)
        price, share = FREE, None
        if self.settings.protected:
            if replace(query.options, epsilon=None, delta=None) != NO_OPTIONS:
                raise InvalidOption(
                    "with sensitivity = 'local' a query has no options but epsilon",
                    hint="SET sensitivity = 'global'",
                )
            whole = self._share(self._asked(query).options).epsilon
            share = whole / planned.aggregates
            price = self._ledger.charge(ComposedLoss.of(pure(whole)), None)
        taught = UnprotectedExecutor(self._engine, self._noise, share).execute(planned)
        shown = result_rows(planned, taught.points, taught.subqueries, None)
        return Answer(
            statement=text,
            columns=tuple(output.label for output in planned.outputs),
            rows=shown.rows,
            intervals=shown.intervals,
            cost=price,
            balance=self.balance,
            query=True,
            private=False,
            revealed=taught.revealed if self.settings.reveal and share is not None else (),
        )

    def _describe(self, text: str, found: Describe) -> Answer:
        table = self.policy.table(found.table)
        if table is None:
            known = [table.name for table in self.policy.tables]
            hint = did_you_mean(found.table, known) or f"tables are {', '.join(known)}"
            raise UnknownName(f"no table {found.table}", hint=hint, place=found.place)
        rows = tuple(declarations.column_row(column) for column in table.columns)
        return self._shown(text, declarations.COLUMN_COLUMNS, rows)

    def _assign(self, text: str, found: Assign) -> Answer:
        self.settings = self.settings.changed(found, teach=self.teach)
        setting = decimal(found.value) if isinstance(found.value, Fraction) else found.value
        return self._shown(text, ("setting", "value"), ((found.name, setting),))


def _identity(planned: Plan, options: Options) -> object:
    """Equal for queries that are answered with the same draws: asking again is free."""
    if options.relative_error is None:
        return planned.identity
    confidence = at_once(float(options.confidence or CONFIDENCE), planned.candidates)
    return planned.identity, options.relative_error, confidence
