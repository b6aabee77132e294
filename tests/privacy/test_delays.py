"""The loss by noisy moments, found anew from the probabilities themselves."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpdb.privacy.delays import DELTA, EPSILON, STEPS, DelayLaw, delay_law

EXACT = Context(prec=60)
TINY = Fraction(1, 10**40)
"""More than what is left out of a law below, and than all its rounding."""
E = Fraction(EXACT.exp(Decimal(2)))


def law_of(law: DelayLaw) -> dict[int, Fraction]:
    """The probability of each delay; what is beyond 15 standard deviations is left out."""
    far, twice = 15 * math.isqrt(math.ceil(law.variance)), 2 * Decimal(1)
    variance = EXACT.divide(law.variance.numerator, law.variance.denominator)
    chances = [
        Fraction(EXACT.exp(EXACT.divide(Decimal(-x * x), EXACT.multiply(twice, variance))))
        for x in range(-far, far + 1)
    ]
    total, delays = sum(chances), dict[int, Fraction]()
    for x, chance in zip(range(-far, far + 1), chances, strict=True):
        delay = law.delay(x)
        delays[delay] = delays.get(delay, Fraction(0)) + chance / total
    return delays


def profile(one: dict[int, Fraction], other: dict[int, Fraction]) -> Fraction:
    """The δ at EPSILON: the most by which any event is likelier than e^ε allows."""
    found = (chance - E * other.get(moment, Fraction(0)) for moment, chance in one.items())
    return sum((each for each in found if each > 0), Fraction(0))


def moved(law: dict[int, Fraction], shift: int) -> dict[int, Fraction]:
    return {delay + shift: chance for delay, chance in law.items()}


def both(one: dict[int, Fraction], other: dict[int, Fraction]) -> dict[int, Fraction]:
    """The law of the sum, with probabilities cut to 60 binary digits more than needed."""
    found = dict[int, int]()
    a = {x: math.floor(chance * 2**160) for x, chance in one.items()}
    b = {x: math.floor(chance * 2**160) for x, chance in other.items()}
    for x, chance in a.items():
        for y, factor in b.items():
            found[x + y] = found.get(x + y, 0) + chance * factor
    return {x: Fraction(chance, 2**320) for x, chance in found.items()}


@pytest.mark.parametrize("answers", [1, 2, 20])
def test_one_answer_s_moment_is_private_for_all_shifts(answers: int) -> None:
    """In fractions, both ways; the largest shift tells most, and of one answer all of δ is left."""
    law = law_of(delay_law(answers))
    assert abs(sum(law.values()) - 1) < TINY
    deltas = []
    for shift in range(1, STEPS + 1):
        later = moved(law, shift)
        deltas.append(max(profile(law, later), profile(later, law)))
    assert deltas == sorted(deltas)
    assert deltas[-1] + TINY <= DELTA


@pytest.mark.parametrize("answers", [2, 3])
def test_the_moments_of_some_answers_are_private_together(answers: int) -> None:
    """Without the cut the loss is linear in the sum of the moments, so the sum's law tells all.

    With it, an answer's moment is another with the probability that is counted on top.
    """
    law = delay_law(answers)
    uncut = law_of(DelayLaw(law.variance, 10**9))
    together = uncut
    for _ in range(answers - 1):
        together = both(together, uncut)
    later = moved(together, answers * STEPS)
    cut = sum((c for delay, c in uncut.items() if delay + law.offset < 10**9), Fraction(0))
    assert cut > 0
    delta = max(profile(together, later), profile(later, together))
    assert delta <= DELTA / 2
    assert delta + (1 + E) * answers * cut + TINY <= DELTA


@pytest.mark.parametrize("answers", [10, 20, 100, 1000])
def test_the_moments_of_many_answers_are_private_together(answers: int) -> None:
    """The same in doubles, whose errors are far below δ."""
    law = delay_law(answers)
    far = 12 * math.isqrt(answers * math.ceil(law.variance))
    x = np.arange(-far, far + 1)
    one = np.exp(-(x**2) / (2 * float(law.variance)))
    transformed = np.fft.rfft(np.fft.ifftshift(one / one.sum()))
    together = np.fft.fftshift(np.fft.irfft(transformed**answers, len(x)))
    assert together.sum() == pytest.approx(1)
    shift = answers * STEPS
    later = np.concatenate([np.zeros(shift), together[:-shift]])
    delta = np.maximum(together - math.exp(EPSILON) * later, 0)[shift:].sum()
    cut = float(one[x < -law.offset].sum() / one.sum())
    assert 0 < delta + (1 + math.exp(EPSILON)) * answers * cut <= float(DELTA)


def test_the_delays_that_the_manual_tells() -> None:
    """For a T of a millisecond, in milliseconds."""
    told = {answers: delay_law(answers).offset / STEPS for answers in (1, 10, 20, 100, 1000)}
    assert {answers: round(mean) for answers, mean in told.items()} == {
        1: 13, 10: 44, 20: 64, 100: 149, 1000: 499,
    }  # fmt: skip
