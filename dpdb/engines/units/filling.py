"""Rows of two owners, of which so much counts that no unit moves a sum by more than a room.

An order line is a customer's and a supplier's; a message is its sender's and its receiver's. A cap
that keeps the first rows of each unit would not do: if u shares a row with each of v_1 … v_d, the
rows of u decide which other rows of all v_i count. Instead each unit has a room, and rows are gone
through in the order of their keyed hashes. A row of weight w ≥ 0, a whole number, adds

    y = min(w, the least room that is left to an owner)

to the sum F, and takes y from the room of each owner.

**Theorem.** If all rows of a unit u are added to a table, F rises by 0 … room(u).

*Proof.* Take a row of weight w as w rows of weight 1, one after the other: each counts or does not.
The table without u is the table with u in which the room of u is 0. So it is enough that F rises by
0 or 1 where one unit has 1 more room. Compare the two runs row by row. At any time either (+) one
unit h has 1 more room in the second run, and F is equal so far, or (-) one unit h has 1 less room
in the second run, whose F is 1 more, or the runs are equal from here on, with F equal or 1 more.
A row counts in both runs or in neither, but for a row of h: in (+) it can count in the second run
alone, when h had no room left in the first. If h is its only owner the runs are equal from then on,
and F is 1 more. If q is the other owner, q has 1 less room in the second run, whose F is 1 more:
that is (-) with q for h. In (-) it can count in the first run alone: the runs are equal from then
on, with F equal, or q has 1 more room in the second run, and F is equal: (+) with q for h. ∎

With three owners a row would hand the difference to two units at once, and F can change by -1 … 2.
The order may be any that each row decides for itself, as hashes do. Of equal hashes the first row
comes first; a unit that enters moves no row past another. The theorem holds for each cell by
itself, as each has rooms of its own: a unit in G cells moves their vector by at most G rooms in ℓ1.

Values of both signs are filled apart, F₊ and F₋; as both rise by 0 … room, F₊ - F₋ moves by at most
one room. The rule is that of Day, Li and Lyu 2016 for edges, with parts of rows. Kasiviswanathan
et al. 2013 and Dong et al. 2022 solve a linear programme in its place.

A row takes the same steps of the loop whoever its owners are, for each sum. A pass takes 8 bytes
for the owners of a row, 4 for its place in the order, 4 more while it counts, and 4 for each unit,
or 8 if a room takes more than 32 bits. So the memory follows from the statement and the numbers of
rows and units alone. The sort of the rows takes 29 bytes a row, before that. The rooms of a block
are looked at before the loop, all at once: units far apart in memory then take hardly longer than
neighbours.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np

from dpdb.engines.sources.cells.words import Words
from dpdb.engines.units.keys import NONE
from dpdb.engines.units.row_hashes import hash_order
from dpdb.engines.values.grid_values import row_blocks
from dpdb.records import dataclass
from dpdb.vectors.vector import Array, Bools

Hashes = Callable[[Array], Words]
Weights = Callable[[Array], Iterable[int]]
"""Returns the weights of some rows, 0 or more."""

_BLOCK = 2**12
"""The rows whose numbers are Python's at a time, and whose rooms stay in the cache."""


def fill(
    first: Iterable[int], second: Iterable[int], weights: Iterable[int], room: array[int]
) -> int:
    """The filled sum of rows, in their order; what is left of each room stays in `room`.

    Owners are indices in `room`; the second owner of a row that has one owner is the first.
    """
    total = 0
    for one, other, weight in zip(first, second, weights, strict=True):
        here, there = room[one], room[other]
        # min() takes twice as long, and an `if` takes more steps if it holds.
        least = here if here < there else there
        part = weight if weight < least else least
        room[one], room[other] = here - part, there - part
        total += part
    return total


def row_numbers(rows: Array) -> Words:
    """Stands for hashes where the order of rows is that in which they stand."""
    return rows.astype(np.uint64)


@dataclass(frozen=True, repr=False)
class SharedRows:
    """Rows of a table with two owners each, in the numbers of all units of both kinds."""

    first: Array
    """The number of each row's first owner, as int32; NONE where the row is nobody's."""
    second: Array
    """The number of the second owner: the first's where a row has one owner."""
    before: int
    """The number that units of the second kind are numbered from; 0 where both kinds are one."""
    units: int
    """The number of all units."""
    hashes: Hashes
    """Returns the keyed hashes of some rows."""

    @classmethod
    def of(
        cls, first: Array, second: Array, hashes: Hashes = row_numbers, *, same: bool
    ) -> SharedRows:
        """Rows whose owners have these numbers, of one kind if they are the `same`, or of two."""
        owned = (first != NONE) & (second != NONE)
        before = 0 if same else int(first.max(initial=NONE)) + 1
        first, second = (
            np.where(owned, each, np.int32(NONE)) for each in (first, second + np.int32(before))
        )
        units = max(int(first.max(initial=NONE)), int(second.max(initial=NONE))) + 1
        return cls(first, second, before, units, hashes)

    @classmethod
    def together(cls, parts: Sequence[SharedRows], *, same: bool) -> SharedRows:
        """The rows of all parts, one after the other; units have the same numbers in all."""
        first = np.concatenate([part.first for part in parts])
        second = np.concatenate([part.second - np.int32(part.before) for part in parts])
        hashes = np.concatenate([part.hashes(np.arange(len(part.first))) for part in parts])
        return cls.of(first, second, lambda rows: hashes[rows], same=same)

    def joined(self, places: Array, hashes: Hashes) -> SharedRows:
        """Rows with these hashes, each of which has the owners of one of these rows."""
        first, second = self.first[places], self.second[places]
        return SharedRows(first, second, self.before, self.units, hashes)

    def owned_by(self, units: Array, kind: int) -> Bools:
        """Mask of rows of which a unit of the first kind or the second, 0 or 1, is an owner."""
        if not self.before:
            return np.asarray((self.first == units) | (self.second == units))
        return np.asarray((self.second - self.before if kind else self.first) == units)

    @property
    def owned(self) -> Bools:
        """Mask of rows that are somebody's."""
        return np.asarray(self.first != NONE)

    @cached_property
    def order(self) -> Array:
        """The rows that are somebody's, in the order in which they are filled in."""
        # The numbers of rows are made twice, as the sort takes the most memory of all steps.
        order = hash_order(None, self.hashes(np.flatnonzero(self.owned)))
        return np.asarray(np.flatnonzero(self.owned).astype(np.int32)[order])

    def sums(self, runs: Iterable[Array], weights: Weights, rooms: Sequence[int]) -> list[int]:
        """The filled sum of each run of rows, which stand in their order.

        `rooms` has the room of a unit of each kind, which units have in each run anew.
        """
        width = "i" if max(rooms) < 2**31 else "q"
        room, found = array(width, [0]) * self.units, []
        left = np.frombuffer(room, width)
        for rows in runs:
            left[self.first[rows]] = rooms[0]
            left[self.second[rows]] = rooms[-1]
            total = 0
            for block in row_blocks(len(rows), _BLOCK):
                first, second = self.first[rows[block]], self.second[rows[block]]
                left.take(first), left.take(second)  # so the rooms are in the cache, all at once
                total += fill(first.tolist(), second.tolist(), weights(rows[block]), room)
            found.append(total)
        return found
