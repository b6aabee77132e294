"""At most so many rows of each privacy unit: what bounds a person's influence.

A unit with more rows than its cap keeps those with the smallest keyed hashes: a sample
that depends neither on how large values are nor on where rows stand. The hash is

    md5(sample_key | owner | digest),

where the digest is the row's declared columns, sorted by name, as text, with | between
them: ~ for NULL; decimal digits for integers, for dates (in days since 1970-01-01) and for
timestamps (since then) and numbers that have a step (in steps); 0 or 1 for booleans; for
texts the md5 of their UTF-8, in hexadecimal digits, which no | in a text can disturb.
Numbers without a step are no part of the digest: they break ties, in their order and then
in that of their columns' names, NULL last. Rows that are still tied are alike.

Which rows of a unit stay is a function of that unit's rows alone. No sensitivity rests
on the hash: whatever it is, no unit has more rows left than its cap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import md5

import numpy as np

from dpdb.engines.memory.keys import NONE
from dpdb.engines.memory.owners import Owners
from dpdb.policy.catalog import Table, Value
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import Array, Bools

_BLOCK = 2**16
"""Rows whose texts are held at a time."""


@dataclass(frozen=True, repr=False)
class Written:
    """A column whose values can be written as text."""

    column: Numbers | Codes
    step: Fraction

    def texts(self, rows: Array) -> list[str]:
        """Its values in some rows, as they are hashed."""
        if isinstance(self.column, Codes):
            column = self.column
            if isinstance(column, StoredTexts):
                column, rows = column.taken(rows), np.arange(len(rows))
            # Each value is written once, however many of the rows have it.
            codes, place = np.unique(column.codes[rows], return_inverse=True)
            values = (*column.values, None)
            written = [text_of(values[code], self.step) for code in codes.tolist()]
            return [written[at] for at in place.tolist()]
        texts = list(map(str, self.column.units[rows].tolist()))
        if self.column.null is not None:
            for at in np.flatnonzero(self.column.null[rows]).tolist():
                texts[at] = "~"
        return texts


def text_of(value: Value | None, step: Fraction = Fraction(1)) -> str:
    """A value as it is hashed; numbers in multiples of a step."""
    match value:
        case None:
            return "~"
        case bool():
            return str(int(value))
        case str():
            return hashed(value).hex()
    return str(Fraction(value) / step)


@dataclass(frozen=True, repr=False)
class Units:
    """The rows of a table, by whose they are."""

    owners: Owners
    named: Written
    """The column that names the units, which is hashed first."""
    written: tuple[Written, ...]
    """The columns that are part of the digest."""
    ties: tuple[Numbers, ...]
    """The numbers without a step."""

    @classmethod
    def of(cls, table: Table, columns: Mapping[str, Numbers | Codes], owners: Owners) -> Units:
        """The rows of a table, from its columns and the owners of the rows."""
        written, ties = [], []
        for declared in sorted(table.columns, key=lambda column: column.name):
            column = columns[declared.name]
            if isinstance(column, Numbers) and column.step is None:
                ties.append(column)
            else:
                written.append(Written(column, declared.step))
        return cls(owners, Written(owners.names, Fraction(1)), tuple(written), tuple(ties))

    def capped(self, where: Bools | None, limit: int, sample_key: str) -> Bools:
        """At most `limit` rows of each unit, of those `where` holds; none that names no unit."""
        owners = self.owners.numbers
        kept: Bools = np.asarray(owners != NONE)
        if where is not None:
            kept &= where
        sizes = np.bincount(owners[kept])
        # The last place is that of nobody.
        overfull = np.append(sizes > limit, False)
        contested = np.flatnonzero(kept)
        contested = contested[overfull[owners[contested]]]
        ranked = contested[self.order(contested, sample_key)]
        # They stand unit by unit now, in the order of the units' numbers.
        lengths = sizes[overfull[:-1]]
        place = np.arange(len(ranked)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        kept[ranked[place >= limit]] = False
        return kept

    def order(self, rows: Array, sample_key: str) -> Array:
        """How to sort rows: by their unit's number, by their hash, by what breaks ties."""
        keys = (*self.hashes(rows, sample_key), *self.tied(rows))
        # The last of the keys is the first to be sorted by.
        return np.lexsort((*reversed(keys), self.owners.numbers[rows]))

    def hashes(self, rows: Array, sample_key: str) -> tuple[Array, Array]:
        """The hashes of some rows: their first 64 bits, and their last."""
        hashes = np.frombuffer(b"".join(self._hashes(rows, sample_key)), dtype=">u8").reshape(-1, 2)
        return hashes[:, 0].astype(np.uint64), hashes[:, 1].astype(np.uint64)

    def tied(self, rows: Array) -> tuple[Array, ...]:
        """What breaks ties between rows of the same hash."""
        return tuple(
            each.units[rows]
            if each.null is None
            else np.where(each.null[rows], np.inf, each.units[rows])
            for each in self.ties
        )

    def _hashes(self, rows: Array, sample_key: str) -> Iterator[bytes]:
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            own = (column.texts(block) for column in self.written)
            for texts in zip(self.owner_texts(block), *own, strict=True):
                yield hashed("|".join((sample_key, *texts)))

    def owner_texts(self, rows: Array) -> list[str]:
        """What the units of some rows are called, as it is hashed."""
        return self.named.texts(rows if self.owners.rows is None else self.owners.rows[rows])


def hashed(text: str) -> bytes:
    """The md5 of a text's UTF-8."""
    # Nothing that a row holds may raise, be it no proper text.
    return md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
