"""Cells and texts as words, so that numpy reads several of their bytes at once, and their hashes.

Cells are words of eight bytes. Bytes stand in a word in the order of the file, the last of them
highest.

Hashes stand for texts where it matters only which of them are equal. A text is cut into pieces of
128 bytes, and a piece into words of 32 bits, the last of which are filled up with zeros: texts that
differ still do, as none has a NUL. The words are multiplied by random factors of 64 bits and added
up modulo 2^64. The upper halves of two such sums, which have factors of their own, are the hash of
the piece. The hashes of several pieces are hashed in the same way, with further factors, until one
is left.

Let two pieces differ in a word, by d = 2^k·u for an odd u and k < 32. Whatever the other factors
are, the difference of two sums is a·d + c for the factor a of that word: any number that is c
modulo 2^k, all with the same probability. Where upper halves are the same, it is less than 2^32
away from 0. So they are the same with a probability of at most 2^-31, and both halves with one of
2^-62 for each time that two texts are hashed, which is once for those of one piece and three times
at most. Among a million short texts, whatever they are, two have the same hash with a probability
below 2^-23, as nobody knows the factors. That multiplications and shifts suffice is due to
[DHKP97] section 2.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cells.records import Cells, Places, runs
from dpdb.records import dataclass
from dpdb.vectors.grammar import LONGEST
from dpdb.vectors.vector import Bools

Words = NDArray[np.uint64]

_ONES = 0x0101_0101_0101_0101
HIGH_BITS = np.uint64(0x80 * _ONES)
"""The high bits of all bytes."""
_LAST_BYTES = np.array([2**64 - 2 ** (64 - 8 * n) for n in range(9)], dtype=np.uint64)
"""For n from 0 to 8 the bits of the last n of eight bytes, which are the highest."""


def alike(byte: int) -> np.uint64:
    """A word of eight times the same byte."""
    return np.uint64(byte * _ONES)


def words_before(cells: Cells, places: Places) -> Words:
    """The eight bytes before each place in the cells' text."""
    words: Words = np.ndarray(len(cells.text) - 7, "<u8", cells.text, strides=(1,))
    return words[places - 8]


def rows_before(cells: Cells, places: Places) -> Words:
    """The four words before each place in the cells' text."""
    rows: NDArray[Any] = np.ndarray(len(cells.text) - 31, "V32", cells.text, strides=(1,))
    return rows[places - 32].view("<u8").reshape(-1, 4)


def keep_last(words: Words, counts: NDArray[Any]) -> None:
    """Make all but the last so many bytes of each word zero, in place; eight or more are all."""
    words &= _LAST_BYTES.take(counts, mode="clip")


def fill_up(words: Words, counts: NDArray[Any]) -> Words:
    """The words with ones instead of the zeros before their last so many bytes."""
    return words | (~_LAST_BYTES.take(counts, mode="clip") & alike(1))


