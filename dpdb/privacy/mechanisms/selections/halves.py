"""Several quantiles of the same values by recursive halves ([KSS22] Algorithm 1).

The middle one of the fractions is selected first, by the exponential mechanism as a quantile by
itself. It cuts the rows in two, and each half gives its own quantiles, within its own bounds. A row
is in one of the halves only, so selections beside each other cost what one of them does, and m
quantiles cost ⌈log₂(m + 1)⌉ levels rather than m selections. What is selected rises with q.

Ties. Where t rows have the value v that is selected, the cut may be before, between or after them.
A candidate is a value with a place u in [0, 1), which puts ⌊u·(t + 1)⌋ of the t rows into the lower
half, and its rank counts these. One more such row is one more row in one half and none in the
other, whatever u is. Only the number in the lower half is needed of u, so that is drawn:
each of 0 … t has the weight exp(-rate·distance)/(t + 1).

Privacy, for a row that enters. For given values and places, only the selections on the row's way
down the tree have other rows than before. Each of their probabilities changes by at most
exp(2Δ·rate) with Δ = max(p, 1 - p), for the fraction p that a node seeks of its own rows. So the
loss is at most the largest sum A of 2Δ·rate along a way. A row that is replaced moves ranks by 1 in
the nodes that hold it before and after, and where its ways part costs A on either:

    A = 2Δ·rate + max(A_left, A_right)
    R = 2·rate + max(R_left, R_right, A_left + A_right)

The changes of several rows, one after the other, add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpdb.policy.budget import Neighbors
from dpdb.privacy.accounting.loss import Loss, pure
from dpdb.privacy.mechanisms.selections.exponential import SLACK, Exponential
from dpdb.privacy.sensitivity import Contribution
from dpdb.records import dataclass

_ZERO = Fraction(0)


@dataclass(frozen=True)
class Node:
    """A selection, and those that the lower and the upper half of its rows are left to."""

    place: int
    """The index of its fraction, from the least."""
    fraction: Fraction
    """The part of the node's own rows that are to be below."""
    lower: Node | None
    upper: Node | None

    @property
    def levels(self) -> int:
        """The number of selections on the longest way down from here."""
        return 1 + max((child.levels for child in self.children), default=0)

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes of the halves, where there are any."""
        return tuple(child for child in (self.lower, self.upper) if child is not None)

    @property
    def sensitivity(self) -> Fraction:
        """Δ: the most that a row that enters changes the score of a candidate."""
        return max(self.fraction, 1 - self.fraction)


def tree(
    fractions: Sequence[Fraction],
    low: Fraction = _ZERO,
    high: Fraction = Fraction(1),
    place: int = 0,
) -> Node | None:
    """The tree over rising fractions, of rows that are the part from `low` to `high` of all."""
    if not fractions:
        return None
    middle = len(fractions) // 2
    sought = fractions[middle]
    return Node(
        place + middle,
        (sought - low) / (high - low),
        tree(fractions[:middle], low, sought, place),
        tree(fractions[middle + 1 :], sought, high, place + middle + 1),
    )


@dataclass(frozen=True)
class Halves:
    """The selection of several quantiles, whose loss together is `epsilon`."""

    name: ClassVar[str] = "halves"
    title: ClassVar[str] = "recursive halves"
    changes: ClassVar[str] = "the most {} can change it (of a value's rank in its half)"
    formula: ClassVar[str] = "1/rate"
    fractions: tuple[Fraction, ...]
    """In rising order, above 0 and below 1."""
    epsilon: Fraction
    contribution: Contribution

    @cached_property
    def root(self) -> Node:
        """The selection that is made first."""
        root = tree(self.fractions)
        assert root is not None
        return root

    @property
    def middle(self) -> Fraction:
        """The fraction that is selected first."""
        return self.fractions[self.root.place]

    @cached_property
    def rates(self) -> dict[int, Fraction]:
        """For each place the rate of its selection: the factor of a distance in ranks.

        A row on any way down loses the same, divided evenly among the selections left to make.
        SLACK is taken off for every selection that changing one row can concern.
        """
        each = dict(_rates(self.root, Fraction(1)))
        contribution = self.contribution
        if contribution.neighbors is Neighbors.ADD_REMOVE:
            loss = Fraction(1)
        elif contribution.group_count > 1:
            loss = max(Fraction(2), _when_replaced(self.root, each))
        else:
            loss = _when_replaced(self.root, each)
        rows = contribution.rows_per_unit
        spare = 2 * self.root.levels * rows * SLACK
        scale = max(self.epsilon - spare, _ZERO) / (loss * rows)
        return {place: scale * rate for place, rate in each.items()}

    def selection(self, node: Node) -> Exponential:
        """The exponential mechanism of one node, for one row that enters."""
        span = 2 * node.sensitivity
        return Exponential(node.sensitivity, span * self.rates[node.place] + SLACK)

    @property
    def sensitivity(self) -> Fraction:
        """The largest Δ of the selections."""
        return max(node.sensitivity for node in nodes(self.root))

    @property
    def scale(self) -> Fraction:
        """The largest scale of a selection, in ranks: 1/rate."""
        return 1 / min(self.rates.values())

    @property
    def nearness(self) -> str:
        """The nearness of the values, in words."""
        return (
            f"{len(self.fractions)} values are chosen, in {self.root.levels} levels of halves; "
            "how near depends on the rows"
        )

    @property
    def spread(self) -> float:
        """The largest scale, to compare plans by."""
        return float(self.scale)

    @property
    def loss(self) -> Loss:
        """The privacy loss, which is that of all selections together."""
        return pure(self.epsilon)

    @property
    def squared_error(self) -> Fraction:
        """The sum of the squared errors of the ranks, where each selection errs by 1/rate.

        A node's target lies between the values above it in the tree, and errs with them.
        """
        return _squared_error(self.root, self.rates, _ZERO, _ZERO)


def nodes(root: Node) -> Iterator[Node]:
    """All nodes of a tree, each before those below it."""
    yield root
    for child in root.children:
        yield from nodes(child)


def _rates(node: Node, epsilon: Fraction) -> Iterator[tuple[int, Fraction]]:
    """The rates at which a row that enters loses `epsilon` from this node on."""
    own = epsilon / node.levels
    yield node.place, own / (2 * node.sensitivity)
    for child in node.children:
        yield from _rates(child, epsilon - own)


def _when_entering(node: Node | None, rates: dict[int, Fraction]) -> Fraction:
    """A: the loss from this node on of a row that enters."""
    if node is None:
        return _ZERO
    below = max(_when_entering(child, rates) for child in (node.lower, node.upper))
    return 2 * node.sensitivity * rates[node.place] + below


def _when_replaced(node: Node | None, rates: dict[int, Fraction]) -> Fraction:
    """R: the loss from this node on of a row that is replaced."""
    if node is None:
        return _ZERO
    halves = (node.lower, node.upper)
    together = max(_when_replaced(child, rates) for child in halves)
    apart = sum((_when_entering(child, rates) for child in halves), _ZERO)
    return 2 * rates[node.place] + max(together, apart)


def _squared_error(
    node: Node, rates: dict[int, Fraction], below: Fraction, above: Fraction
) -> Fraction:
    part = node.fraction
    own = (1 - part) ** 2 * below + part**2 * above + 1 / rates[node.place] ** 2
    lower = _ZERO if node.lower is None else _squared_error(node.lower, rates, below, own)
    upper = _ZERO if node.upper is None else _squared_error(node.upper, rates, own, above)
    return own + lower + upper
