"""What the releases of an answer cost together: each group of parts once."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dpdb.answers.record import ReleaseReport


def of_groups(releases: Iterable[ReleaseReport]) -> list[ReleaseReport]:
    """One report for each group."""
    return list({report.group: report for report in releases}.values())


def charged(releases: Iterable[ReleaseReport]) -> Fraction:
    """The sum of the ε of all groups that were paid for."""
    return sum((r.epsilon for r in of_groups(releases) if not r.recalled), Fraction(0))
