"""A session: the one module that walks the whole way from text to answer."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.answer import CONFIDENCE, Answer, Cell, Drawn
from dpdb.errors import InvalidOption, UnknownName, did_you_mean
from dpdb.ledger import FREE, MemoryLedger, Price
from dpdb.plan import Plan, Ranks, Release, Tally, plan
from dpdb.policy import (
    EPOCH,
    Column,
    Kind,
    Policy,
    Table,
    Value,
    decimal,
    valid_delta,
    valid_epsilon,
)
from dpdb.privacy.mechanisms import Laplace
from dpdb.privacy.noise import Noise, source
from dpdb.sql.query import Query, Slot
from dpdb.sql.statements import (
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

    from dpdb.engines.exact import Exact
    from dpdb.engines.frame import FrameEngine, Progress
    from dpdb.engines.vectors import AnyVector

    Draws = tuple[npt.NDArray[Any], ...]


class Released:
    """The noisy values of a plan and of the subqueries in it."""

    def __init__(self, draws: Draws, subqueries: Mapping[Slot, AnyVector]):
        self.draws = draws
        self.subqueries = subqueries


class Session:
    """Answers statements about the tables of a policy, within its budget.

    Everything but the noisy values is a function of the statements and the
    policy: the price is taken before any row is looked at.
    """

    def __init__(
        self, policy: Policy, *, noise: Noise | None = None, progress: Progress | None = None
    ):
        self.policy = policy
        self._ledger = MemoryLedger(policy.budget)
        self._noise = source(policy.noise) if noise is None else noise
        self._progress = progress
        self._loaded_engine: FrameEngine | None = None
        self._epsilon: Fraction | None = None
        self._fresh = False
        self._released: dict[object, Released] = {}

    def execute(self, text: str) -> Answer:
        """Answer one statement, given without its `;`; raises DpdbError."""
        found = statement(text, self.policy)
        match found:
            case Select(query=query, explain=explain):
                return self._explain(text, query) if explain else self._select(text, query)
            case ShowBudget():
                return self._show_budget(text)
            case ShowTables():
                rows = tuple((table.name, len(table.columns)) for table in self.policy.tables)
                return self._shown(text, ("table", "columns"), rows)
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

    def _plan(self, query: Query) -> tuple[Plan, Price]:
        options = query.options
        asked = options.epsilon if options.epsilon is not None else self._epsilon
        epsilon = self._ledger.balance.share if asked is None else valid_epsilon(asked)
        if options.delta is not None:
            valid_delta(options.delta)
        planned = plan(query, self.policy, epsilon, self._rows)
        return planned, Price(planned.epsilon, Fraction(0), 1)

    def _rows(self, table: Table) -> int:
        """The number of rows, asked for only where it is public."""
        return self._engine.rows(table)

    def _select(self, text: str, query: Query) -> Answer:
        planned, price = self._plan(query)
        released = None if self._fresh else self._released.get(planned.identity)
        repeat = released is not None
        if released is None:
            # Debit before data, and no refunds: what happens from here on is paid for.
            self._ledger.charge(price)
            released = self._release(planned)
            self._released[planned.identity] = released
        from dpdb.answering import page  # noqa: PLC0415 (numpy)

        shown = page(planned, released.draws, released.subqueries)
        return Answer(
            statement=text,
            columns=tuple(output.label for output in planned.outputs),
            rows=shown.rows,
            intervals=shown.intervals,
            releases=_reports(planned),
            cost=FREE if repeat else price,
            balance=self._ledger.balance,
            query=True,
            repeat=repeat,
        )

    def _explain(self, text: str, query: Query) -> Answer:
        planned, price = self._plan(query)
        if not self._fresh and planned.identity in self._released:
            price = FREE
        return Answer(
            statement=text,
            columns=tuple(output.label for output in planned.outputs),
            rows=(),
            releases=_reports(planned),
            cost=price,
            balance=self._ledger.balance,
            query=True,
            explain=True,
        )

    def _release(self, planned: Plan) -> Released:
        """Exact results, noise on each, and nothing of the exact ones left."""
        from dpdb.answering import scalar  # noqa: PLC0415 (numpy)

        subqueries: dict[Slot, AnyVector] = {}
        for index, subplan in enumerate(planned.subplans):
            inner = self._release(subplan)
            slot = Slot("subquery", index, subplan.outputs[0].expression.kind)
            subqueries[slot] = scalar(subplan, inner.draws, inner.subqueries)
        exact = self._engine.exact(planned, subqueries)
        draws = tuple(
            self._draw(release, result)
            for release, result in zip(planned.releases, exact, strict=True)
        )
        return Released(draws, subqueries)

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

    def _show_budget(self, text: str) -> Answer:
        balance = self._ledger.balance
        budget = balance.budget
        rows: tuple[tuple[Cell, ...], ...] = (
            ("epsilon", float(budget.epsilon), float(balance.epsilon_left)),
            ("delta", float(budget.delta), float(balance.delta_left)),
            ("queries", budget.queries, balance.queries_left),
            ("epsilon per query", float(self._epsilon or balance.share), None),
        )
        return self._shown(text, ("budget", "total", "left"), rows)

    def _describe(self, text: str, found: Describe) -> Answer:
        table = self.policy.table(found.table)
        if table is None:
            known = [table.name for table in self.policy.tables]
            hint = did_you_mean(found.table, known) or f"tables are {', '.join(known)}"
            raise UnknownName(f"no table {found.table}", hint=hint, place=found.place)
        columns = ("column", "type", "lower", "upper", "values", "nulls")
        return self._shown(text, columns, tuple(_description(c) for c in table.columns))

    def _assign(self, text: str, found: Assign) -> Answer:
        match found.name, found.value:
            case "epsilon", "default":
                self._epsilon = None
            case "epsilon", Fraction() as value:
                self._epsilon = valid_epsilon(value, found.place)
            case "repeats", "free" | "fresh" as value:
                self._fresh = value == "fresh"
            case "epsilon", _:
                raise InvalidOption("epsilon is a number or default", place=found.place)
            case _:
                raise InvalidOption("repeats is 'free' or 'fresh'", place=found.place)
        setting = decimal(found.value) if isinstance(found.value, Fraction) else found.value
        return self._shown(text, ("setting", "value"), ((found.name, setting),))


def _reports(planned: Plan) -> tuple[Drawn, ...]:
    """What is drawn for a plan, named by the columns it is drawn for."""
    reports = [report for subplan in planned.subplans for report in _reports(subplan)]
    for index, release in enumerate(planned.releases):
        labels = [o.label for o in planned.outputs if index in planned.released_for(o)]
        mechanism = release.mechanism
        margin = None
        if isinstance(mechanism, Laplace):
            margin = mechanism.quantile(CONFIDENCE) * float(release.unit)
        reports.append(
            Drawn(
                column=labels[0] if labels else release.aggregate,
                aggregate=release.aggregate,
                mechanism=mechanism.name,
                sensitivity=mechanism.sensitivity * release.unit,
                scale=mechanism.scale * release.unit,
                epsilon=mechanism.epsilon,
                margin=margin,
            )
        )
    return tuple(reports)


def _description(column: Column) -> tuple[Cell, ...]:
    kind = "text or number (guessed)" if column.guessed else str(column.kind)
    values = None
    if column.values is not None:
        listed = [str(_plain(value, column.kind)) for value in column.values[:6]]
        more = len(column.values) - len(listed)
        values = ", ".join(listed) + (f", … {more} more" if more else "")
    bounds = (None, None) if column.bounds is None or column.values is not None else column.bounds
    lower, upper = (None if b is None else _plain(b, column.kind) for b in bounds)
    return column.name, kind, lower, upper, values, column.nullable


def _plain(value: Value, kind: Kind) -> Cell:
    """A declared value as it is shown."""
    if kind is Kind.DATE and isinstance(value, (int, Fraction)):
        return type(EPOCH).fromordinal(EPOCH.toordinal() + int(value)).isoformat()
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value
