"""At most so many rows of each privacy unit: what bounds a person's influence.

A unit with more rows than its cap keeps those with the least keyed hashes: a sample that depends
neither on how large values are nor on where rows stand. What is hashed are the unit and the
declared columns of the row, as `row_hashes` says. Rows that have the same hash are alike, but for
one of 2^64 keys.

Which rows of a unit stay is a function of that unit's rows alone. No sensitivity rests on the
hash: whatever it is, no unit has more rows left than its cap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from dpdb.engines.memory.hash_order import hash_order, within_cap
from dpdb.engines.memory.keys import NONE
from dpdb.engines.memory.owners import Owners
from dpdb.engines.memory.row_hashes import HashedColumn, HashKey, row_hashes
from dpdb.engines.sources.cell_words import Words
from dpdb.policy.catalog import Column, Table
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.vector import Array, Bools


@dataclass(frozen=True, repr=False)
class Units:
    """The rows of a table, by whose they are."""

    owners: Owners
    named: HashedColumn
    """The column that names the units."""
    columns: tuple[HashedColumn, ...]
    """The columns that rows are hashed by."""

    @classmethod
    def of(
        cls, table: Table, columns: Mapping[str, Numbers | Codes], owners: Owners, sample_key: str
    ) -> Units:
        """The rows of a table, hashed by all its columns."""
        return cls.hashed_by(table.columns, columns, owners, sample_key)

    @classmethod
    def hashed_by(
        cls,
        declared: Iterable[Column],
        columns: Mapping[str, Numbers | Codes],
        owners: Owners,
        sample_key: str,
    ) -> Units:
        """Rows with these owners, hashed by some of their columns."""
        key = HashKey.of(sample_key)
        return cls(owners, key.owner(owners.names), tuple(key.columns(declared, columns)))

    def capped(self, where: Bools | None, limit: int) -> Bools:
        """At most `limit` rows of each unit, of those `where` holds; none that names no unit."""
        owners = self.owners.numbers
        kept: Bools = np.asarray(owners != NONE)
        if where is not None:
            kept &= where
        rows = np.flatnonzero(kept)
        stays = within_cap(owners[rows], limit, lambda places: self.hashes(rows[places]))
        kept[rows] = stays
        return kept

    def order(self, rows: Array) -> Array:
        """How to sort rows: by their unit's number, and by their hash."""
        return hash_order(self.owners.numbers[rows], self.hashes(rows))

    def hashes(self, rows: Array) -> Words:
        """The hashes of some rows."""
        return row_hashes([self.owner_terms, *(column.terms for column in self.columns)], rows)

    def owner_terms(self, rows: Array) -> Words:
        """The terms of the units of some rows."""
        return self.named.terms(self.owners.naming(rows))
