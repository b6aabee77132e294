"""Some of the rows of a table, as a bit for each row, in the order in which rows are read."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dpdb.records import dataclass
from dpdb.vectors.vector import Array, Bools


@dataclass(frozen=True, repr=False)
class RowBits:
    """The rows whose bit is set."""

    _bits: Array
    """Eight rows in a byte, the first one in its highest bit."""

    @classmethod
    def of(cls, blocks: Iterable[Bools]) -> RowBits:
        """The rows that are true in blocks, which follow each other."""
        packed, left = list[Array](), np.empty(0, dtype=np.bool_)
        for block in blocks:
            left = np.concatenate([left, block])
            whole = len(left) // 8 * 8
            packed.append(np.packbits(left[:whole]))
            left = left[whole:]
        return cls(np.concatenate([*packed, np.packbits(left)]))

    @property
    def number(self) -> int:
        """How many rows have a bit."""
        return int(np.bitwise_count(self._bits).sum(dtype=np.int64))

    def copy(self) -> RowBits:
        """A copy, whose rows stay when some are taken out here."""
        return RowBits(self._bits.copy())

    def within(self, first: int, rows: int) -> Array:
        """The numbers, from `first` on, of those among so many rows after that one."""
        byte = first // 8
        bits = np.unpackbits(self._bits[byte : (first + rows + 7) // 8]).view(np.bool_)
        return np.flatnonzero(bits[first - 8 * byte :][:rows])

    def among(self, first: int, rows: int) -> Bools:
        """For each of so many rows after the first ones, whether it has a bit."""
        found = np.zeros(rows, dtype=np.bool_)
        found[self.within(first, rows)] = True
        return found

    def remove(self, rows: Array) -> None:
        """Take rows out, each of which is given once at most."""
        masks = ~np.right_shift(0x80, rows & 7).astype(np.uint8)
        np.bitwise_and.at(self._bits, rows >> 3, masks)
