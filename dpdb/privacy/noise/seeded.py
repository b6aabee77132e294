"""Predictable noise, so that a lesson in teaching mode runs the same way twice."""

from __future__ import annotations

import random

from dpdb.privacy.noise.system import SystemNoise


def seeded(seed: int) -> SystemNoise:
    """The samplers of SystemNoise on a generator with a known seed, which protects nobody."""
    return SystemNoise(random.Random(seed).randbytes)  # noqa: S311 (predictable is the point)
