"""The selection of keys, against its definition."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpdb.privacy.mechanisms.selections.threshold import Threshold
from dpdb.privacy.noise.sources import seeded
from dpdb.privacy.noise.thresholds import cut_laplace, select_keys
from tests.support.fits import fit

ALPHA = 1e-6
SIZE = 6_000
MECHANISM = Threshold(Fraction(1, 2), Fraction(1, 20))


class Prepared:
    """A source that gives these Laplace draws, over and over."""

    private = False

    def __init__(self, *draws: int) -> None:
        self._draws = draws

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        return np.resize(np.array(self._draws, dtype=np.int64), size)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def test_noise_that_is_cut_fits_its_definition() -> None:
    p, cut = float(np.exp(-1 / float(MECHANISM.scale))), MECHANISM.cut
    assert cut == 4
    whole = 1 + p - 2 * p ** (cut + 1)
    exact = {x: p ** abs(x) * (1 - p) / whole for x in range(-cut, cut + 1)}
    assert fit(cut_laplace(MECHANISM, SIZE, seeded(5)).tolist(), exact) > ALPHA


def test_keys_are_shown_whose_noisy_number_of_units_is_above_the_cut() -> None:
    units = np.array([1, 4, 5, 1, 8, 9])
    shown, noisy = select_keys(units, MECHANISM, Prepared(4, 0, 0, 99, 3, -3, -4))
    assert shown.tolist() == [0, 2, 4, 5]  # 99 is beyond the cut, and so was drawn again
    assert noisy.tolist() == [5, 5, 5, 5]


def test_a_key_of_fewer_units_than_the_least_is_never_shown() -> None:
    mechanism = Threshold(Fraction(1, 2), Fraction(1, 20), least_units=3)
    shown, noisy = select_keys(np.array([1, 2, 3, 7]), mechanism, Prepared(4))
    assert shown.tolist() == [2, 3]
    assert noisy.tolist() == [7, 11]


def test_no_key_is_drawn_where_there_is_none() -> None:
    shown, noisy = select_keys(np.zeros(0, dtype=np.int64), MECHANISM, Prepared(4))
    assert (len(shown), len(noisy)) == (0, 0)
