"""The ways into and out of the memory of a session, for one query.

The answers that a SELECT over answers reads are remembered by themselves, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from dpdb.plan.logical.derived import DerivedQuery
from dpdb.records import dataclass
from dpdb.session.purchases.kept_answers import Chosen
from dpdb.session.purchases.memory import Memory
from dpdb.session.purchases.query_plans import key_of
from dpdb.session.purchases.shared_levels import Shared

if TYPE_CHECKING:
    from dpdb.answers.estimates import Draws
    from dpdb.plan.logical.query import Options, Query
    from dpdb.plan.physical.plan import Plan
    from dpdb.session.purchases.purchases import Purchase


Choose = Callable[["Query"], Chosen]
"""Gives the plans of a query, and what it was answered with before."""


def chosen(query: Query, choose: Choose, draws: Callable[[Plan], Draws]) -> Chosen:
    """The plans of a query; one over answers that were all given before is free.

    `draws` gives what the plan recalls that was chosen last.
    """
    alone = choose(query)
    if alone.before is not None or not isinstance(query, DerivedQuery):
        return alone
    if alone.plans[-1].cubes:  # answers that were given one by one do not add up
        return alone
    return alone if query.options.has_accuracy_goal else _read_again(query, alone, choose, draws)


def _read_again(
    query: DerivedQuery, alone: Chosen, choose: Choose, draws: Callable[[Plan], Draws]
) -> Chosen:
    """The plan over answers that were all given before; `alone` where one was not."""
    subplans: list[Plan] = []
    read: list[Purchase] = []
    for each, subplan in zip(query.subqueries, alone.plans[-1].subplans, strict=True):
        answer = choose(replace(each, options=query.options))
        plan = answer.plans[-1]
        if not (answer.is_free or plan.settled) or plan.sought is not None:
            return alone  # a plan whose bounds were sought does not say with what it was answered
        read.append(answer.before or _recalled(draws(plan)))
        # Noise decides here which rows are shown, and not where the answer was asked for alone.
        subplans.append(replace(plan, competing_rows=subplan.competing_rows))
    from dpdb.answers.estimates import Noisy  # noqa: PLC0415 (numpy)

    free = _recalled(())
    noisy = Noisy((), {}, tuple(each.result.noisy for each in read))
    free = replace(free, result=replace(free.result, noisy=noisy))
    return Chosen((replace(alone.plans[-1], subplans=tuple(subplans)),), alone.key, free)


def _recalled(known: Draws) -> Purchase:
    """A purchase of known values alone, which is free."""
    from dpdb.session.purchases.purchases import settled  # noqa: PLC0415 (numpy)

    return settled(known)


def keep(query: Query, bought: Chosen, purchase: Purchase, memory: Memory) -> None:
    """Remember each answer that a SELECT reads, as if it had been asked for alone."""
    if not isinstance(query, DerivedQuery):
        return
    plan, result = bought.plans[purchase.step], purchase.result
    for subplan, noisy in zip(plan.subplans, result.noisy.subresults, strict=True):
        if not any(subplan.every_release):
            continue
        own = replace(purchase, result=replace(result, noisy=noisy, revealed=()), step=0)
        memory.keep(Chosen((subplan,), key_of(subplan, query.options)), own)


def foresee(query: Query, chosen: Chosen, shared: Shared, memory: Memory) -> None:
    """Take note of what `keep` will remember when the query is answered."""
    memory.foresee(chosen, shared)
    if isinstance(query, DerivedQuery):
        for subplan in filter(lambda each: any(each.every_release), chosen.plans[-1].subplans):
            memory.foresee(Chosen((subplan,), key_of(subplan, query.options)))


@dataclass(frozen=True, repr=False)
class Shelf:
    """Keeps what is bought for a query, before it is shown."""

    memory: Memory
    chosen: Chosen
    alone: bool = False
    """Whether it is drawn and paid for as if nobody had been shown any of it."""

    def shared(self, plan: Plan) -> Shared:
        return self.memory.alone(plan) if self.alone else self.memory.shared(plan)

    def keep(
        self, purchase: Purchase, shared: Shared | None = None, in_steps: bool = False
    ) -> bool:
        return self.memory.keep(self.chosen, purchase, shared, in_steps)

    def bill(self, options: Options) -> Shared | None:
        """The losses that are charged for the chosen plans; None where nothing is charged.

        For an answer with a relative error it is the last of its plans, by itself and on all rows:
        the most that its steps take. Of one that goes on, it is what the last adds to the answer
        before.
        """
        chosen, plan = self.chosen, self.chosen.plans[-1]
        if plan.settled or chosen.is_free:
            return None
        if chosen.before is not None:
            released = chosen.plans[chosen.before.step].loss.epsilon
            return Shared(plan, everywhere=True, released=released)
        if options.relative_error is not None:
            return Shared(plan, everywhere=True)
        return self.shared(plan)
