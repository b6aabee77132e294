"""Answers without privacy: of public tables alone, and where teaching mode has switched it off.

In teaching mode an answer is exact, or has the paper's noise of local sensitivity, which keeps no
secret either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.answers import release_reports
from dpdb.answers.answer import Answer
from dpdb.answers.record import Detail, Origin
from dpdb.errors import InvalidOption, Unsupported, paid_for
from dpdb.ledger.protocol import FREE
from dpdb.plan.expressions.expressions import Compare, Literal, Slot, conjunction
from dpdb.plan.logical.derived import (
    AnswerJoin,
    Derived,
    DerivedQuery,
    Released,
    Selection,
    UnionAll,
    Values,
    released,
)
from dpdb.plan.logical.query import NO_OPTIONS, Aggregate, Function, Output, PublicRows, Query
from dpdb.plan.planner import outline
from dpdb.policy.catalog import Kind
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure
from dpdb.records import dataclass
from dpdb.session.backends import public_frame

if TYPE_CHECKING:
    from dpdb.answers.record import CellColumn, Disclosure
    from dpdb.engines.protocol import OpenEngine, Witness
    from dpdb.ledger.protocol import Balance, Ledger, Price
    from dpdb.plan.physical.plan import Plan
    from dpdb.policy.catalog import Policy
    from dpdb.privacy.noise.protocols import Noise
    from dpdb.session.free_statements import Settings

EXACT_NOTE = "dp is off: the answer is exact, and nothing protects it"
LOCAL_NOTE = (
    "sensitivity is local: Δf is read off the rows, so that the noise itself tells of them, and ε "
    "is only a name for its size"
)


@dataclass(frozen=True)
class UnprotectedAnswers:
    """Answers queries as the settings of a session in teaching mode say."""

    policy: Policy
    settings: Settings
    ledger: Ledger
    noise: Noise
    engine: Callable[[], OpenEngine]
    """Opens the engine; to explain a query needs none."""

    def answer(self, text: str, query: Query) -> Answer:
        """The answer: exact, or with noise of local sensitivity that is charged for."""
        planned, epsilon = self._planned(query)
        price = FREE
        if epsilon is not None:
            price = self.ledger.charge(ComposedLoss.of(pure(epsilon)), None).price
        share = None if epsilon is None else epsilon / planned.aggregates
        with paid_for(charged=price != FREE):
            cells, kinds, revealed = unprotected_cells(planned, self.engine(), self.noise, share)
        return replace(
            self._about(text, planned, price),
            cells=cells,
            origins=release_reports.origins(planned, noisy=share is not None),
            kinds=kinds,
            revealed=revealed if self.settings.reveal and share is not None else (),
        )

    def explained(self, text: str, query: Query) -> Answer:
        """The plan of `answer` and its price."""
        planned, epsilon = self._planned(query)
        price, note = FREE, EXACT_NOTE
        if epsilon is not None:
            price, note = self.ledger.price(ComposedLoss.of(pure(epsilon)), None), LOCAL_NOTE
        return replace(
            self._about(text, planned, price),
            release_detail=Detail.of(release_reports.unprotected_reports(planned, epsilon)),
            explain=True,
            note_detail=Detail.of((note,)),
            plan=planned,
        )

    def _planned(self, query: Query) -> tuple[Plan, Fraction | None]:
        """The outline of the query, and its ε; None where privacy is off, or nothing is drawn."""
        planned = outline(query, self.policy)
        _check(planned, "needs privacy on")  # they have no local sensitivity
        if not (self.settings.protected and planned.aggregates):
            return planned, None
        if replace(query.options, epsilon=None, delta=None) != NO_OPTIONS:
            raise InvalidOption(
                "with sensitivity = 'local' a query has no options but epsilon",
                hint="SET sensitivity = 'global'",
            )
        asked = self.settings.filled(query).epsilon
        return planned, self.ledger.balance.share.epsilon if asked is None else asked

    def _about(self, text: str, planned: Plan, price: Price) -> Answer:
        return Answer(
            statement=text,
            columns=tuple(output.label for output in planned.outputs),
            cells=(),
            cost=price,
            balance=self.ledger.balance,
            query=True,
            private=False,
        )


def unprotected_cells(
    planned: Plan, engine: OpenEngine, noise: Noise, share: Fraction | None
) -> tuple[tuple[CellColumn, ...], tuple[Kind, ...], tuple[Disclosure, ...]]:
    """The columns of an answer, their types, and what is behind them.

    They are exact without a `share`, which is the ε of each aggregate.
    """
    from dpdb.session.exact_values import UnprotectedExecutor  # noqa: PLC0415 (numpy)

    result = UnprotectedExecutor(engine, noise, share).execute(planned)
    cells = result.table.cells(unrounded=True)
    kinds = [output.expression.kind for output in planned.outputs]
    for index, kind in enumerate(kinds):
        if kind is Kind.INTEGER and any(isinstance(c, float) for c in cells[index].cells):
            kinds[index] = Kind.NUMBER  # a median between two rows, or a noisy count
    return cells, tuple(kinds), result.revealed


PUBLIC_NOTE = "public data, exact"


@dataclass(frozen=True)
class PublicAnswers:
    """Answers queries that read public tables and no other."""

    policy: Policy
    balance: Balance
    noise: Noise
    engine: Callable[[], OpenEngine]
    """Opens the engine; to explain a query needs none."""
    witness: Witness | None = None
    """Is shown what is read of tables whose rows are shown."""
    private: bool = True
    """Whether the session's other answers are private."""

    def answer(self, text: str, query: Query) -> Answer:
        """The answer; a group without rows is not in it."""
        if isinstance(query, PublicRows):
            return self._rows(text, query)
        planned = self._planned(query)
        cells, kinds, _ = unprotected_cells(planned, self.engine(), self.noise, None)
        origins = release_reports.origins(planned, noisy=False)
        return replace(
            self._about(text, planned.outputs), cells=cells, kinds=kinds, origins=origins
        )

    def explained(self, text: str, query: Query) -> Answer:
        """The plan of `answer`, which costs nothing."""
        rows = isinstance(query, PublicRows)
        planned = outline(query, self.policy) if rows else self._planned(query)
        return replace(self._about(text, planned.outputs), explain=True, plan=planned)

    def _rows(self, text: str, query: PublicRows) -> Answer:
        """The rows themselves."""
        from dpdb.session.exact_values import table_of  # noqa: PLC0415 (numpy)

        names = tuple(column.name for column in query.columns_read)
        shown = table_of(query, *public_frame(query.table, names, self.witness))
        kinds = tuple(output.expression.kind for output in query.outputs)
        origins = (Origin.KEY,) * len(kinds)
        about = self._about(text, query.outputs)
        return replace(about, cells=shown.cells(), kinds=kinds, origins=origins)

    def _planned(self, query: Query) -> Plan:
        planned = outline(_with_rows(query), self.policy)
        _check(planned, "is not answered exactly", "GROUP BY it, and ORDER BY COUNT(*) DESC")
        return planned

    def _about(self, text: str, outputs: tuple[Output, ...]) -> Answer:
        return Answer(
            text,
            tuple(output.label for output in outputs),
            (),
            self.balance,
            query=True,
            private=self.private,
            note_detail=Detail.of((PUBLIC_NOTE,)),
        )


