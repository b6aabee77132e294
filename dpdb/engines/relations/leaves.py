"""The tables that a relation reads, row by row, and rows that are put together from theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from dpdb.engines.sources.cells.words import Words
from dpdb.engines.units.caps import within_cap
from dpdb.engines.units.keys import Owners
from dpdb.engines.units.row_hashes import HashedColumn, HashKey, hash_of, row_hashes
from dpdb.plan.expressions.expressions import Expr, Slot, columns_of
from dpdb.plan.relations.relations import Equality, Lookup, Scan
from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate, holds
from dpdb.vectors.keys import Matches, changes
from dpdb.vectors.vector import AnyVector, Array, Bools, Vector

BOOLEANS = (False, True)


@dataclass(frozen=True, repr=False)
class Leaf:
    """A table of a relation; a row of NULLs is added at its end, at the index -1."""

    scan: Scan
    columns: Mapping[str, Numbers | Codes]
    """The columns by their names in the table."""
    rows: int
    owners: Owners | None
    """The owners of the rows; None if each row is a unit, or the table is public."""
    key: HashKey
    """The key of the rows' hashes."""
    matches: dict[tuple[Equality, ...], Matches] = field(default_factory=dict)
    """The rows of a public table by the expressions that joins equate, for all pieces."""
    searched: dict[Lookup, Searched] = field(default_factory=dict)
    """The rows of a public table that lookups search, for all pieces."""

    @cached_property
    def texts(self) -> frozenset[str]:
        """The columns of a public table with texts and no declared values."""
        columns = self.scan.table.columns if self.scan.table.public else ()
        return frozenset(c.name for c in columns if c.kind is Kind.TEXT and c.values is None)

    @cached_property
    def numbers(self) -> Array:
        """The numbers of its rows."""
        return np.arange(self.rows, dtype=np.int32)

    def terms(self, rows: Array) -> Words:
        """The hash terms of some rows, to be added to those of the rows they are joined with.

        Hashed are the columns of the key, or all declared ones if there is none. Rows of a unit
        whose key is NULL have equal terms, and count in their order.
        """
        place = self.key.place("leaf", self.scan.leaf)
        terms = place.terms(row_hashes([each.terms for each in self._hashed], rows))
        terms[rows < 0] = place.null
        return terms

    @cached_property
    def _hashed(self) -> list[HashedColumn]:
        return self.key.columns(self.scan.table.told_apart_by, self.columns)

    @cached_property
    def owner_names(self) -> HashedColumn | None:
        """The column that names the units of its rows."""
        return None if self.owners is None else self.key.owner(self.owners.names)


def with_null_row(column: Numbers | Codes) -> Numbers | Codes:
    """The column with a NULL as one more row, for rows of a join without a match."""
    if isinstance(column, Codes):
        codes = np.append(column.codes, np.array([len(column.values)], dtype=column.codes.dtype))
        return Codes(codes, column.values)
    null = np.zeros(len(column.units), dtype=np.bool_) if column.null is None else column.null
    units = np.append(column.units, np.array([column.filler], dtype=column.units.dtype))
    return Numbers(units, column.step, np.append(null, np.True_), column.filler, column.held)


def own_texts(column: Codes) -> Codes:
    """The column with a dictionary of its own values alone, made in the time of its rows."""
    missing = len(column.values)
    ordered = np.sort(column.codes)
    used = ordered[changes([ordered], len(ordered))]
    used = used[used < missing]
    # Room for the numbers of all values; only those of the used values are touched.
    numbers: Array = np.empty(missing + 1, dtype=np.int32)
    numbers[used], numbers[missing] = np.arange(len(used)), len(used)
    return Codes(numbers[column.codes], tuple(column.values[code] for code in used.tolist()))


