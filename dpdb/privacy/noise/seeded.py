"""Noise that anybody can predict, so that a lesson runs the same way twice."""

from __future__ import annotations

import random

from dpdb.privacy.noise.system import SystemNoise


def seeded(seed: int) -> SystemNoise:
    """The usual samplers over a generator with a known seed: for teaching only."""
    return SystemNoise(random.Random(seed).randbytes)  # noqa: S311 (predictable is the point)