def _with_rows(query: Query) -> Query:
    """The query and its subqueries, all limited to groups that have rows."""
    if isinstance(query, DerivedQuery) and query.derived is not None:
        derived = _derived_with_rows(query.derived)
        subqueries = tuple(dict.fromkeys(released(derived)))
        return replace(query, subqueries=subqueries, derived=derived)
    subqueries = tuple(map(_with_rows, query.subqueries))
    return _of_groups_with_rows(replace(query, subqueries=subqueries))


def _derived_with_rows(derived: Derived) -> Derived:
    match derived:
        case Released(query=query):
            return Released(_with_rows(query))
        case Values():
            return derived
        case UnionAll(inputs=several):
            return UnionAll(tuple(map(_derived_with_rows, several)))
        case AnswerJoin(left=left, right=right):
            return replace(derived, left=_derived_with_rows(left), right=_derived_with_rows(right))
        case Selection(input=only, scalars=scalars):
            several = tuple(map(_derived_with_rows, scalars))
            return replace(derived, input=_derived_with_rows(only), scalars=several)


def _of_groups_with_rows(query: Query) -> Query:
    """The query under the condition that a group has rows; with private rows nobody may know it."""
    if not query.keys:
        return query
    count = Aggregate(Function.COUNT)
    aggregates = tuple(dict.fromkeys((*query.aggregates, count)))
    rows = Slot("aggregate", aggregates.index(count), Kind.INTEGER)
    some = Compare("<", Literal(0, Kind.INTEGER), rows)
    return replace(query, aggregates=aggregates, having=conjunction(query.having, some))


def _check(planned: Plan, problem: str, hint: str | None = None) -> None:
    """Refuse aggregates of texts and booleans: `problem` says why."""
    for aggregate in (e.aggregate for each in planned.every_plan for e in each.estimates):
        if aggregate.kind in (Kind.TEXT, Kind.BOOLEAN):
            message = f"{aggregate.function.upper()} of a {aggregate.kind} {problem}"
            raise Unsupported(message, hint=hint, place=aggregate.place)
