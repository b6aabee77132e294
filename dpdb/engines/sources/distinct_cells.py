"""The distinct cells of a column, numbered many at a time.

Cells are looked up in a hash table with open addressing and linear probing, each step for all
cells of a block at once. The hash is the sum of the cell's words, each multiplied by a random one,
modulo 2^64, of which the high bits are used ([DHKP97] section 2): nobody can write cells that
share it. It only says where to look: cells are one where their lengths and all their words are.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cell_words import Bools, Words, keep_last, words_before
from dpdb.engines.sources.csv_records import Cells, Places, runs
from dpdb.vectors.grammar import LONGEST

_VACANT = -1
_BITS = 10
"""There are 2 to this power slots at first."""
_TAIL = 16
"""The bytes of a cell's last two words."""
_HALF = np.uint64(32)
_FACTORS = np.frombuffer(os.urandom(8 * (LONGEST // 8 + 4)), "<u8") | np.uint64(1)
_LAST, _BEFORE, _SIZE, _HEAD = range(4)


@dataclass(frozen=True, repr=False, eq=False)
class _Words:
    """Cells as words of eight bytes.

    The rows of `tails` have the last word, the one before it, the size in bytes, and where in
    `heads` the words start that come before. There are `counts` of these. The first word of a cell
    is filled up with zeros.
    """

    tails: Words
    heads: Words
    counts: Places

    @classmethod
    def of(cls, cells: Cells) -> _Words:
        sizes = cells.ends - cells.starts
        counts = np.maximum(sizes + (7 - _TAIL), 0) >> 3
        long = np.flatnonzero(counts > 0)
        tails = np.empty((len(sizes), 4), dtype=np.uint64)
        tails[:, _LAST] = _cut(words_before(cells, cells.ends), sizes)
        tails[:, _BEFORE] = _cut(words_before(cells, cells.ends - 8), sizes - 8)
        tails[:, _SIZE] = sizes
        tails[:, _HEAD] = 0
        each = counts[long]
        tails[long, _HEAD] = first = np.cumsum(each) - each
        ends = cells.ends[long] - _TAIL
        heads = words_before(cells, runs(ends - 8 * each + 8, each, 8))
        heads[first] = _cut(heads[first], sizes[long] - _TAIL - 8 * (each - 1))
        return cls(tails, heads, counts)

    def hashes(self) -> Words:
        """A hash of each cell."""
        found = self.tails[:, _LAST] * _FACTORS[0]
        found += self.tails[:, _BEFORE] * _FACTORS[1]
        found += self.tails[:, _SIZE] * _FACTORS[2]
        long = np.flatnonzero(self.counts)
        each = self.counts[long]
        factors = _FACTORS[runs(np.full(len(long), 4), each)]
        found[long] += _sums(self.heads * factors, each)
        # The high bits of a product depend on all bits of its factors.
        found ^= found >> _HALF
        found *= _FACTORS[3]
        return np.asarray(found)

    def among(self, rows: Places) -> _Words:
        """The words of these rows' cells."""
        tails, counts = self.tails.take(rows, axis=0), self.counts[rows]
        heads = self.heads[runs(tails[:, _HEAD].astype(np.intp), counts)]
        tails[:, _HEAD] = np.cumsum(counts) - counts
        return _Words(tails, heads, counts)

    def cells(self) -> Cells:
        """The cells that have these words, in order and with NULs around each of them."""
        last = np.cumsum(self.counts + 3)
        text = np.zeros(len(self.heads) + 3 * len(last) + 2, dtype="<u8")
        text[last] = self.tails[:, _LAST]
        text[last - 1] = self.tails[:, _BEFORE]
        text[runs(last - 1 - self.counts, self.counts)] = self.heads
        ends = 8 * (last + 1)
        return Cells(text.tobytes(), ends - self.tails[:, _SIZE].astype(np.intp), ends)


class DistinctCells:
    """The cells that have been seen, numbered from 0 as they first come."""

    def __init__(self) -> None:
        self._slots = np.full(1 << _BITS, _VACANT, dtype=np.int32)
        self._hashes = _Growing(np.empty(0, dtype=np.uint64))
        self._tails = _Growing(np.empty((0, 4), dtype=np.uint64))
        self._heads = _Growing(np.empty(0, dtype=np.uint64))
        self._counts = _Growing(np.empty(0, dtype=np.intp))

    def __len__(self) -> int:
        return len(self._hashes)

    def cells(self, numbers: Places) -> Cells:
        """The cells that have these numbers, in order and with NULs around each of them."""
        return self._words.among(numbers).cells()

    def by_first_bytes(self) -> Places:
        """All numbers in the order of the first eight bytes of their cells."""
        cells = self._words.cells()
        # The first byte is made the highest.
        words = words_before(cells, cells.starts + 8).byteswap()
        keep_last(words, cells.ends - cells.starts)
        return np.argsort(words)

    def numbers(self, cells: Cells) -> Places:
        """The number of each cell; a cell that is new gets the next."""
        words = _Words.of(cells)
        hashes = words.hashes()
        self._make_room(len(self) + len(hashes))
        rows, slots = np.arange(len(hashes)), self._home(hashes)
        numbers = np.empty(len(hashes), dtype=np.intp)
        while len(rows):
            found = self._slots[slots].astype(np.intp)
            vacant = np.flatnonzero(found == _VACANT)
            if len(vacant):
                new = self._claimed(slots, vacant)
                self._keep(words.among(new), hashes[rows[new]])
                found[vacant] = self._slots[slots[vacant]]
            numbers[rows] = found
            left = np.flatnonzero(self._differ(words, found))
            rows, slots = rows[left], (slots[left] + 1) & (len(self._slots) - 1)
            words = words.among(left)
        return numbers

    def _claimed(self, slots: Places, vacant: Places) -> Places:
        """One place for each slot of those at `vacant`, which is given the next number."""
        wanted = slots[vacant]
        self._slots[wanted] = vacant
        chosen = vacant[self._slots[wanted] == vacant]
        self._slots[slots[chosen]] = np.arange(len(self), len(self) + len(chosen))
        return np.asarray(chosen)

    def _keep(self, words: _Words, hashes: Words) -> None:
        """Give new cells the next numbers."""
        words.tails[:, _HEAD] += np.uint64(len(self._heads))
        self._tails.extend(words.tails)
        self._heads.extend(words.heads)
        self._counts.extend(words.counts)
        self._hashes.extend(hashes)

    @property
    def _words(self) -> _Words:
        """The words of all cells in the order of their numbers."""
        return _Words(self._tails.values, self._heads.values, self._counts.values)

    def _differ(self, words: _Words, numbers: Places) -> Bools:
        """Which of these cells are not those with these numbers."""
        tails = self._tails.values.take(numbers, axis=0)
        starts = tails[:, _HEAD].astype(np.intp)
        tails ^= words.tails
        differ = (tails[:, _LAST] | tails[:, _BEFORE] | tails[:, _SIZE]) != 0
        long = np.flatnonzero((words.counts > 0) & ~differ)
        each = words.counts[long]
        other = self._heads.values[runs(starts[long], each)]
        same = other == words.heads[runs(words.tails[long, _HEAD].astype(np.intp), each)]
        differ[long] = _sums(~same, each) > 0
        return np.asarray(differ)

    def _home(self, hashes: Words) -> Places:
        """The slot at which the search for a cell starts."""
        bits = (len(self._slots) - 1).bit_length()
        return (hashes >> np.uint64(64 - bits)).view(np.intp)

    def _make_room(self, most: int) -> None:
        """See to it that so many cells fill at most a quarter of the slots."""
        size = len(self._slots)
        while size < 4 * most:
            size *= 2
        if size == len(self._slots):
            return
        self._slots = np.full(size, _VACANT, dtype=np.int32)
        numbers, slots = np.arange(len(self)), self._home(self._hashes.values)
        while len(numbers):
            vacant = self._slots[slots] == _VACANT
            self._slots[slots[vacant]] = numbers[vacant]
            left = np.flatnonzero(self._slots[slots] != numbers)
            numbers, slots = numbers[left], (slots[left] + 1) & (size - 1)


class _Growing:
    """An array that grows at its end."""

    def __init__(self, empty: NDArray[Any]) -> None:
        self._room = empty
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> NDArray[Any]:
        return self._room[: self._length]

    def extend(self, values: NDArray[Any]) -> None:
        length = self._length + len(values)
        if length > len(self._room):
            room = np.empty((2 * length, *values.shape[1:]), values.dtype)
            room[: self._length] = self.values
            self._room = room
        self._room[self._length : length] = values
        self._length = length


def _cut(words: Words, counts: NDArray[Any]) -> Words:
    """The words with zeros before their last so many bytes."""
    keep_last(words, counts)
    return words


def _sums(values: NDArray[Any], counts: Places) -> NDArray[Any]:
    """The sums of so many values each, one after another."""
    if not len(counts):
        return values
    sums = np.cumsum(np.append(np.zeros(1, values.dtype), values))
    stops = np.cumsum(counts)
    return np.asarray(sums[stops] - sums[stops - counts])
