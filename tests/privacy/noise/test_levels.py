"""Levels drawn in any order have one law, and analysts who share theirs lose the finest of them.

With exp(-1/scale) rational all probabilities are, so the laws are compared exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import chisquare

from dpdb.privacy.levels import step_to
from dpdb.privacy.noise.acceptance import exp_digits
from dpdb.privacy.noise.refinement import chance_between, chance_to_stay, level, refine
from dpdb.privacy.noise.sources import seeded
from tests.privacy.noise.test_refinement import ALPHA, added, conditional, laplace

RATIOS = [
    tuple(Fraction(*r) for r in ratios)
    for ratios in [((9, 10), (2, 3), (1, 2)), ((1, 2), (1, 3), (1, 7)), ((8, 9), (4, 5), (1, 90))]
]  # fmt: skip
REACH = range(-3, 4)
Law = Callable[[Fraction, Fraction, int, int], Fraction]


@cache
def of_the_series(ratios: tuple[Fraction, ...], noises: tuple[int, ...]) -> Fraction:
    """The probability of these noises: the finest, and what is added to each for the next."""
    found = laplace(ratios[-1], noises[-1])
    for place in range(len(ratios) - 1):
        coarse, fine = ratios[place], ratios[place + 1]
        found *= added(coarse, fine, noises[place] - noises[place + 1])
    return found


@cache
def coarsened(r: Fraction, r2: Fraction, x: int, z: int) -> Fraction:
    """P(Z = z | Z₂ = x) of a coarser level, as it is drawn."""
    stays = chance_to_stay(r, r2)
    return (1 - stays) * laplace(r, z - x) + (stays if z == x else 0)


@cache
def drawn(
    ratios: tuple[Fraction, ...], noises: tuple[int, ...], order: tuple[int, ...]
) -> Fraction:
    """The probability of these noises where the levels are drawn in this order, each as it is."""
    there: dict[Fraction, int] = {}
    found = Fraction(1)
    for place in order:
        r, z = ratios[place], noises[place]
        coarser = min((each for each in there if each > r), default=None)
        finer = max((each for each in there if each < r), default=None)
        if coarser is None and finer is None:
            found *= laplace(r, z)
        elif finer is None:
            assert coarser is not None
            found *= conditional(coarser, r, there[coarser], z)
        elif coarser is None:
            found *= coarsened(r, finer, there[finer], z)
        else:
            x, u = there[coarser] - there[finer], z - there[finer]
            stays = chance_between(coarser, r, finer, same=x == 0)
            assert 0 < stays < 1
            found *= (1 - stays) * conditional(coarser, r, x, u) + (stays if u == 0 else 0)
        there[r] = z
    return found


@pytest.mark.parametrize("ratios", RATIOS, ids=str)
def test_in_any_order_the_law_is_that_of_the_series(ratios: tuple[Fraction, ...]) -> None:
    for order in permutations(range(3)):
        for noises in product(REACH, repeat=3):
            assert drawn(ratios, noises, order) == of_the_series(ratios, noises)


def largest_ratio(law: Callable[[tuple[int, ...]], Fraction], views: int) -> Fraction:
    """How much likelier answers are where the exact value is 0 than where it is 1."""
    return max(
        law(told) / law(tuple(each - 1 for each in told)) for told in product(REACH, repeat=views)
    )


@pytest.mark.parametrize("ratios", RATIOS, ids=str)
def test_colluding_analysts_lose_what_the_finest_of_them_was_told(
    ratios: tuple[Fraction, ...],
) -> None:
    """Exactly e^ε of the finest level among theirs, for each choice of analysts; and never more.

    That is what the data's account has paid, where the finest of all is among theirs.
    """
    for order in permutations(range(3)):
        assert largest_ratio(lambda told, o=order: drawn(ratios, told, o), 3) == 1 / ratios[-1]  # type: ignore[misc]
    for few in (ratios[:2], ratios[1:], (ratios[0], ratios[2])):
        assert largest_ratio(lambda told, few=few: of_the_series(few, told), 2) == 1 / few[-1]  # type: ignore[misc]


@pytest.mark.parametrize("ratios", RATIOS, ids=str)
def test_levels_made_of_the_finest_alone_would_lose_more(ratios: tuple[Fraction, ...]) -> None:
    """Two coarser answers that do not know each other can both be the finest: it is between them."""
    first, second, finest = ratios

    @cache
    def law(told: tuple[int, ...]) -> Fraction:
        return sum(
            (
                laplace(finest, z) * coarsened(first, finest, z, told[0]) * coarsened(second, finest, z, told[1])
                for z in range(-40, 41)
            ),
            Fraction(0),
        )  # fmt: skip

    assert largest_ratio(law, 2) > 1 / second


# ------------------------------------------------------------------------- what the code does

SCALES = {"coarse": Fraction(5), "between": Fraction(5, 2), "fine": Fraction(5, 6)}
ORDERS = [*permutations(SCALES)]


def ratio(name: str) -> Fraction:
    return Fraction(exp_digits(1 / SCALES[name], 80), 2**80)


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_the_draws_have_the_law_of_the_series(order: tuple[str, ...]) -> None:
    """Each pair of levels, drawn in this order for one exact value."""
    number, noise, exact = 6_000, seeded(7), np.full(6_000, 1000)
    there = {SCALES[order[0]]: exact + noise.laplace(SCALES[order[0]], number)}
    for name in order[1:]:
        step = step_to(SCALES[name], there)
        assert step is not None
        there[SCALES[name]] = level(step, there, exact if step.needs_data else None, noise)
    for one, other in (("coarse", "between"), ("between", "fine"), ("coarse", "fine")):
        pairs = Counter(
            zip((there[SCALES[one]] - 1000).tolist(), (there[SCALES[other]] - 1000).tolist(), strict=True)
        )  # fmt: skip
        ratios = ratio(one), ratio(other)
        law = {
            told: number * float(of_the_series(ratios, told))
            for told in product(range(-12, 13), repeat=2)
        }
        often = [told for told, expected in law.items() if expected >= 10]
        seen = [pairs[told] for told in often]
        expected = [law[told] for told in often]
        seen.append(number - sum(seen))
        expected.append(number - sum(expected))
        assert chisquare(seen, expected).pvalue > ALPHA / 18


def test_a_level_that_is_there_is_the_same() -> None:
    values = np.array([3, 4])
    step = step_to(Fraction(2), [Fraction(2), Fraction(1)])
    assert step is not None
    assert level(step, {Fraction(2): values}, None, seeded(1)) is values


def test_only_a_finer_level_needs_the_data() -> None:
    for wanted, needs in ((1, True), (2, False), (3, False), (4, False), (5, False)):
        step = step_to(Fraction(wanted), [Fraction(2), Fraction(4)])
        assert step is not None
        assert step.needs_data is needs


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        (Fraction(2**50 + 1), Fraction(2)),
        (Fraction(2**40 + 1), Fraction(2**40)),
        (Fraction(1, 2**62 + 1), Fraction(1)),
        (Fraction(1, 3), Fraction(1, 2**62 + 1)),
        (Fraction(1, 2**61), Fraction(3)),
    ],
)
def test_scales_that_are_rounded_have_no_series(wanted: Fraction, there: Fraction) -> None:
    assert step_to(wanted, [there]) is None
    assert step_to(there, [there]) is not None


class Words:
    """A source of given words."""

    private = True

    def __init__(self, *words: int):
        self.words = list(words)

    def below(self, bound: int) -> int:
        assert bound == 2**64
        return self.words.pop(0)

    def laplace(self, scale: Fraction, size: int) -> np.ndarray:
        return np.full(size, 100)

    gaussian = laplace


def test_coins_are_compared_with_as_many_digits_as_it_takes() -> None:
    step = step_to(Fraction(5), [Fraction(5, 6)])
    assert step is not None
    chance = chance_to_stay(ratio("coarse"), ratio("fine"))
    first = int(chance * 2**64)
    for words, stays in (
        ([first - 1], True), ([first + 1], False), ([first, 0], True), ([first, 2**64 - 1], False),
    ):  # fmt: skip
        source = Words(*words)
        told = level(step, {Fraction(5, 6): np.array([7])}, None, source)
        assert (told.tolist(), source.words) == ([7 if stays else 107], [])


def test_large_numbers_stay_exact() -> None:
    """Exact values that need more than 64 bits are refined from the same noise."""
    huge = np.array([2**80, -(2**70)], dtype=object)
    coarse = huge + np.array([4, -9])
    step = step_to(Fraction(1, 2), [Fraction(3)])
    assert step is not None
    told = level(step, {Fraction(3): coarse}, huge, seeded(3))
    fine = refine(np.array([4, -9]), Fraction(3), (1, 6), seeded(3))
    assert (told - huge).tolist() == fine.tolist()
