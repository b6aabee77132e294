"""Gradual release: noise that is reduced step by step until an answer is accurate enough.

At losses ε_1 < … < ε_m an analyst sees f + Z_1, …, f + Z_m, where Z_j is discrete Laplace noise of
scale Δ/ε_j. They have the law of Z_j = Z_{j+1} + W_j for W_1, …, W_{m-1} that are independent of
each other and of Z_m. These are a Markov chain, and so they are backwards: given Z_j, Z_{j+1} does
not depend on the noise before Z_j, and can be drawn from Z_j alone (see `refinement`). As all
values up to step j can be computed from f + Z_j and coins, they cost ε_j together instead of
ε_1 + … + ε_j ([KHP17], for continuous noise). The decision to stop uses only released values, so
the loss is that of the last step: ex-post privacy ([LNRWW17]).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from dpdb.privacy.mechanisms import MAX_SCALE
from dpdb.privacy.noise.refinement import refine

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dpdb.privacy.noise.source import Noise


class GradualNoise:
    """Noise at each of the falling `scales`, in grid steps: a vector of `size` values for each.

    It is drawn on demand and kept, so nothing is drawn finer than what was asked for, and a step
    that is asked for again is the same noise. The scales are whole parts of the first, by which a
    source of noise rounds all of them in proportion. It goes on from noise that was `told`, if any
    was: that of the last step, by its number.

    Raises ValueError for other scales, and for a scale over `MAX_SCALE`.
    """

    def __init__(
        self,
        scales: Sequence[Fraction],
        size: int,
        noise: Noise,
        told: Mapping[int, npt.NDArray[np.int64]] = MappingProxyType({}),
    ):
        self._unit, self._size, self._noise = scales[0], size, noise
        parts = [self._unit / scale for scale in scales]
        if self._unit > MAX_SCALE:
            raise ValueError("the scale of gradual noise must be at most 2^50")
        if any(part.denominator > 1 for part in parts):
            raise ValueError("the scales of gradual noise must be whole parts of the first")
        self._rates = [int(part) for part in parts]
        self._drawn = dict(told)

    def at(self, step: int) -> npt.NDArray[np.int64]:
        """The noise of one of the steps; those before it are drawn first."""
        for each in range(max(self._drawn, default=-1) + 1, step + 1):
            self._drawn[each] = self._next(each)
        return self._drawn[step]

    def _next(self, step: int) -> npt.NDArray[np.int64]:
        if not step:
            return self._noise.laplace(self._unit, self._size)
        rates = self._rates[step - 1], self._rates[step]
        return refine(self._drawn[step - 1], self._unit, rates, self._noise)
