"""Answers about public tables alone: exact, and for nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from dpdb.answers.answer import Answer
from dpdb.answers.notes import release_reports
from dpdb.answers.record import Detail, Origin
from dpdb.errors import Unsupported
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
from dpdb.plan.logical.query import Aggregate, Function, Output, PublicRows, Query
from dpdb.plan.planner import outline
from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.session.backends import public_frame
from dpdb.session.unprotected import unprotected_cells

if TYPE_CHECKING:
    from dpdb.engines.protocol import OpenEngine, Witness
    from dpdb.ledger.protocol import Balance
    from dpdb.plan.physical.plan import Plan
    from dpdb.policy.catalog import Policy
    from dpdb.privacy.noise.protocols import Noise

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
        """What `answer` would do, which costs nothing."""
        rows = isinstance(query, PublicRows)
        planned = outline(query, self.policy) if rows else self._planned(query)
        return replace(self._about(text, planned.outputs), explain=True, plan=planned)

    def _rows(self, text: str, query: PublicRows) -> Answer:
        """The rows themselves."""
        from dpdb.session.public_rows import table_of  # noqa: PLC0415 (numpy)

        names = tuple(column.name for column in query.columns_read)
        shown = table_of(query, *public_frame(query.table, names, self.witness))
        kinds = tuple(output.expression.kind for output in query.outputs)
        origins = (Origin.KEY,) * len(kinds)
        about = self._about(text, query.outputs)
        return replace(about, cells=shown.cells(), kinds=kinds, origins=origins)

    def _planned(self, query: Query) -> Plan:
        planned = outline(_with_rows(query), self.policy)
        _check(planned)
        return planned

    def _about(self, text: str, outputs: tuple[Output, ...]) -> Answer:
        columns = tuple(output.label for output in outputs)
        return Answer(
            text, columns, (), self.balance, query=True, note_detail=Detail.of((PUBLIC_NOTE,))
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


def _check(planned: Plan) -> None:
    """Refuse aggregates that are a text or a boolean."""
    for aggregate in (e.aggregate for each in planned.every_plan for e in each.estimates):
        if aggregate.kind in (Kind.TEXT, Kind.BOOLEAN):
            raise Unsupported(
                f"{aggregate.function.upper()} of a {aggregate.kind} is not answered exactly",
                hint="GROUP BY it, and ORDER BY COUNT(*) DESC",
                place=aggregate.place,
            )
