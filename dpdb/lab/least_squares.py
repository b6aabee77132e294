"""Least squares: an estimate of everybody's bit from counts of subsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def estimates(
    subsets: npt.NDArray[np.int64] | Sequence[Sequence[int]], counts: Sequence[float]
) -> npt.NDArray[np.float64]:
    """Estimates of n bits from m counts; ½ for a bit that the counts say nothing about.

    Each subset is a row of n zeros and ones, and its count is the number of ones among the bits
    that it chooses. Let S be the m × n matrix of the subsets. Among all x with the least
    |S·x - counts|, the result is the one nearest to (½, …, ½).
    """
    import numpy as np  # noqa: PLC0415 (a list of attacks does without)

    matrix = np.asarray(subsets, dtype=float)
    excess = np.asarray(counts) - matrix.sum(axis=1) / 2
    return np.asarray(np.linalg.lstsq(matrix, excess)[0] + 0.5)