_TAIL = 16
"""The bytes of a cell's last two words."""
_HALF = np.uint64(32)
_FACTORS = np.frombuffer(os.urandom(8 * ((2 * LONGEST + 2) // 8 + 4)), "<u8") | np.uint64(1)
"""Random and odd: four, and one for each of the first words of the longest cell, all quotes."""
SIZE, HEAD, BEFORE, LAST = range(4)
"""The columns of the rows of `tails`."""
_BYTE = np.uint64(0xFF)
_END = "\xff"
"""A character of one byte that no plain cell has."""


@dataclass(frozen=True, repr=False, eq=False)
class PackedCells:
    """Cells as words of eight bytes.

    The rows of `tails` have the size in bytes, where in `heads` the first words start, of which
    there are `counts`, the word before the last, and the last one. The first word of a cell is
    filled up with zeros.
    """

    tails: Words
    heads: Words
    counts: Places

    @classmethod
    def of(cls, cells: Cells) -> PackedCells:
        sizes = cells.ends - cells.starts
        counts = np.maximum(sizes + (7 - _TAIL), 0) >> 3
        long = np.flatnonzero(counts > 0)
        # Four words are read at once, of which two are not kept.
        tails = rows_before(cells, cells.ends)
        keep_last(tails[:, LAST], sizes)
        keep_last(tails[:, BEFORE], sizes - 8)
        tails[:, SIZE] = sizes
        tails[:, HEAD] = 0
        each = counts[long]
        tails[long, HEAD] = first = np.cumsum(each) - each
        ends = cells.ends[long] - _TAIL
        heads = words_before(cells, runs(ends - 8 * each + 8, each, 8))
        cut = heads[first]
        keep_last(cut, sizes[long] - _TAIL - 8 * (each - 1))
        heads[first] = cut
        return cls(tails, heads, counts)

    def __len__(self) -> int:
        return len(self.counts)

    def hashes(self) -> Words:
        """A hash of each cell."""
        found = self.tails[:, LAST] * _FACTORS[0]
        found += self.tails[:, BEFORE] * _FACTORS[1]
        found += self.tails[:, SIZE] * _FACTORS[2]
        long = np.flatnonzero(self.counts)
        each = self.counts[long]
        factors = _FACTORS[runs(np.full(len(long), 4), each)]
        found[long] += sums(self.heads * factors, each)
        # The high bits of a product depend on all bits of its factors.
        found ^= found >> _HALF
        found *= _FACTORS[3]
        return np.asarray(found)

    def among(self, rows: Places) -> PackedCells:
        """The words of these rows' cells."""
        tails, counts = self.tails.take(rows, axis=0), self.counts[rows]
        long = np.flatnonzero(counts)
        each = counts[long]
        heads = self.heads[runs(tails[long, HEAD].astype(np.intp), each)]
        tails[long, HEAD] = np.cumsum(each) - each
        return PackedCells(tails, heads, counts)

    def having(self, byte: int) -> Bools:
        """Mask of cells that contain a byte, which is not NUL."""
        found = _has(self.tails[:, LAST], byte) | _has(self.tails[:, BEFORE], byte)
        long = np.flatnonzero(self.counts)
        found[long] |= sums(_has(self.heads, byte), self.counts[long]) > 0
        return np.asarray(found)

    def plain(self, quote: bytes) -> Bools:
        """Mask of plain cells, which are their own texts.

        They are ASCII without NUL, are not empty, and do not begin with the quote, which may be
        empty.
        """
        last, before = self.tails[:, LAST], self.tails[:, BEFORE]
        sizes, long = self.tails[:, SIZE].astype(np.intp), np.flatnonzero(self.counts)
        each, starts = self.counts[long], self.tails[long, HEAD].astype(np.intp)
        # The first word of a cell has as many bytes as the others leave.
        left = ((sizes - 1) & 7) + 1
        filled = np.full(len(self.heads), 8)
        filled[starts] = left[long]
        plain = (sizes > 0) & _ascii(last, sizes) & _ascii(before, sizes - 8)
        plain[long] &= sums(~_ascii(self.heads, filled), each) == 0
        if quote:
            first = np.where(sizes > 8, before, last)
            first[long] = self.heads[starts]
            first >>= (8 * (8 - left)).astype(np.uint64)
            plain &= first & _BYTE != ord(quote)
        return np.asarray(plain)

    def texts(self) -> list[str]:
        """The cells as texts, all of which are plain."""
        last = np.cumsum(self.counts + 3) - 2
        words = np.zeros(len(self.heads) + 3 * len(last), dtype="<u8")
        self._write(words, last)
        words[last + 1] = ord(_END)
        written = words.tobytes().translate(None, b"\0")
        return written.decode("latin-1").split(_END)[:-1]

    def cells(self) -> Cells:
        """The cells that have these words, in order and with NULs around each of them."""
        last = np.cumsum(self.counts + 3)
        text = np.zeros(len(self.heads) + 3 * len(last) + 2, dtype="<u8")
        self._write(text, last)
        ends = 8 * (last + 1)
        return Cells(text.tobytes(), ends - self.tails[:, SIZE].astype(np.intp), ends)

    def _write(self, words: Words, last: Places) -> None:
        """Write the words of each cell so that its last one is at this place."""
        words[last] = self.tails[:, LAST]
        words[last - 1] = self.tails[:, BEFORE]
        words[runs(last - 1 - self.counts, self.counts)] = self.heads


def _has(words: Words, byte: int) -> Bools:
    """Where a byte of the word is this one."""
    # It becomes a zero, from which taking one sets a high bit that was not set.
    other = words ^ alike(byte)
    return np.asarray((other - alike(1)) & ~other & HIGH_BITS != 0)


def _ascii(words: Words, counts: NDArray[Any]) -> Bools:
    """Where the last so many bytes of each word are ASCII, and none of them is NUL."""
    filled = fill_up(words, counts)
    # Taking one from a byte sets its high bit where it was zero.
    return np.asarray(((filled - alike(1)) | filled) & HIGH_BITS == 0)


def sums(values: NDArray[Any], counts: Places) -> NDArray[Any]:
    """The sums of so many values each, one after another."""
    if not len(counts):
        return values
    sums = np.cumsum(np.append(np.zeros(1, values.dtype), values))
    stops = np.cumsum(counts)
    return np.asarray(sums[stops] - sums[stops - counts])


PIECE = 128
"""The bytes of a piece. So many must follow the last text, whatever they are."""
_PART = 32
"""The bytes of a piece that are worked on at once: most texts have no more."""
_WORDS = _PART // 4
_BLOCK = 2**13
"""Pieces whose words stay in the cache."""
_MASKS = np.tril(np.full((_PART + 1, _PART), 0xFF, dtype=np.uint8), -1).view(f"V{_PART}").ravel()
"""For each number of bytes the bits of so many."""


def _times() -> int:
    """The number of times that the longest text is hashed, each byte of which becomes U+FFFD."""
    size, times = LONGEST * len("\N{REPLACEMENT CHARACTER}".encode()), 1
    while size > PIECE:
        size, times = 8 * -(-size // PIECE), times + 1
    return times


def random_factors() -> Words:
    """Factors that nobody knows, for texts of cells."""
    return factors_of(os.urandom(_times() * 2 * 8 * PIECE // 4))


def factors_of(drawn: bytes) -> Words:
    """Two factors for each word, for each time that a text is hashed."""
    return np.frombuffer(drawn, "<u8").reshape(-1, PIECE // 4, 2)


def hashes(raw: NDArray[np.uint8], starts: Places, sizes: Places, factors: Words) -> Words:
    """The hash of each text, which is so many bytes from its start on, of which none is NUL."""
    found = _of_pieces(raw, starts, np.minimum(sizes, PIECE), factors[0])
    long = np.flatnonzero(sizes > PIECE)
    if len(long):
        counts = -(-sizes[long] // PIECE)
        places = runs(starts[long], counts, PIECE)
        left = np.repeat(starts[long] + sizes[long], counts) - places
        pieces = _of_pieces(raw, places, np.minimum(left, PIECE), factors[0])
        before = np.cumsum(counts) - counts
        found[long] = hashes(followed(pieces.view(np.uint8)), 8 * before, 8 * counts, factors[1:])
    return found


def followed(raw: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bytes of texts with the zeros that must follow the last one, in whole words."""
    room = np.zeros((len(raw) + 7 >> 3 << 3) + PIECE, dtype=np.uint8)
    room[: len(raw)] = raw
    return room


def _of_pieces(raw: NDArray[np.uint8], places: Places, sizes: Places, factors: Words) -> Words:
    """The hash of each piece, which is so many bytes at its place."""
    found = np.empty(len(places), dtype=np.uint64)
    for first in range(0, len(places), _BLOCK):
        block = slice(first, first + _BLOCK)
        sums = _of_parts(raw, places[block], sizes[block], factors)
        for start in range(_PART, PIECE, _PART):
            rows = np.flatnonzero(sizes[block] > start)
            if not len(rows):
                break
            at, left = places[block][rows] + start, sizes[block][rows] - start
            sums[rows] += _of_parts(raw, at, left, factors[start // 4 :])
        found[block] = np.ascontiguousarray(sums.view("<u4")[:, 1::2]).view("<u8")[:, 0]
    return found


def _of_parts(raw: NDArray[np.uint8], places: Places, sizes: Places, factors: Words) -> Words:
    """The two sums of the first bytes at each place, where there are so many."""
    every: NDArray[Any] = np.ndarray(len(raw) - _PART + 1, f"V{_PART}", raw, strides=(1,))
    bits = every[places].view(np.uint64)
    bits &= _MASKS.take(sizes, mode="clip").view(np.uint64)
    words = bits.view("<u4").reshape(-1, _WORDS).astype(np.uint64)
    return np.asarray(words @ factors[:_WORDS])
