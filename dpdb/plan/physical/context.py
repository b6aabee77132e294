"""The inputs of the planner besides the query, for all aggregates alike."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpdb.plan.logical.query import NO_OPTIONS, Options
from dpdb.plan.physical.release import ReleasedGroup
from dpdb.policy.catalog import Policy, Table
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.records import dataclass

RowCount = Callable[[Table], int]
"""Returns the number of rows of a table; called only if that number is public."""
NO_SHARE = BudgetShare(Fraction(0))
"""The share of an aggregate that is public and has no noise."""


@dataclass(frozen=True)
class PlanningContext:
    """The planner's inputs besides the query: policy, public row counts, options, share."""

    policy: Policy
    rows: RowCount
    options: Options = NO_OPTIONS
    share: BudgetShare = NO_SHARE
    """Budget share of the whole query."""
    remembered: tuple[ReleasedGroup, ...] = ()
    """Groups that were drawn before, over the same rows and groups as the query's own."""
    selections: int = 1
    """Number of key selections (GROUP BY of found keys) in the query and its subqueries."""
    weights: tuple[Fraction, ...] = ()
    """The parts of the share that release groups have, in proportion; none where all are equal."""
    together: bool = False
    """Whether all counts are drawn as one histogram, and averages over one filter as one vector.

    Shares are then given by need: a histogram that is too large, or noisier, is not drawn.
    """

    @property
    def concentrated(self) -> bool:
        """Whether the share is one of concentrated privacy, where the squares of ε add up."""
        return self.share.concentrated
