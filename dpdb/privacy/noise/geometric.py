"""Geometric noise: P(k) ∝ exp(-k/scale) for k = 0, 1, 2, …"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.privacy.noise.system import draw_exactly

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dpdb.privacy.noise.source import Noise


def geometric(scale: Fraction, size: int, noise: Noise) -> npt.NDArray[np.int64]:
    """`size` independent draws with P(k) ∝ exp(-k/scale) for k >= 0.

    They are the draws of the discrete Laplace that are not negative, which are more than half of
    them. A source of noise may round the scale up, as it does for its Laplace noise of that scale.
    """

    def block(candidates: int) -> npt.NDArray[np.int64]:
        drawn = noise.laplace(scale, candidates)
        return drawn[drawn >= 0]

    return draw_exactly(size, 2, block)
