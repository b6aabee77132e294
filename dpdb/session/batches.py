"""Batches: statements that are planned together before any of them is answered.

Statements that are drawn together are charged for when the first of them is answered. Whether the
budget covers the whole batch is looked at before that, so that a refusal takes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.accounting.composition import NO_LOSS
from dpdb.session.executor import NoisyResult
from dpdb.session.purchases import OpenExecutor, Purchase
from dpdb.session.query_plans import plans_of, usual_share
from dpdb.sql.statements import Assign, Select

if TYPE_CHECKING:
    from dpdb.ledger.protocol import Balance, Ledger
    from dpdb.plan.lowering import RowCount
    from dpdb.session.settings import Settings
    from dpdb.sql.statements import Statement

PLAN_COLUMNS = ("statement", "column", "epsilon_alone", "± alone", "epsilon", "±")


@dataclass(frozen=True)
class Asked:
    """A query of a batch, with what it may spend."""

    text: str
    query: Query
    share: BudgetShare


def asked_in(
    texts: Sequence[str],
    read: Callable[[str], Statement],
    settings: Settings,
    balance: Balance,
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
                case Select(query=query, explain=False) if not (
                    settings.unprotected or query.public
                ):
                    options = settings.filled(query.options)
                    query = replace(query, options=options)
                    asked.append(Asked(text, query, usual_share(query, balance)))
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


@dataclass(repr=False)
class _Part:
    """What one query has of a joint plan."""

    joint: _Joint
    plan: Plan
    releases: tuple[int, ...]
    """The indices of its releases in the joint plan."""
    answered: bool = False

    def purchase(
        self, ledger: Ledger, open_executor: OpenExecutor, check: Callable[[], None]
    ) -> Purchase:
        """What answers the query. The first of those drawn together is charged for all of them.

        `check` refuses what would look at rows, before the charge.
        """
        joint, price = self.joint, FREE
        notes: tuple[str, ...] = ()
        if joint.result is None:
            check()
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
    _parts: dict[Query, _Part] = field(default_factory=dict, repr=False)

    def answer(
        self,
        query: Query,
        ledger: Ledger,
        open_executor: OpenExecutor,
        check: Callable[[], None],
    ) -> tuple[Plan, Purchase, bool] | None:
        """The plan of a query as a part of a joint one, what answers it, and whether it repeats.

        None if the query was not planned with others.
        """
        part = self._parts.get(unlabelled(query))
        if part is None:
            return None
        repeat, plan = part.answered, replace(part.plan, outputs=query.outputs)
        return plan, part.purchase(ledger, open_executor, check), repeat

    def plan(
        self, batch: Sequence[Asked], rows: RowCount, is_answered: Callable[[Query], bool]
    ) -> tuple[tuple[Cell, ...], ...]:
        """Plan the queries of a batch together; gives what is shown in PLAN_COLUMNS.

        `rows` gives the number of rows of a table, where that is public.
        Raises BudgetExceeded for the first statement that is not covered, and then plans nothing.
        """
        alone = [self._alone(each, rows) for each in batch]
        fresh: dict[Query, tuple[Asked, Plan]] = {}
        for asked, plan in zip(batch, alone, strict=True):
            known = unlabelled(asked.query) in self._parts or is_answered(asked.query)
            if not (plan.settled or known):
                fresh.setdefault(unlabelled(asked.query), (asked, plan))
        self._check([*fresh.values()])
        joinable = [asked for asked, _ in fresh.values() if can_be_joined(asked.query)]
        parts: dict[Query, _Part] = {}
        for statements in joined([(asked.query, asked.share) for asked in joinable]):
            if len(statements.members) > 1:
                parts |= self._parts_of(statements, rows)
        self._parts |= parts
        shown: list[tuple[Cell, ...]] = []
        for number, (asked, plan) in enumerate(zip(batch, alone, strict=True), 1):
            first = fresh.pop(unlabelled(asked.query), None) is not None
            shown += _plan_rows(number, plan, self._parts.get(unlabelled(asked.query)), first=first)
        return tuple(shown)

    def _alone(self, asked: Asked, rows: RowCount) -> Plan:
        """The plan of a query by itself."""
        try:
            return plans_of(asked.query, self.policy, asked.share, rows)[-1]
        except DpdbError as error:
            error.statement = asked.text
            raise

    def _parts_of(self, statements: JointQuery, rows: RowCount) -> dict[Query, _Part]:
        """The queries that are drawn together, with the joint plan."""
        share = statements.joint_share
        (plan,) = plans_of(statements.query, self.policy, share, rows)
        joint = _Joint(plan, len(statements.members))
        return {
            member: _Part(joint, *statements.part(plan, member, self.policy, rows))
            for member in statements.members
        }

    def _check(self, fresh: Sequence[tuple[Asked, Plan]]) -> None:
        """Refuse a batch that the budget does not cover.

        What is drawn together loses as much as its statements would lose alone.
        """
        loss, balance = NO_LOSS, self.ledger.balance
        for number, (asked, plan) in enumerate(fresh, 1):
            loss = loss + plan.composed_loss
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


def _plan_rows(
    number: int, alone: Plan, part: _Part | None, *, first: bool
) -> list[tuple[Cell, ...]]:
    """For each noisy column of a statement, what it costs and how noisy it is: alone, and now."""
    rows: list[tuple[Cell, ...]] = []
    planned = alone if part is None else part.plan
    before = alone.loss.epsilon if first else 0
    now = before
    if part is not None and first:
        now = part.joint.plan.loss.epsilon / part.joint.statements
    for output in alone.outputs:
        if alone.has_noise(output):
            errors = promised_error(alone, output), promised_error(planned, output)
            costs = (float(before), float(now)) if not rows else (None, None)
            rows.append((number, output.label, costs[0], errors[0], costs[1], errors[1]))
    return rows
