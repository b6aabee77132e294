"""At most so many rows, and so many groups, of each privacy unit: what bounds a person's influence.

A unit with more rows than its cap keeps those with the least keyed hashes: a sample that depends
neither on how large values are nor on where rows stand. What is hashed are the unit and the
declared columns of the row, as `row_hashes` says; for groups they are the unit and the keys. Rows
that have the same hash are alike, but for one of 2^64 keys.

Which rows of a unit stay is a function of that unit's rows alone. No sensitivity rests on the
hash: whatever it is, no unit has more rows left than its cap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpdb.engines.sources.cells.words import Words
from dpdb.engines.units.filling import SharedRows
from dpdb.engines.units.keys import NONE, Owners
from dpdb.engines.units.row_hashes import HashedColumn, HashKey, hash_order, row_hashes
from dpdb.engines.values.grid_values import mask
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Column, Table
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.keys import numbered, whole
from dpdb.vectors.vector import AnyVector, Array, Bools, TextVector


def within_cap(units: Array, limit: int | Array, hashes: Callable[[Array], Array]) -> Bools:
    """Mask of rows that are among the `limit` of their unit with the least hashes.

    `units` has a number for the unit of each row; `limit` is one for each unit, or for all of them.
    Hashes are asked for the rows of units that have too many.
    """
    sizes = np.bincount(units)
    limits = np.broadcast_to(limit, len(sizes))
    overfull = sizes > limits
    contested = np.flatnonzero(overfull[units])
    ranked = contested[hash_order(units[contested], hashes(contested))]
    # They stand unit by unit now, in the order of the units' numbers.
    lengths = sizes[overfull]
    place = np.arange(len(ranked)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    kept = np.ones(len(units), dtype=np.bool_)
    kept[ranked[place >= np.repeat(limits[overfull], lengths)]] = False
    return kept


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
        """The order of rows by their unit's number, and by their hash."""
        return hash_order(self.owners.numbers[rows], self.hashes(rows))

    def hashes(self, rows: Array) -> Words:
        """The hashes of some rows."""
        return row_hashes([self.owner_terms, *(column.terms for column in self.columns)], rows)

    def owner_terms(self, rows: Array) -> Words:
        """The terms of the units of some rows."""
        return self.named.terms(self.owners.naming(rows))


def within_groups(plan: Plan, frame: Frame, units: Units, where: Bools | None, limit: int) -> Bools:
    """The rows for which `where` holds, in the at most `limit` groups that each unit keeps."""
    numbers = units.owners.numbers
    rows, owned = len(numbers), numbers != NONE
    kept = np.flatnonzero(owned if where is None else owned & where)
    vectors = [whole(evaluate(key, frame), rows) for key in plan.keys]
    groups, different = numbered(vectors, kept)
    number = max(len(different), 1)
    pairs, first, pair_of = np.unique(
        numbers[kept].astype(np.int64) * number + groups, return_index=True, return_inverse=True
    )
    terms = [units.owner_terms, *(column.terms for column in _hashed(vectors, plan.sample_key))]
    stays = within_cap(
        pairs // number, limit, lambda places: row_hashes(terms, kept[first[places]])
    )
    passed = np.zeros(rows, dtype=np.bool_)
    passed[kept[stays[pair_of]]] = True
    return passed


def _hashed(vectors: Sequence[AnyVector], sample_key: str) -> list[HashedColumn]:
    """The keys of all rows, each by its place among them."""
    key = HashKey.of(sample_key)
    return [
        HashedColumn(held_of(vector), Fraction(1), key, key.place("key", str(at)))
        for at, vector in enumerate(vectors)
    ]


def held_of(vector: AnyVector) -> Numbers | Codes:
    """The values of all rows, as a table holds a column."""
    if isinstance(vector, TextVector):
        return Codes(vector.codes, vector.dictionary)
    return Numbers(vector.values, None, vector.null, 0)


@dataclass(frozen=True, repr=False)
class PlanRows:
    """All rows of a plan's table, or those of some of its units."""

    frame: Frame
    rows: int
    units: Units | None
    """None where rows need not be capped any more."""
    owners: Array | None
    """The number of each row's unit; None where each row is one, or nothing looks at it."""
    shared: SharedRows | None = None
    """The owners of rows that have two."""

    def taken(self, places: Array) -> PlanRows:
        """Some of the rows, which have two owners."""
        assert self.shared is not None
        whole = self.shared
        shared = whole.joined(places, lambda rows: whole.hashes(places[rows]))
        columns = {name: column.taken(places) for name, column in self.frame.columns.items()}
        return PlanRows(replace(self.frame, columns=columns), len(places), None, None, shared)

    def counted(self, plan: Plan) -> Bools | None:
        """The rows that count; None where all do.

        A unit is capped after the filter and before all else, so that all aggregates see the same
        rows: first the number of its groups, and then that of its rows.
        """
        where = None if plan.where is None else mask(plan.where, self.frame, self.rows)
        if self.shared is not None:
            return self.shared.owned if where is None else self.shared.owned & where
        if self.units is None:
            return where
        table = plan.table
        assert isinstance(table, Table)
        if plan.keys and table.groups_per_unit is not None:
            where = within_groups(plan, self.frame, self.units, where, table.groups_per_unit)
        return self.units.capped(where, table.rows_per_unit)
