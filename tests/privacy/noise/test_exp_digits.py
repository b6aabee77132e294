"""The digits of exp(-γ), and the geometric values that they decide."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from random import Random

import pytest

from dpdb.privacy.noise import system
from dpdb.privacy.noise.acceptance import exp_bounds, exp_digits
from dpdb.privacy.noise.system import SystemNoise
from tests.support.noise_laws import AWKWARD, script, seeded, words

GAMMAS = [Fraction(0), Fraction(1, 10**30), Fraction(1, 3), Fraction(1), AWKWARD, Fraction(63)]


@pytest.mark.parametrize("gamma", [*GAMMAS, Fraction(64), Fraction(10**9)], ids=str)
@pytest.mark.parametrize("bits", [0, 1, 2, 8, 64, 128, 192, 1000])
def test_digits_of_an_exponential(gamma: Fraction, bits: int) -> None:
    with localcontext() as context:
        context.prec = 400
        exact = (Decimal(-gamma.numerator) / gamma.denominator).exp()
        assert exp_digits(gamma, bits) == int(exact * 2**bits)


@pytest.mark.parametrize("gamma", [*GAMMAS, Fraction(10**4) + AWKWARD], ids=str)
@pytest.mark.parametrize("digits", [1, 64, 256])
def test_bounds_of_an_exponential(gamma: Fraction, digits: int) -> None:
    with localcontext() as context:
        context.prec = 400
        exact = Fraction((Decimal(-gamma.numerator) / gamma.denominator).exp())
    low, high = exp_bounds(gamma, digits)
    assert low <= exact * (1 + Fraction(1, 10**390))
    assert exact * (1 - Fraction(1, 10**390)) <= high
    assert high - low <= exact / 2 ** (digits - 1)


def test_words_beside_the_digits_of_exponentials() -> None:
    one, two = (exp_digits(Fraction(k), 64) for k in (1, 2))
    drawn = words(two - 1, two + 1, one - 1, one + 1, 2**64 - 1)
    assert SystemNoise(script([drawn]))._geometric(5, Fraction(1)).tolist() == [2, 1, 1, 0, 0]


@pytest.mark.parametrize(("last_digit", "value"), [(1, 0), (-1, 1)])
def test_a_tie_is_decided_by_further_digits(last_digit: int, value: int) -> None:
    first, second, third = (exp_digits(Fraction(1), 64 * k) % 2**64 for k in (1, 2, 3))
    tied = script(
        [
            words(first, 0, first),
            words(second + last_digit),
            words(second),
            words(third + last_digit),
            words(2**64 - 1),
        ]
    )
    assert SystemNoise(tied)._geometric(3, Fraction(1)).tolist() == [value, 16, value]


def test_large_values_are_continued() -> None:
    two = exp_digits(Fraction(2), 64) - 1
    replies = [words(0, two, 0), words(0, two), words(two)]
    assert SystemNoise(script(replies))._geometric(3, Fraction(1)).tolist() == [34, 2, 18]


def test_integers_decide_as_doubles_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a margin of 1 every value is decided in integers, and is the same."""
    for rate in (Fraction(1), Fraction(1, 10), Fraction(2**49, 2**57 - 1)):
        quick = seeded(32)._geometric(300, rate)
        with monkeypatch.context() as patched:
            patched.setattr(system, "_MARGIN", 1.0)
            assert (seeded(32)._geometric(300, rate) == quick).all()


def test_doubles_are_right_by_the_margin_wherever_they_decide() -> None:
    """Words on either side of exp(-rate·k): -ln(R)/rate is 2^-23 from k."""

    class Doubles(SystemNoise):
        def _below_exp(self, word: int, gamma: Fraction) -> bool:
            raise AssertionError("too near to be left to doubles")

    random = Random(33)
    for _ in range(1_000):
        t = random.getrandbits(random.randint(8, 56)) | 128
        rate = Fraction(max(1, 2 ** t.bit_length() // 2**8), t)
        k = random.randint(1, int(15 / rate))
        digits = exp_digits(rate * k, 64)
        apart = int(digits * rate / 2**23)
        drawn = script([words(digits - apart, digits + apart)])
        assert Doubles(drawn)._geometric(2, rate).tolist() == [k, k - 1]
