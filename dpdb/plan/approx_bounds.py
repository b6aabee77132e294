"""APPROX_BOUNDS: bounds for values of which nobody knows any, from a noisy histogram.

The bins are powers of two on both sides of zero, so that few are enough for all numbers, as in
Google's ApproxBounds ([WZLDSG20]). A row is in one bin at most, so one release counts them all.
Bounds are the ends of the outermost bins whose noisy numbers are above a threshold that noise alone
passes in hardly any answer. Rows beyond are so few that the noise hides them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from dpdb.plan.expressions import Expr, Literal, compare, logic
from dpdb.plan.statistics import Histogram
from dpdb.policy.catalog import Kind
from dpdb.privacy.mechanisms import Gaussian, Laplace

FAILURE = 0.001
"""The probability that some bin without rows is taken for one with many."""
_SMALLEST, _LARGEST = -10, 53
"""The exponents of the bins' ends; for whole numbers they begin at 0."""


@dataclass(frozen=True)
class Bin:
    """Numbers from `low` to `high`: an end nearer to zero is not in it, but in a bin of zero."""

    low: Fraction
    high: Fraction


def bins(kind: Kind) -> tuple[Bin, ...]:
    """All bins in ascending order; that of zero holds nothing else.

    What is beyond the outermost bins is in them, as no bounds can reach farther.
    """
    first = 0 if kind is Kind.INTEGER else _SMALLEST
    ends = [Fraction(0), *(Fraction(2) ** exponent for exponent in range(first, _LARGEST + 1))]
    above = [Bin(low, high) for low, high in pairwise(ends)]
    below = [Bin(-each.high, -each.low) for each in reversed(above)]
    return (*below, Bin(Fraction(0), Fraction(0)), *above)


def histogram(argument: Expr, where: Expr | None) -> Histogram:
    """The statistic that counts the values in each bin: an atom for each, the highest bin first.

    Its conditions are, for each bin, that a value is in it or below it: so a row fulfils that of
    its own bin and those of all above.
    """
    conditions = tuple(_conditions(argument, where))
    number = len(conditions)
    atoms = ((False,) * place + (True,) * (number - place) for place in reversed(range(number)))
    return Histogram(conditions, tuple(atoms))


def _conditions(argument: Expr, where: Expr | None) -> Iterator[Expr]:
    *others, _ = bins(argument.kind)
    for each in others:
        end = Literal(_constant(each.high, argument.kind), argument.kind)
        yield _both(where, compare("<=" if each.low >= 0 else "<", argument, end))
    yield _both(where, compare("=", argument, argument))  # whatever is not NULL


def _both(where: Expr | None, condition: Expr) -> Expr:
    return condition if where is None else logic("and", [where, condition])


def _constant(end: Fraction, kind: Kind) -> int | Fraction:
    return int(end) if kind is Kind.INTEGER else end


def threshold(mechanism: Laplace | Gaussian, number: int) -> float:
    """What noise on `number` bins exceeds with probability FAILURE at most, in any of them."""
    return mechanism.quantile(1 - FAILURE / number)
