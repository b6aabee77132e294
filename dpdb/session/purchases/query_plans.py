"""The plans of the queries of a session, and of a batch, within the bound on selecting values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.errors import DpdbError, InvalidOption, TooLarge, UnknownName
from dpdb.ledger.book.plan_text import former_key
from dpdb.ledger.protocol import Balance
from dpdb.plan.batch import unlabelled
from dpdb.plan.identity import identity
from dpdb.plan.logical.query import Options, Query
from dpdb.plan.physical.context import RowCount
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import CONFIDENCE, Release, ReleasedGroup, at_once
from dpdb.plan.planner import plan
from dpdb.plan.ranges.statistics import Ranks, Tally, Total
from dpdb.policy.catalog import Policy
from dpdb.policy.numbers import decimal
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.levels import enough, levels
from dpdb.privacy.mechanisms.mechanism import GridSelection, candidate_count
from dpdb.records import changed, dataclass
from dpdb.sql.selects.statements import Assign, Select

if TYPE_CHECKING:
    from dpdb.answers.estimates import Draws
    from dpdb.session.free_statements import Settings
    from dpdb.sql.selects.statements import Statement
    from dpdb.sql.text.parameters import Member


_ROUNDED = 1 + Fraction(1, 2**20)
"""More than ε can be rounded up by where it is converted from ρ."""
Shares = tuple[BudgetShare, ...]
Plans = tuple[Plan, ...]
"""The plans to be carried out one after the other, until an answer is as asked.

