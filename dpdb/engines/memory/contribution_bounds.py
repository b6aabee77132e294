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

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpdb.engines.memory.hash_order import hash_order
from dpdb.engines.memory.keys import NONE
from dpdb.engines.memory.md5 import digests_of_letters
from dpdb.engines.memory.owners import Owners
from dpdb.engines.memory.written import Written, utf8
from dpdb.policy.catalog import Table
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.vector import Array, Bools

_BLOCK = 2**16
"""Rows whose letters are held at a time."""


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
        return hash_order(self.owners.numbers[rows], keys)

    def hashes(self, rows: Array, sample_key: str) -> tuple[Array, Array]:
        """The hashes of some rows: their first 64 bits, and their last."""
        digests = np.empty((len(rows), 16), dtype=np.uint8)
        for start in range(0, len(rows), _BLOCK):
            block = slice(start, start + _BLOCK)
            letters = self._letters(rows[block])
            digests[block] = digests_of_letters(utf8(f"{sample_key}|"), letters)
        halves = digests.view(">u8").astype(np.uint64)
        return halves[:, 0], halves[:, 1]

    def tied(self, rows: Array) -> tuple[Array, ...]:
        """What breaks ties between rows of the same hash."""
        return tuple(
            each.units[rows]
            if each.null is None
            else np.where(each.null[rows], np.inf, each.units[rows])
            for each in self.ties
        )

    def _letters(self, rows: Array) -> Array:
        """The unit and the columns of some rows as they are hashed, with | between them."""
        bars = np.full((len(rows), 1), ord("|"), dtype=np.uint8)
        letters = [self.named.letters(self._rows_that_name(rows))]
        for column in self.written:
            letters += [bars, column.letters(rows)]
        return np.concatenate(letters, axis=1)

    def owner_texts(self, rows: Array) -> list[str]:
        """What the units of some rows are called, as it is hashed."""
        return self.named.texts(self._rows_that_name(rows))

    def _rows_that_name(self, rows: Array) -> Array:
        """The rows of the column with names that say whose some rows are."""
        return rows if self.owners.rows is None else self.owners.rows[rows]
