"""Budgets to keep to, and sums of losses."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpdb.policy.budget import Composition
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


def least_delta(rho: float, epsilon: float) -> float:
    """δ of what is ρ-zCDP, at the best of many orders (Canonne, Kamath, Steinke, Prop. 12)."""
    a = 1 + np.geomspace(1e-3, 1e6, 200_001)
    logs = (a - 1) * (a * rho - epsilon) - np.log(a - 1) + a * np.log1p(-1 / a)
    return float(np.exp(logs.min()))
