"""The ε of many queries together, by each composition theorem."""

from __future__ import annotations

from fractions import Fraction

from dpdb.errors import InvalidOption
from dpdb.policy.budget import LARGEST_QUERIES, SMALLEST_DELTA
from dpdb.privacy.accounting.composition import (
    ComposedLoss,
    advanced,
    advanced_as_printed,
    concentrated,
    sequential,
)
from dpdb.privacy.accounting.loss import pure
from dpdb.records import dataclass


@dataclass(frozen=True)
class ComposedEpsilon:
    """The ε of `queries` queries by each theorem; all but `sequential` hold at δ = `delta`."""

    queries: int
    delta: float
    sequential: float
    advanced: float
    advanced_as_printed: float
    """Advanced composition with k·ε² in place of k·ε·(e^ε - 1): often printed, but no bound."""
    concentrated: float


def check_delta(delta: Fraction) -> None:
    """Refuse a δ that is too small to compute with, or 1 as a double."""
    if delta < SMALLEST_DELTA or float(delta) >= 1:
        raise InvalidOption("delta must be above 0, from 1e-100, and below 1")


def composed_epsilon(epsilon: Fraction, queries: int, delta: Fraction) -> ComposedEpsilon:
    """The composed ε of `queries` Laplace releases of `epsilon` each."""
    if not 1 <= queries <= LARGEST_QUERIES:
        raise InvalidOption("queries is a whole number, at least 1")
    check_delta(delta)
    sums = ComposedLoss(*(queries * part for part in ComposedLoss.of(pure(epsilon)).parts))
    return ComposedEpsilon(
        queries,
        float(delta),
        float(sequential(sums)),
        float(advanced(sums, delta)),
        advanced_as_printed(float(epsilon), queries, float(delta)),
        float(concentrated(sums, delta)),
    )
