"""Releases over filters that no row can pass together, so that each has all of ε.

Releases over such filters compose in parallel ([McS09] Theorem 4), as those of the groups of a
GROUP BY do. Noise is planned for that many groups: under `replace` a row can leave one filter and
enter another, and of a unit each row can be in another one. Which filters these are follows from
the text and the policy alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpdb.plan.expressions import Expr, conjunction
from dpdb.plan.query import Query
from dpdb.plan.regions import Region, region


@dataclass(frozen=True)
class Family:
    """Release groups over filters that exclude each other."""

    members: tuple[tuple[int, ...], ...]
    """For each filter the places of its groups."""

    @property
    def shares(self) -> int:
        """The number of shares that all filters have together: as many as one filter alone has."""
        return max(map(len, self.members))

    @property
    def saved(self) -> int:
        """The number of shares less than they would have alone."""
        return sum(map(len, self.members)) - self.shares


def families(query: Query, filters: Mapping[int, Expr | None]) -> list[Family]:
    """The families of release groups with these filters; none of those over a single filter."""
    by_filter: dict[Expr | None, list[int]] = {}
    for place, where in filters.items():
        by_filter.setdefault(where, []).append(place)
    found: list[list[tuple[Region, tuple[int, ...]]]] = []
    for where, members in by_filter.items():
        own = region(query.table, conjunction(query.where, where))
        family = next((f for f in found if all(own.excludes(other) for other, _ in f)), None)
        if family is None:
            found.append(family := [])
        family.append((own, tuple(members)))
    return [Family(tuple(m for _, m in family)) for family in found if len(family) > 1]
