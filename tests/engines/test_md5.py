"""The md5 of many messages is that of each of them."""

from __future__ import annotations

from hashlib import md5

import numpy as np
import pytest

from dpdb.engines.memory.md5 import digests_of, digests_of_letters

MANY = 5_000
"""More than are worked on at once."""


def each(messages: list[bytes]) -> list[bytes]:
    return [md5(message).digest() for message in messages]


@pytest.mark.parametrize("number", [0, 1, MANY])
def test_messages_of_any_length(number: int) -> None:
    """About the ends of blocks, and beyond those that are worked on together."""
    chance = np.random.default_rng(3)
    lengths = chance.choice([0, 1, 54, 55, 56, 63, 64, 65, 118, 119, 120, 128, 500], number)
    messages = [chance.bytes(length) for length in lengths.tolist()]
    assert [row.tobytes() for row in digests_of(messages)] == each(messages)


@pytest.mark.parametrize("number", [0, 1, MANY])
@pytest.mark.parametrize("prefix", [b"", b"a\0key|", b"k" * 200])
def test_letters_with_gaps_after_a_prefix(number: int, prefix: bytes) -> None:
    chance = np.random.default_rng(4)
    letters = chance.integers(1, 256, (number, 90), dtype=np.uint8)
    letters[chance.random(letters.shape) < chance.random((number, 1))] = 0
    messages = [prefix + row.tobytes().replace(b"\0", b"") for row in letters]
    assert [row.tobytes() for row in digests_of_letters(prefix, letters)] == each(messages)
