"""What the parts of a table are added to."""

from __future__ import annotations

from dpdb.engines.statistics.found_keys import UnitedKeys, key_counts
from dpdb.engines.statistics.gathered import Accumulator
from dpdb.engines.statistics.statistics import Statistics
from dpdb.engines.streams.parts import Part
from dpdb.plan.physical.plan import Plan

Found = list[Accumulator] | UnitedKeys
"""The statistics of a plan, or the keys that it shows."""


def add_part(found: Found, part: Part, plan: Plan) -> None:
    """Add what the rows of a part come to."""
    if isinstance(found, UnitedKeys):
        found.add(key_counts(plan, part))
        return
    statistics = Statistics(plan, part)
    for each in found:
        each.add(statistics)


def join(found: Found, other: Found) -> None:
    """Add what was added, one part at least, to a copy of what was found when a pass began."""
    if isinstance(found, UnitedKeys):
        assert isinstance(other, UnitedKeys)
        found.add(other.all())
        return
    assert isinstance(other, list)
    for own, its in zip(found, other, strict=True):
        own.join(its)
