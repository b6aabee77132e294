"""The protocols of a source of noise, and of the values that a mechanism selects from."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LARGEST_SCALE = 2**56
"""The largest scale of Laplace noise, in grid steps."""


class Noise(Protocol):
    """A source of exact integer randomness."""

    @property
    def private(self) -> bool:
        """Whether nobody can predict the noise."""
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
    """Raise ValueError for a scale outside (0, 2^56], for which noise does not fit 64 bits."""
    if not 0 < scale <= LARGEST_SCALE:
        raise ValueError("the scale of the noise must be over 0 and at most 2^56")


class SortedValues(Protocol):
    """Whole numbers in ascending order: an array, or what an engine keeps in place of one."""

    def __len__(self) -> int:
        """The number of values."""

    def __getitem__(self, ranks: Any, /) -> Any:  # noqa: ANN401 (as of an array)
        """The values of some ranks, or the value of one."""

    def searchsorted(self, v: npt.NDArray[Any] | int, /, side: Any = ...) -> Any:  # noqa: ANN401
        """The number of values less than each number; with the side `right`, or equal to it."""
