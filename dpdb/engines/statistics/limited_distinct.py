"""The number of different values, if each privacy unit adds a limited number of them.

Units stand in the order of a keyed hash of their values, and each unit's values in the order of a
keyed hash of the unit and the value. There are passes 1, 2, 3, …; in each of them every unit in
turn takes the first of its values that no unit has taken. D_p is the number of values that are
taken after p passes: no unit has taken more than p. With groups, a value is a value in a group.

Theorem. A unit u that enters changes D_p by 0 … p, and D_2l - D_l by -l … l. The first change is
that of all groups added up, as no group's number falls.

Proof. Let S be the values taken without u, and S' those taken with it, as both runs proceed. S is
always within S': if another unit w takes v without u, and v is not in S', then v is also the first
of w's values that are not in S', as S' has all that S has; so w takes it. If w finds nothing to
take without u, it finds nothing with it. So w's turn never makes |S' - S| larger. Only a turn of u
does, by 1, and there is one in each pass: after p passes |S' - S| is in 0 … p, and from pass l to
pass 2l it grows by at most l. It falls by at most l, as it was l at most. Orders are functions of a
unit's own values, so u does not change those of others; units with equal hashes have equal values,
in the same order, and it does not matter which of them is first. ∎

All passes are made that any unit has a value left for. So the work is a step for each pair of a
unit and a value, whatever other units have taken. A pair takes some 50 bytes, and a value 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpdb.engines.protocol import WORD
from dpdb.engines.sources.cells.words import Words
from dpdb.engines.units.caps import held_of
from dpdb.engines.units.row_hashes import HashedColumn, HashKey, mixed
from dpdb.plan.expressions.expressions import ColumnRef, Expr
from dpdb.records import dataclass
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.keys import changes, whole
from dpdb.vectors.vector import Array

_OF_A_CELL = np.uint64(0x9E3779B97F4A7C15)
"""An odd number, by which the hashes of one value in two cells differ."""


def hashed_argument(argument: Expr, frame: Frame, rows: int, sample_key: str) -> HashedColumn:
    """The values of an argument, whose hashes are the same in all engines."""
    key = HashKey.of(sample_key)
    place = key.place("value")
    if isinstance(argument, ColumnRef):
        column = argument.column
        return HashedColumn(frame.columns[column.name], column.step, key, place)
    return HashedColumn(held_of(whole(evaluate(argument, frame), rows)), Fraction(1), key, place)


@dataclass(frozen=True, repr=False)
class UnitValues:
    """The different values of some units, each once for a cell: unit by unit."""

    sizes: Array
    """The number of values of each unit."""
    cells: Array
    hashes: Words
    """Keyed hashes of the values and their cells, which stand for the values."""

    @classmethod
    def of(cls, owners: Array, groups: Array | None, terms: Words) -> UnitValues:
        """The values of rows, by their units and cells; `terms` are hashes of the values."""
        cells = np.zeros(len(owners), np.int32) if groups is None else groups.astype(np.int32)
        hashes = mixed(terms + cells.astype(np.uint64) * _OF_A_CELL)
        order = np.lexsort((hashes, owners))
        owners, cells, hashes = owners[order], cells[order], hashes[order]
        once = np.flatnonzero(changes((owners, hashes), len(order)))
        first = np.flatnonzero(changes((owners[once],), len(once)))
        return cls(np.diff(first, append=len(once)), cells[once], hashes[once])

    @classmethod
    def together(cls, parts: Sequence[UnitValues]) -> UnitValues:
        """The values of the units of all parts; no unit is in two of them."""
        joined = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("sizes", "cells", "hashes")
        )
        return cls(*joined)

    def per_cell(self, limits: Sequence[int], cells: int) -> Array:
        """counts[cell, limit]: D_p of the cell, for each limit p."""
        number = len(self.sizes)
        starts = np.cumsum(self.sizes) - self.sizes
        of_unit = mixed(np.add.reduceat(self.hashes, starts)) if number else self.hashes[:0]
        unit = np.repeat(np.arange(number), self.sizes)
        order = np.lexsort((mixed(self.hashes + of_unit[unit]), unit, of_unit[unit]))
        different, first, values = np.unique(
            self.hashes[order], return_index=True, return_inverse=True
        )
        ends = np.cumsum(self.sizes[np.argsort(of_unit, kind="stable")])
        passes = np.array(taken(values, ends.tolist(), len(different)), dtype=np.int64)
        of_value = self.cells[order[first]]
        counts = [np.bincount(of_value[passes <= limit], minlength=cells) for limit in limits]
        return np.stack(counts, axis=1).astype(WORD, copy=False)


def taken(values: Array, ends: list[int], number: int) -> list[int]:
    """The pass in which each of `number` values is taken; ends[i] is where the i-th unit's end."""
    passes, listed = [0] * number, values.data
    places = [0, *ends[:-1]]
    waiting: Sequence[int] = range(len(ends))
    current = 0
    while waiting:
        current += 1
        left = []
        for unit in waiting:
            at, end = places[unit], ends[unit]
            while at < end and passes[listed[at]]:
                at += 1
            if at < end:
                passes[listed[at]] = current
                places[unit] = at + 1
                left.append(unit)
        waiting = left
    return passes
