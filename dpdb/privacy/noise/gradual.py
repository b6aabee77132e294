"""Gradual release: noise that is reduced step by step until an answer is accurate enough.

At losses ε_1 < … < ε_m an analyst sees f + Z_1, …, f + Z_m, where Z_j is discrete Laplace noise of
scale Δ/ε_j. The coarser noise is the finer noise plus independent noise, Z_j = Z_{j+1} + W_j. So
all values up to step j can be computed from f + Z_j alone, and together cost ε_j instead of
ε_1 + … + ε_j ([KHP17], for continuous noise). The decision to stop uses only released values, so
the loss is that of the last step: ex-post privacy ([LNRWW17]).
"""

# ruff: noqa: PLC0415 - numpy is loaded by the first draw, not from here

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from dpdb.privacy import mechanisms
from dpdb.privacy.noise.rounding import round_up
from dpdb.privacy.noise.source import check_scale

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dpdb.privacy.noise.source import Noise

SLACK = mechanisms.SLACK
"""What is charged on top of ε_j for the rounding of `still`: far more than the rounding can cost.

The values before step j are computed from f + Z_j without f, so an error of `still` matters only
for the step from the finer noise to Z_j. With an error of at most 2^-191, the probability of this
step has a relative error of at most 2^-138: a step to another value has a probability in proportion
to 1 - still >= 2^-53 (see `_scale_as_drawn`), and a step to the same value one of at least
P(W = 0) > 2^-52. Over m steps and c groups that differ, a ratio of probabilities changes by less
than a factor exp(m·c·2^-136).
"""
_BITS = 192
_DIGITS = 80  # 1 - r loses 17 for scales up to 2^56, and 192 bits need 58


def ladder(scales: Sequence[Fraction], size: int, noise: Noise) -> list[npt.NDArray[np.int64]]:
    """Noise at each of the decreasing `scales`, in grid steps: an array of `size` values for each.

    The finest noise is drawn first. The next coarser noise of a group is the finer noise itself
    with probability `still`, and otherwise the finer noise plus independent noise of the coarser
    scale. The coarser noise is drawn for all groups, so that the time does not depend on which
    groups use it. Scales are rounded up (see `_scale_as_drawn`). Sums may wrap around an int64,
    which costs no privacy and has probability below exp(-8000) at scales up to `MAX_SCALE`.

    Raises ValueError for a scale over `MAX_SCALE`.
    """
    import numpy as np

    if max(scales) > mechanisms.MAX_SCALE:
        raise ValueError("the scale of noise in a ladder must be at most 2^50")
    falling = [_scale_as_drawn(scale) for scale in scales]
    steps = [noise.laplace(falling[-1], size)]
    for finer, coarser in pairwise(reversed(falling)):
        stays = _bernoulli(still(finer, coarser), size, noise)
        steps.append(steps[-1] + np.where(stays, 0, noise.laplace(coarser, size)))
    return steps[::-1]


def still(finer: Fraction, coarser: Fraction) -> Fraction:
    """The probability that the coarser noise equals the finer noise, to within 2^-191.

    Let r = exp(-1/scale), r₂ for the finer scale and r₁ for the coarser. The discrete Laplace has
    the generating function (1-r)² / ((1-rz)(1-r/z)), and the coarser's over the finer's is
    p + (1-p)·(the coarser's), with p = (r₂/r₁)·((1-r₁)/(1-r₂))². So Z₁ = Z₂ + B·W for a W of the
    coarser scale and B = 0 with probability p; 1 - p = (1 - r₂/r₁)(1 - r₁r₂)/(1-r₂)² >= 0. Equally
    p = (sinh(1/2b₁) / sinh(1/2b₂))², which for large scales is (b₂/b₁)², the continuous noise's.
    """
    if finer > coarser:
        raise ValueError("the scales of a ladder must not increase")
    check_scale(coarser)
    with localcontext(Context(prec=_DIGITS)):
        ratio = _exp(1 / coarser - 1 / finer)
        p = ratio * ((1 - _exp(-1 / coarser)) / (1 - _exp(-1 / finer))) ** 2
        return Fraction(int(p * 2**_BITS), 2**_BITS)


def _exp(power: Fraction) -> Decimal:
    return (Decimal(power.numerator) / Decimal(power.denominator)).exp()


def _scale_as_drawn(scale: Fraction) -> Fraction:
    """The scale rounded up to one that every source of noise draws without rounding.

    The result is a double, for OpenDP, and a multiple of 2^-62, for SystemNoise. `still` needs the
    scale that is drawn, and two such scales that differ do so by at least 2^-53 of the larger.
    """
    check_scale(scale)
    return Fraction(math.ceil(Fraction(round_up(scale)) * 2**62), 2**62)


def _bernoulli(chance: Fraction, size: int, noise: Noise) -> npt.NDArray[np.bool_]:
    """Independent values that are true with probability `chance`, exactly.

    A random word is compared with the first 64 binary digits of `chance`. If they are equal, which
    has probability 2^-64, another draw decides by the remaining digits.
    """
    import numpy as np

    random_bytes = noise.below(2 ** (64 * size)).to_bytes(8 * size, "little")
    words = np.frombuffer(random_bytes, dtype="<u8", count=size)
    digits, rest = divmod(chance * 2**64, 1)
    true: npt.NDArray[np.bool_] = words < digits
    for tie in (words == digits).nonzero()[0]:
        true[tie] = noise.below(rest.denominator) < rest.numerator
    return true
