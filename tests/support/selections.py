"""Exponential mechanisms, and e^x to be sure of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dpdb.policy.budget import Neighbors
from dpdb.privacy import sensitivity
from dpdb.privacy.mechanisms.selections.exponential import FARTHEST, Exponential
from dpdb.privacy.noise.exponential import pieces
from dpdb.privacy.sensitivity import Contribution
from tests.support.brute import Pairs, score

CLAIMED = Fraction(1, 2**44)
"""The relative error of one weight, by the module's docstring."""


def exponential(x: Fraction) -> Fraction:
    """e^x to 50 digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def integers(values: Iterable[int]) -> npt.NDArray[np.int64]:
    return np.array(sorted(values), dtype=np.int64)


def mechanism(fraction: Fraction, relation: Neighbors, epsilon: Fraction) -> Exponential:
    """The mechanism that the planner chooses for the `fraction`-quantile of one cell."""
    change = sensitivity.rank(fraction, Contribution(relation, optional=True))
    return Exponential(change, epsilon, sensitivity.is_one_sided_rank(fraction))


def listed_pieces(
    values: npt.NDArray[np.int64], grid: tuple[int, int], fraction: Fraction, chosen_by: Exponential
) -> tuple[list[int], list[int], list[int]]:
    """The starts, the lengths and the weights of the pieces, as Python's integers."""
    starts, lengths, each = pieces(values, grid, fraction, chosen_by)
    return starts.tolist(), lengths.tolist(), each.whole()


def distribution(
    values: npt.NDArray[np.int64], grid: tuple[int, int], fraction: Fraction, chosen_by: Exponential
) -> list[Fraction]:
    """The exact probability of each point of the grid, in order."""
    starts, lengths, each = listed_pieces(values, grid, fraction, chosen_by)
    assert starts[0] == grid[0]
    assert all(length >= 0 for length in lengths)
    ends = [start + length for start, length in zip(starts, lengths, strict=True)]
    assert all(end == start for end, (_, start) in zip(ends[:-1], pairwise(starts), strict=True))
    assert ends[-1] == grid[1] + 1
    assert sum(lengths) == grid[1] - grid[0] + 1
    assert all(isinstance(weight, int) and weight > 0 for weight in each)
    total = sum(weight * length for weight, length in zip(each, lengths, strict=True))
    by_weight = {weight: Fraction(weight, total) for weight in each}
    return [by_weight[weight] for weight, n in zip(each, lengths, strict=True) for _ in range(n)]


def by_definition(
    values: Sequence[int], grid: tuple[int, int], fraction: Fraction, chosen_by: Exponential
) -> list[Fraction]:
    """P(v) ∝ exp(rate·score(v)) with scores clamped at FARTHEST, to 50 digits; O(n·grid)."""
    points = range(grid[0], grid[1] + 1)
    exponents = [max(score(values, v, fraction) * chosen_by.rate, -FARTHEST) for v in points]
    memory = {x: exponential(Fraction(x)) for x in set(exponents)}
    total = sum(memory[x] for x in exponents)
    by_exponent = {x: weight / total for x, weight in memory.items()}
    return [by_exponent[x] for x in exponents]


def largest_ratio(distributions: Sequence[Sequence[Fraction]], pairs: Pairs) -> Fraction:
    """The largest quotient of an output's two probabilities, over all pairs of neighbours."""
    largest = Fraction(1)
    for left, right in zip(*(side.tolist() for side in pairs), strict=True):
        seen = {*zip(distributions[left], distributions[right], strict=True)}
        for p, q in seen:
            ratio = p / q if p > q else q / p
            largest = max(largest, ratio)
    return largest


def close(found: Sequence[Fraction], exact: Sequence[Fraction]) -> None:
    """Each probability has a weight's relative error above the line and below it."""
    assert len(found) == len(exact)
    for p, q in {*zip(found, exact, strict=True)}:
        assert abs(p / q - 1) <= 2 * CLAIMED + CLAIMED**2 * 4
