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

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpdb.privacy.mechanisms.laplace import MAX_SCALE
from dpdb.privacy.noise.acceptance import ChanceBounds, coins, exp_digits
from dpdb.privacy.noise.system import geometric

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpdb.privacy.levels import Step
    from dpdb.privacy.noise.protocols import Noise

    Values = npt.NDArray[Any]


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


def level(
    step: Step, levels: Mapping[Fraction, Values], exact: Values | None, noise: Noise
) -> Values:
    """The noisy values of the level that is wanted, from those of its neighbours by their scales.

    `exact` are the exact values, which are asked for only where the step needs them.

    Let r = exp(-1/s) for a scale s, and σ = (1-r)²/r = 4·sinh²(1/2s), larger for finer noise. With
    p = σ₁/σ₂ the coupling above is Z₁ = Z₂ + B·W, where B is 0 with probability p.

    Coarser. From Z₂ the noise Z₁ is drawn as that says. No data are looked at: B·W is added to f +
    Z₂.

    Between. Let s₁ > s > s₂, and x = Z₁ - Z₂. The level Z = Z₂ + U between them has, with P₁ for
    the law of scale s₁, P for that of scale s, a = σ/σ₂ and b = σ₁/σ,

        P(U = u | x) ∝ (a·[u = 0] + (1-a)·P(u)) · (b·[x = u] + (1-b)·P₁(x-u))

    The second summand of the first factor, times the second factor, adds up to (1-a)·P₁(x) by the
    coupling of s₁ and s; normalised, it is the law of `refine` for x. The first summand has u = 0
    and the weight a·(b·[x = 0] + (1-b)·P₁(x)). So U is 0 with probability π, and otherwise refined
    from x:

        x != 0    π = a(1-b) / (a(1-b) + 1-a) = (σ-σ₁) / (σ₂-σ₁)
        x  = 0    π = (σ + 2(1-r₁)) / (σ₂ + 2(1-r₁))

    where P₁(0) = (1-r₁)/(1+r₁) was put in. Both are between 0 and 1, and x is known.

    Coins. A chance is a rational function of the r, and rises or falls with each of them. Binary
    digits of r bound it from both sides; a random real is compared with the bounds, with as many
    digits of both as it takes. So the coins are exact. They look at released values alone.
    """
    if step.is_there:
        return levels[step.wanted]
    if step.finer is None:
        assert exact is not None
        assert step.coarser is not None
        return exact + _refined(levels[step.coarser] - exact, step, noise)
    fine = levels[step.finer]
    if step.coarser is None:
        added = noise.laplace(step.wanted, fine.size).reshape(fine.shape)
        none = coins(_staying(step), fine.size, noise).reshape(fine.shape)
        return np.asarray(fine + np.where(none, 0, added))
    difference = np.asarray(levels[step.coarser] - fine)
    between = _refined(difference, step, noise)
    chances = [coins(_between(step, same=each), fine.size, noise) for each in (True, False)]
    same, other = (each.reshape(fine.shape) for each in chances)
    return np.asarray(fine + np.where(np.where(difference == 0, same, other), 0, between))


def _refined(coarse: Values, step: Step, noise: Noise) -> npt.NDArray[np.int64]:
    """Noise of the scale that is wanted, given noise of the coarser scale."""
    rates = step.rate(step.coarser), step.rate(step.wanted)
    drawn = refine(np.asarray(coarse).ravel().astype(np.int64), step.unit, rates, noise)
    return drawn.reshape(np.shape(coarse))


def chance_to_stay(r: Fraction, r2: Fraction) -> Fraction:
    """The chance p that a coarser level is the same as the finer one."""
    return _sigma(r) / _sigma(r2)


def chance_between(r1: Fraction, r: Fraction, r2: Fraction, *, same: bool) -> Fraction:
    """The chance π that a level between two is the finer one; `same` says that these are equal."""
    shift = 2 * (1 - r1) if same else -_sigma(r1)
    return (_sigma(r) + shift) / (_sigma(r2) + shift)


def _sigma(r: Fraction) -> Fraction:
    return (1 - r) ** 2 / r


def _staying(step: Step) -> ChanceBounds:
    """Bounds of p, which falls with r and rises with r₂."""

    def bounds(digits: int) -> tuple[Fraction, Fraction]:
        (low, high), (low2, high2) = (
            _ratio(step, scale, digits) for scale in (step.wanted, step.finer)
        )
        return chance_to_stay(high, low2), chance_to_stay(low, high2)

    return lru_cache(bounds)


def _between(step: Step, *, same: bool) -> ChanceBounds:
    """Bounds of π, which falls with r and rises with r₂, and with r₁ unless x = 0."""

    def bounds(digits: int) -> tuple[Fraction, Fraction]:
        (low1, high1), (low, high), (low2, high2) = (
            _ratio(step, scale, digits) for scale in (step.coarser, step.wanted, step.finer)
        )
        if same:
            low1, high1 = high1, low1
        return (
            chance_between(low1, high, low2, same=same),
            chance_between(high1, low, high2, same=same),
        )

    return lru_cache(bounds)


def _ratio(step: Step, scale: Fraction | None, digits: int) -> tuple[Fraction, Fraction]:
    """r = exp(-1/scale), from below and from above, by this number of binary digits that matter."""
    exponent = step.rate(scale) / step.unit
    bits = digits + 2 * int(exponent)  # e < 4, so that r begins with no more zeros than these
    first = exp_digits(exponent, bits)
    return Fraction(first, 2**bits), Fraction(first + 1, 2**bits)


class GradualNoise:
    """Noise at each of the falling `scales`, in grid steps: a vector of `size` values for each.

    It is drawn on demand and kept, so nothing is drawn finer than what was asked for, and a step
    that is asked for again is the same noise. The scales are whole parts of the first, by which a
    source of noise rounds all of them in proportion. It goes on from noise that was `told`, if any
    was: that of the last step, by its number.

    Raises ValueError for other scales, and for a scale over `MAX_SCALE`.

    At losses ε_1 < … < ε_m an analyst sees f + Z_1, …, f + Z_m, where Z_j is discrete Laplace noise
    of scale Δ/ε_j. They have the law of Z_j = Z_{j+1} + W_j for W_1, …, W_{m-1} that are
    independent of each other and of Z_m. These are a Markov chain, and so they are backwards: given
    Z_j, Z_{j+1} does not depend on the noise before Z_j, and can be drawn from Z_j alone (see
    `refine`). As all values up to step j can be computed from f + Z_j and coins, they cost ε_j
    together instead of ε_1 + … + ε_j ([KHP17], for continuous noise). The decision to stop uses
    only released values, so the loss is that of the last step: ex-post privacy ([LNRWW17]).
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
