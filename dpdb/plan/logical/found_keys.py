"""GROUP BY keys whose values are found in the data."""

from __future__ import annotations

from dpdb.policy.catalog import Value
from dpdb.records import dataclass

KeyRow = tuple[Value | None, ...]
"""A value for each of the keys that are found; None is NULL, which is a value of its own here."""


@dataclass(frozen=True)
class FoundKeys:
    """Which of the keys of a plan are found in the data, and what has been found.

    What is shown was released with noise, and so is known from then on, as declared values are.
    """

    places: tuple[int, ...]
    """Which of the plan's keys they are."""
    most: int = 1
    """A number of groups that stands for theirs as long as it is not known."""
    shown: tuple[KeyRow, ...] | None = None
    """The values that are shown, in their order with NULL last; None before the release of them."""


def are_sought(found: FoundKeys | None) -> bool:
    """Whether there are keys to be found."""
    return found is not None and found.shown is None
