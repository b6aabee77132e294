"""The plans of a query: one is made for each theorem that can pay, and the best is chosen.

Under zCDP a query can be paid for by the sum of ε, with Laplace noise, or by ρ, with Gaussian
noise. What is chosen follows from the plans and the budget alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import fmean

from dpdb.errors import TooLarge
from dpdb.ledger.protocol import Balance
from dpdb.plan.candidates import check_candidates
from dpdb.plan.lowering import RowCount
from dpdb.plan.plan import CONFIDENCE, Plan, Release, at_once
from dpdb.plan.planner import plan
from dpdb.plan.query import Options, Query
from dpdb.plan.statistics import Total
from dpdb.policy.budget import SMALLEST_DELTA
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.gradual_release import levels
from dpdb.privacy.mechanisms import Exponential, Gaussian, Laplace
from dpdb.privacy.walk import Walk
from dpdb.sql.option_names import MECHANISMS

Shares = tuple[BudgetShare, ...]
Plans = tuple[Plan, ...]
"""The plans to be carried out one after the other, until an answer is as asked.

They are one, or several of rising ε where the query asks for a relative error.
"""


def possible_plans(
    query: Query, policy: Policy, shares: Shares, rows: RowCount
) -> tuple[Plans, ...]:
    """The plans of a query by each theorem.

    `shares` are what a query gets, by each theorem, that asks for nothing special. `rows` gives the
    number of rows of a table, where that is public. Raises TooLarge where all of them are.
    """
    found: list[Plans] = []
    refusals: list[TooLarge] = []
    for share, mechanism in _ways(query.options, shares):
        options = replace(query.options, mechanism=mechanism)
        try:
            found.append(_plans(replace(query, options=options), policy, share, rows))
        except TooLarge as refusal:
            refusals.append(refusal)
    if not found:
        raise refusals[0]
    return tuple(found)


def best_plans(possible: Sequence[Plans], balance: Balance, queries: int = 1) -> Plans:
    """The plans with the least noise of those that leave each later query its even part.

    They are for so many queries together.

    Where none does, those that take the least of what is left.
    """
    if len(possible) == 1:
        return possible[0]

    def rank(plans: Plans) -> tuple[Fraction, float]:
        return balance.strain(plans[-1].composed_loss, queries), _noise(plans[-1])

    return min(possible, key=rank)


def _ways(options: Options, shares: Shares) -> Iterator[tuple[BudgetShare, str]]:
    """The shares of the budget that a query may spend, each with the noise of counts and sums."""
    if options.mechanism == "gaussian" or options.sensitivity == "smooth":
        shares = shares[-1:]  # the others have no δ
    for even in shares:
        share = replace(
            even,
            epsilon=even.epsilon if options.epsilon is None else options.epsilon,
            delta=even.delta if options.delta is None else options.delta,
        )
        chosen = options.mechanism if options.mechanism in MECHANISMS else None
        yield share, chosen or _least(share, options)


def _least(share: BudgetShare, options: Options) -> str:
    """The noise that is the less for a share: Gaussian noise, where its ρ is what is paid for."""
    laplace_only = options.noise_index or options.relative_error or share.delta < SMALLEST_DELTA
    return "gaussian" if share.concentrated and not laplace_only else "laplace"


def _plans(query: Query, policy: Policy, share: BudgetShare, rows: RowCount) -> Plans:
    shares = [share]
    if query.options.relative_error is not None:
        shares = [replace(share, epsilon=epsilon) for epsilon in levels(share.epsilon)]
    plans = tuple(plan(query, policy, each, rows) for each in shares)
    for each in plans:
        check_candidates(each)
    return plans


def _noise(planned: Plan) -> float:
    """The logarithm of the noise of a plan: the mean over what its aggregates are made of."""
    sizes = [size for size in _sizes(planned) if size]
    return fmean(map(math.log, sizes)) if sizes else 0.0


def _sizes(planned: Plan) -> Iterator[float]:
    """The size of the noise of each release behind each aggregate, those of subqueries first."""
    for subplan in planned.subplans:
        yield from _sizes(subplan)
    for estimate in planned.estimates:
        terms = 1 if estimate.atoms is None else len(estimate.atoms)
        for index in estimate.releases:
            yield _size(planned.releases[index]) * math.sqrt(terms)


def _size(release: Release) -> float:
    """About the standard deviation of the noise of a release, as a number of rows.

    A selection has the scale of its score instead, and a walk that of its looks.
    """
    match release.mechanism:
        case Laplace(scale=scale):
            return math.sqrt(2) * float(scale) / _row(release)
        case Gaussian(scale=scale):
            return float(scale) / _row(release)
        case Exponential(scale=scale) | Walk(look_scale=scale):
            return float(scale)
    return float(1 / release.mechanism.epsilon)


def _row(release: Release) -> int:
    """The most that one row adds to a statistic."""
    statistic = release.statistic
    return max(1, *map(abs, statistic.bounds)) if isinstance(statistic, Total) else 1


def identity(planned: Plan, options: Options) -> object:
    """Equal for queries that are answered with the same draws: asking again is free."""
    if options.relative_error is None:
        return planned.identity
    confidence = at_once(float(options.confidence or CONFIDENCE), planned.competing_rows)
    return planned.identity, options.relative_error, confidence
