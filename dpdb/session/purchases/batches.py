"""Batches: statements that are planned together before any of them is answered.

Statements that are drawn together are charged for when the first of them is answered. The whole
batch is rehearsed before that: its charges are made in a ledger that forgets them, so that a
refusal takes nothing, and a plan that passes is answered for what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from dpdb.answers.estimates import Noisy
from dpdb.answers.formats.footer import DIGITS
from dpdb.answers.record import Cell
from dpdb.answers.release_reports import promised_error
from dpdb.errors import BudgetExceeded, DpdbError, paid_for
from dpdb.ledger.protocol import FREE, Price
from dpdb.plan.batch import can_be_joined, joined, unlabelled
from dpdb.plan.logical.query import Query
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Policy
from dpdb.policy.numbers import decimal
from dpdb.privacy.accounting.composition import NO_LOSS
from dpdb.records import dataclass
from dpdb.session.purchases import found_bounds, released_answers
from dpdb.session.purchases.executor import NoisyResult
from dpdb.session.purchases.joint.joint_plans import drawn_together
from dpdb.session.purchases.kept_answers import Chosen
from dpdb.session.purchases.memory import Memory
from dpdb.session.purchases.purchases import OpenExecutor, Purchase
from dpdb.session.purchases.query_plans import Asked, plans_of
from dpdb.session.purchases.shared_levels import Shared

if TYPE_CHECKING:
    from dpdb.answers.estimates import Draws
    from dpdb.ledger.protocol import Ledger
    from dpdb.plan.physical.context import RowCount


PLAN_COLUMNS = ("statement", "column", "epsilon_alone", "± alone", "epsilon", "±")


@dataclass(repr=False)
class _Joint:
    """The bill of statements that are drawn together, and what was drawn."""

    bill: Shared
    result: NoisyResult | None = None

    def price(self, ledger: Ledger) -> Price:
        """The price of all of them, which the first that is answered pays."""
        if self.result is not None:
            return FREE
        return self.bill.price(ledger)


@dataclass(repr=False)
class PlannedPart:
    """The part that one query has of a joint plan."""

    joint: _Joint
    plan: Plan
    read: Callable[[Draws], Draws]
    """Gives the values of its releases, from those of the joint plan."""
    answered: bool = False

    def plan_of(self, query: Query) -> Plan:
        """The plan of a query that may have other labels than the one that was planned."""
        return replace(self.plan, outputs=query.outputs)

    def price(self, ledger: Ledger) -> Price:
        """The price that `purchase` takes."""
        return self.joint.price(ledger)

    @property
    def notes(self) -> tuple[str, ...]:
        """The note on who pays, or has paid, for the part."""
        number = self.joint.bill.statements
        if self.joint.result is None:
            return (f"the cost of {number} statements that are drawn together",) * (number > 1)
        return () if self.answered else ("its cost is that of a statement before it, as planned",)

    def purchase(
        self, ledger: Ledger, open_executor: OpenExecutor, check: Callable[[Plan], None]
    ) -> Purchase:
        """The answer to the query. The first of those drawn together is charged for all of them.

        `check` refuses what would look at rows, before the charge.
        """
        joint, price, notes = self.joint, FREE, self.notes
        if joint.result is None:
            check(joint.bill.plan)
            receipt = joint.bill.charge(ledger)
            with paid_for():
                joint.result = open_executor().execute(joint.bill.plan, receipt)
            price = receipt.price
        self.answered = True
        own = Noisy(self.read(joint.result.noisy.draws), {})
        return Purchase(NoisyResult(own, joint.result.revealed), price, notes)


@dataclass(repr=False)
class _Rehearsal:
    """Statements that are answered one after the other, in a ledger that forgets them."""

    policy: Policy
    rows: RowCount
    ledger: Ledger
    memory: Memory
    """Knows what the statements will have been answered with."""
    parts: Mapping[Query, PlannedPart]
    """The parts of joint plans that some of the statements are."""
    shares: dict[Query, Price] = field(default_factory=dict)
    """The share of each part, not asked for yet, in the price of its joint plan."""
    charged: list[_Joint] = field(default_factory=list)
    refusal: BudgetExceeded | None = None
    """Why the first statement that is not covered is refused."""

    def price(self, asked: Asked) -> Price:
        """The price of the next statement; of what is drawn together it has an equal part."""
        part = None if asked.is_fresh else self.parts.get(asked.name)
        if part is None:
            chosen = self._chosen(asked)
            bill = self._bill(asked, chosen)
            if bill is None:
                return FREE
            price = self._charged(bill)
            released_answers.foresee(asked.query, chosen, bill, self.memory)
            return price
        if all(part.joint is not each for each in self.charged):
            self.charged.append(part.joint)
            members = [name for name, each in self.parts.items() if each.joint is part.joint]
            share = self._charged(part.joint.bill) / len(members)
            self.shares |= dict.fromkeys(members, share)
        return self.shares.pop(asked.name, FREE)

    def is_free(self, asked: Asked) -> bool:
        """Whether the next statement would cost nothing."""
        return asked.name in self.parts or self._bill(asked, self._chosen(asked)) is None

    def _chosen(self, asked: Asked) -> Chosen:
        memory = Memory() if asked.is_fresh else self.memory

        def choose(query: Query) -> Chosen:
            return memory.choose(query, self.policy, self.ledger.balance, self.rows)

        def chosen(query: Query) -> Chosen:
            return released_answers.chosen(query, choose, lambda _: ())

        return found_bounds.chosen(asked.query, memory, chosen)

    def _bill(self, asked: Asked, chosen: Chosen) -> Shared | None:
        return released_answers.Shelf(self.memory, chosen, alone=asked.is_fresh).bill(
            asked.query.options
        )

    def _charged(self, bill: Shared) -> Price:
        price = bill.price(self.ledger)
        try:
            if self.ledger.balance.own is None:
                bill.charge(self.ledger)
            else:
                bill.rehearse(self.ledger)
        except BudgetExceeded as refusal:
            self.refusal = self.refusal or refusal
        return price


@dataclass
class Batches:
    """The queries that were planned together, and the answers to those that were asked."""

    policy: Policy
    ledger: Ledger
    memory: Memory = field(repr=False)
    _parts: dict[Query, PlannedPart] = field(default_factory=dict, repr=False)

    def part(self, query: Query) -> PlannedPart | None:
        """The part of a query of a joint plan; None if the query was not planned with others."""
        return self._parts.get(unlabelled(query))

    def plan(
        self, batch: Sequence[Asked], rows: RowCount
    ) -> tuple[tuple[tuple[Cell, ...], ...], tuple[str, ...]]:
        """Plan the queries of a batch together; gives the rows of PLAN_COLUMNS, and notes.

        `rows` gives the number of rows of a table, where that is public. Earlier plans of which
        nothing was answered hold no longer. Raises BudgetExceeded for the first statement that is
        not covered, and then plans nothing.
        """
        answered = {name: each for name, each in self._parts.items() if each.joint.result}
        plans = [self._alone(each, rows) for each in batch]
        before = self._rehearsal(rows, answered)
        fresh = [
            (asked.query, asked.share)
            for asked, plan in zip(batch, plans, strict=True)
            if can_be_joined(asked.query) and not asked.is_fresh
            if plan.composed_loss != NO_LOSS and not before.is_free(asked)
        ]
        parts = dict(answered)
        alone = {asked.name: plan for asked, plan in zip(batch, plans, strict=True)}
        apart = [before.price(each) for each in batch]
        paid = {asked.name for asked, price in zip(batch, apart, strict=True) if price != FREE}
        for drawn in drawn_together(joined(fresh), self.policy, rows, alone, paid):
            joint = _Joint(Shared(drawn.plan, statements=len(drawn.parts)))
            parts |= {
                name: PlannedPart(joint, plan, partial(drawn.read, name))
                for name, (plan, _) in drawn.parts.items()
            }
        together = self._rehearsed(batch, self._rehearsal(rows, parts))
        self._parts = parts
        shown: list[tuple[Cell, ...]] = []
        for number, (asked, plan) in enumerate(zip(batch, plans, strict=True)):
            part = None if asked.is_fresh else parts.get(asked.name)
            shown += _plan_rows(number + 1, plan, part, apart[number], together[number])
        return tuple(shown), _dearer(sum(apart, FREE), sum(together, FREE))

    def _rehearsal(self, rows: RowCount, parts: Mapping[Query, PlannedPart]) -> _Rehearsal:
        """A rehearsal of what may be asked next."""
        ledger, memory = self.ledger.rehearsal(), self.memory.foreseeing()
        charged = [part.joint for part in parts.values() if part.joint.result]
        return _Rehearsal(self.policy, rows, ledger, memory, parts, charged=charged)

    def _alone(self, asked: Asked, rows: RowCount) -> Plan:
        """The plan of a query by itself."""
        try:
            return plans_of(asked.query, self.policy, asked.share, rows)[-1]
        except DpdbError as error:
            error.statement = asked.text
            raise

    def _rehearsed(self, batch: Sequence[Asked], rehearsal: _Rehearsal) -> list[Price]:
        """The prices of a batch; raises BudgetExceeded where it is not covered."""
        balance, total, prices = self.ledger.balance, FREE, list[Price]()
        for asked in batch:
            prices.append(rehearsal.price(asked))
            total += prices[-1]
            for name, requested, left in (
                ("epsilon", total.epsilon, balance.epsilon_left),
                ("delta", total.delta, balance.delta_left),
                ("queries", Fraction(total.queries), Fraction(balance.queries_left)),
            ):
                if rehearsal.refusal is not None and requested > left:
                    error = BudgetExceeded(
                        f"not enough {name} for the plan up to this statement: "
                        f"{decimal(requested)} requested, {decimal(left)} left, "
                        f"short by {decimal(requested - left)}",
                        hint="nothing of the batch was run, and nothing was spent",
                    )
                    error.statement = asked.text
                    raise error
        if rehearsal.refusal is not None:
            raise rehearsal.refusal
        return prices


def _dearer(apart: Price, together: Price) -> tuple[str, ...]:
    """A note, where statements cost more together than one by one: ε, δ or queries."""
    prices = [
        f"ε {decimal(price.epsilon, DIGITS)}, δ {decimal(price.delta, DIGITS)} "
        f"and {price.queries} queries"
        for price in (together, apart)
    ]
    dearer = (
        together.epsilon > apart.epsilon
        or together.delta > apart.delta
        or together.queries > apart.queries
    )
    note = f"planned together these statements cost {prices[0]}; one by one {prices[1]}"
    return (note.replace(", δ 0 and", " and"),) if dearer else ()


def _plan_rows(
    number: int, alone: Plan, part: PlannedPart | None, apart: Price, together: Price
) -> list[tuple[Cell, ...]]:
    """For each noisy column of a statement, what it costs and how noisy it is: alone, and now."""
    rows: list[tuple[Cell, ...]] = []
    planned = alone if part is None else part.plan
    for output in alone.outputs:
        if alone.has_noise(output):
            errors = promised_error(alone, output), promised_error(planned, output)
            costs = (None, None) if rows else (float(apart.epsilon), float(together.epsilon))
            rows.append((number, output.label, costs[0], errors[0], costs[1], errors[1]))
    if not rows and FREE not in (apart, together):  # a subquery has noise, and no column
        label = alone.outputs[0].label
        rows.append((number, label, float(apart.epsilon), None, float(together.epsilon), None))
    return rows
