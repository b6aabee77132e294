"""The digits of exp(-γ), and the runs of successes that they decide."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from dpdb.privacy.noise.exp_digits import exp_digits
from dpdb.privacy.noise.system import SystemNoise
from tests.support.noise_laws import AWKWARD, script, words

GAMMAS = [Fraction(0), Fraction(1, 10**30), Fraction(1, 3), Fraction(1), AWKWARD, Fraction(63)]


@pytest.mark.parametrize("gamma", [*GAMMAS, Fraction(64), Fraction(10**9)], ids=str)
@pytest.mark.parametrize("bits", [0, 1, 2, 8, 64, 128, 192, 1000])
def test_digits_of_an_exponential(gamma: Fraction, bits: int) -> None:
    with localcontext() as context:
        context.prec = 400
        exact = (Decimal(-gamma.numerator) / gamma.denominator).exp()
        assert exp_digits(gamma, bits) == int(exact * 2**bits)


def test_words_beside_the_digits_of_one_over_e() -> None:
    digits = exp_digits(Fraction(1), 64)
    noise = SystemNoise(script([words(0, digits - 1, digits + 1, 2**64 - 1)]))
    assert noise._failures(4).tolist() == [False, False, True, True]


@pytest.mark.parametrize(("last_digit", "fails"), [(1, True), (-1, False)])
def test_a_tie_is_decided_by_further_digits(last_digit: int, fails: bool) -> None:
    first, second, third = (exp_digits(Fraction(1), 64 * k) % 2**64 for k in (1, 2, 3))
    tied = script(
        [
            words(first, 0, first),
            words(second + last_digit),
            words(second),
            words(third + last_digit),
        ]
    )
    assert SystemNoise(tied)._failures(3).tolist() == [fails, False, fails]


def test_runs_are_read_off_one_row_and_continued() -> None:
    yes, no = 0, 2**64 - 1
    asked = 65 * 7 // 4 + 64
    row = [yes, yes, no, no, yes, no] + [yes] * (asked - 6)
    more = [yes, no] * 32
    last = [no] * 64
    noise = SystemNoise(script([words(*row), words(*more), words(*last)]))
    assert noise._geometric(65).tolist() == [2, 0, 1, asked - 6 + 1, *[1] * 31, *[0] * 30]
