"""Teaching mode's SELECT and EXPLAIN where privacy is off, or is the paper's, which is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.answers.answer import Answer
from dpdb.answers.notes import release_reports
from dpdb.answers.record import Detail
from dpdb.errors import InvalidOption, Unsupported, paid_for
from dpdb.ledger.protocol import FREE
from dpdb.plan.logical.query import NO_OPTIONS
from dpdb.plan.physical.plan import Plan
from dpdb.plan.planner import outline
from dpdb.policy.catalog import Kind
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure
from dpdb.records import dataclass

if TYPE_CHECKING:
    from dpdb.answers.record import CellColumn, Disclosure
    from dpdb.engines.protocol import OpenEngine
    from dpdb.ledger.protocol import Ledger, Price
    from dpdb.plan.logical.query import Query
    from dpdb.policy.catalog import Policy
    from dpdb.privacy.noise.protocols import Noise
    from dpdb.session.settings import Settings

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
        """What `answer` would do and cost."""
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
        _check(planned)
        if not (self.settings.protected and planned.aggregates):
            return planned, None
        if replace(query.options, epsilon=None, delta=None) != NO_OPTIONS:
            raise InvalidOption(
                "with sensitivity = 'local' a query has no options but epsilon",
                hint="SET sensitivity = 'global'",
            )
        asked = self.settings.filled(query.options).epsilon
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
    from dpdb.session.teaching import UnprotectedExecutor  # noqa: PLC0415 (numpy)

    result = UnprotectedExecutor(engine, noise, share).execute(planned)
    cells = result.table.cells(unrounded=True)
    kinds = [output.expression.kind for output in planned.outputs]
    for index, kind in enumerate(kinds):
        if kind is Kind.INTEGER and any(isinstance(c, float) for c in cells[index].cells):
            kinds[index] = Kind.NUMBER  # a median between two rows, or a noisy count
    return cells, tuple(kinds), result.revealed


def _check(planned: Plan) -> None:
    """Refuse aggregates of texts and booleans, which have no local sensitivity."""
    for aggregate in (e.aggregate for each in planned.every_plan for e in each.estimates):
        if aggregate.kind in (Kind.TEXT, Kind.BOOLEAN):
            raise Unsupported(
                f"{aggregate.function.upper()} of a {aggregate.kind} needs privacy on",
                place=aggregate.place,
            )
