"""OpenDP's samplers and the system's draw alike.

OpenDP cannot be seeded, so here the statistic has a proven false alarm rate.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from dpdb.errors import UsageError
from dpdb.privacy.noise.acceptance import LARGEST_VARIANCE
from dpdb.privacy.noise.protocols import LARGEST_SCALE
from dpdb.privacy.noise.refinement import GradualNoise
from dpdb.privacy.noise.sources import OpenDPNoise, root_up, round_up, source
from dpdb.privacy.noise.system import SystemNoise
from tests.support.noise_laws import ALPHA, AWKWARD, Draws, cdf, gaussian


def largest_gap(draws: Draws, others: Draws) -> float:
    points = np.union1d(draws, others)
    mine = np.searchsorted(np.sort(draws), points, side="right") / draws.size
    return float(
        np.abs(mine - np.searchsorted(np.sort(others), points, side="right") / others.size).max()
    )


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7, 5), Fraction(10)], ids=str)
def test_system_and_opendp_draw_alike(scale: Fraction) -> None:
    """Both sides are fresh. The gap between two empirical distribution functions of n draws each
    is over d with probability at most 2 exp(-n d²) for n >= 458 (Wei and Dudley 2012), and the gap
    to the true one with probability at most 2 exp(-2 n d²) (Massart 1990); ties only help.
    """
    n = 40_000
    threshold = math.sqrt(math.log(2 / ALPHA) / n)
    theirs = OpenDPNoise().laplace(scale, n)
    assert theirs.dtype == np.int64
    assert largest_gap(SystemNoise().laplace(scale, n), theirs) < threshold
    assert largest_gap(SystemNoise().laplace(scale * Fraction(5, 4), n), theirs) > threshold
    for x in range(-40, 41):  # OpenDP's scale is that of exp(-|x|/scale)
        gap = abs(float((theirs <= x).mean()) - cdf(scale, x))
        assert gap < math.sqrt(math.log(2 / ALPHA) / (2 * n))


def test_opendp_draws_every_step_of_gradual_noise() -> None:
    """As above. OpenDP rounds the first scale, and with it the others."""
    n, scales = 2_000, [Fraction(28, 5), Fraction(14, 5), Fraction(7, 5)]
    drawn = GradualNoise(scales, n, OpenDPNoise())
    for step, scale in enumerate(scales):
        for x in range(-40, 41):
            gap = abs(float((drawn.at(step) <= x).mean()) - cdf(scale, x))
            assert gap < math.sqrt(math.log(2 / ALPHA) / (2 * n))


def test_opendp_never_gets_a_smaller_scale_than_asked() -> None:
    exact = [Fraction(10), Fraction(1, 4), Fraction(LARGEST_SCALE)]
    assert [round_up(scale) for scale in exact] == exact
    between = [Fraction(1, 3), Fraction(2, 3), Fraction(7, 5), Fraction(2**54 + 1), AWKWARD]
    assert any(Fraction(float(scale)) < scale for scale in between)  # float() alone would not do
    for scale in between:
        assert Fraction(math.nextafter(round_up(scale), 0)) < scale < Fraction(round_up(scale))
    assert not OpenDPNoise().laplace(Fraction(1, 10**400), 5).any()  # under the least double


@pytest.mark.parametrize("variance", [Fraction(1, 10), Fraction(22, 7), Fraction(100)], ids=str)
def test_system_and_opendp_draw_the_same_bell(variance: Fraction) -> None:
    """As above, but for OpenDP's slower draws."""
    n = 10_000
    threshold = math.sqrt(math.log(2 / ALPHA) / n)
    theirs, law = OpenDPNoise().gaussian(variance, n), gaussian(variance)
    assert theirs.dtype == np.int64
    assert largest_gap(SystemNoise().gaussian(variance, n), theirs) < threshold
    assert largest_gap(SystemNoise().gaussian(4 * variance, n), theirs) > threshold
    for x in range(-30, 31):
        gap = abs(float((theirs <= x).mean()) - law(x))
        assert gap < math.sqrt(math.log(2 / ALPHA) / (2 * n))


def test_opendp_never_gets_a_smaller_sigma_than_asked() -> None:
    assert [root_up(Fraction(x)) for x in (4, Fraction(1, 16), LARGEST_VARIANCE)] == [
        2,
        1 / 4,
        2**55,
    ]
    random = Random(30)
    for _ in range(500):
        variance = Fraction(random.getrandbits(200) | 1, 2 ** random.randint(100, 400))
        root = root_up(variance)
        assert Fraction(math.nextafter(root, 0)) ** 2 < variance <= Fraction(root) ** 2
    assert root_up(Fraction(1, 10**700)) == math.nextafter(0, 1)


def test_opendp_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(UsageError) as caught:
        source("opendp")
    assert caught.value.hint == 'pip install "dpdb[opendp]"'