@dataclass(frozen=True, repr=False)
class Rows:
    """Rows of a relation: for each leaf the index of its row, -1 if it has none."""

    numbers: Mapping[str, Array]
    owners: Array
    """The number of each row's unit."""
    marks: Mapping[str, Array] = field(default_factory=dict)
    """The results of lookups, as codes of booleans."""

    def __len__(self) -> int:
        return len(self.owners)

    def take(self, places: Array | slice) -> Rows:
        """Some of the rows."""
        numbers = {leaf: numbers[places] for leaf, numbers in self.numbers.items()}
        marks = {name: codes[places] for name, codes in self.marks.items()}
        return Rows(numbers, self.owners[places], marks)

    def beside(self, leaf: str, numbers: Array) -> Rows:
        """The rows with the rows of one more leaf beside them."""
        return Rows({**self.numbers, leaf: numbers.astype(np.int32)}, self.owners, self.marks)

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """The rows of one or more parts, one after the other."""

        def of_each(chosen: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
            return {name: np.concatenate([each[name] for each in chosen]) for name in chosen[0]}

        numbers = of_each([part.numbers for part in parts])
        marks = of_each([part.marks for part in parts])
        return Rows(numbers, np.concatenate([part.owners for part in parts]), marks)


@dataclass(frozen=True, repr=False)
class Searched:
    """The rows that EXISTS or IN searches."""

    rows: Rows
    candidates: Matches
    """The rows by the expressions in `on`."""
    among_equal: Matches | None = None
    """The rows by the expressions in `on` and the one that IN compares."""
    among_null: Matches | None = None
    """The rows whose value that IN compares is NULL, by the expressions in `on`."""


@dataclass(frozen=True, repr=False)
class Leaves:
    """All leaves of a relation, by name."""

    leaves: Mapping[str, Leaf]
    slots: Mapping[Slot, AnyVector]

    def frame(self, rows: Rows, names: Iterable[str]) -> Frame:
        """The columns of these names in some rows."""
        columns = {name: self._column(name, rows) for name in names}
        return Frame(columns, self.slots)

    def frame_of(self, rows: Rows, expression: Expr) -> Frame:
        """The columns that an expression reads in some rows."""
        return self.frame(rows, columns_of(expression))

    def true(self, condition: Expr, rows: Rows) -> Bools:
        """Whether a condition is true in each row."""
        return np.broadcast_to(holds(condition, self.frame_of(rows, condition)), len(rows))

    def values(self, rows: Rows, expressions: Iterable[Expr], *, owners: bool) -> list[AnyVector]:
        """The values of expressions; with `owners` the numbers of the units come first."""
        values = [evaluate(each, self.frame_of(rows, each)) for each in expressions]
        return [Vector(rows.owners.astype(np.float64)), *values] if owners else values

    def _column(self, name: str, rows: Rows) -> Numbers | Codes:
        if name in rows.marks:
            return Codes(rows.marks[name], BOOLEANS)
        leaf, column = self._place(name)
        numbers = rows.numbers[leaf]
        if column is None:
            return Codes((numbers >= 0).astype(np.int8), BOOLEANS)
        of = self.leaves[leaf]
        taken = of.columns[column].taken(numbers)
        if column in of.texts and isinstance(taken, Codes):
            return own_texts(taken)
        return taken

    def _place(self, name: str) -> tuple[str, str | None]:
        """The leaf and the column of a name; None if the name says whether there is a row."""
        if name in self.leaves and name:
            return name, None
        leaf, _, column = name.partition(".")
        return (leaf, column) if leaf in self.leaves else ("", name)

    def capped(self, rows: Rows, limit: int) -> Rows:
        """At most `limit` rows of each unit: those with the least keyed hashes.

        A hash is of the unit and, as one term each, the rows of all leaves.
        """
        return rows.take(
            within_cap(rows.owners, limit, lambda places: self.hashes(rows.take(places)))
        )

    def few_alike(self, rows: Rows, codes: Array, most: int) -> Rows:
        """At most `most` rows with each code, and all rows whose code is negative.

        The rows with the least keyed hashes stay.
        """
        coded, kept = np.flatnonzero(codes >= 0), codes < 0
        kept[coded] = within_cap(
            codes[coded], most, lambda places: self.hashes(rows.take(coded[places]))
        )
        return rows.take(kept)

    def hashes(self, rows: Rows) -> Words:
        """The keyed hashes of some rows."""
        leaves = (self.leaves[name].terms(numbers) for name, numbers in rows.numbers.items())
        return hash_of([self._owner_terms(rows), *leaves], len(rows))

    def _owner_terms(self, rows: Rows) -> Words:
        """The hash terms of the rows' units; zeros if each row of a table is a unit."""
        terms = np.zeros(len(rows), dtype=np.uint64)
        for name, numbers in rows.numbers.items():
            owners, names = self.leaves[name].owners, self.leaves[name].owner_names
            if owners is not None and names is not None:
                there = np.flatnonzero(numbers >= 0)
                terms[there] = names.terms(owners.naming(numbers[there]))
        return terms
