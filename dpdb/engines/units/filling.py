"""Rows of two owners: how much of each row counts, so that no unit moves a sum by more than a room.

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
one room. The rule is that of Day, Li and Lyu 2016 for edges, with parts of rows; see also
Kasiviswanathan et al. 2013 and Dong et al. 2022, whose linear programmes it stands for.

A row takes the same steps whoever its owners are: one of the loop for each sum. It takes about 40
bytes, and a unit as many more: its place among the rooms, and the number that is left there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from dpdb.engines.sources.cells.words import Words
from dpdb.engines.units.keys import NONE
from dpdb.records import dataclass
from dpdb.vectors.vector import Array, Bools

Hashes = Callable[[Array], Words]

_BLOCK = 2**14
"""The rows whose numbers are Python's at a time."""
_ENDLESS = 2**100
"""A room that no table fills."""


def fill(
    first: Iterable[int], second: Iterable[int], weights: Iterable[int], room: list[int]
) -> list[int]:
    """The part of each row's weight that counts, row by row; what is left of each room stays.

    Owners are indices in `room`. The second owner of a row that has one owner is -1, which is the
    last entry: a room for nobody, that must be endless.
    """
    parts = []
    for one, other, part in zip(first, second, weights, strict=True):
        here, there = room[one], room[other]
        part = min(part, here)  # noqa: PLW2901 (a step of the loop for each row: names are time)
        part = min(part, there)  # noqa: PLW2901
        room[one], room[other] = here - part, there - part
        parts.append(part)
    return parts


def row_numbers(rows: Array) -> Words:
    """Stands for hashes where the order of rows is that in which they stand."""
    return rows.astype(np.uint64)


@dataclass(frozen=True, repr=False)
class SharedRows:
    """Rows of a table with two owners each, in the numbers of all units of both kinds.

    Units of the second kind have the numbers from `boundary` on; where both owners are of one kind,
    none has.
    """

    first: Array
    """The number of each row's first owner, as int32; NONE where the row is nobody's."""
    second: Array
    """The number of the second owner; NONE where it is the first one, too."""
    boundary: int
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
        units = max(int(first.max(initial=NONE)), before + int(second.max(initial=NONE))) + 1
        alone = (first == second) if same else ~owned
        return cls(
            np.where(owned, first, np.int32(NONE)),
            np.where(owned & ~alone, second + np.int32(before), np.int32(NONE)),
            units if same else before,
            units,
            hashes,
        )

    @classmethod
    def together(cls, parts: Sequence[SharedRows], *, same: bool) -> SharedRows:
        """The rows of all parts, one after the other; units have the same numbers in all."""
        first = np.concatenate([part.first for part in parts])
        second = np.concatenate([part.second_numbers(same=same) for part in parts])
        hashes = np.concatenate([part.hashes(np.arange(len(part.first))) for part in parts])
        return cls.of(first, second, lambda rows: hashes[rows], same=same)

    def second_numbers(self, *, same: bool) -> Array:
        """The numbers of second owners among units of their kind."""
        if same:
            return np.where(self.second == NONE, self.first, self.second)
        return np.where(self.second == NONE, self.second, self.second - np.int32(self.boundary))

    def joined(self, places: Array, hashes: Hashes) -> SharedRows:
        """Rows with these hashes, each of which has the owners of one of these rows."""
        first, second = self.first[places], self.second[places]
        return SharedRows(first, second, self.boundary, self.units, hashes)

    def owned_by(self, units: Array, kind: int) -> Bools:
        """Mask of rows of which a unit of the first kind or the second, 0 or 1, is an owner."""
        if self.boundary == self.units:
            return np.asarray((self.first == units) | (self.second == units))
        return np.asarray((self.second - self.boundary if kind else self.first) == units)

    @property
    def owned(self) -> Bools:
        """Mask of rows that are somebody's."""
        return np.asarray(self.first != NONE)

    @cached_property
    def order(self) -> Array:
        """The rows that are somebody's, in the order in which they are filled in."""
        rows = np.flatnonzero(self.owned)
        return rows[np.argsort(self.hashes(rows), kind="stable")]

    def filled(
        self, counted: Bools, weights: Array, rooms: Sequence[int], groups: Array | None = None
    ) -> Array:
        """The part of each row's weight that counts, 0 of rows that are not counted.

        `rooms` has the room of a unit of each kind, which units have in each group anew.
        """
        rows = self.order[counted[self.order]]
        ends = np.array([0, len(rows)])
        if groups is not None:
            rows = rows[np.argsort(groups[rows], kind="stable")]
            # Groups without a row are no steps: a row in the last group would make them all.
            ends = np.append(np.flatnonzero(np.diff(groups[rows], prepend=-1)), len(rows))
        room = [*[rooms[0]] * self.boundary, *[rooms[-1]] * (self.units - self.boundary), _ENDLESS]
        parts = np.zeros(len(weights), np.int64)
        for start, end in pairwise(ends.tolist()):
            for begin in range(start, end, _BLOCK):
                own = rows[begin : min(begin + _BLOCK, end)]
                first, second, own_weights = self.first[own], self.second[own], weights[own]
                parts[own] = fill(first.tolist(), second.tolist(), own_weights.tolist(), room)
            if end < len(rows):
                _renew(room, self.first[rows[start:end]], rooms[0])
                _renew(room, self.second[rows[start:end]], rooms[-1])
        return parts


def _renew(room: list[int], owners: Array, whole: int) -> None:
    """Give the owners of some rows a whole room again."""
    for owner in owners[owners != NONE].tolist():
        room[owner] = whole
