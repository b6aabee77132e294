"""Noise that is taken away step by step, until an answer is as accurate as was asked.

At losses ε_1 < … < ε_m an analyst sees f + Z_1, …, f + Z_m, where Z_j is discrete Laplace of scale
Δ/ε_j. The coarser noise is the finer and more, Z_j = Z_{j+1} + something independent, so all that
was seen up to step j is made from f + Z_j alone and costs ε_j, not ε_1 + … + ε_j (Koufogiannis,
Han, Pappas, "Gradual Release of Sensitive Data under Differential Privacy", 2017, for continuous
noise). When to stop is decided on what was seen, so the loss is that of the last step: ex-post
privacy (Ligett, Neel, Roth, Waggoner, Wu, "Accuracy First", 2017).
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
"""What is charged on top of ε_j, for the rounding of `still`: far more than it can cost.

What was seen before step j is made from f + Z_j without f, so a wrong `still` costs something only
in the finer noise that nobody has seen. With it off by at most 2^-191, going from Z_{j+1} to Z_j
has a probability off by a factor within 1 ± 2^-138: to another value it is in proportion to
1 - still >= 2^-53 (see `_drawn`), to the same value it is at least P(W = 0) > 2^-52. Over m steps
and c cells that differ, a ratio of probabilities moves by less than exp(m·c·2^-136).
"""
_BITS = 192
_DIGITS = 80  # scales are at most 2^56, so 1 - r loses 17 of them; 58 make up 192 bits


def ladder(scales: Sequence[Fraction], size: int, noise: Noise) -> list[npt.NDArray[np.int64]]:
    """Noise of each of the decreasing `scales`, for `size` cells: every array is the next and more.

    The finest is drawn first. Where a cell does not stay (see `still`) it gets independent noise of
    the coarser scale on top, which is drawn for all cells, or the time would tell which stay.
    Scales are rounded up a little: see `_drawn`. Sums may wrap around an int64, which costs no
    privacy and, at scales up to `MAX_SCALE`, happens with probability below exp(-8000).
    """
    import numpy as np

    if max(scales) > mechanisms.MAX_SCALE:
        raise ValueError("the scale of noise in a ladder must be at most 2^50")
    falling = [_drawn(scale) for scale in scales]
    steps = [noise.laplace(falling[-1], size)]
    for finer, coarser in pairwise(reversed(falling)):
        stays = _bernoulli(still(finer, coarser), size, noise)
        steps.append(steps[-1] + np.where(stays, 0, noise.laplace(coarser, size)))
    return steps[::-1]


def still(finer: Fraction, coarser: Fraction) -> Fraction:
    """The probability that noise of the coarser scale is the finer noise as it is, within 2^-191.

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


def _drawn(scale: Fraction) -> Fraction:
    """The scale rounded up to one that every source of noise draws as it is.

    A double, for OpenDP, and a multiple of 2^-62, for SystemNoise. `still` needs the scale that is
    drawn, and two of these that differ do so by 2^-53 of the larger at least. More noise than was
    paid for, never less.
    """
    check_scale(scale)
    return Fraction(math.ceil(Fraction(round_up(scale)) * 2**62), 2**62)


def _bernoulli(chance: Fraction, size: int, noise: Noise) -> npt.NDArray[np.bool_]:
    """Independent values that are true with probability `chance`, exactly.

    A random word decides by the first 64 binary digits of `chance`, all but one time in 2^64.
    """
    import numpy as np

    drawn = noise.below(2 ** (64 * size)).to_bytes(8 * size, "little")
    words = np.frombuffer(drawn, dtype="<u8", count=size)
    digits, rest = divmod(chance * 2**64, 1)
    true: npt.NDArray[np.bool_] = words < digits
    for tie in (words == digits).nonzero()[0]:
        true[tie] = noise.below(rest.denominator) < rest.numerator
    return true
