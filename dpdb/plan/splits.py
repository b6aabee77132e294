"""The split of a share of the budget over the moments behind an average or a variance."""

from __future__ import annotations

from fractions import Fraction

AVERAGE_SPLIT = (Fraction(13, 25), Fraction(12, 25))
"""The shares of an average's sum and count, where each is a release of its own.

The mean is c + S/N for the sum S of x - c, where c is the middle of bounds
c ± h. To first order its error is (s - (m-c)·t)/n for noise s, t of scale h/ε₁
and 1/ε₂ and true mean m, with variance ∝ (h/ε₁)² + ((m-c)/ε₂)². Over means
anywhere up to |m-c| = a·h the worst case is least for ε₁ : ε₂ = 1 : a^(2/3).
At a = 1, all rows on one bound, that is half and half; a = 0.9, skewed as
incomes are, gives 0.52.
"""

VARIANCE_SPLIT = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
"""The shares of a variance's squares, sum and count, where each is a release of its own.

With y = x - c in [-h, h] and z = y² - h²/2, the variance is h²/2 + Z/N - (Y/N)².
Its first-order error weighs the three noises by h²/2, 2|ȳ|h and |z̄ - 2ȳ²|.
Data spread evenly over the bounds has ȳ = 0 and z̄ = -h²/6, so weights
(1/2, 0, 1/6)·h²; shares ∝ weight^(2/3) would starve Y, whose weight is not
known. A half and two quarters is best where |ȳ| is about h/11; in the worst
corner (|ȳ| = h) its error is 1.52 times the smallest possible.
"""

PUBLIC_COUNT_WEIGHTS = 7, 4
"""The weights a, b of the vector (a·Σy², b·h·Σy), from which a variance of n rows is computed.

A row that is replaced moves it by a|y² - y'²| + bh|y - y'|, at most (a + b + b²/4a)·h²: 11.6 h². So
the two have parts .605 and .691 of the ε that each would need alone. The sum of the parts is more
than 1, as a row that moves one the most does not move the other the most.
"""
