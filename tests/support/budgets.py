"""Budgets to keep to, and sums of losses."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpdb.policy.budget import Budget, Composition
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.privacy.accounting.loss import pure

Floats = npt.NDArray[np.float64]
PURE, ADVANCED, ZCDP = Composition


def times(number: int, sums: ComposedLoss) -> ComposedLoss:
    return ComposedLoss(*(number * part for part in vars(sums).values()))


def alike(number: int, epsilon: Fraction) -> ComposedLoss:
    """So many ε-DP statements."""
    return times(number, ComposedLoss.of(pure(epsilon)))


def of(epsilons: Sequence[Fraction]) -> ComposedLoss:
    return sum((ComposedLoss.of(pure(epsilon)) for epsilon in epsilons), NO_LOSS)


FILTERS = [
    (Fraction(epsilon), Fraction(step), Fraction(delta))
    for epsilon, step, delta in (
        ("2", "0.1", "2e-3"), ("1", "0.05", "0.1"), ("3", "0.1", "0.1"), ("3", "0.5", "0.2"),
        ("0.5", "0.05", "2e-6"), ("1", "0.02", "1e-3"),
    )
]  # fmt: skip
BUDGETS = [
    Budget(Fraction(epsilon), Fraction(delta), queries)
    for epsilon, delta, queries in (
        ("1", "1e-6", 1), ("1", "1e-6", 10), ("1", "1e-6", 100), ("7/3", "0.3", 7),
        ("0.1", "1e-100", 10**6), ("1e-9", "1e-6", 1000), ("1e-9", "1e-100", 10**9),
        ("10000", "1e-6", 10), ("10000", "1e-100", 10**9), ("1", "0.999", 10**9),
    )
]  # fmt: skip


def least_delta(rho: float, epsilon: float) -> float:
    """δ of what is ρ-zCDP, at the best of many orders (Canonne, Kamath, Steinke, Prop. 12)."""
    a = 1 + np.geomspace(1e-3, 1e6, 200_001)
    logs = (a - 1) * (a * rho - epsilon) - np.log(a - 1) + a * np.log1p(-1 / a)
    return float(np.exp(logs.min()))
