"""What a session has answered: purchases, and groups of noisy values for later answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from dpdb.session.query_plans import Plans, best_plans, identity, possible_plans

if TYPE_CHECKING:
    from dpdb.answers.estimates import Array, Draws
    from dpdb.ledger.protocol import Balance
    from dpdb.plan.lowering import RowCount
    from dpdb.plan.plan import Plan, ReleasedGroup
    from dpdb.plan.query import Query
    from dpdb.policy.catalog import Policy
    from dpdb.session.purchases import Purchase


@dataclass(frozen=True, repr=False)
class Chosen:
    """The plans with which a query is answered."""

    plans: Plans
    key: object
    """What the query is known by: the identity of its plans, as if it were new."""
    before: Purchase | None = None
    """What the same query was answered with."""

    @property
    def is_free(self) -> bool:
        """Whether the answer was paid for, or follows from what was."""
        return self.before is not None or self.plans[-1].follows


@dataclass(frozen=True, repr=False)
class _Kept:
    """A purchase, and the plan that was bought."""

    purchase: Purchase
    plan: Plan

    def answering(self, plan: Plan) -> Purchase | None:
        """The purchase with the noisy values of another plan; None where it lacks some.

        Two queries that would draw the same if they were new can differ in what they recall: of
        AVG(x) and COUNT(*) the second may be remembered, which AVG(x) alone does not read.
        """
        if plan.fresh != self.plan.fresh or not set(plan.remembered) <= set(self.plan.remembered):
            return None
        noisy, recalled = self.purchase.result.noisy, self.plan.recalled
        drawn = iter(noisy.draws[:recalled])
        known = {group: tuple(islice(drawn, len(group.releases))) for group in self.plan.remembered}
        own = (values for group in plan.remembered for values in known[group])
        noisy = replace(noisy, draws=(*own, *noisy.draws[recalled:]))
        return replace(self.purchase, result=replace(self.purchase.result, noisy=noisy))


@dataclass(repr=False)
class Memory:
    """Purchases by what was asked, and groups by the rows and the cells that they are about."""

    _purchases: dict[object, _Kept] = field(default_factory=dict)
    _groups: dict[object, dict[ReleasedGroup, Draws]] = field(default_factory=dict)

    def choose(self, query: Query, policy: Policy, balance: Balance, rows: RowCount) -> Chosen:
        """The plans of a query: a repeat keeps its plans, and what follows from groups is free."""
        possible = possible_plans(query, policy, balance.shares, rows)
        keys = [identity(plans[-1], query.options) for plans in possible]
        known = next((place for place, key in enumerate(keys) if key in self._purchases), None)

        def recalling(groups: tuple[ReleasedGroup, ...]) -> tuple[Plans, ...]:
            if not groups:
                return possible
            again = possible_plans(query, policy, balance.shares, rows, groups)
            return again if len(again) == len(keys) else possible

        if known is not None:
            kept = self._purchases[keys[known]]
            plans = recalling(kept.plan.remembered)[known]
            before = kept.answering(plans[kept.purchase.step])
            if before is not None:
                return Chosen(plans, keys[known], before)
        possible = recalling(self._over(query))
        free = (plans for plans in possible if plans[-1].follows)
        chosen = next(free, None) or best_plans(possible, balance)
        place = next(at for at, plans in enumerate(possible) if plans is chosen)
        return Chosen(chosen, keys[place])

    def draws(self, plan: Plan) -> tuple[Array, ...]:
        """The noisy values of the releases that a plan recalls, in their order."""
        known = self._groups.get(plan.scope, {})
        return tuple(values for group in plan.remembered for values in known[group])

    def keep(self, chosen: Chosen, purchase: Purchase) -> None:
        """Remember a purchase, and the groups that were drawn for it."""
        plan = chosen.plans[purchase.step]
        self._purchases[chosen.key] = _Kept(purchase, plan)
        draws = purchase.result.noisy.draws
        if plan.scope is not None:
            known = self._groups.setdefault(plan.scope, {})
            for first, group in plan.groups:
                known.pop(group, None)  # so that the latest is the last
                known[group] = draws[first : first + len(group.releases)]

    def _over(self, query: Query) -> tuple[ReleasedGroup, ...]:
        """The groups over the query's rows, the latest first.

        For a query with subqueries there are none: which rows pass its filter depends on noise.
        """
        if query.subqueries:
            return ()
        scope = *query.table.counted_rows, query.where, query.keys
        return tuple(reversed(self._groups.get(scope, {})))
