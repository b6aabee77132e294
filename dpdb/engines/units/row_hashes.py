"""Keyed hashes of rows, worked out on arrays: they say which rows of a privacy unit count.

What is hashed are the cells of a row. Each is a word of 64 bits: the whole steps of a number, the
days of a date, the microseconds of a timestamp, 0 or 1 for a boolean, the bits of a double that has
no step, and a keyed hash of the UTF-8 of a text. The word w in a column becomes the term

    M(a·w + b) modulo 2^64,

where the factor a, which is odd, and b are those of the column's name, derived from `sample_key`
with BLAKE2 ([SA15]), and M is the finalizer of [SLF14], after which a change of any bit changes
each other bit in about half of all words. NULL is a term of its own. The hash of the row is M of
the sum of its terms, so neither the order of rows nor that of columns has a say in it.

Without M the hashes of values at equal distances would be at equal distances, and the least ones a
pattern among the values rather than a random sample. What is claimed is a sample that follows no
pattern in the values, and that nobody can foretell who does not know the key; M is no cipher, and
whoever sees many hashes could find the key's factors. No sensitivity rests on hashes: any function
of the rows of a unit may say which of them count. Two rows of a unit that differ have the same hash
for one of 2^64 keys, and then they count in their order.

Words also stand for the units of rows, whatever blocks their names are in. A number is a word of
its own. A text is two words: its hashes with factors that nobody knows, so two names have the same
words with a probability of at most 2^-124 (see `text_hashes`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import cached_property, lru_cache
from hashlib import blake2b, shake_256

import numpy as np

from dpdb.engines.sources.cells.words import Words, factors_of, followed, hashes, random_factors
from dpdb.engines.units.keys import is_text, named_numbers
from dpdb.engines.values.grid_values import row_blocks
from dpdb.policy.catalog import Column, Value
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.keys import changes
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import Array, Bools

_BLOCK = 2**14
"""Rows whose words stay in the cache."""
_UPPER = np.uint64(32)
"""The half of a word's bits; a unit's number takes no more."""
_SHIFT = np.uint64(33)
_FACTORS = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
"""The numbers of mix64."""
_TEXT_FACTORS = 2**12
"""The bytes of factors for texts: enough for one of 2^30 bytes."""

Held = Numbers | Codes

Terms = Callable[[Array], Words]
"""Of some rows the term of each in one column."""


def mixed(words: Words) -> Words:
    """Words after the finalizer, function mix64 of [SLF14]; they are changed in place."""
    shifted = np.empty_like(words)
    for factor in _FACTORS:
        np.right_shift(words, _SHIFT, out=shifted)
        words ^= shifted
        words *= factor
    np.right_shift(words, _SHIFT, out=shifted)
    words ^= shifted
    return words


@dataclass(frozen=True, repr=False)
class Place:
    """Numbers that make terms of the words in one column."""

    factor: np.uint64
    added: np.uint64
    null: np.uint64
    """The term of NULL."""

    def terms(self, words: Words) -> Words:
        """The terms of words, which are changed in place."""
        words *= self.factor
        words += self.added
        return mixed(words)


@dataclass(frozen=True, repr=False)
class HashKey:
    """The secret from which all factors are derived."""

    secret: bytes

    @classmethod
    def of(cls, sample_key: str) -> HashKey:
        """The key that a policy names."""
        return cls(blake2b(_utf8(sample_key)).digest())

    def place(self, kind: str, name: str = "") -> Place:
        """The place of a kind with a name; no kind has a space in it."""
        return _place(self.secret, _utf8(f"{kind} {name}"))

    def columns(self, declared: Iterable[Column], held: Mapping[str, Held]) -> list[HashedColumn]:
        """Declared columns of a table, from what it holds."""
        return [
            HashedColumn(held[each.name], each.step, self, self.place("column", each.name))
            for each in declared
        ]

    def owner(self, names: Held) -> HashedColumn:
        """A column that names units."""
        return HashedColumn(names, Fraction(1), self, self.place("owner"))

    @cached_property
    def text_factors(self) -> Words:
        """The factors that texts are hashed with."""
        return factors_of(shake_256(self.secret).digest(_TEXT_FACTORS))


@lru_cache
def _place(secret: bytes, name: bytes) -> Place:
    drawn = np.frombuffer(blake2b(name, key=secret, digest_size=24).digest(), "<u8")
    return Place(drawn[0] | np.uint64(1), drawn[1], drawn[2])


@dataclass(frozen=True, repr=False)
class HashedColumn:
    """A column whose cells can be hashed."""

    column: Held
    step: Fraction
    """The unit in which declared numbers are counted."""
    key: HashKey
    place: Place

    def terms(self, rows: Array) -> Words:
        """The terms of some rows."""
        if isinstance(self.column, Numbers):
            numbers = self.column.taken(rows)
            words, null = fresh_words(numbers.units), numbers.null
        elif isinstance(self.column, StoredTexts):
            texts = self.column.taken(rows)
            words, null = texts.hashes(self.key.text_factors), texts.null
        else:
            return self._of_codes(self.column.codes[rows])
        terms = self.place.terms(words)
        if null is not None:
            terms[null] = self.place.null
        return terms

    def _of_codes(self, codes: Array) -> Words:
        """The terms of codes; those of a value are worked out when it is first met.

        So the work is that of the rows that are asked for, whatever else is among the values.
        """
        terms, known = self._of_values
        fresh = np.unique(codes[~known[codes]])
        if len(fresh):
            terms[fresh] = self.place.terms(self._words(fresh))
            known[fresh] = True
        return np.asarray(terms[codes])

    @cached_property
    def _of_values(self) -> tuple[Words, Bools]:
        """The terms of the values, and last that of NULL, with which of them are known."""
        assert isinstance(self.column, Codes)
        number = len(self.column.values)
        terms, known = np.zeros(number + 1, np.uint64), np.zeros(number + 1, np.bool_)
        terms[-1], known[-1] = self.place.null, True
        return terms, known

    def _words(self, codes: Array) -> Words:
        """The words of some values."""
        assert isinstance(self.column, Codes)
        every = self.column.values[:]  # texts that are made when asked for are so asked once
        values = [every[code] for code in codes.tolist()]
        if isinstance(values[0], str):
            return text_words([*map(str, values)], self.key.text_factors)[0]
        return np.array([_word(value, self.step) for value in values], dtype=np.uint64)


def row_hashes(columns: Sequence[Terms], rows: Array) -> Words:
    """The hashes of some rows of a table, of which these columns are hashed."""
    found = np.empty(len(rows), dtype=np.uint64)
    for first in range(0, len(rows), _BLOCK):
        block = slice(first, first + _BLOCK)
        found[block] = hash_of((terms(rows[block]) for terms in columns), len(found[block]))
    return found


def hash_of(terms: Iterable[Words], rows: int) -> Words:
    """The hashes of so many rows, of which these are the terms in one column after the other."""
    sums = np.zeros(rows, dtype=np.uint64)
    for each in terms:
        sums += each
    return mixed(sums)


def hash_order(units: Array | None, hashes: Words) -> Array:
    """The order of rows by the number of their unit, by their hash, and then as they stand.

    Nearly all rows are told apart by half of a hash and the unit, which are one number of 64 bits:
    sorting by that takes a tenth of the time. Without units half of a hash is one of 32 bits.
    """
    nearly = hashes >> _UPPER
    if units is None:
        nearly = nearly.astype(np.uint32)
    else:
        nearly |= units.astype(np.uint64) << _UPPER
    order = np.argsort(nearly)
    nearly.sort()
    alike = np.flatnonzero(nearly[1:] == nearly[:-1])
    places = np.union1d(alike, alike + 1)
    rows = order[places]
    # The last of the keys is the first to be sorted by.
    decided = np.lexsort((rows, hashes[rows], nearly[places]))
    order[places] = rows[decided]
    return order


def text_words(texts: Sequence[str], *factors: Words) -> UnitWords:
    """The hashes of texts with each of several factors: those of stored texts are the same."""
    raws = [*map(_utf8, texts)]
    sizes = np.fromiter(map(len, raws), np.intp, len(raws))
    raw, starts = followed(np.frombuffer(b"".join(raws), np.uint8)), np.cumsum(sizes) - sizes
    return tuple(hashes(raw, starts, sizes, each) for each in factors)


def fresh_words(numbers: Array) -> Words:
    """New words for whole numbers, or for doubles, of which zero has one sign."""
    if numbers.dtype.kind == "f":
        return np.asarray((numbers + 0.0).view(np.uint64))
    return numbers.astype(np.int64).view(np.uint64)


def _word(value: Value, step: Fraction) -> int:
    """The word of a declared value that is no text."""
    steps = Fraction(value) / step
    if steps.denominator == 1:
        return int(steps) % 2**64
    return int(np.float64(float(steps)).view(np.uint64))


def _utf8(text: str) -> bytes:
    # Nothing that a row holds may raise, be it no proper text.
    return text.encode("utf-8", "surrogatepass")


UnitWords = tuple[Array, ...]
"""For each of some rows a word, or several, which are equal where the unit is the same."""


def names_unit(column: Numbers | Codes) -> Bools:
    """Mask of rows that name a unit."""
    if isinstance(column, Codes):
        return ~column.null
    return named_numbers(column)[1]


@dataclass(frozen=True, repr=False)
class UnitKey:
    """Random numbers for words and hashes of units: nobody can choose names that share a hash.

    Processes whose words are compared have the same key, as it goes with the work that they share.
    """

    factors: tuple[Words, Words] = field(
        default_factory=lambda: (random_factors(), random_factors())
    )
    place: Place = field(default_factory=lambda: HashKey(os.urandom(32)).place("unit"))

    def words(self, column: Numbers | Codes) -> UnitWords:
        """The words of the unit that each row names."""
        if is_text(column):
            return _text_words(column, self.factors)
        return (column.units if isinstance(column, Numbers) else column.codes,)

    def hashes(self, words: UnitWords) -> Array:
        """A number of 32 bits for each row, equal where its unit is the same."""
        found = np.empty(len(words[0]), dtype=np.uint32)
        for block in row_blocks(len(words[0]), _BLOCK):
            found[block] = self.place.terms(fresh_words(words[0][block])) >> _UPPER
        return found


def numbered(words: UnitWords) -> Array:
    """A number for the unit of each row, from 0 on.

    Rows are sorted by the first word of their unit, and by all only if two units share that one.
    Words of texts are drawn with secret factors, so that no row can make two units share one.
    """
    order = np.argsort(words[0])
    new = changes([words[0][order]], len(order))
    if any((changes([each[order]], len(order)) > new).any() for each in words[1:]):
        order = np.lexsort(words)
        new = changes((each[order] for each in words), len(order))
    numbers = np.empty(len(order), dtype=np.int32)
    numbers[order] = np.cumsum(new, dtype=np.int32) - np.int32(1)
    return numbers


def _text_words(column: Numbers | Codes, factors: Sequence[Words]) -> UnitWords:
    if isinstance(column, StoredTexts):
        return tuple(map(column.hashes, factors))
    assert isinstance(column, Codes)
    words = text_words([*map(str, column.values)], *factors)
    return tuple(np.append(each, np.uint64(0))[column.codes] for each in words)
