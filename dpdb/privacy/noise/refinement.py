"""Finer noise, given the coarser noise of the same answer: an answer that was told is told again.

Let Z₁ be discrete Laplace noise of scale s₁, with P₁(x) ∝ r₁^|x| for r₁ = exp(-1/s₁), and Z₂ noise
of a smaller scale s₂. Told f + Z₁ first and f + Z₂ later, somebody learns no more than f + Z₂ alone
tells, if Z₁ = Z₂ + B·W for coins B and W that are independent of Z₂: f + Z₁ is then a function of
f + Z₂ and of coins. So both together cost what the finer one costs, for vectors by the ℓ1
sensitivity, and s₂ may be chosen after f + Z₁ was seen ([KHP17] has this for continuous noise).

The coupling. The generating function of P₁ is (1-r₁)² / ((1-r₁t)(1-r₁/t)). Let ϱ = r₂/r₁ and
τ = r₁r₂. As (1-r₂t)(1-r₂/t) = ϱ·(1-r₁t)(1-r₁/t) + (1-ϱ)(1-τ), the generating function of Z₁ over
that of Z₂ is p + (1-p)·(that of Z₁), with p = ϱ·((1-r₁)/(1-r₂))² and
1-p = (1-ϱ)(1-τ)/(1-r₂)² >= 0. So W has the law of Z₁, and B = 0 with probability p, or else B = 1.

The conditional law. P(Z₂ = z | Z₁ = x) = P₂(z)·(p·[z = x] + (1-p)·P₁(x-z)) / P₁(x). For x >= 0 let
c = ϱ^(x+1)·(1-τ)/(1-ϱτ). Since ϱτ = r₂², this is

    z < 0          (1-ϱ)(1-τ)/(1-ϱτ) · τ^-z
    0 <= z <= x    (1-ϱ)(1-τ)/(1-ϱτ) · ϱ^z,  and for z = x besides  c·(1-r₁²)/(1-τ)
    z > x          c·(r₁²-τ)/(1-τ) · (1-τ)·τ^(z-x-1)

For x < 0 it is the mirror image of this.

The draw. Let Geo(q) have P(k) = (1-q)·q^k for k >= 0, and draw g, g′ of Geo(ϱ), h, j of Geo(τ) and
e of Geo(r₁²). Then g - h has the law of the first two lines without z = x's addition, for every z,
and exceeds x with probability c. P(e <= g′) = (1-r₁²)/(1-r₁²ϱ) = (1-r₁²)/(1-τ), as r₁²ϱ = τ. So z
is g - h where that is at most x, and otherwise x where e <= g′, and x + 1 + j where not.

The scales. If s₁ = u/m₁ and s₂ = u/m₂ for whole m₁ < m₂, the rates of ϱ, τ and r₁² are
(m₂-m₁)/u, (m₁+m₂)/u and 2m₁/u. For G of Geo(exp(-1/u)) the whole part of G/m is of Geo(exp(-m/u)),
as P(G >= mk) = exp(-mk/u). So all is drawn at the one scale u, in integers, and if a source of
noise rounds u, it does so for Z₁ and Z₂ alike.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpdb.privacy.noise.geometric import geometric

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpdb.privacy.noise.source import Noise


def refine(
    coarse: npt.NDArray[np.int64], unit: Fraction, rates: tuple[int, int], noise: Noise
) -> npt.NDArray[np.int64]:
    """Noise of scale unit/m₂, given that the noise of scale unit/m₁ was `coarse`; m₁, m₂ = `rates`.

    `coarse` must have been drawn at exactly that scale, with the `unit` to which the source rounds,
    and each noise may be refined once: who needs the finer noise again must keep it. All draws are
    made before `coarse` is looked at, as many whatever it is. Sums would leave an int64 with
    probability below exp(-8000) for units up to 2^50.

    Raises ValueError unless 0 < m₁ < m₂.
    """
    low, high = rates
    if not 0 < low < high:
        raise ValueError("a finer scale must be smaller than the coarser one")
    divisors = np.array([high - low, high - low, high + low, high + low, 2 * low])
    drawn = geometric(unit, divisors.size * coarse.size, noise).reshape(divisors.size, -1)
    g, other_g, h, j, e = drawn // divisors[:, np.newaxis]
    size, difference = np.abs(coarse), g - h
    beyond = np.where(e <= other_g, size, size + 1 + j)
    fine = np.where(difference <= size, difference, beyond)
    return np.where(coarse < 0, -fine, fine)
