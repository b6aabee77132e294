"""The threshold for keys that are found in the data, against its definition, in exact fractions."""

from __future__ import annotations

from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction

import pytest

from dpdb.privacy.mechanisms.selections.threshold import Threshold

HIDDEN = "hidden"
PRECISE = Context(prec=80)


def probabilities(p: Fraction, cut: int) -> dict[int, Fraction]:
    """The law of the cut noise for p = e^-ε."""
    whole = 1 + p - 2 * p ** (cut + 1)
    return {x: p ** abs(x) * (1 - p) / whole for x in range(-cut, cut + 1)}


def outcomes(units: int, p: Fraction, cut: int, least: int = 1) -> Counter[int | str]:
    """What is seen of a key with so many units, with its probabilities: hidden, or a number."""
    above = max(units - (least - 1), 0)
    seen: Counter[int | str] = Counter()
    for noise, probability in probabilities(p, cut).items():
        shown = above > 0 and above + noise > cut
        seen[above + noise + least - 1 if shown else HIDDEN] += probability
    return seen


def hockey_stick(first: Counter[int | str], second: Counter[int | str], p: Fraction) -> Fraction:
    """The least δ with P(E) <= e^ε · Q(E) + δ for every event E, for p = e^-ε."""
    return sum((max(first[each] - second[each] / p, Fraction(0)) for each in first), Fraction(0))


@pytest.mark.parametrize("least", [1, 3, 10])
@pytest.mark.parametrize(("p", "cut"), [(Fraction(1, 3), 1), (Fraction(3, 5), 4), (Fraction(9, 10), 7)])  # fmt: skip
def test_one_unit_changes_what_is_seen_of_a_key_by_no_more_than_the_cut_leaves(
    p: Fraction, cut: int, least: int
) -> None:
    """For all numbers of units: the divergence is P(X = k), which it reaches, and never more."""
    bound = probabilities(p, cut)[cut]
    found = []
    for units in range(3 * cut + 3 + least):
        one, more = outcomes(units, p, cut, least), outcomes(units + 1, p, cut, least)
        assert sum(one.values()) == sum(more.values()) == 1
        found += [hockey_stick(one, more, p), hockey_stick(more, one, p)]
    assert max(found) == bound


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [("1", "1e-6"), ("0.5", "1e-9"), ("0.1", "1e-6"), ("3", "0.4"), ("50", "1e-30")],
)
def test_the_cut_is_the_least_that_keeps_delta(epsilon: str, delta: str) -> None:
    mechanism = Threshold(Fraction(epsilon), Fraction(delta))
    exponent = Decimal(mechanism.scale.denominator) / Decimal(mechanism.scale.numerator)
    p = Fraction(PRECISE.exp(-exponent))
    least, before = (
        p**cut * (1 - p) / (1 + p - 2 * p ** (cut + 1))
        for cut in (mechanism.cut, mechanism.cut - 1)
    )
    assert least <= Fraction(delta) < before


def test_keys_are_shown_from_the_numbers_of_the_table() -> None:
    """Against 15, 42, 133 and 1544 units for uncut noise over a threshold."""
    pairs = [("1", "1e-6"), ("0.5", "1e-9"), ("0.1", "1e-6"), ("0.01", "1e-7")]
    found = [Threshold(Fraction(epsilon), Fraction(delta)) for epsilon, delta in pairs]
    assert [each.shown_from for each in found] == [15, 40, 110, 1083]
    assert [each.surely_from for each in found] == [29, 79, 219, 2165]


def test_the_scale_is_never_below_one_over_epsilon_and_short() -> None:
    for epsilon in ("1/3", "0.007", "1e-9", "10000"):
        scale = Threshold(Fraction(epsilon), Fraction(1, 10**6)).scale
        assert 0 <= scale * Fraction(epsilon) - 1 < Fraction(1, 2**38)
        assert Fraction(float(scale)) == scale  # a source that takes doubles takes it as it is


def test_the_losses_of_all_keys_of_a_unit_add_up() -> None:
    loss = Threshold(Fraction(1, 10), Fraction(1, 10**7), groups=6).loss
    assert (loss.epsilon, loss.delta) == (Fraction(6, 10), Fraction(6, 10**7))
    assert (loss.rho, loss.rho_delta) == (Fraction(3, 100), Fraction(6, 10**7))
