"""The hashes of rows, as `dpdb.engines.units.row_hashes` words them, one cell at a time."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import cache, lru_cache
from hashlib import blake2b, shake_256

Cell = int | float | str | None
"""Whole steps, a double without a step, a text or NULL."""
ALL = 2**64 - 1
PIECE, HALF = 128, 32


def row_hash(sample_key: str, cells: Iterable[tuple[str, Cell]]) -> int:
    """The hash of cells, each with the kind of its place and the name there."""
    return mixed(sum(term(sample_key, place, cell) for place, cell in cells) & ALL)


@lru_cache(2**16, typed=True)
def term(sample_key: str, place: str, cell: Cell) -> int:
    """The term of a cell; a whole number has another one than the same double."""
    drawn = blake2b(place.encode(), key=_secret(sample_key), digest_size=24).digest()
    factor, added, null = struct.unpack("<3Q", drawn)
    return null if cell is None else mixed((factor | 1) * _word(sample_key, cell) + added & ALL)


def mixed(word: int) -> int:
    """A word after the finalizer."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        word = (word ^ word >> 33) * factor & ALL
    return word ^ word >> 33


def _word(sample_key: str, cell: float | str) -> int:
    match cell:
        case float():
            return int.from_bytes(struct.pack("<d", cell + 0.0), "little")
        case str():
            return text_hash(cell.encode("utf-8", "surrogatepass"), _factors(sample_key))
    return cell & ALL


def text_hash(raw: bytes, factors: tuple[int, ...]) -> int:
    """The hash of a text's UTF-8."""
    if len(raw) > PIECE:
        pieces = (raw[at : at + PIECE] for at in range(0, len(raw), PIECE))
        hashed = b"".join(text_hash(piece, factors).to_bytes(8, "little") for piece in pieces)
        return text_hash(hashed, factors[PIECE // 2 :])
    words = [int.from_bytes(raw[at : at + 4], "little") for at in range(0, len(raw), 4)]
    low, high = (
        sum(word * factor for word, factor in zip(words, factors[first::2], strict=False)) & ALL
        for first in (0, 1)
    )
    return low >> HALF | high >> HALF << HALF


@cache
def _secret(sample_key: str) -> bytes:
    return blake2b(sample_key.encode("utf-8", "surrogatepass")).digest()


@cache
def _factors(sample_key: str) -> tuple[int, ...]:
    return struct.unpack("<512Q", shake_256(_secret(sample_key)).digest(4096))
