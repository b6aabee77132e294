"""The distinct cells of a column, numbered many at a time.

Cells are looked up in a hash table with open addressing and linear probing, each step for all
cells of a block at once. The hash is the sum of the cell's words, each multiplied by a random one,
modulo 2^64, of which the high bits are used ([DHKP97] section 2): nobody can write cells that
share it. It only says where to look: cells are one where their lengths and all their words are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cells.records import Cells, Places, runs
from dpdb.engines.sources.cells.words import BEFORE, HEAD, LAST, SIZE, PackedCells, Words, sums
from dpdb.vectors.vector import Bools

_VACANT = -1
_BITS = 10
"""There are 2 to this power slots at first."""


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

    @property
    def packed(self) -> PackedCells:
        """All cells in the order of their numbers."""
        return PackedCells(self._tails.values, self._heads.values, self._counts.values)

    def cells(self, numbers: Places) -> Cells:
        """The cells that have these numbers, in order and with NULs around each of them."""
        return self.packed.among(numbers).cells()

    def numbers(self, cells: Cells) -> Places:
        """The number of each cell; a cell that is new gets the next."""
        words = PackedCells.of(cells)
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
        """A row for each different slot of `slots[vacant]`: the slot gets the next number."""
        wanted = slots[vacant]
        self._slots[wanted] = vacant
        chosen = vacant[self._slots[wanted] == vacant]
        self._slots[slots[chosen]] = np.arange(len(self), len(self) + len(chosen))
        return np.asarray(chosen)

    def _keep(self, words: PackedCells, hashes: Words) -> None:
        """Give new cells the next numbers."""
        words.tails[:, HEAD] += np.uint64(len(self._heads))
        self._tails.extend(words.tails)
        self._heads.extend(words.heads)
        self._counts.extend(words.counts)
        self._hashes.extend(hashes)

    def _differ(self, words: PackedCells, numbers: Places) -> Bools:
        """Mask of cells that differ from the stored cell of the given number (a hash collision)."""
        tails = self._tails.values.take(numbers, axis=0)
        starts = tails[:, HEAD].astype(np.intp)
        tails ^= words.tails
        differ = (tails[:, LAST] | tails[:, BEFORE] | tails[:, SIZE]) != 0
        long = np.flatnonzero((words.counts > 0) & ~differ)
        each = words.counts[long]
        other = self._heads.values[runs(starts[long], each)]
        same = other == words.heads[runs(words.tails[long, HEAD].astype(np.intp), each)]
        differ[long] = sums(~same, each) > 0
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


_REMEMBERED = 1 << 16
"""Where more cells are known, they are forgotten before the next block."""


class Meanings:
    """The values of cells; each distinct cell is read once."""

    def __init__(self, read: Callable[[bytes], float], dtype: np.dtype[Any]) -> None:
        self._read = read
        self._read_before = lru_cache(_REMEMBERED)(read)
        self._cells = DistinctCells()
        self._known: NDArray[Any] = np.empty(0, dtype)

    def of_different(self, cells: Cells) -> NDArray[Any]:
        """The meanings of cells that hardly repeat, such as those of a dictionary."""
        return np.fromiter(map(self._read_before, cells.written()), self._known.dtype, len(cells))

    def of(self, cells: Cells) -> NDArray[Any]:
        """The meanings of all of these."""
        numbers = self._cells.numbers(cells)
        new = self._cells.cells(np.arange(len(self._known), len(self._cells)))
        meanings = np.fromiter(map(self._read, new.written()), self._known.dtype, len(new))
        self._known = np.concatenate((self._known, meanings))
        found = self._known[numbers]
        if len(self._known) > _REMEMBERED:
            self._cells, self._known = DistinctCells(), self._known[:0]
        return found


class FoundTexts(Sequence[str]):
    """Texts, each once and in no order, of which `make` makes so many."""

    def __init__(self, number: int, make: Callable[[], Iterable[str]]) -> None:
        self._number = number
        self._make = make
        self._made: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts())

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...

    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return self._texts()[place]

    def _texts(self) -> tuple[str, ...]:
        # Another thread may make them, too: it holds what they are made of for so long.
        make = self._make
        if self._made is None:
            self._made = tuple(make())
            self._make = tuple
        return self._made


def coded_texts(
    distinct: DistinctCells, quote: bytes, read: Callable[[bytes], str | None]
) -> tuple[FoundTexts, NDArray[Any]]:
    """The texts of cells, each once, and for each cell the code of its own.

    `read` says what the text of a cell is, None if it has none; of a plain one it is not asked.
    The code after the last text stands for None.
    """
    plain = distinct.packed.plain(quote)
    known, special = len(plain), np.flatnonzero(~plain)
    texts = [read(raw) for raw in distinct.cells(special).written()]
    # A text that has to be read may be that of a plain cell, too, and then gets the code of that
    # cell. Where there is none so far, it joins the distinct ones.
    written = Cells.of([(text or "").encode() for text in texts])
    is_plain = PackedCells.of(written).plain(quote)
    twins = distinct.numbers(written.among(np.flatnonzero(is_plain)))
    plain = np.append(plain, np.ones(len(distinct) - known, dtype=np.bool_))
    # The texts of plain cells have the first codes, and those of no plain cell the next.
    codes = np.cumsum(plain) - 1
    codes[special[is_plain]] = codes[twins]
    others = [texts[place] for place in np.flatnonzero(~is_plain).tolist()]
    further = tuple(text for text in dict.fromkeys(others) if text is not None)
    packed, first = distinct.packed, int(np.count_nonzero(plain))
    number = first + len(further)
    code_of = dict(zip((*further, None), range(first, number + 1), strict=True))
    codes[special[~is_plain]] = [code_of[text] for text in others]

    def make() -> Iterable[str]:
        return (*packed.among(np.flatnonzero(plain)).texts(), *further)

    return FoundTexts(number, make), codes[:known].astype(np.min_scalar_type(number))
