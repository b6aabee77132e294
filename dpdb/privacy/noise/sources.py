"""The sources of noise by the names that a policy gives them."""

# ruff: noqa: PLC0415 - opendp is loaded on request, not from here

from __future__ import annotations

import random

from dpdb.errors import InvalidOption, did_you_mean
from dpdb.privacy.noise.protocols import Noise
from dpdb.privacy.noise.system import SystemNoise

SOURCES = ("system", "opendp")


def source(name: str) -> Noise:
    """The source of noise called `name`: `system` (the default) or `opendp` (an optional extra)."""
    if name == "system":
        return SystemNoise()
    if name == "opendp":
        from dpdb.privacy.noise.opendp import OpenDPNoise

        return OpenDPNoise()
    hint = did_you_mean(name, SOURCES) or f"one of: {', '.join(SOURCES)}"
    raise InvalidOption(f"no noise source is called {name!r}", hint=hint)


def seeded(seed: int) -> SystemNoise:
    """The samplers of SystemNoise on a generator with a known seed, which protects nobody."""
    return SystemNoise(random.Random(seed).randbytes)  # noqa: S311 (predictable is the point)
