"""What a session has answered: purchases, and groups of noisy values for later answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpdb.answers.estimates import Array, Draws
    from dpdb.plan.plan import Plan, ReleasedGroup
    from dpdb.plan.query import Query
    from dpdb.session.purchases import Purchase

Groups = tuple["ReleasedGroup", ...]


@dataclass(frozen=True, repr=False)
class Before:
    """What there is of an answer before it is bought."""

    purchase: Purchase | None = None
    """What the same query was answered with."""
    groups: Groups = ()
    """The groups from which a part of the answer may follow, or did in that purchase."""


NOTHING = Before()


@dataclass(repr=False)
class Memory:
    """Purchases by what was asked, and groups by the rows and the cells that they are about."""

    _purchases: dict[object, Before] = field(default_factory=dict)
    _groups: dict[object, dict[ReleasedGroup, Draws]] = field(default_factory=dict)

    def before(self, key: object, query: Query) -> Before:
        """The purchase with this key; otherwise the groups over the query's rows, latest first.

        For a query with subqueries there are none: which rows pass its filter depends on noise.
        """
        if key in self._purchases:
            return self._purchases[key]
        if query.subqueries:
            return NOTHING
        scope = query.table.name, query.where, query.keys
        return Before(groups=tuple(reversed(self._groups.get(scope, {}))))

    def draws(self, plan: Plan) -> tuple[Array, ...]:
        """The noisy values of the releases that a plan recalls, in their order."""
        known = self._groups.get(plan.scope, {})
        return tuple(values for group in plan.remembered for values in known[group])

    def keep(self, key: object, purchase: Purchase, plan: Plan) -> None:
        """Remember a purchase, and the groups that were drawn for it."""
        self._purchases[key] = Before(purchase, plan.remembered)
        draws = purchase.result.noisy.draws
        if plan.scope is not None and len(draws) == len(plan.releases):
            known = self._groups.setdefault(plan.scope, {})
            for first, group in plan.groups:
                known.pop(group, None)  # so that the latest is the last
                known[group] = draws[first : first + len(group.releases)]
