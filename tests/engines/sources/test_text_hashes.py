"""Texts have the same hash exactly where they mean the same."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pyarrow

from dpdb.engines.sources.arrow.texts import ArrowTexts
from dpdb.engines.sources.cells.words import PIECE, hashes, random_factors
from dpdb.vectors import grammar

UNITS = [b"a", b"b", b"\0", b"\xc3", b"\xa4", b"\xe2\x82", b"\xac", b"\xf0\x9f\x98", b"\x80", b"\xff",
         b"\xed\xa0\x80", "\N{REPLACEMENT CHARACTER}".encode(), "ä€\N{GRINNING FACE}".encode()]  # fmt: skip


def _texts(raws: list[bytes]) -> ArrowTexts:
    held = pyarrow.array(raws, pyarrow.large_binary())
    texts = pyarrow.LargeStringArray.from_buffers(len(held), *held.buffers()[1:])
    return ArrowTexts(texts, nullable=False)


def test_hashes_are_those_of_what_cells_mean() -> None:
    """Many bytes that are no UTF-8 mean the same; a text that is too long means nothing."""
    draw = random.Random(7)
    raws = [b"".join(draw.choices(UNITS, k=draw.randrange(6))) for _ in range(3_000)]
    raws += [b"a" * 10_001, *(b"\xff" * size for size in (9_999, 10_000, 10_001))]
    found = _texts(raws).hashes(random_factors()).tolist()
    meant = [grammar.text(raw, b"") if len(raw) <= grammar.LONGEST else "" for raw in raws]
    assert len(set(meant)) < len(set(raws))
    assert len(set(found)) == len(set(meant)) == len(set(zip(found, meant, strict=True)))


def test_each_byte_and_the_size_matter() -> None:
    """In texts of one piece, of several, and of so many that their hashes are cut into pieces."""
    around = [*range(30, 35), 64, 65, *range(PIECE - 2, PIECE + 3)]
    sizes = [0, 1, 3, 4, 5, *around, 1_025, 9_999, 10_000]
    same = [b"x" * size for size in sizes]
    places = [(size, at) for size in sizes if size for at in {0, size // 3, size - 2, size - 1}]
    changed = {b"x" * at + b"y" + b"x" * (size - at - 1) for size, at in places if at >= 0}
    raws = [*same, *sorted(changed)]
    assert len(set(_texts(raws).hashes(random_factors()).tolist())) == len(raws)


def test_the_upper_halves_of_sums_are_used() -> None:
    """In the lower ones hardly a bit depends on the last byte of each word."""
    raws = [b"".join(words) for words in product([b"xxxa", b"xxxq"], repeat=8)]
    assert len(set(_texts(raws).hashes(random_factors()).tolist())) == len(raws)


def test_a_hash_does_not_depend_on_what_else_there_is() -> None:
    raws, factors = [b"ab", b"", b"c" * 40, b"a\0", b"ab", b"c" * 40, b"\xffz"], random_factors()
    whole = _texts(raws).hashes(factors)
    assert whole[0] == whole[4]
    assert whole[2] == whole[5]
    each = [_texts(raws).within(slice(at, at + 1)).hashes(factors)[0] for at in range(len(raws))]
    assert whole.tolist() == each
    assert whole.tolist() != _texts(raws).hashes(random_factors()).tolist()


def test_both_halves_of_a_hash_are_used() -> None:
    """Each of 32 bits, so that none among many texts is the same."""
    raw = np.frombuffer(np.arange(2**17, dtype="<u4").tobytes() + bytes(PIECE), np.uint8)
    found = hashes(raw, 4 * np.arange(2**17), np.full(2**17, 4), random_factors())
    for half in (found >> np.uint64(32), found & np.uint64(2**32 - 1)):
        assert len(np.unique(half)) > 2**17 - 100
