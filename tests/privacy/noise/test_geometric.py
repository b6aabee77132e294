"""Geometric noise, against its definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpdb.privacy.noise.sources import seeded
from dpdb.privacy.noise.system import geometric
from tests.support.fits import fit

ALPHA = 1e-6
SIZE = 6_000


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(4)], ids=str)
def test_it_fits_its_definition(scale: Fraction) -> None:
    ratio = float(np.exp(-1 / float(scale)))
    exact = {k: (1 - ratio) * ratio**k for k in range(400)}
    assert fit(geometric(scale, SIZE, seeded(8)).tolist(), exact) > ALPHA


def test_a_whole_part_of_it_is_of_a_whole_part_of_its_scale() -> None:
    """P(⌊G/3⌋ >= k) = P(G >= 3k) = exp(-3k/12)."""
    exact = {k: (1 - np.exp(-1 / 4)) * np.exp(-k / 4) for k in range(400)}
    assert fit((geometric(Fraction(12), SIZE, seeded(9)) // 3).tolist(), exact) > ALPHA
