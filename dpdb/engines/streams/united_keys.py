"""The keys that are found in the parts of a table, and the units of each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpdb.engines.memory.key_numbers import numbered
from dpdb.engines.protocol import WORD, KeyCounts
from dpdb.engines.streams.gathered import Gathered
from dpdb.vectors.vector import AnyVector, Array, TextVector, Vector, text_merge


@dataclass
class UnitedKeys:
    """Keys with their numbers of units, which add up over parts that have no unit in common."""

    _parts: Gathered[KeyCounts] = field(default_factory=lambda: Gathered(_united), repr=False)

    def add(self, found: KeyCounts) -> None:
        """Add the keys of a part."""
        columns = tuple((_at(vector, found.rows), kind) for vector, kind in found.columns)
        self._parts.add(KeyCounts(found.units, np.arange(len(found.rows)), columns))

    def all(self) -> KeyCounts:
        """The keys of all parts, of which there is one at least, in their order."""
        return self._parts.all()


def _united(parts: Sequence[KeyCounts]) -> KeyCounts:
    """The keys of all parts in their order."""
    kinds = [kind for _, kind in parts[0].columns]
    vectors = [_together([part.columns[place][0] for part in parts]) for place in range(len(kinds))]
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


def _together(parts: Sequence[AnyVector]) -> AnyVector:
    """The values of all parts, one part after the other."""
    texts = [part for part in parts if isinstance(part, TextVector)]
    if texts:
        merged = text_merge(texts)
        codes = np.concatenate([part.codes for part in merged])
        return TextVector(codes, merged[0].dictionary)
    numbers = [part for part in parts if isinstance(part, Vector)]
    nulls = [part.null for part in numbers if part.null is not None]
    values = np.concatenate([part.values for part in numbers])
    return Vector(values, np.concatenate(nulls) if nulls else None)
