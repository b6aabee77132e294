"""How an aggregate is computed from releases, and what is known of it without them."""

from __future__ import annotations

from dataclasses import dataclass

from dpdb.plan.intervals import Interval
from dpdb.plan.moments import NO_MOMENTS, Combination, Moments
from dpdb.plan.obstacles import Obstacle
from dpdb.plan.query import Aggregate, Function


@dataclass(frozen=True)
class Estimate:
    """How one aggregate is computed from releases.

    `releases` are indices into the plan's releases. Counts, sums, averages and variances are
    computed from the `moments` that are read from them, and a quantile may have a bracket beside
    its value; `rows` is a count that is public.
    """

    aggregate: Aggregate
    releases: tuple[int, ...]
    interval: Interval
    """The exact answer lies in this interval, whatever the rows are."""
    rows: int | None = None
    obstacle: Obstacle | None = None
    """Why no row can count for the aggregate, which is then public and has no releases."""
    column: int = 0
    """Which of several quantiles that are selected together it is."""
    atoms: tuple[int, ...] | None = None
    """Which atoms of a histogram a count adds up; None where its release is no histogram."""
    moments: Moments = NO_MOMENTS

    @property
    def combination(self) -> Combination | None:
        """The answer as a linear combination, where it is one: of a COUNT or a SUM."""
        match self.aggregate.function:
            case Function.COUNT:
                return self.moments.count
            case Function.SUM:
                return self.moments.sum
        return None