They are one, or several of rising ε where the query asks for a relative error.
"""


def possible_plans(
    query: Query,
    policy: Policy,
    shares: Shares,
    rows: RowCount,
    remembered: tuple[ReleasedGroup, ...] = (),
) -> tuple[Plans, ...]:
    """The plans of a query by each theorem.

    `shares` are what a query gets by each theorem. `rows` gives the
    number of rows of a table, where that is public; what follows from the `remembered` groups is
    not drawn again. Raises TooLarge where all of them are.
    """
    possible: list[Plans] = []
    refusals: list[TooLarge] = []
    for even in _usable(shares, query):
        share = _with_delta(even, query.options)
        try:
            possible.append(plans_of(query, policy, share, rows, remembered))
        except TooLarge as refusal:
            refusals.append(refusal)
    if not possible:
        raise refusals[0]
    return tuple(possible)


def best_plans(possible: Sequence[Plans], options: Options, balance: Balance) -> Plans:
    """The plans with the least noise among those that leave each later query its even part.

    Where none does, those that take the least of what is left. Where the query says which ε it may
    spend, those with the least noise that spend no more, by the theorem that pays; raises
    InvalidOption where there are none.
    """
    if options.epsilon is not None and not options.has_accuracy_goal:
        return min(_within(possible, options.epsilon, balance), key=lambda each: _noise(each[-1]))
    if len(possible) == 1:
        return possible[0]

    def rank(plans: Plans) -> tuple[Fraction, float]:
        return balance.strain(plans[-1].composed_loss), _noise(plans[-1])

    return min(possible, key=rank)


def _within(possible: Sequence[Plans], most: Fraction, balance: Balance) -> Sequence[Plans]:
    """The plans that spend no more than the ε that their query names.

    Before the first charge by ρ, all that was spent by the sum counts as well, and then an ε by ρ
    may be more than the share says; so may one by the sum, where ρ has paid.
    """
    prices = [balance.raised_by(plans[-1].composed_loss) for plans in possible]
    limit = most * _ROUNDED
    within = [plans for plans, price in zip(possible, prices, strict=True) if price <= limit]
    if not within:
        least = min(prices)
        raise InvalidOption(
            f"this would spend ε {decimal(least, 6)}, as zero-concentrated DP pays from here on, "
            f"and epsilon = {decimal(most)} is the most it may",
            hint="without an epsilon of its own, a query has its share of the budget",
        )
    return within


def usual_share(query: Query, balance: Balance) -> BudgetShare:
    """The share of a query that is planned together with others."""
    epsilon = query.options.epsilon
    usable = _usable(balance.shares_within(epsilon), query)
    usual = balance.share if epsilon is None else usable[0]
    return _with_delta(usual if usual in usable else usable[0], query.options)


def _usable(shares: Shares, query: Query) -> Shares:
    """The shares by which a query can be planned: Gaussian noise ends what a sum pays for."""
    return shares[-1:] if query.options.kind.is_euclidean else shares


def _with_delta(share: BudgetShare, options: Options) -> BudgetShare:
    """The share with the δ that a query asks for."""
    return changed(share, delta=share.delta if options.delta is None else options.delta)


def plans_of(
    query: Query,
    policy: Policy,
    share: BudgetShare,
    rows: RowCount,
    remembered: tuple[ReleasedGroup, ...] = (),
    *,
    weights: tuple[Fraction, ...] = (),
    together: bool = False,
) -> Plans:
    """The plans of a query that may spend `share`."""
    shares = [share]
    if query.options.relative_error is not None:
        shares = [replace(share, epsilon=epsilon) for epsilon in levels(share.epsilon)]
    more = (remembered,) if remembered else ()
    plans = tuple(
        plan(query, policy, each, rows, *more, weights=weights, together=together)
        for each in shares
    )
    for each in plans:
        check_candidates(each)
    return plans


def _noise(planned: Plan) -> float:
    """The logarithm of the noise of a plan: the mean over its releases."""
    cubes = [cube for each in planned.every_plan for cube in each.cubes]
    shown = [release for cube in cubes for plan in cube.shown for release in plan.releases]
    sizes = [size for release in shown or planned.every_release if (size := _size(release))]
    return math.fsum(map(math.log, sizes)) / len(sizes) if sizes else 0.0


def _size(release: Release) -> float:
    """About the standard deviation of the noise of a release, as a number of rows.

    What is read from a vector has the noise of several parts in it. A selection has the scale of
    its score instead.
    """
    totals = [part.statistic for part in release.parts if isinstance(part.statistic, Total | Tally)]
    row = max([1, *(abs(end) for total in totals for end in total.bounds)])
    spread = release.level.deviation if release.level else release.mechanism.spread
    return math.sqrt(len(release.parts)) * spread / row


def key_of(planned: Plan, options: Options) -> str:
    """Equal for queries that are answered with the same draws: asking again is free."""
    confidence = _confidence(planned, options)
    if confidence is None:
        return planned.identity
    return identity((planned.identity, options.relative_error, confidence))


def former_key_of(planned: Plan, options: Options) -> object:
    """The key of a query in earlier versions; None where it may mean several."""
    return former_key(planned, options, _confidence(planned, options))


def _confidence(planned: Plan, options: Options) -> float | None:
    """At which confidence a relative error is asked for; None where none is."""
    if options.relative_error is None:
        return None
    return at_once(float(options.confidence or CONFIDENCE), planned.competing_rows)


def is_accurate(plan: Plan, values: Draws, options: Options) -> bool:
    """Whether the noise on every cell is within the relative error asked for."""
    (release,), (cells,), confidence = plan.releases, values, _confidence(plan, options)
    assert release.noise is not None
    assert options.relative_error is not None
    assert confidence is not None
    margin = release.noise.quantile(confidence)
    return all(enough(value, margin, options.relative_error) for value in cells.tolist())


MAX_CANDIDATES = 5_000_000
"""The most candidates of all selections of a statement: a few seconds of work for any data."""


def check_candidates(planned: Plan) -> None:
    """Raise TooLarge for a plan whose selections weigh too many candidates."""
    number = sum(
        each.cells * candidates_of(release)
        for each in planned.every_plan
        for release in each.releases
    )
    if number > MAX_CANDIDATES:
        raise TooLarge(
            f"selecting these values can take {number} candidates, {MAX_CANDIDATES} are allowed",
            hint="ask for fewer of them, for fewer groups, or with more epsilon",
        )


def candidates_of(release: Release) -> int:
    """The most candidates that a release weighs for one group, whatever the rows are."""
    mechanism = release.mechanism
    match release.statistic:
        case Tally(values=listed):
            return candidate_count(mechanism, len(listed), listed=True)
        case Ranks(rungs=rungs) if isinstance(mechanism, GridSelection):
            return candidate_count(mechanism, len(rungs))
        case Ranks(grid=grid):
            return candidate_count(mechanism, grid.upper - grid.lower + 1)
    return candidate_count(mechanism, 0)


@dataclass(frozen=True)
class Asked:
    """A query of a batch, with what it may spend."""

    text: str
    query: Query
    share: BudgetShare
    is_fresh: bool = False
    """Whether it gets fresh noise, and is paid for, even if it was answered before."""

    @property
    def name(self) -> Query:
        """Equal for queries with the same answer."""
        return unlabelled(self.query)


def asked_in(
    members: Sequence[Member],
    read: Callable[..., Statement],
    settings: Settings,
    balance: Balance,
    *,
    teach: bool,
) -> list[Asked]:
    """The queries among statements that are to be answered one after the other.

    What SET sets among them holds for those after it. Raises DpdbError, which names the statement.
    """
    asked, made = [], set[str]()
    for text, parameters, options in members:
        try:
            statement = read(text, parameters, **options)
            if isinstance(statement, Select) and statement.name:
                made.add(statement.name.casefold())
            match statement:
                case Assign() as assign:
                    settings = settings.changed(assign, teach=teach)
                case Select(query=query, explain=False) if not (
                    settings.unprotected or query.public
                ):
                    query = replace(query, options=settings.filled(query))
                    share, is_fresh = usual_share(query, balance), settings.repeats_are_paid
                    asked.append(Asked(text, query, share, is_fresh))
        except DpdbError as error:
            if isinstance(error, UnknownName) and error.table in made:
                message = f"{error.message} yet: a plan comes before its statements"
                hint = "CREATE TEMP TABLE goes above SET plan = on, or into a file before"
                error = UnknownName(message, hint=hint, place=error.place)
            error.statement = text
            raise error from None
    return asked
