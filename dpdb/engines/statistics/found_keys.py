"""The keys that are found in rows, and the units of each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from dpdb.engines.loop import Work
from dpdb.engines.protocol import WORD, KeyCounts
from dpdb.engines.statistics.gathered import Gathered
from dpdb.engines.statistics.groups import declared_codes
from dpdb.engines.units.caps import PlanRows
from dpdb.plan.physical.plan import Plan
from dpdb.records import dataclass
from dpdb.vectors.evaluate import evaluate
from dpdb.vectors.relational.keys import numbered, whole
from dpdb.vectors.vector import AnyVector, Array, TextVector, Vector, concatenated


def key_counts(plan: Plan, of: PlanRows) -> KeyCounts:
    """The keys of the rows that count, in their order, and the number of units of each.

    A row counts for no key if it has no value of the declared keys beside them.
    """
    assert plan.found is not None
    counted = of.counted(plan)
    inside = declared_codes(plan, of.frame, of.rows) < plan.declared_groups
    kept = np.flatnonzero(inside if counted is None else counted & inside)
    keys = [plan.keys[place] for place in plan.found.places]
    vectors = [whole(evaluate(key, of.frame), of.rows) for key in keys]
    groups, first = numbered(vectors, kept)
    if of.owners is not None:
        owners = of.owners[kept].astype(np.int64)
        number = int(owners.max(initial=0)) + 1
        # Each pair of a key and a unit that there is counts once.
        groups = np.unique(groups * number + owners) // number
    units = np.bincount(groups, minlength=len(first)).astype(WORD)
    return KeyCounts(units, first, tuple(zip(vectors, (key.kind for key in keys), strict=True)))


@dataclass(repr=False)
class UnitedKeys(Work[PlanRows, KeyCounts]):
    """The keys of all rows with their numbers of units; no unit has rows in two batches."""

    plan: Plan
    _parts: Gathered[KeyCounts] = field(default_factory=lambda: Gathered(_united), repr=False)

    def copy(self) -> UnitedKeys:
        return UnitedKeys(self.plan)

    def add(self, rows: PlanRows) -> None:
        found = key_counts(self.plan, rows)
        columns = tuple((_at(vector, found.rows), kind) for vector, kind in found.columns)
        self._parts.add(KeyCounts(found.units, np.arange(len(found.rows)), columns))

    def join(self, other: UnitedKeys) -> None:
        self._parts.add(other.result())

    def result(self) -> KeyCounts:
        return self._parts.all()


def _united(parts: Sequence[KeyCounts]) -> KeyCounts:
    """The keys of all parts in their order."""
    kinds = [kind for _, kind in parts[0].columns]
    vectors = [
        concatenated(
            [part.columns[place][0] for part in parts], [len(part.units) for part in parts]
        )
        for place in range(len(kinds))
    ]
    units = np.concatenate([part.units for part in parts])
    groups, first = numbered(vectors, np.arange(len(units)))
    sums = np.zeros(len(first), dtype=WORD)
    np.add.at(sums, groups, units)
    columns = tuple((_at(v, first), kind) for v, kind in zip(vectors, kinds, strict=True))
    return KeyCounts(sums, np.arange(len(first)), columns)


def _at(vector: AnyVector, rows: Array) -> AnyVector:
    """The values in some rows of a vector that has one for each row."""
    if isinstance(vector, TextVector):
        return TextVector(vector.codes[rows], vector.dictionary)
    return Vector(vector.values[rows], None if vector.null is None else vector.null[rows])
