"""The md5 of many short messages at once: the steps of [Riv92] on arrays of 32-bit words.

Python takes as long for one message as these take for ten. Words overflow as they should.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import md5
from math import floor, sin

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dpdb.vectors.vector import Array

_FEW = 2**8
"""For so few messages, the calls of 64 steps take longer than the messages by themselves."""
_BLOCK = 64
"""The bytes that are worked into the state at once."""
_LONGEST = 16
"""The blocks of the longest messages that are worked on together."""
_ROWS = 2**12
"""The messages that are worked on at once, so that they stay in the cache."""
_START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
_SINES = np.array([floor(2**32 * abs(sin(step + 1))) for step in range(64)], dtype=np.uint32)
_SHIFTS = np.array([[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]], np.uint32)
_WORDS = ((1, 0), (5, 1), (3, 5), (7, 0))
"""For each round, by how much the place of the word grows in a step, and where it begins."""


def digests_of(messages: Sequence[bytes]) -> Array:
    """The md5 of messages, as rows of 16 bytes."""
    sizes = np.fromiter(map(len, messages), np.int64, len(messages))
    return digests(np.frombuffer(b"".join(messages), np.uint8), np.cumsum(sizes) - sizes, sizes)


def digests_of_letters(prefix: bytes, letters: Array) -> Array:
    """The md5 of messages with a common beginning, as rows of 16 bytes.

    `letters` has a row of bytes for each message, in which a zero is no letter.
    """
    there = letters != 0
    sizes = np.count_nonzero(there, axis=1)
    return digests(letters[there], np.cumsum(sizes) - sizes, sizes, prefix)


def digests(raw: Array, starts: Array, sizes: Array, prefix: bytes = b"") -> Array:
    """The md5 of messages cut out of `raw`, each after the prefix, as rows of 16 bytes."""
    found = np.empty((len(starts), 16), dtype=np.uint8)
    followed = np.append(raw, np.zeros(_LONGEST * _BLOCK, dtype=np.uint8))
    blocks = (sizes + (len(prefix) + 8)) // _BLOCK + 1
    for number in np.unique(blocks).tolist():
        places = np.flatnonzero(blocks == number)
        if len(places) < _FEW or number > _LONGEST:
            for place in places.tolist():
                message = raw[starts[place] : starts[place] + sizes[place]].tobytes()
                digest = md5(prefix + message, usedforsecurity=False).digest()
                found[place] = np.frombuffer(digest, dtype=np.uint8)
            continue
        for first in range(0, len(places), _ROWS):
            rows = places[first : first + _ROWS]
            padded = _padded(prefix, followed, starts[rows], sizes[rows], number)
            words = np.ascontiguousarray(padded.view("<u4").T)
            found[rows] = np.ascontiguousarray(_state(words).T).view(np.uint8)
    return found


def _padded(prefix: bytes, followed: Array, starts: Array, sizes: Array, blocks: int) -> Array:
    """Messages in so many blocks ([Riv92] sections 3.1, 3.2)."""
    padded = np.empty((len(starts), _BLOCK * blocks), dtype=np.uint8)
    padded[:, : len(prefix)] = np.frombuffer(prefix, dtype=np.uint8)
    own = padded[:, len(prefix) :]
    # What follows a message becomes zeros.
    own[:] = sliding_window_view(followed, own.shape[1])[starts]
    own *= np.arange(own.shape[1], dtype=np.int32) < sizes[:, np.newaxis].astype(np.int32)
    lengths = sizes + len(prefix)
    padded[np.arange(len(starts)), lengths] = 0x80
    padded.view("<u8")[:, -1] = lengths * 8
    return padded


def _state(words: Array) -> Array:
    """The four words that come of all words of each message, which stand below each other."""
    state = np.array(_START, dtype="<u4")[:, np.newaxis] + np.zeros_like(words[:4])
    for start in range(0, len(words), 16):
        state += _worked_in(state, words[start : start + 16])
    return state


def _worked_in(state: Array, words: Array) -> Array:
    """What one block makes of a state ([Riv92] section 3.4)."""
    a, b, c, d = state.copy()
    mixed, turned = np.empty_like(a), np.empty_like(a)
    for step in range(64):
        circle = step // 16
        factor, first = _WORDS[circle]
        _mix(circle, b, c, d, mixed)
        mixed += a
        mixed += _SINES[step]
        mixed += words[(factor * step + first) % 16]
        shift = _SHIFTS[circle, step % 4]
        np.left_shift(mixed, shift, out=turned)
        np.right_shift(mixed, np.uint32(32) - shift, out=mixed)
        mixed |= turned
        mixed += b
        # What was in `a` is not needed any more.
        a, b, c, d, mixed = d, mixed, b, c, a
    return np.stack([a, b, c, d])


def _mix(circle: int, b: Array, c: Array, d: Array, out: Array) -> None:
    """The function of a round, of three words."""
    match circle:
        case 0:
            np.bitwise_xor(c, d, out=out)
            out &= b
            out ^= d
        case 1:
            np.bitwise_xor(b, c, out=out)
            out &= d
            out ^= c
        case 2:
            np.bitwise_xor(b, c, out=out)
            out ^= d
        case _:
            np.invert(d, out=out)
            out |= b
            out ^= c
