"""Words that stand for the units of rows, whatever blocks their names are in.

A number is a word of its own. A text is two words: its hashes with factors that nobody knows, so
two names have the same words with a probability of at most 2^-124 (see `text_hashes`).
"""

from __future__ import annotations

import os

import numpy as np

from dpdb.engines.sources.cells.words import random_factors
from dpdb.engines.units.keys import is_text, named_numbers
from dpdb.engines.units.row_hashes import HashKey, fresh_words, text_words
from dpdb.engines.values.row_blocks import row_blocks
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.relational.keys import changes
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import Array, Bools

_FACTORS = random_factors(), random_factors()
_PLACE = HashKey(os.urandom(32)).place("unit")
"""Nobody can choose numbers that share a hash with many others."""
_UPPER = np.uint64(32)
_BLOCK = 2**14
"""Rows whose words stay in the cache."""

UnitWords = tuple[Array, ...]
"""For each of some rows a word, or several, which are equal where the unit is the same."""


def names_unit(column: Numbers | Codes) -> Bools:
    """Mask of rows that name a unit."""
    if isinstance(column, Codes):
        return ~column.null
    return named_numbers(column)[1]


def unit_words(column: Numbers | Codes) -> UnitWords:
    """The words of the unit that each row names."""
    return tuple(_words(column, place) for place in range(2 if is_text(column) else 1))


def word_hashes(words: UnitWords) -> Array:
    """A number of 32 bits for each row, equal where its unit is the same."""
    found = np.empty(len(words[0]), dtype=np.uint32)
    for block in row_blocks(len(words[0]), _BLOCK):
        found[block] = _PLACE.terms(fresh_words(words[0][block])) >> _UPPER
    return found


def numbered(words: UnitWords) -> Array:
    """A number for the unit of each row, from 0 on."""
    order = np.argsort(words[0]) if len(words) == 1 else np.lexsort(words)
    new = changes((each[order] for each in words), len(order))
    numbers = np.empty(len(order), dtype=np.int32)
    numbers[order] = np.cumsum(new, dtype=np.int32) - np.int32(1)
    return numbers


def _words(column: Numbers | Codes, place: int) -> Array:
    if isinstance(column, Numbers):
        return column.units
    if isinstance(column, StoredTexts):
        return column.hashes(_FACTORS[place])
    if not is_text(column):
        return column.codes
    words = text_words([*map(str, column.values)], _FACTORS[place])
    return np.asarray(np.append(words, np.uint64(0))[column.codes])
