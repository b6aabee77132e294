"""The answers of a session: purchases, and groups of noisy values for later answers.

Where the ledger keeps what was released, the answers of earlier sessions are remembered, too.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import reduce
from itertools import islice
from operator import add
from typing import TYPE_CHECKING

from dpdb.errors import InternalError
from dpdb.plan.expressions.expressions import Expr
from dpdb.plan.releases.derivations import Derivation, KeptGroup, derivations
from dpdb.plan.releases.sharing import finest, may_serve
from dpdb.privacy.accounting.loss import Loss
from dpdb.records import dataclass
from dpdb.session.purchases.kept_answers import (
    Chosen,
    Groups,
    KeptAnswer,
    Scope,
    answered_otherwise,
    can_be_kept,
    scope_of,
    scope_over,
)
from dpdb.session.purchases.ledger_answers import LedgerAnswers, News
from dpdb.session.purchases.query_plans import (
    Plans,
    Shares,
    best_plans,
    former_key_of,
    is_accurate,
    key_of,
    possible_plans,
)
from dpdb.session.purchases.shared_levels import AllSeries, Shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpdb.answers.estimates import Draws
    from dpdb.ledger.protocol import Balance
    from dpdb.plan.logical.query import Query
    from dpdb.plan.physical.context import RowCount
    from dpdb.plan.physical.plan import Plan
    from dpdb.plan.physical.release import ReleasedGroup
    from dpdb.plan.relations.relations import Source
    from dpdb.policy.catalog import Column, Policy, Table
    from dpdb.session.purchases.purchases import Purchase
    from dpdb.vectors.vector import Array


MOST_PLANNED = 32
"""The queries that stay planned: the prompt prices one that it then executes."""
MOST_GROUPS = 64
"""The most groups with the same keys over the same rows that are tried: the latest ones."""
MOST_OTHERS = 8
"""The most groups that others were shown that are tried."""


@dataclass(repr=False)
class Memory:
    """Purchases by what was asked, and groups by the rows and the cells that they are about."""

    ledger: LedgerAnswers | None = None
    """The store of released answers for later sessions."""
    has_series: bool = True
    """Whether noise of one scale may lead to noise of another: other sources round scales."""
    _series: AllSeries = field(default_factory=AllSeries)
    _purchases: dict[object, KeptAnswer] = field(default_factory=dict)
    _groups: Groups = field(default_factory=Groups)
    _others: Groups = field(default_factory=Groups)
    """The groups that others were shown, by the same."""
    _derivations: dict[ReleasedGroup, Derivation] = field(default_factory=dict)
    """The derivation of each group that follows, for the query that was last asked about."""
    _planned: dict[int, tuple[object, tuple[Plans, ...]]] = field(default_factory=dict)
    """The plans of the last queries, by their outputs' identity: a text shares it with itself."""
    _foreseen: set[object] = field(default_factory=set)
    """The keys of queries that will be answered before the next."""

    def choose(self, query: Query, policy: Policy, balance: Balance, rows: RowCount) -> Chosen:
        """The plans of a query: a repeat keeps its plans, and what follows from groups is free."""
        shares = balance.shares_within(query.options.epsilon)
        possible = self._possible(query, policy, shares, rows)
        if self.ledger is not None:
            self.ledger.note_query(query)
        self._look_up(query.table, query.where)
        for plan in (plans[-1] for plans in possible):
            if self.ledger is not None and plan.sought is not None:
                self.ledger.note_sought(plan)
                self._look_up(plan.table, plan.where)
        keys = [key_of(plans[-1], query.options) for plans in possible]
        known = [self._kept(key, p[-1], query) for key, p in zip(keys, possible, strict=True)]
        at = next((place for place, kept in enumerate(known) if kept is not None), None)
        foreseen = next((place for place, key in enumerate(keys) if key in self._foreseen), None)
        if foreseen is not None:
            return Chosen(possible[foreseen], keys[foreseen], is_foreseen=True)

        def recalling(groups: tuple[ReleasedGroup, ...]) -> tuple[Plans, ...]:
            if not may_serve(query, groups):
                return possible
            series = finest([self._in_series(query, group) for group in groups])
            again = possible_plans(query, policy, shares, rows, series)
            return again if len(again) == len(keys) else possible

        if at is not None and (kept := known[at]) is not None:
            plans = recalling(kept.remembered)[at]
            plan = plans[kept.purchase.step]
            before = kept.answering(plan)
            if before is not None:
                finer, options = plan is not plans[-1], query.options
                goes_on = finer and not is_accurate(plan, before.result.noisy.draws, options)
                return Chosen(plans, keys[at], before, goes_on=goes_on)
        otherwise = answered_otherwise(
            query,
            possible,
            lambda other, told: possible_plans(other, policy, shares, rows, told),
            self._kept,
            lambda plan, told: self._groups.add(
                scope_of(plan), plan.keys, [(plan.remembered[0], told)]
            ),
        )
        if otherwise is not None:
            return otherwise
        own = self._over(query)
        possible = recalling(own)
        free = (plans for plans in possible if plans[-1].follows)
        chosen = next(free, None) or best_plans(possible, query.options, balance)
        place = next(at for at, plans in enumerate(possible) if plans is chosen)
        if not chosen[-1].follows and self.shared(chosen[-1]).needs_data:
            limited = balance.own is not None
            for group in self._told_to_others(query, chosen[-1] if limited else None):
                for at, plans in enumerate(recalling((*own, group))):
                    if plans[-1].follows:
                        shown = chosen if limited else plans
                        return Chosen(plans, keys[at], new_to_asker=shown)
        return Chosen(chosen, keys[place])

    def _possible(
        self, query: Query, policy: Policy, shares: Shares, rows: RowCount
    ) -> tuple[Plans, ...]:
        """The plans by each theorem without what is remembered.

        Those of the last queries are kept, unless the number of a table's rows has a say.
        """
        asked = query, policy, shares
        counted: list[Table] = []
        known = self._planned.get(id(query.outputs))
        if known is not None and known[0] == asked:
            return known[1]

        def count(table: Table) -> int:
            counted.append(table)
            return rows(table)

        made = possible_plans(query, policy, shares, count)
        if not counted:
            if len(self._planned) >= MOST_PLANNED:
                self._planned.clear()
            self._planned[id(query.outputs)] = asked, made
        return made

    def _kept(self, key: str, planned: Plan, query: Query) -> KeptAnswer | None:
        """The answer that a plan had; an earlier version can have written it down."""
        kept = self._purchases.get(key)
        if kept is None and self.ledger is not None:
            former = former_key_of(planned, query.options)
            return None if former is None else self._purchases.get(former)
        return kept

    def _told_to_others(self, query: Query, plan: Plan | None) -> tuple[ReleasedGroup, ...]:
        """The latest groups over a query's rows and cells that others were shown.

        Where a plan is given they are those alone that are what it would draw, so that its price
        and its noise are those of an answer that nobody was shown.
        """
        if query.subqueries:
            return ()
        known = reversed(self._others.over(query))
        if plan is not None:
            known = (g for g in known if g.releases == plan.fresh and g.loss == plan.loss)
        return tuple(islice(known, MOST_OTHERS))

    def draws(self, plan: Plan) -> tuple[Array, ...]:
        """The noisy values of the releases that a plan recalls, in their order."""
        return tuple(
            values
            for group in plan.remembered
            for values in self._drawn(plan, group) or self._derived_draws(plan.table, group)
        )

    def _drawn(self, over: Query | Plan, group: ReleasedGroup) -> Draws:
        """The noisy values of a group over these rows and cells; none where it follows."""
        return self._groups.over(over).get(group) or self._others.over(over).get(group, ())

    def _in_series(self, query: Query, group: ReleasedGroup) -> ReleasedGroup:
        """A group with the series that its releases are levels of; one that follows has none."""
        draws = self._drawn(query, group)
        cells = scope_of(query), query.keys
        return self._series.of_group(cells, group, draws) if draws else group

    def _derived_draws(self, table: Source, group: ReleasedGroup) -> Iterator[Array]:
        from dpdb.answers.estimates import regrouped  # noqa: PLC0415 (numpy)

        for part in self._derivations[group].parts:
            of = part.of
            draws = self._groups.of(scope_over(table, of.where))[of.keys][of.group]
            yield from regrouped(part, draws)

    def shared(self, plan: Plan) -> Shared:
        """The plan, with its releases that somebody was shown before."""
        shared = Shared(plan, self._asker)
        if plan.sought is not None:  # its releases stand for others
            return shared
        if self._draws_levels(plan):
            shared = self._series.shared((scope_of(plan), plan.keys), plan, self._asker)
        if not plan.remembered:
            return shared
        own = self._groups.over(plan)
        new = (g.loss for g in plan.remembered if g.source is None and g not in own)
        return replace(shared, new_to_asker=reduce(add, new, Loss()))

    @property
    def _asker(self) -> str:
        """The analyst, by whose name levels are known; without a ledger there is only one."""
        return "" if self.ledger is None else self.ledger.store.asker

    def _draws_levels(self, plan: Plan) -> bool:
        """Whether noise of a plan may be a level of a series: a ledger must be able to keep it."""
        return self.has_series and (self.ledger is None or can_be_kept(plan))

    def alone(self, plan: Plan) -> Shared:
        """A plan as if nobody had been shown any of it, once all that is kept so far was read."""
        self._look_up(plan.table, plan.where)
        return Shared(plan)

    def keep(
        self,
        chosen: Chosen,
        purchase: Purchase,
        shared: Shared | None = None,
        in_steps: bool = False,
    ) -> bool:
        """Remember a purchase and the groups that were drawn for it; no if it must not be shown.

        Where the ledger keeps releases, they are on the disk first. If others have kept more since
        the plan was `shared`, or since the step before, nothing is kept.
        """
        plan = chosen.plans[purchase.step]
        names = () if shared is None else shared.names()
        kept, scope = KeptAnswer.of(chosen.key, purchase, plan, names), scope_of(plan)
        if self.ledger is not None:
            text = kept.text
            if text is not None:
                if_latest = in_steps or shared is not None
                if not self.ledger.keep(scope, text, if_latest=if_latest, in_steps=in_steps):
                    self._look_up(plan.table, plan.where)
                    return False
            elif shared is not None and shared.steps:
                raise InternalError("this answer cannot be kept, and so must not be shown")
        elif self.has_series:
            self._series.add((scope, kept.keys), kept.levels, self._asker)
        self._remember(scope, kept)
        return True

    def named(self, name: str, table: Source, columns: Iterable[Column]) -> KeptAnswer | None:
        """The draws about some columns over a table that are kept under a name of their own."""
        if self.ledger is not None:
            self._take_in(self.ledger.news_named(name, table, columns))
        return self._purchases.get(name)

    def keep_named(self, kept: KeptAnswer) -> None:
        """Remember draws under their key, a name."""
        name = str(kept.key)
        if self.ledger is not None and (text := kept.text) is not None:
            self.ledger.store.keep(name, text, None)
        self._purchases[name] = kept

    def foreseeing(self) -> Memory:
        """A copy to foresee what statements follow from others that are not answered yet."""
        return replace(
            self,
            ledger=None if self.ledger is None else self.ledger.copied(),
            _series=self._series.copied(),
            _purchases=dict(self._purchases),
            _groups=self._groups.copied(),
            _others=self._others.copied(),
            _foreseen=set(self._foreseen),
        )

    def foresee(self, chosen: Chosen, shared: Shared | None = None) -> None:
        """Take note that these plans will be answered; their noisy values are not known yet.

        As for `keep`, levels of series are drawn where it is said what of them is `shared`.
        """
        plan = chosen.plans[-1]
        self._foreseen.add(chosen.key)
        if plan.subplans or plan.found:
            return
        self._groups.add(scope_of(plan), plan.keys, ((group, ()) for _, group in plan.groups))
        if shared and self._draws_levels(plan):
            drawn = zip(plan.fresh, shared.names(), strict=True)
            cells = scope_of(plan), plan.keys
            self._series.foresee(cells, drawn, self._asker)

    def _remember(self, scope: Scope, kept: KeptAnswer) -> None:
        self._purchases[kept.key] = kept
        known = self._groups.of(scope).get(kept.keys, {})
        # Others can have been shown a recalled group before.
        recalled = ((each, draws) for each, draws in kept.recalled_groups if each not in known)
        self._groups.add(scope, kept.keys, (*recalled, *kept.drawn_groups))

    def _look_up(self, table: Source, where: Expr | None) -> None:
        """Remember what the ledger has kept about these rows since it was last asked."""
        if self.ledger is not None:
            self._take_in(self.ledger.news(table, where))

    def _take_in(self, news: News) -> None:
        for scope, who, kept in news:
            self._series.add((scope, kept.keys), kept.levels, who)
            if who == self._asker:
                self._remember(scope, kept)
            else:
                self._others.add(scope, kept.keys, kept.drawn_groups)

    def _over(self, query: Query) -> tuple[ReleasedGroup, ...]:
        """The groups over the query's rows and cells, the latest first, and then what follows.

        For a query with subqueries there are none: which rows pass its filter depends on noise.
        """
        if query.subqueries:
            return ()

        def over(where: Expr | None) -> Iterator[KeptGroup]:
            self._look_up(query.table, where)
            same = where is query.where
            scope = scope_of(query) if same else scope_over(query.table, where)
            for keys, groups in reversed(self._groups.of(scope).items()):
                latest = islice(reversed(groups), MOST_GROUPS)
                yield from (KeptGroup(where, keys, group) for group in latest)

        self._derivations = {each.group: each for each in derivations(query, over)}
        own = self._groups.over(query)
        return (*islice(reversed(own), MOST_GROUPS), *self._derivations)
