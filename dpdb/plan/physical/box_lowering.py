"""The lowering of several averages over one filter into one vector with the noise of a box.

The vector is the number of rows and Σ (x - c) of each argument x, for the middle c of its bounds;
where that is between two grid steps, twice the sum. Where the number of rows is public it is left
out. An argument that can be NULL has a number of values of its own beside its sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpdb.plan.expressions.expressions import Expr
from dpdb.plan.physical.moment_lowering import MomentLowering
from dpdb.plan.physical.moments import Combination, Moment, Moments, constant, value
from dpdb.plan.physical.release import Release
from dpdb.plan.ranges.statistics import Count, Joint, Part, Total
from dpdb.policy.budget import Neighbors
from dpdb.privacy.mechanisms.box import LARGEST_RATE, MOST_COORDINATES
from dpdb.privacy.sensitivity import box_steps

_GAIN = Fraction(121, 100)
"""The least ratio of variances for which averages are drawn together: a tenth less noise."""


def lower_together(
    lowerings: Sequence[MomentLowering], needed: frozenset[Moment]
) -> tuple[Release, list[Moments]]:
    """The release of the vector, and the moments of each argument that are read from it."""
    first, read = lowerings[0], list[Moments]()
    rows = None if first.rows is None else constant(first.rows())
    parts, halves = list[Part](), list[int]()

    def counted(argument: Expr | None) -> Combination:
        parts.append(Part("count", Count(argument, first.where)))
        halves.append(1)
        return value(0, len(parts) - 1)

    if rows is None and _counts_rows(lowerings, needed):
        rows = counted(None)
    for each in lowerings:
        number = counted(each.argument) if each.nullable else rows
        assert number is not None
        grid = each.grid_of(False)
        odd = (grid.lower + grid.upper) % 2
        coefficients = (-1, 2) if odd else (0, 1)
        statistic = Total(each.summed, each.where, grid, grid.centre, coefficients)
        total = (value(0, len(parts)) + number * odd) * Fraction(1, 1 + odd)
        parts.append(Part("sum", statistic, unit=grid.step / (1 + odd)))
        halves.append(max(map(abs, statistic.bounds)))
        read.append(each.about(grid, number, total, rows=rows))
    mechanism = first.choice.for_box(tuple(halves), first.share)
    return Release("averages", Joint(tuple(parts)), mechanism), read


def _counts_rows(lowerings: Sequence[MomentLowering], needed: frozenset[Moment]) -> bool:
    """Whether the number of all rows is a part of the vector, if it is not public."""
    return Moment.ROWS in needed or not all(each.nullable for each in lowerings)


def is_less_noisy(
    lowerings: Sequence[MomentLowering],
    needed: frozenset[Moment],
    shares: tuple[int, int],
    *,
    counted: bool,
) -> bool:
    """Whether one box has less noise than a pair of sums for each of several averages.

    Each pair would have one of the first number of equal `shares`, and the box one of the second.
    In units of h²/ε² a box has the variance (m + 1)(m + 2)/3 on each of m coordinates, and 4 times
    that under `replace`. A pair has 4 on sums and counts, and under `replace` 16 with several cells
    and 8 with one. If counts or sums are `counted`, they must not be noisier than where all pairs
    that know the number of rows tell it together.
    """
    contribution, epsilon = lowerings[0].choice.contribution, lowerings[0].share.epsilon
    nullable = sum(each.nullable for each in lowerings)
    public = lowerings[0].rows is not None
    dimensions = len(lowerings) + nullable + (not public and _counts_rows(lowerings, needed))
    alike = len(lowerings) - (0 if Moment.ROWS in needed else nullable)
    replaced = contribution.neighbors is Neighbors.REPLACE
    pair = 2 if replaced and contribution.group_count == 1 else 4
    box = Fraction((dimensions + 1) * (dimensions + 2), 3) * shares[1] ** 2
    apart = pair * shares[0] ** 2
    most = Fraction(apart, max(alike, 1) if counted else 1)
    within = dimensions <= MOST_COORDINATES and epsilon <= LARGEST_RATE * box_steps(contribution)
    return within and box * _GAIN <= apart and box <= most
