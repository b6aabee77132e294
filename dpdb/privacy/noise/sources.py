"""The sources of noise by the names that a policy gives them; one of them is OpenDP's samplers.

OpenDP's `make_laplace` and `make_gaussian` over integers sample the discrete distributions with
rational arithmetic ([CKS20]), a second implementation with proofs of its own. They take their scale
as a double. An exact scale is rounded up to a double, so the noise is never less than what was paid
for.
"""

# ruff: noqa: PLC0415 - opendp may be missing, and numpy is loaded by the first draw

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from dpdb.errors import InvalidOption, UsageError, did_you_mean
from dpdb.privacy.noise.acceptance import check_variance
from dpdb.privacy.noise.protocols import Noise, check_scale
from dpdb.privacy.noise.system import SystemNoise

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class OpenDPNoise:
    """A source of noise that draws with OpenDP; uniform integers come from SystemNoise.

    The time of a draw may depend on its value, because OpenDP's work is not constant.
    Raises UsageError where the opendp package is not installed.
    """

    private = True

    def __init__(self) -> None:
        try:
            import opendp.prelude as opendp
        except ImportError as missing:
            raise UsageError(
                "the noise source 'opendp' needs the opendp package",
                hint='pip install "dpdb[opendp]"',
            ) from missing
        opendp.enable_features("contrib")
        self._opendp = opendp
        self._system = SystemNoise()

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        """`size` independent draws with P(x) ∝ exp(-|x|/scale), made by adding noise to zeros.

        OpenDP saturates at the ends of int64. A draw reaches them with probability below exp(-127)
        at 2^56, the largest scale allowed.
        """
        import numpy as np

        check_scale(scale)
        dp = self._opendp
        vectors = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        release = dp.m.make_laplace(*vectors, scale=round_up(scale))
        return np.array(cast("list[int]", release([0] * size)), dtype=np.int64)

    def gaussian(self, variance: Fraction, size: int) -> npt.NDArray[np.int64]:
        """`size` independent draws with P(x) ∝ exp(-x²/(2·variance)), by noise on zeros.

        Rounding raises the variance by at most 2^-50 of itself, which is far within the margin of
        the bound on its δ (`gaussian_calibration.discrete_profile`).
        """
        import numpy as np

        check_variance(variance)
        dp = self._opendp
        vectors = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="i64")
        release = dp.m.make_gaussian(*vectors, scale=root_up(variance))
        return np.array(cast("list[int]", release([0] * size)), dtype=np.int64)

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound), from the operating system's entropy."""
        return self._system.below(bound)


def round_up(scale: Fraction) -> float:
    """The least double that is not below `scale`."""
    nearest = float(scale)  # correctly rounded, so at most one step away
    return nearest if nearest >= scale else math.nextafter(nearest, math.inf)


def root_up(variance: Fraction) -> float:
    """The least double whose square is not below `variance`."""
    root = math.sqrt(variance)  # at most two steps away, on either side
    while root and Fraction(root) ** 2 >= variance:
        root = math.nextafter(root, 0)
    while Fraction(root) ** 2 < variance:
        root = math.nextafter(root, math.inf)
    return root


SOURCES = ("system", "opendp")


def source(name: str) -> Noise:
    """The source of noise called `name`: `system` (the default) or `opendp` (an optional extra)."""
    if name == "system":
        return SystemNoise()
    if name == "opendp":
        return OpenDPNoise()
    hint = did_you_mean(name, SOURCES) or f"one of: {', '.join(SOURCES)}"
    raise InvalidOption(f"no noise source is called {name!r}", hint=hint)


def seeded(seed: int) -> SystemNoise:
    """The samplers of SystemNoise on a generator with a known seed, which protects nobody."""
    return SystemNoise(random.Random(seed).randbytes)  # noqa: S311 (predictable is the point)
