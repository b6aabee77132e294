"""What a source of noise is: exact integer randomness, in one protocol."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LARGEST_SCALE = 2**56


class Noise(Protocol):
    """A source of exact integer randomness."""

    @property
    def private(self) -> bool:
        """Whether nobody can foretell it."""
        ...

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        """`size` independent draws of the discrete Laplace: P(x) ∝ exp(-|x|/scale)."""
        ...

    def gaussian(self, variance: Fraction, size: int) -> npt.NDArray[np.int64]:
        """`size` independent draws of the discrete Gaussian: P(x) ∝ exp(-x²/(2·variance))."""
        ...

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound), for an integer of any size."""
        ...


def check_scale(scale: Fraction) -> None:
    """Refuse a scale outside (0, 2^56], for which 64-bit noise has no room."""
    if not 0 < scale <= LARGEST_SCALE:
        raise ValueError("the scale of the noise must be over 0 and at most 2^56")
