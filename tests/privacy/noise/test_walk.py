"""Walks as they are drawn: where they stop, against their law."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from dpdb.privacy.mechanisms.selections.walk import Walk
from dpdb.privacy.noise.system import SystemNoise
from dpdb.privacy.noise.thresholds import stops
from tests.support.fits import fit
from tests.support.walks import law, rows_beyond

ALPHA = 1e-6
SIZE = 6_000
RUNGS = tuple(range(0, 60, 5))
VALUES = [1, 2, 2, 7, 9, 11, 14, 14, 18, 21, 22, 26, 31, 33]


def noise(seed: int) -> SystemNoise:
    return SystemNoise(Random(seed).randbytes)


def drawn(values: Sequence[int], rungs: Sequence[int], walk: Walk, seed: int) -> list[int]:
    cell = np.array(sorted(values), dtype=np.int64)
    return list(stops([cell] * SIZE, rungs, walk, noise(seed)).tolist())


NONE: list[int] = []
ALL_BEYOND = [60] * 9


@pytest.mark.parametrize(
    ("values", "epsilon"),
    [
        (VALUES, "1/2"),
        (VALUES, "1"),
        (VALUES, "5"),
        (NONE, "1/2"),
        (NONE, "1"),
        (ALL_BEYOND, "1/2"),
    ],
)
def test_stops_fit_the_law(values: list[int], epsilon: str) -> None:
    walk = Walk(1, Fraction(epsilon), one_way=True)
    exact = dict(enumerate(law(rows_beyond(values, RUNGS), walk)))
    assert fit(drawn(values, RUNGS, walk, 5), exact) > ALPHA


def test_a_wrong_law_does_not_fit() -> None:
    walk, sharper = Walk(1, Fraction(1), one_way=True), Walk(1, Fraction(2), one_way=True)
    wrong = dict(enumerate(law(rows_beyond(VALUES, RUNGS), sharper)))
    assert fit(drawn(VALUES, RUNGS, walk, 5), wrong) < ALPHA


def test_a_walk_to_the_least_value_goes_down() -> None:
    walk = Walk(1, Fraction(1), one_way=True)
    exact = dict(enumerate(law(rows_beyond(VALUES, RUNGS), walk)))
    falling = [-rung for rung in RUNGS]
    assert fit(drawn([-value for value in VALUES], falling, walk, 6), exact) > ALPHA


class Counting:
    """A source that notes how much is drawn."""

    private = True

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._source = noise(1)

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        self.sizes.append(size)
        return self._source.laplace(scale, size)

    def gaussian(self, variance: Fraction, size: int) -> npt.NDArray[np.int64]:
        raise AssertionError("a walk has no Gaussian noise")

    def below(self, bound: int) -> int:
        raise AssertionError("a walk draws no uniform integers")


def test_as_much_is_drawn_whatever_the_rows_are() -> None:
    """All noise of many cells, also of those in which the first look would have been enough."""
    walk = Walk(1, Fraction(1), one_way=True)
    sizes = []
    for values in ([], VALUES, [60] * 1000):
        source = Counting()
        stops([np.array(sorted(values), dtype=np.int64)] * 30, RUNGS, walk, source)
        sizes.append(source.sizes)
    assert sizes[0] == sizes[1] == sizes[2]
