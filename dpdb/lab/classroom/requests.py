"""What a student's process is asked, and how its statements are answered."""

from __future__ import annotations

from dpdb.lab.classroom.plain import Plain
from dpdb.records import dataclass


@dataclass(frozen=True)
class DescribeFile:
    """Which attack is in the file?"""


@dataclass(frozen=True)
class Deal:
    """Draw data and a secret."""

    seed: int


@dataclass(frozen=True)
class Run:
    """Find out the secret of somebody else's data."""

    seed: int


@dataclass(frozen=True)
class CountRight:
    """How many guesses were right?"""

    guess: Plain
    truth: Plain


@dataclass(frozen=True)
class Measure:
    """Draw outputs of the mechanism in the file, on the values with a person and without."""

    runs: int
    seed: int


Request = DescribeFile | Deal | Run | CountRight | Measure


@dataclass(frozen=True)
class Refusal:
    """The database refuses a statement."""

    reason: str
