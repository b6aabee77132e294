"""What audits and records of the loss have in common."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy.typing as npt

from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.noise.system import SystemNoise

Draws = npt.NDArray[Any]


def noise(seed: int) -> SystemNoise:
    return SystemNoise(Random(seed).randbytes)


COLUMNS = (
    Column("g", Kind.TEXT, values=("a", "b")),
    Column("x", Kind.INTEGER, Fraction(-2), Fraction(5)),
    Column("k", Kind.INTEGER, Fraction(3), Fraction(7), nullable=False),
    Column("m", Kind.NUMBER, Fraction(-3, 2), Fraction(1, 2), Fraction(1, 2)),
    Column("u", Kind.TEXT),
)
