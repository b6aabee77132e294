"""Global sensitivities: how far one privacy unit can move an exact statistic.

The sensitivity of f is the largest ℓ1 distance between f(x) and f(y) over all neighbouring x and y
([DMNS06] Definition 2). A grouped answer is one vector with a component for each group, and a unit
of r rows moves it at most r times as far as one row does. All results are exact, in steps of the
statistic's grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from dpdb.policy.budget import Neighbors
from dpdb.records import dataclass


@dataclass(frozen=True)
class Contribution:
    """The ways in which the rows of one privacy unit can enter a statistic."""

    neighbors: Neighbors
    optional: bool
    """Whether a row may be left out: by a filter, by a NULL, or because its key has no group."""
    group_count: int = 1
    """The number of groups; under `replace` a row can move from one to another."""
    rows_per_unit: int = 1
    """The most rows of one unit that are counted."""
    groups_per_unit: int | None = None
    """The most groups that these rows are in; None where only their own number limits it."""
    one_per_group: bool = False
    """Whether a unit adds one value to each group that it has rows in, and not one for each row."""
    rooms: tuple[tuple[int, int], ...] = ()
    """For each kind of unit the most groups that one is in, and its room in each, in rows, where
    rows have two owners and sums are filled; none elsewhere."""

    @property
    def fixed(self) -> bool:
        """Whether every row is always counted, so that the count is the public number of rows.

        This needs units of one row: a unit with more rows than its cap is not counted in full.
        """
        return self.neighbors is Neighbors.REPLACE and not self.optional and self.rows_per_unit == 1

    @property
    def one_way(self) -> bool:
        """Whether a neighbour moves the ranks of all values in all groups in one direction.

        Under `replace` this needs units of one row and a single group, in which a row moves up or
        moves down. Otherwise rows may leave one group and others enter another.
        """
        if self.neighbors is Neighbors.ADD_REMOVE:
            return True
        return self.group_count == 1 and self.rows_per_unit == 1

    @property
    def groups_touched(self) -> int:
        """The most groups that the rows of one unit can enter or leave."""
        ends = 2 if self.neighbors is Neighbors.REPLACE else 1
        return min(self.group_count, ends * self.groups_entered)

    @property
    def apart(self) -> Iterator[tuple[Contribution, int]]:
        """Contributions to a single number, each with how many of these make up a unit's.

        Number by number: all rows of the unit may be in one, and each number that it touches
        changes. Row by row: each changes one number, or two as it leaves one group for another.
        """
        optional = self.optional or self.group_count > 1
        alone = replace(self, group_count=1, optional=optional)
        yield alone, self.groups_touched
        if not self.one_per_group:
            moved = self.neighbors is Neighbors.REPLACE and self.group_count > 1
            yield replace(alone, rows_per_unit=1), self.rows_per_unit * (2 if moved else 1)

    @property
    def groups_entered(self) -> int:
        """The most groups that the rows of one unit are in at a time."""
        most = min(self.rows_per_unit, self.group_count)
        return most if self.groups_per_unit is None else min(most, self.groups_per_unit)


def total(lower: int, upper: int, contribution: Contribution) -> int:
    """The sensitivity of Σ y over counted rows, each with an integer y in [lower, upper].

    Under add-remove a row enters or leaves one group, which changes its sum by at most
    max(|lower|, |upper|). Under replace the y of a row changes by at most upper - lower. If the row
    may be left out, y may change to or from 0; with several groups the row may leave one group and
    enter another, which changes two sums.

    Where a unit adds one y to each group that it is in, however many rows it has, the groups count
    that it can be in. A filled sum moves by at most a room in each group of a unit
    (`engines.units.filling`).
    """
    largest = max(abs(lower), abs(upper))
    if contribution.rooms:
        return largest * max(groups * room for groups, room in contribution.rooms)
    if contribution.one_per_group:
        return _of_groups(largest, max(upper, 0) - min(lower, 0), contribution)
    if contribution.neighbors is Neighbors.ADD_REMOVE:
        change = largest
    elif contribution.group_count > 1:
        change = 2 * largest
    elif contribution.optional:
        change = max(upper, 0) - min(lower, 0)
    else:
        change = upper - lower
    return change * contribution.rows_per_unit


def _of_groups(alone: int, both: int, contribution: Contribution) -> int:
    """The most that groups change by in all, where a unit adds one value to each that it is in.

    A group that a unit enters or leaves changes by at most `alone`, and by at most `both` one that
    it was in and still is. Of n groups a unit is in g at a time. Under `replace` it was in g and is
    in g: if a of these are the same, which is g at most and 2g - n at least, 2·(g - a) others
    change, too, and the sum is linear in a.
    """
    groups, each = contribution.group_count, contribution.groups_entered
    if contribution.neighbors is Neighbors.ADD_REMOVE:
        return each * alone
    same = (max(0, 2 * each - groups), each)
    return max(stay * both + 2 * (each - stay) * alone for stay in same)


def joint(signed_bounds: Iterable[tuple[int, int]], contribution: Contribution) -> int:
    """The joint ℓ1 sensitivity of a vector Σ t over counted rows.

    For each choice of signs s, `signed_bounds` has the least and greatest Σ s·t of a counted row.
    An ℓ1 norm is the largest of its signed sums, |v₁| + … + |v_d| = max over s of s·v. So a row
    moves the vector as far as it moves the signed sum that it moves most, and each of these is a
    total. Noise of a scale in proportion to this, on each part, is ε-DP; it is the K-norm mechanism
    of the ℓ1 ball, which is best where the changes of a row fill the ball ([HT10] section 4, [AS21]
    section 3).
    """
    return max(total(lower, upper, contribution) for lower, upper in signed_bounds)


def apart(bounds: Iterable[tuple[int, int]], contribution: Contribution) -> int:
    """The ℓ1 sensitivity of filled sums, each of which has rooms of its own: they add up.

    `bounds` has the least and greatest that a row adds to each.
    """
    return sum(total(lower, upper, contribution) for lower, upper in bounds)


def box_steps(contribution: Contribution) -> int:
    """The most changes of single rows of which a neighbour is made.

    Each moves a vector of a number of rows and centred sums, in whatever cell, by at most one in
    the norm of the box that holds what a row adds (`mechanisms.box`): a row that enters or leaves
    is one such change. Under `replace` a row leaves and another enters, also where their number is
    public: sums then change by twice the farthest distance from the centre at most.
    """
    return contribution.rows_per_unit * (2 if contribution.neighbors is Neighbors.REPLACE else 1)


def distinct(contribution: Contribution) -> int:
    """The sensitivity of the number of distinct values.

    A row that enters or leaves adds or removes at most one value. A row that is replaced can remove
    one value and add another: this moves the number of one group by at most 1, and the numbers of
    two groups by at most 1 each.
    """
    moved = contribution.neighbors is Neighbors.REPLACE and contribution.group_count > 1
    return (2 if moved else 1) * contribution.rows_per_unit


def units(contribution: Contribution) -> int:
    """The sensitivity of the number of units that have rows; it is also its squared ℓ2 sensitivity.

    A unit counts once in each group that it has rows in, so each group changes by at most 1. Under
    `replace` a group that held old rows and holds new rows of the unit does not change.
    """
    return contribution.groups_touched


def total_squared(lower: int, upper: int, contribution: Contribution) -> int:
    """The squared ℓ2 sensitivity of Σ y, with the arguments of `total`.

    If a unit touches one group only, ℓ1 and ℓ2 are the same. Under `replace` a row either stays in
    its group, which moves by at most upper - lower, or leaves one group and enters another: changes
    a and b of two groups have a² + b² <= 2·max(a², b²). Where a unit adds one y to each
    group, the squares of what `total` says of each group add up; so they do of filled sums.
    """
    if contribution.rooms:
        largest = max(abs(lower), abs(upper))
        return largest**2 * max(groups * room**2 for groups, room in contribution.rooms)
    if contribution.one_per_group:
        largest, width = max(abs(lower), abs(upper)), max(upper, 0) - min(lower, 0)
        return _of_groups(largest**2, width**2, contribution)
    if contribution.neighbors is Neighbors.ADD_REMOVE or contribution.groups_touched == 1:
        return total(lower, upper, contribution) ** 2
    largest = max(abs(lower), abs(upper))
    return max(2 * largest**2, (upper - lower) ** 2) * contribution.rows_per_unit**2


def distinct_squared(contribution: Contribution) -> int:
    """The squared ℓ2 sensitivity of the number of distinct values.

    Under `replace` a row changes two groups by 1 each, so the squared distance is 2.
    """
    if contribution.neighbors is Neighbors.ADD_REMOVE or contribution.groups_touched == 1:
        return distinct(contribution) ** 2
    return 2 * contribution.rows_per_unit**2


def rank(fraction: Fraction, contribution: Contribution) -> Fraction:
    """The sensitivity, in ranks, of the score of a value v as the `fraction`-quantile.

    The score is minus the distance between fraction·n and the interval [#{x < v}, #{x <= v}], the
    rank error of v ([Smi11] section 3, with ties counted as an interval). For q = `fraction`, a row
    that enters moves q·n by q and at most one end of the interval by 1, so the score changes by at
    most max(q, 1 - q). A row that is replaced within a group moves each end by at most 1 and leaves
    n; with several groups it may leave one group and enter another.
    """
    one = max(fraction, 1 - fraction)
    if contribution.neighbors is Neighbors.REPLACE:
        one = 2 * one if contribution.group_count > 1 else Fraction(1)
    return one * contribution.rows_per_unit


def is_one_sided_rank(fraction: Fraction) -> bool:
    """Whether the scores of `rank` change against each other by at most their sensitivity.

    They do for the least and the greatest value. A row that enters or leaves moves the number of
    rows below each value, and of those above it, in one direction by 0 or 1; so does a row that
    is replaced within a group, as it moves up or down. With several groups it may leave one and
    enter another, which `rank` counts as two changes. The changes of several rows add up.
    """
    return fraction in (0, 1)


def tally(lower: int, upper: int, contribution: Contribution) -> Fraction:
    """The sensitivity of the score of a value as the mode: Σ w over the rows that have the value.

    Each row has an integer w in [lower, upper], which is 1 where rows are counted. Let M be the
    largest |w|. A score changes by at most M for each group that a row enters or leaves. A row that
    is replaced within a group leaves one value and enters another, or it keeps its value and w
    changes by at most upper - lower. That is at most M where all w have one sign. Where they have
    both, 2M is said: by so much the scores change against each other (see `is_one_sided_tally`).

    The least is a grid step, so that weights that are all 0 have a scale.
    """
    moved = contribution.neighbors is Neighbors.REPLACE and (
        contribution.group_count > 1 or lower < 0 < upper
    )
    largest = max(abs(lower), abs(upper), 1)
    return Fraction((2 if moved else 1) * largest * contribution.rows_per_unit)


def is_one_sided_tally(lower: int, upper: int, contribution: Contribution) -> bool:
    """Whether the scores of `tally` change against each other by at most their sensitivity.

    A row that enters or leaves a group changes one score, by |w| <= M, and no other; so scores
    change against each other by at most M, whichever sign w has, and all of ε serves ([DDR20],
    bounded range; [MT07] Theorem 6 and [DR14] Theorem 3.10 need 2M, for any scores). The changes of
    several rows add up. A row that is replaced within a group lowers one score and raises another,
    which then change against each other by 2M. With several groups, or weights of both signs,
    `tally` is 2M already, and a row that is replaced can do no more than that.
    """
    both_signs = lower < 0 < upper
    several = contribution.group_count > 1
    return contribution.neighbors is Neighbors.ADD_REMOVE or several or both_signs
