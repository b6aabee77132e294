"""The md5 of many short messages at once: the steps of [Riv92] on arrays of 32-bit words.

Python takes as long for one message as these take for ten. Words overflow as they should.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import md5
from itertools import compress
from math import floor, sin

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dpdb.vectors.vector import Array

_FEW = 2**10
"""For so few messages, the calls of 64 steps take longer than the messages by themselves."""
_BLOCK = 64
"""The bytes that are worked into the state at once."""
_SHORT = 119
"""The letters of two blocks."""
_ROWS = 2**12
"""The messages that are worked on at once, so that they stay in the cache."""
_START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
_SINES = np.array([floor(2**32 * abs(sin(step + 1))) for step in range(64)], dtype=np.uint32)
_SHIFTS = np.array([[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]], np.uint32)
_WORDS = ((1, 0), (5, 1), (3, 5), (7, 0))
"""For each round, by how much the place of the word grows in a step, and where it begins."""


def digests_of(messages: Sequence[bytes]) -> Array:
    """The md5 of messages, as rows of 16 bytes."""
    found = np.empty((len(messages), 16), dtype=np.uint8)
    # Long ones would make the rows of all others as long.
    short = np.array([len(each) <= _SHORT and 0 not in each for each in messages], dtype=np.bool_)
    for place in np.flatnonzero(~short).tolist():
        found[place] = _digest(messages[place])
    found[short] = digests_of_letters(b"", letters_of(list(compress(messages, short.tolist()))))
    return found


def digests_of_letters(prefix: bytes, letters: Array) -> Array:
    """The same of messages with a common beginning.

    `letters` has a row of bytes for each message, in which a zero is no letter.
    """
    found = np.empty((len(letters), 16), dtype=np.uint8)
    if len(letters) < _FEW:
        for place, row in enumerate(letters):
            found[place] = _digest(prefix + row.tobytes().replace(b"\0", b""))
        return found
    for start in range(0, len(letters), _ROWS):
        rows = slice(start, start + _ROWS)
        found[rows] = _together(*_padded(prefix, letters[rows]))
    return found


def letters_of(messages: Sequence[bytes]) -> Array:
    """Messages without zeros as rows of letters."""
    width = max(map(len, messages), default=0)
    return np.array([*messages], dtype=f"S{width + 1}").view(np.uint8).reshape(-1, width + 1)


def _digest(message: bytes) -> Array:
    return np.frombuffer(md5(message, usedforsecurity=False).digest(), dtype=np.uint8)


def _padded(prefix: bytes, letters: Array) -> tuple[Array, Array]:
    """The messages in whole blocks, and how many blocks each has ([Riv92] sections 3.1, 3.2)."""
    there = letters != 0
    sizes = np.count_nonzero(there, axis=1)
    lengths = sizes + len(prefix)
    blocks = (lengths + 8) // _BLOCK + 1
    padded = np.empty((len(letters), _BLOCK * int(blocks.max())), dtype=np.uint8)
    padded[:, : len(prefix)] = np.frombuffer(prefix, dtype=np.uint8)
    own = padded[:, len(prefix) :]
    # Letters of all messages follow each other; those of the next ones become zeros.
    following = np.append(letters[there], np.zeros(own.shape[1], dtype=np.uint8))
    starts = np.cumsum(sizes) - sizes
    own[:] = sliding_window_view(following, own.shape[1])[starts]
    own *= np.arange(own.shape[1], dtype=np.int32) < sizes[:, np.newaxis].astype(np.int32)
    rows = np.arange(len(letters))
    padded[rows, lengths] = 0x80
    padded.view("<u8")[rows, blocks * (_BLOCK // 8) - 1] = lengths * 8
    return padded, blocks


def _together(padded: Array, blocks: Array) -> Array:
    """The digests of messages in whole blocks."""
    found = np.empty((len(padded), 16), dtype=np.uint8)
    for number in np.unique(blocks).tolist():
        rows = np.flatnonzero(blocks == number)
        words = np.ascontiguousarray(padded[rows, : _BLOCK * number].view("<u4").T)
        found[rows] = np.ascontiguousarray(_state(words).T).view(np.uint8)
    return found


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
