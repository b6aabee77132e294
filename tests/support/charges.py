"""What the releases of an answer cost together: each group of parts once."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dpdb.answers.record import ReleaseReport


def of_groups(releases: Iterable[ReleaseReport]) -> list[ReleaseReport]:
    """One report for each group."""
    return list({report.group: report for report in releases}.values())


def paid(releases: Iterable[ReleaseReport]) -> list[ReleaseReport]:
    """One report for each group that was drawn and paid for, none for what is recalled."""
    return [report for report in of_groups(releases) if not report.recalled]


def charged(releases: Iterable[ReleaseReport]) -> Fraction:
    """The sum of the ε of all groups that were paid for."""
    return sum((report.epsilon for report in paid(releases)), Fraction(0))
