"""The levels of a series, drawn from their neighbours: the steps of `privacy.levels`.

Let r = exp(-1/s) for a scale s, and σ = (1-r)²/r = 4·sinh²(1/2s), larger for finer noise. With
p = σ₁/σ₂ the coupling of `refinement` is Z₁ = Z₂ + B·W, where B is 0 with probability p.

Coarser. From Z₂ the noise Z₁ is drawn as that says. No data are looked at: B·W is added to f + Z₂.

Between. Let s₁ > s > s₂, and x = Z₁ - Z₂. The level Z = Z₂ + U between them has, with P₁ for the
law of scale s₁, P for that of scale s, a = σ/σ₂ and b = σ₁/σ,

    P(U = u | x) ∝ (a·[u = 0] + (1-a)·P(u)) · (b·[x = u] + (1-b)·P₁(x-u))

The second summand of the first factor, times the second factor, adds up to (1-a)·P₁(x) by the
coupling of s₁ and s; normalised, it is the law of `refine` for x. The first summand has u = 0 and
the weight a·(b·[x = 0] + (1-b)·P₁(x)). So U is 0 with probability π, and otherwise refined from x:

    x != 0    π = a(1-b) / (a(1-b) + 1-a) = (σ-σ₁) / (σ₂-σ₁)
    x  = 0    π = (σ + 2(1-r₁)) / (σ₂ + 2(1-r₁))

where P₁(0) = (1-r₁)/(1+r₁) was put in. Both are between 0 and 1, and x is known.

Coins. A chance is a rational function of the r, and rises or falls with each of them. Binary digits
of r bound it from both sides; a random real is compared with the bounds, with as many digits of
both as it takes. So the coins are exact. They look at released values alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpdb.privacy.noise.exp_digits import exp_digits
from dpdb.privacy.noise.refinement import refine

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpdb.privacy.levels import Step
    from dpdb.privacy.noise.source import Noise

    Values = npt.NDArray[Any]

ChanceBounds = Callable[[int], tuple[Fraction, Fraction]]
"""A chance, from below and from above, by this number of binary digits of each r."""
_WORD = 64


def level(
    step: Step, levels: Mapping[Fraction, Values], exact: Values | None, noise: Noise
) -> Values:
    """The noisy values of the level that is wanted, from those of its neighbours by their scales.

    `exact` are the exact values, which are asked for only where the step needs them.
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
        none = _coins(_staying(step), fine.size, noise).reshape(fine.shape)
        return np.asarray(fine + np.where(none, 0, added))
    difference = np.asarray(levels[step.coarser] - fine)
    between = _refined(difference, step, noise)
    chances = [_coins(_between(step, same=each), fine.size, noise) for each in (True, False)]
    same, other = (coins.reshape(fine.shape) for coins in chances)
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


def _coins(bounds: ChanceBounds, size: int, noise: Noise) -> npt.NDArray[np.bool_]:
    """Independent coins that are true with this chance."""
    return np.array([_coin(bounds, noise) for _ in range(size)], dtype=np.bool_)


def _coin(bounds: ChanceBounds, noise: Noise) -> bool:
    word, bits = noise.below(2**_WORD), _WORD
    while True:
        low, high = bounds(4 * bits)
        if word + 1 <= low * 2**bits:
            return True
        if word >= high * 2**bits:
            return False
        word, bits = word << _WORD | noise.below(2**_WORD), bits + _WORD
