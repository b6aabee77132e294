"""GROUP BY keys whose values are found in the data."""

from __future__ import annotations

from dpdb.policy.catalog import Value
from dpdb.records import dataclass

KeyRow = tuple[Value | None, ...]
"""A value for each of the keys that are found; None is NULL, which is a value of its own here."""


@dataclass(frozen=True)
class FoundKeys:
    """The keys of a plan that are found in the data, and the values found so far.

    Values that are shown were released with noise, so they may be used like declared values.
    """

    places: tuple[int, ...]
    """Indices of the found keys among the plan's keys."""
    most: int = 1
    """A stand-in for the number of groups until the values are released."""
    shown: tuple[KeyRow, ...] | None = None
    """The released values, in ascending order with NULL last; None before their release."""


def are_sought(found: FoundKeys | None) -> bool:
    """Whether there are keys to be found."""
    return found is not None and found.shown is None
