"""Batches: statements that are planned together before any of them is answered.

Statements that are drawn together are charged for when the first of them is answered. Whether the
budget covers the whole batch is looked at before that, so that a refusal takes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.answers.estimates import Noisy
from dpdb.answers.record import Cell
from dpdb.answers.release_reports import promised_error
from dpdb.errors import BudgetExceeded, DpdbError
from dpdb.ledger.protocol import FREE
from dpdb.plan.batch import JointQuery, can_be_joined, joined, unlabelled
from dpdb.plan.plan import Plan
from dpdb.plan.query import Query
from dpdb.policy.catalog import Policy
from dpdb.policy.numbers import decimal
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.session.executor import NoisyResult
from dpdb.session.purchases import OpenExecutor, Purchase
from dpdb.session.query_plans import Plans, best_plans, possible_plans
from dpdb.sql.statements import Assign, Select

if TYPE_CHECKING:
    from dpdb.ledger.protocol import Ledger
    from dpdb.plan.lowering import RowCount
    from dpdb.session.settings import Settings
    from dpdb.sql.statements import Statement

PLAN_COLUMNS = ("statement", "column", "epsilon_alone", "± alone", "epsilon", "±")


@dataclass(frozen=True)
class Asked:
    """A query of a batch."""

    text: str
    query: Query


Alone = tuple[Asked, Plans, Purchase | None]
"""A query with its plans by itself, and what it was answered with before."""


def asked_in(
    texts: Sequence[str],
    read: Callable[[str], Statement],
    settings: Settings,
    *,
    teach: bool,
) -> list[Asked]:
    """The queries among statements that are to be answered one after the other.

    What SET sets among them holds for those after it. Raises DpdbError, which names the statement.
    """
    asked = []
    for text in texts:
        try:
            match read(text):
                case Assign() as assign:
                    settings = settings.changed(assign, teach=teach)
                case Select(query=query, explain=False) if not settings.unprotected:
                    options = settings.filled(query.options)
                    asked.append(Asked(text, replace(query, options=options)))
        except DpdbError as error:
            error.statement = text
            raise
    return asked


@dataclass(repr=False)
class _Joint:
    """The plan of statements that are drawn together, and what was drawn."""

    plan: Plan
    statements: int
    result: NoisyResult | None = None

    @property
    def even_loss(self) -> ComposedLoss:
        """The part of the loss of one of the statements, if all have the same."""
        return ComposedLoss(*(part / self.statements for part in self.plan.composed_loss.parts))


@dataclass(repr=False)
class _Part:
    """What one query has of a joint plan."""

    joint: _Joint
    plan: Plan
    releases: tuple[int, ...]
    """The indices of its releases in the joint plan."""
    answered: bool = False

    def purchase(self, ledger: Ledger, open_executor: OpenExecutor) -> Purchase:
        """What answers the query; the first of those drawn together is charged for all of them."""
        joint, price = self.joint, FREE
        notes: tuple[str, ...] = ()
        if joint.result is None:
            receipt = ledger.charge(joint.plan.composed_loss, joint.plan.region, joint.statements)
            joint.result = open_executor().execute(joint.plan, receipt)
            price = receipt.price
            notes = (f"paid at once for {joint.statements} statements that are drawn together",)
        elif not self.answered:
            notes = ("paid for with a statement before it, as planned",)
        self.answered = True
        draws = joint.result.noisy.draws
        own = Noisy(tuple(draws[index] for index in self.releases), {})
        return Purchase(NoisyResult(own, joint.result.revealed), price, notes)


@dataclass
class Batches:
    """The queries that were planned together, and the answers to those that were asked."""

    policy: Policy
    ledger: Ledger
    rows: RowCount
    _parts: dict[Query, _Part] = field(default_factory=dict, repr=False)

    def answer(
        self, query: Query, open_executor: OpenExecutor
    ) -> tuple[Plan, Purchase, bool] | None:
        """The plan of a query as a part of a joint one, what answers it, and whether it repeats.

        None if the query was not planned with others.
        """
        part = self._parts.get(unlabelled(query))
        if part is None:
            return None
        repeat, plan = part.answered, replace(part.plan, outputs=query.outputs)
        return plan, part.purchase(self.ledger, open_executor), repeat

    def plan(self, batch: Sequence[Alone]) -> tuple[tuple[Cell, ...], ...]:
        """Plan the queries of a batch together; gives the rows of PLAN_COLUMNS.

        Raises BudgetExceeded for the first statement that is not covered, and then plans nothing.
        """
        fresh: dict[Query, tuple[Asked, Plan]] = {}
        for asked, plans, before in batch:
            known = before is not None or unlabelled(asked.query) in self._parts
            if not (known or plans[-1].settled):
                fresh.setdefault(unlabelled(asked.query), (asked, plans[-1]))
        parts: dict[Query, _Part] = {}
        for statements in joined(filter(can_be_joined, fresh)):
            if len(statements.members) > 1:
                parts |= self._parts_of(statements)
        self._check(fresh, parts)
        self._parts |= parts
        rows: list[tuple[Cell, ...]] = []
        for number, (asked, plans, _) in enumerate(batch, 1):
            first = fresh.pop(unlabelled(asked.query), None) is not None
            rows += self._rows_of(number, asked, plans[-1], first=first)
        return tuple(rows)

    def _parts_of(self, statements: JointQuery) -> dict[Query, _Part]:
        """The queries that are drawn together, with the joint plan."""
        balance, number = self.ledger.balance, len(statements.members)
        shares = tuple(map(statements.joint_share, balance.shares))
        possible = possible_plans(statements.query, self.policy, shares, self.rows)
        (plan,) = best_plans(possible, balance, number)
        joint = _Joint(plan, number)
        return {
            member: _Part(joint, *statements.part(plan, member, self.policy, self.rows))
            for member in statements.members
        }

    def _check(
        self, fresh: Mapping[Query, tuple[Asked, Plan]], parts: Mapping[Query, _Part]
    ) -> None:
        """Refuse a batch that the budget does not cover.

        Each of the statements that are drawn together has an even part of their loss.
        """
        loss, balance = NO_LOSS, self.ledger.balance
        for number, (query, (asked, plan)) in enumerate(fresh.items(), 1):
            part = parts.get(query)
            loss = loss + (plan.composed_loss if part is None else part.joint.even_loss)
            price = self.ledger.price(loss, None, number)
            for name, requested, left in (
                ("epsilon", price.epsilon, balance.epsilon_left),
                ("delta", price.delta, balance.delta_left),
                ("queries", Fraction(number), Fraction(balance.queries_left)),
            ):
                if requested > left:
                    error = BudgetExceeded(
                        f"not enough {name} for the plan up to this statement: "
                        f"{decimal(requested)} requested, {decimal(left)} left, "
                        f"short by {decimal(requested - left)}",
                        hint="nothing of the batch was run, and nothing was spent",
                    )
                    error.statement = asked.text
                    raise error

    def _rows_of(
        self, number: int, asked: Asked, alone: Plan, *, first: bool
    ) -> list[tuple[Cell, ...]]:
        """For each noisy column its price and its error: alone, and as planned.

        The price is that of the statement, and stands beside its first column.
        """
        part = self._parts.get(unlabelled(asked.query))
        before = self._price(alone) if first else 0.0
        now = before if part is None or not first else self._price(part.joint.plan)
        now /= 1 if part is None else part.joint.statements
        planned = alone if part is None else part.plan
        rows: list[tuple[Cell, ...]] = []
        for output in filter(alone.has_noise, alone.outputs):
            errors = promised_error(alone, output), promised_error(planned, output)
            costs = (None, None) if rows else (before, now)
            rows.append((number, output.label, costs[0], errors[0], costs[1], errors[1]))
        return rows

    def _price(self, plan: Plan) -> float:
        return float(self.ledger.price(plan.composed_loss, plan.region).epsilon)
