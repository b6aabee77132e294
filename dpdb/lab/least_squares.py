"""What counts of subsets say of everybody's bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def estimates(
    subsets: npt.NDArray[np.int64] | Sequence[Sequence[int]], counts: Sequence[float]
) -> npt.NDArray[np.float64]:
    """For each of n bits the number that fits the counts best: ½ where they say nothing of it.

    Each of m subsets is a row of n zeros and ones, and its count is that of the ones among the
    bits it chooses. Of all x with the least |S·x - counts|, where S is the m × n matrix of the
    subsets, this is the one nearest to (½, …, ½).
    """
    import numpy as np  # noqa: PLC0415 (a list of attacks does without)

    matrix = np.asarray(subsets, dtype=float)
    excess = np.asarray(counts) - matrix.sum(axis=1) / 2
    return np.asarray(np.linalg.lstsq(matrix, excess)[0] + 0.5)
