"""A session: the one module that walks the whole way from text to answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb import describing
from dpdb.answer import Answer, Cell, Revealed
from dpdb.errors import DpdbError, InternalError, InvalidOption, Place, UnknownName, did_you_mean
from dpdb.ledger import FREE, MemoryLedger, Price
from dpdb.plan import Plan, outline, plan
from dpdb.policy import Policy, Table, decimal, valid_delta, valid_epsilon
from dpdb.privacy.mechanisms import Laplace
from dpdb.privacy.noise import Noise, source
from dpdb.releases import Ranks, Release, Tally
from dpdb.sql.query import Query, Slot
from dpdb.sql.statements import (
    SETTINGS,
    TEACHING,
    Assign,
    Describe,
    Select,
    ShowBudget,
    ShowTables,
    statement,
)

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from dpdb.answering import Values
    from dpdb.engines.exact import Exact
    from dpdb.engines.frame import FrameEngine, Progress
    from dpdb.engines.vectors import AnyVector


@dataclass(frozen=True, repr=False)
class _Released:
    """The noisy values of a plan and of the subqueries in it."""

    draws: tuple[npt.NDArray[Any], ...]
    subqueries: Values
    revealed: tuple[Revealed, ...]
    """Filled in teaching mode only."""


@dataclass(frozen=True)
class Settings:
    """What SET has set."""

    epsilon: Fraction | None = None
    fresh: bool = False
    protected: bool = True
    local: bool = False
    reveal: bool = False


class Session:
    """Answers statements about the tables of a policy, within its budget.

    Everything but the noisy values is a function of the statements and the
    policy: the price is taken before any row is looked at. With `teach` the
    session may be told to forget its manners, and marks every answer as not
    private; no session can enter or leave that mode later.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        noise: Noise | None = None,
        progress: Progress | None = None,
        teach: bool = False,
    ):
        self.policy = policy
        self.teach = teach
        self.settings = Settings()
        self._ledger = MemoryLedger(policy.budget)
        self._noise = source(policy.noise) if noise is None else noise
        self._progress = progress
        self._loaded_engine: FrameEngine | None = None
        self._released: dict[object, _Released] = {}

    def execute(self, text: str) -> Answer:
        """Answer one statement, given without its `;`; raises DpdbError."""
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

    def _execute(self, text: str) -> Answer:
        found = statement(text, self.policy)
        match found:
            case Select(query=query, explain=True):
                return self._explain(text, query)
            case Select(query=query) if self.settings.protected and not self.settings.local:
                return self._select(text, query)
            case Select(query=query):
                return self._unprotected(text, query)
            case ShowBudget():
                share = self.settings.epsilon or self._ledger.balance.share
                rows = describing.budget_rows(self._ledger.balance, share)
                return self._shown(text, describing.BUDGET_COLUMNS, rows)
            case ShowTables():
                tables = tuple((table.name, len(table.columns)) for table in self.policy.tables)
                return self._shown(text, ("table", "columns"), tables)
            case Describe():
                return self._describe(text, found)
            case Assign():
                return self._assign(text, found)

    @property
    def _engine(self) -> FrameEngine:
        """Made when first needed: pandas takes longer to import than the prompt to appear."""
        if self._loaded_engine is None:
            from dpdb.engines.frame import FrameEngine  # noqa: PLC0415

            self._loaded_engine = FrameEngine(self._progress)
        return self._loaded_engine

    def _share(self, query: Query) -> Fraction:
        """The epsilon a query asks for: its own, the session's, or an even share."""
        options = query.options
        if options.delta is not None:
            valid_delta(options.delta)
        asked = options.epsilon if options.epsilon is not None else self.settings.epsilon
        return self._ledger.balance.share if asked is None else valid_epsilon(asked)

    def _rows(self, table: Table) -> int:
        """The number of rows, asked for only where it is public."""
        return self._engine.rows(table)

    def _plan(self, query: Query) -> tuple[Plan, Price]:
        planned = plan(query, self.policy, self._share(query), self._rows)
        return planned, Price(planned.epsilon, Fraction(0), 1)

    def _select(self, text: str, query: Query) -> Answer:
        planned, price = self._plan(query)
        released = None if self.settings.fresh else self._released.get(planned.identity)
        repeat = released is not None
        if released is None:
            # Debit before data, and no refunds: what happens from here on is paid for.
            self._ledger.charge(price)
            released = self._release(planned)
            self._released[planned.identity] = released
        from dpdb.answering import page, points  # noqa: PLC0415 (numpy)

        shown = page(planned, points(planned, released.draws), released.subqueries, released.draws)
        return Answer(
            statement=text,
            columns=tuple(output.label for output in planned.outputs),
            rows=shown.rows,
            intervals=shown.intervals,
            releases=describing.reports(planned),
            cost=FREE if repeat else price,
            balance=self._ledger.balance,
            query=True,
            repeat=repeat,
            private=not self.teach,
            revealed=released.revealed if self.settings.reveal else (),
        )

    def _explain(self, text: str, query: Query) -> Answer:
        planned, price = self._plan(query)
        released = planned.identity in self._released and not self.settings.fresh
        if not self.settings.protected or (released and not self.settings.local):
            price = FREE
        return Answer(
            statement=text,
            columns=tuple(output.label for output in planned.outputs),
            rows=(),
            releases=describing.reports(planned),
            cost=price,
            balance=self._ledger.balance,
            query=True,
            explain=True,
            private=not self.teach,
        )

    def _release(self, planned: Plan) -> _Released:
        """Exact results, noise on each, and nothing of the exact ones left."""
        from dpdb.answering import points, scalar  # noqa: PLC0415 (numpy)

        subqueries: dict[Slot, AnyVector] = {}
        revealed: list[Revealed] = []
        for index, subplan in enumerate(planned.subplans):
            inner = self._release(subplan)
            slot = Slot("subquery", index, subplan.outputs[0].expression.kind)
            subqueries[slot] = scalar(subplan, points(subplan, inner.draws), inner.subqueries)
            revealed += inner.revealed
        exact = self._engine.exact(planned, subqueries)
        if self.teach:
            revealed += describing.revealed(planned, exact)
        draws = tuple(
            self._draw(release, result)
            for release, result in zip(planned.releases, exact, strict=True)
        )
        return _Released(draws, subqueries, tuple(revealed))

    def _draw(self, release: Release, exact: Exact) -> npt.NDArray[Any]:
        """The one place where exact results meet noise."""
        import numpy as np  # noqa: PLC0415

        from dpdb.privacy.selection import select_index, select_value  # noqa: PLC0415

        mechanism, statistic = release.mechanism, release.statistic
        if isinstance(mechanism, Laplace):
            assert isinstance(exact.cells, np.ndarray)
            if not mechanism.sensitivity:
                return exact.cells
            return np.asarray(exact.cells + self._noise.laplace(mechanism.scale, len(exact.cells)))
        match statistic:
            case Ranks(grid=grid, fraction=fraction):
                chosen = [
                    select_value(values, (grid.lower, grid.upper), fraction, mechanism, self._noise)
                    for values in exact.cells
                ]
            case Tally():
                chosen = [
                    select_index(counts.tolist(), mechanism, self._noise) for counts in exact.cells
                ]
            case _:
                raise AssertionError(type(statistic))
        return np.array(chosen, dtype=np.int64)

    def _shown(
        self, text: str, columns: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...]
    ) -> Answer:
        return Answer(text, columns, rows, self._ledger.balance)

    def _unprotected(self, text: str, query: Query) -> Answer:
        """Teaching mode without privacy, or with the paper's, which is none."""
        from dpdb.answering import page  # noqa: PLC0415 (numpy)
        from dpdb.teaching import Lesson  # noqa: PLC0415

        planned = outline(query, self.policy)
        price, share = FREE, None
        if self.settings.protected:
            price = Price(self._share(query), Fraction(0), 1)
            share = price.epsilon / planned.aggregates
        self._ledger.charge(price)
        taught = Lesson(self._engine, self._noise, share).teach(planned)
        shown = page(planned, taught.points, taught.subqueries, None)
        return Answer(
            statement=text,
            columns=tuple(output.label for output in planned.outputs),
            rows=shown.rows,
            intervals=shown.intervals,
            cost=price,
            balance=self._ledger.balance,
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
        rows = tuple(describing.column_row(column) for column in table.columns)
        return self._shown(text, describing.COLUMN_COLUMNS, rows)

    def _assign(self, text: str, found: Assign) -> Answer:
        if found.name in TEACHING and not self.teach:
            raise InvalidOption(
                f"{found.name} can be set in teaching mode only",
                hint="start dpdb with --teach; a session cannot enter it later",
                place=found.place,
            )
        self.settings = _changed(self.settings, found)
        setting = decimal(found.value) if isinstance(found.value, Fraction) else found.value
        return self._shown(text, ("setting", "value"), ((found.name, setting),))


def _changed(settings: Settings, found: Assign) -> Settings:
    """The settings after SET name = value."""
    match found.name, found.value:
        case "epsilon", "default":
            return replace(settings, epsilon=None)
        case "epsilon", Fraction() as value:
            return replace(settings, epsilon=valid_epsilon(value, found.place))
        case "repeats", "free" | "fresh" as value:
            return replace(settings, fresh=value == "fresh")
        case "dp", "on" | "off" as value:
            return replace(settings, protected=value == "on")
        case "sensitivity", "global" | "local" as value:
            return replace(settings, local=value == "local")
        case "reveal", "on" | "off" as value:
            return replace(settings, reveal=value == "on")
    meaning = {**SETTINGS, **TEACHING}[found.name]
    raise InvalidOption(f"{found.name}: {meaning}", place=found.place)
