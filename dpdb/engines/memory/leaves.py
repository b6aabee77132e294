"""The tables that a relation reads, row by row, and rows that are put together from theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpdb.engines.memory.owners import Owners
from dpdb.engines.memory.written import Written, hashed
from dpdb.plan.expressions import Expr, Slot, columns_of
from dpdb.plan.relations import Scan
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate, holds
from dpdb.vectors.stored_texts import StoredTexts
from dpdb.vectors.vector import AnyVector, Array, Bools, Vector

BOOLEANS = (False, True)
_BLOCK = 2**16
"""Rows whose texts are held at a time."""


@dataclass(frozen=True, repr=False)
class Leaf:
    """One table of a relation; after its last row comes one of NULLs, which -1 stands for."""

    scan: Scan
    columns: Mapping[str, Numbers | Codes]
    """By the names of the table."""
    rows: int
    owners: Owners | None
    """None where each row is a unit, or the table is public."""

    def column(self, name: str, rows: Array) -> Numbers | Codes:
        """The column in some rows."""
        return taken(self.columns[name], rows)

    @property
    def digest(self) -> tuple[tuple[Written, ...], tuple[Numbers, ...]]:
        """What tells its rows apart: columns as texts, and numbers without a step, for ties.

        These are the columns of its key, or all declared ones where it has none.
        """
        table = self.scan.table
        named = table.key or tuple(column.name for column in table.columns)
        declared = sorted((c for c in table.columns if c.name in named), key=lambda c: c.name)
        written, ties = [], []
        for each in declared:
            column = self.columns[each.name]
            if isinstance(column, Numbers) and column.step is None:
                ties.append(column)
            else:
                written.append(Written(column, each.step))
        return tuple(written), tuple(ties)


def with_null_row(column: Numbers | Codes) -> Numbers | Codes:
    """The column with a further row that is NULL, as any column may be for want of a match."""
    if isinstance(column, Codes):
        codes = np.append(column.codes, np.array([len(column.values)], dtype=column.codes.dtype))
        return Codes(codes, column.values)
    null = np.zeros(len(column.units), dtype=np.bool_) if column.null is None else column.null
    units = np.append(column.units, np.array([column.filler], dtype=column.units.dtype))
    return Numbers(units, column.step, np.append(null, np.True_), column.filler)


def taken(column: Numbers | Codes, rows: Array) -> Numbers | Codes:
    """The column in some rows."""
    if isinstance(column, StoredTexts):
        return column.taken(rows)
    if isinstance(column, Codes):
        return Codes(column.codes[rows], column.values)
    null = None if column.null is None else column.null[rows]
    return Numbers(column.units[rows], column.step, null, column.filler)


@dataclass(frozen=True, repr=False)
class Rows:
    """Rows of a relation: for each leaf the number of its row, -1 where there is none."""

    numbers: Mapping[str, Array]
    owners: Array
    """Of each row the number of its unit."""
    marks: Mapping[str, Array] = field(default_factory=dict)
    """What lookups have found, as codes of booleans."""

    def __len__(self) -> int:
        return len(self.owners)

    def take(self, places: Array | slice) -> Rows:
        """Some of the rows."""
        numbers = {leaf: numbers[places] for leaf, numbers in self.numbers.items()}
        marks = {name: codes[places] for name, codes in self.marks.items()}
        return Rows(numbers, self.owners[places], marks)

    def beside(self, leaf: str, numbers: Array) -> Rows:
        """The rows with those of a further leaf."""
        return Rows({**self.numbers, leaf: numbers.astype(np.int32)}, self.owners, self.marks)

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """All rows of several parts, of which there is one at least."""

        def of_each(chosen: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
            return {name: np.concatenate([each[name] for each in chosen]) for name in chosen[0]}

        numbers = of_each([part.numbers for part in parts])
        marks = of_each([part.marks for part in parts])
        return Rows(numbers, np.concatenate([part.owners for part in parts]), marks)


@dataclass(frozen=True, repr=False)
class Leaves:
    """All leaves of a relation, by name."""

    leaves: Mapping[str, Leaf]
    slots: Mapping[Slot, AnyVector]

    def frame(self, rows: Rows, names: Iterable[str]) -> Frame:
        """The columns of that name in some rows."""
        columns = {name: self._column(name, rows) for name in names}
        return Frame(columns, self.slots)

    def frame_of(self, rows: Rows, *expressions: Expr) -> Frame:
        """The columns that expressions read in some rows."""
        return self.frame(rows, [name for each in expressions for name in columns_of(each)])

    def true(self, condition: Expr, rows: Rows) -> Bools:
        """Where a condition is true."""
        return np.broadcast_to(holds(condition, self.frame_of(rows, condition)), len(rows))

    def values(self, rows: Rows, expressions: Iterable[Expr], *, owners: bool) -> list[AnyVector]:
        """The values of expressions, and those of the owner, too, if they are asked for."""
        values = [evaluate(each, self.frame_of(rows, each)) for each in expressions]
        return [Vector(rows.owners.astype(np.float64)), *values] if owners else values

    def _column(self, name: str, rows: Rows) -> Numbers | Codes:
        if name in rows.marks:
            return Codes(rows.marks[name], BOOLEANS)
        leaf, column = self._place(name)
        numbers = rows.numbers[leaf]
        if column is None:
            return Codes((numbers >= 0).astype(np.int8), BOOLEANS)
        return self.leaves[leaf].column(column, numbers)

    def _place(self, name: str) -> tuple[str, str | None]:
        """The leaf and the column of a name; no column where it says whether there is a row."""
        if name in self.leaves and name:
            return name, None
        leaf, _, column = name.partition(".")
        return (leaf, column) if leaf in self.leaves else ("", name)

    def capped(self, rows: Rows, limit: int, sample_key: str) -> Rows:
        """At most so many rows of each unit: those with the smallest keyed hashes.

        The hash is that of `contribution_bounds`, with the digests of all leaves one after the
        other, and - for a leaf without a row.
        """
        sizes = np.bincount(rows.owners)
        overfull = sizes > limit
        contested = np.flatnonzero(overfull[rows.owners])
        ranked = contested[self._order(rows.take(contested), sample_key)]
        # They stand unit by unit now, in the order of the units' numbers.
        lengths = sizes[overfull]
        place = np.arange(len(ranked)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        kept = np.ones(len(rows), dtype=np.bool_)
        kept[ranked[place >= limit]] = False
        return rows.take(kept)

    def _order(self, rows: Rows, sample_key: str) -> Array:
        """How to sort rows: by their unit's number, by their hash, by what breaks ties."""
        keys = []
        for name, numbers in rows.numbers.items():
            for tie in self.leaves[name].digest[1]:
                units = tie.units[numbers]
                keys.append(
                    units if tie.null is None else np.where(tie.null[numbers], np.inf, units)
                )
        hashes = np.frombuffer(b"".join(self._hashes(rows, sample_key)), dtype=">u8").reshape(-1, 2)
        # The last of the keys is the first to be sorted by.
        return np.lexsort((*reversed(keys), hashes[:, 1], hashes[:, 0], rows.owners))

    def _hashes(self, rows: Rows, sample_key: str) -> Iterator[bytes]:
        for start in range(0, len(rows), _BLOCK):
            block = rows.take(slice(start, start + _BLOCK))
            parts = [self._owner_texts(block)]
            parts += [self._leaf_texts(name, block.numbers[name]) for name in rows.numbers]
            for texts in zip(*parts, strict=True):
                yield hashed("|".join((sample_key, *texts)))

    def _owner_texts(self, rows: Rows) -> list[str]:
        """What each row's unit is called; nothing where each row of a table is a unit."""
        texts = [""] * len(rows)
        for name, numbers in rows.numbers.items():
            owners = self.leaves[name].owners
            if owners is not None:
                at = np.flatnonzero(numbers >= 0)
                named = numbers[at] if owners.rows is None else owners.rows[numbers[at]]
                written = Written(owners.names, Fraction(1)).texts(named)
                for place, text in zip(at.tolist(), written, strict=True):
                    texts[place] = text
        return texts

    def _leaf_texts(self, name: str, numbers: Array) -> list[str]:
        written = [column.texts(numbers) for column in self.leaves[name].digest[0]]
        texts = ["|".join(each) for each in zip(*written, strict=True)] or [""] * len(numbers)
        for place in np.flatnonzero(numbers < 0).tolist():
            texts[place] = "-"
        return texts
