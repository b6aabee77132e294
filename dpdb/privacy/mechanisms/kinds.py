"""The kinds of noise that a query can ask for, and the laws that their tails are compared with.

Planning knows the kind before there is a mechanism: the kind decides which releases are drawn.
"""

from __future__ import annotations

from enum import Enum, StrEnum, auto
from typing import assert_never


class NoiseKind(StrEnum):
    """The noise on counts and sums: the values of the option `mechanism`."""

    LAPLACE = auto()
    GAUSSIAN = auto()
    STAIRCASE = auto()

    @property
    def is_euclidean(self) -> bool:
        """Whether its loss is by ℓ2 sensitivity; such noise needs δ, and gains from no vector."""
        match self:
            case NoiseKind.LAPLACE | NoiseKind.STAIRCASE:
                return False
            case NoiseKind.GAUSSIAN:
                return True
            case other:
                assert_never(other)

    @property
    def draws_vectors(self) -> bool:
        """Whether one draw of it hides a vector, as `MechanismChoice.for_joint` makes it."""
        match self:
            case NoiseKind.LAPLACE:
                return True
            case NoiseKind.GAUSSIAN | NoiseKind.STAIRCASE:
                return False
            case other:
                assert_never(other)

    @property
    def of_ratios(self) -> NoiseKind:
        """The noise on the sums behind averages and variances, which needs a `Law`.

        Their sums are a vector, or by ℓ2 sensitivity releases of their own. If it is another kind,
        counts and sums are drawn apart from these.
        """
        return self if self.draws_vectors or self.is_euclidean else NoiseKind.LAPLACE


class Law(Enum):
    """A law of real numbers L such that whole noise is below L + 1 in the stochastic order.

    P(x >= z) <= P(L >= z - 1) for all whole z. Of Laplace noise that is 2r <= 1 + r for r =
    exp(-1/scale), of Gaussian noise it is [CKS20] Proposition 25, and of a box its `excess`.
    Weighted sums of such noises are compared with weighted sums of L.
    """

    LAPLACE = auto()
    NORMAL = auto()
    BOX = auto()
