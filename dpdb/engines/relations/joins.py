"""Joins and lookups: the rows of a relation, made unit by unit from each unit's own rows.

The rows come in pieces that are capped as they come, so that memory holds the rows that count and
two pieces, whatever the tables hold. EXISTS and IN put a mark on each row: true, false or NULL, as
codes of a boolean column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dpdb.engines.relations.leaves import BOOLEANS, Leaves, Rows, Searched
from dpdb.plan.expressions.expressions import Expr, compare
from dpdb.plan.relations.relations import (
    Equality,
    Join,
    Joined,
    JoinKind,
    Lookup,
    Mark,
    Relation,
    Scan,
)
from dpdb.records import dataclass
from dpdb.vectors.evaluate import evaluate
from dpdb.vectors.keys import NO_CODE, PIECE, Matches, pieces
from dpdb.vectors.vector import AnyVector, Array, Bools, Vector, is_null

_NULL = len(BOOLEANS)
"""The code of NULL."""


@dataclass(frozen=True, repr=False)
class LookedUp:
    """A lookup (EXISTS or IN) with the rows that it searches."""

    lookup: Lookup
    leaves: Leaves
    searched: Searched

    @classmethod
    def of(cls, lookup: Lookup, rows: Rows, leaves: Leaves) -> LookedUp:
        """The lookup in these rows; a public table is sorted once for all pieces."""
        known = leaves.leaves[lookup.right.leaf].searched
        if lookup in known:
            return cls(lookup, leaves, known[lookup])
        searched = _searched(lookup, rows, leaves)
        if lookup.right.table.public:
            known[lookup] = searched
        return cls(lookup, leaves, searched)

    def marked(self, asking: Rows) -> Rows:
        """The asking rows with a mark for the result of the lookup."""
        codes = self._found(asking).astype(np.int8)
        marks = {**asking.marks, self.lookup.column.name: codes}
        return Rows(asking.numbers, asking.owners, marks)

    def _found(self, asking: Rows) -> Array:
        if self.lookup.pair_condition is not None:
            parts = self._pair_by_pair(asking)
            return np.concatenate(list(parts))
        some = self._has(self.searched.candidates, self.lookup.on, asking)
        if self.lookup.compared is None:
            return some
        compared = self.lookup.compared
        (value,) = self.leaves.values(asking, [compared[0]], owners=False)
        among, missing = self.searched.among_equal, self.searched.among_null
        assert among is not None
        assert missing is not None
        equal = self._has(among, (*self.lookup.on, compared), asking)
        unknown = self._has(missing, self.lookup.on, asking)
        if value.null is not None:
            unknown |= some & value.null
        return np.where(equal, 1, np.where(unknown, _NULL, 0))

    def _has(self, matches: Matches, on: tuple[Equality, ...], asking: Rows) -> Bools:
        """For each asking row, whether the right table has a row equal to it in `on`."""
        private = not self.lookup.right.table.public
        values = self.leaves.values(asking, [one for one, _ in on], owners=private)
        return np.asarray(matches.find(values, len(asking)) != NO_CODE)

    def _pair_by_pair(self, asking: Rows) -> Iterator[Array]:
        """The result of a lookup whose condition reads both rows, in pieces of asking rows."""
        private = not self.lookup.right.table.public
        values = self.leaves.values(asking, [one for one, _ in self.lookup.on], owners=private)
        codes = self.searched.candidates.find(values, len(asking))
        for part in pieces(self.searched.candidates.counts(codes)):
            yield self._among_pairs(asking.take(part), codes[part])

    def _among_pairs(self, asking: Rows, codes: Array) -> Array:
        condition, name = self.lookup.pair_condition, self.lookup.right.leaf
        assert condition is not None
        places, others = self.searched.candidates.pairs(codes)
        pairs = asking.take(places).beside(name, self.searched.rows.numbers[name][others])
        passed = self.leaves.true(condition, pairs)
        places, pairs = places[passed], pairs.take(passed)

        def any_of(chosen: Bools) -> Bools:
            return np.asarray(np.bincount(places[chosen], minlength=len(asking)) > 0)

        if self.lookup.compared is None:
            return any_of(np.ones(len(places), dtype=np.bool_))
        test = compare("=", *self.lookup.compared)
        equal = evaluate(test, self.leaves.frame_of(pairs, test))
        assert isinstance(equal, Vector)
        true = any_of(np.broadcast_to(equal.values, len(places)))
        null = any_of(np.broadcast_to(is_null(equal).values, len(places)))
        return np.where(true, 1, np.where(null, _NULL, 0))


def _searched(lookup: Lookup, rows: Rows, leaves: Leaves) -> Searched:
    """The rows that pass the lookup's own condition, which reads no asking row."""
    if lookup.own_condition is not None:
        rows = rows.take(leaves.true(lookup.own_condition, rows))
    candidates = _matches(lookup, lookup.on, rows, leaves)
    if lookup.compared is None or lookup.pair_condition is not None:
        return Searched(rows, candidates)
    among_equal = _matches(lookup, (*lookup.on, lookup.compared), rows, leaves)
    (value,) = leaves.values(rows, [lookup.compared[1]], owners=False)
    missing = rows.take(np.broadcast_to(is_null(value).values, len(rows)))
    return Searched(rows, candidates, among_equal, _matches(lookup, lookup.on, missing, leaves))


def _matches(lookup: Lookup, on: tuple[Equality, ...], rows: Rows, leaves: Leaves) -> Matches:
    """The rows, by the expressions that a lookup equates."""
    private = not lookup.right.table.public
    values = leaves.values(rows, [other for _, other in on], owners=private)
    return Matches.of(values, len(rows))


_BASE = 2**18
"""The number of rows of the first table that are taken at a time."""


@dataclass(frozen=True, repr=False)
class JoinedRows:
    """The rows of a relation that pass a condition."""

    source: Joined
    where: Expr | None
    leaves: Leaves

    def counted(self) -> Rows:
        """The rows that count, at most the cap of each unit."""
        kept: list[Rows] = []
        fresh = 0
        for piece in self._rows(self.source.relation):
            kept.append(self._passing(piece))
            fresh += len(kept[-1])
            if fresh > PIECE:
                kept, fresh = [self._capped(kept)], 0
        return self._capped(kept)

    def all(self) -> Rows:
        """All rows, for tables that are made per unit."""
        return Rows.joined([self._passing(piece) for piece in self._rows(self.source.relation)])

    def _capped(self, parts: Sequence[Rows]) -> Rows:
        rows = Rows.joined(parts)
        return self.leaves.capped(rows, self.source.rows_per_unit)

    def _passing(self, rows: Rows) -> Rows:
        return rows if self.where is None else rows.take(self.leaves.true(self.where, rows))

    def _rows(self, relation: Relation) -> Iterator[Rows]:
        """The rows of a relation, piece by piece."""
        match relation:
            case Scan():
                whole = self._scanned(relation)
                for start in range(0, max(len(whole), 1), _BASE):
                    yield whole.take(slice(start, start + _BASE))
            case Join():
                yield from self._joined(relation)
            case Mark(left=left, lookup=lookup):
                looked_up = LookedUp.of(lookup, self._scanned(lookup.right), self.leaves)
                for piece in self._rows(left):
                    yield looked_up.marked(piece)

    def _scanned(self, scan: Scan) -> Rows:
        """The rows of a table that have an owner; all of a public one."""
        leaf = self.leaves.leaves[scan.leaf]
        numbers = leaf.numbers
        if leaf.owners is None:
            return Rows({scan.leaf: numbers}, numbers)
        owners = leaf.owners.numbers
        owned = owners >= 0
        rows = Rows({scan.leaf: numbers[owned]}, owners[owned])
        if self.source.entering is not None:
            return self.leaves.capped(rows, self.source.entering)
        return self._few_alike(scan, rows)

    def _few_alike(self, scan: Scan, rows: Rows) -> Rows:
        """The rows of a private table that are joined: few of a unit that are equal in `on`."""
        node = self.source.node(scan)
        alike = None if node is None else self.source.step(node).alike
        if node is None or alike is None:
            return rows
        on = node.on if isinstance(node, Join) else node.lookup.on
        values = self.leaves.values(rows, [other for _, other in on], owners=True)
        return self.leaves.few_alike(rows, Matches.of(values, len(rows)).codes, alike)

    def _joined(self, join: Join) -> Iterator[Rows]:
        right = self._scanned(join.right)
        matches = self._matches(join, right)
        met = np.zeros(len(matches.starts), dtype=np.bool_)
        for piece in self._rows(join.left):
            codes = matches.find(self._values(join, 0, piece), len(piece))
            met[codes[codes != NO_CODE]] = True
            for part in pieces(matches.counts(codes)):
                yield self._pairs(join, piece.take(part), right, matches, codes[part])
        if join.kind is JoinKind.FULL:
            alone = right.take((matches.codes == NO_CODE) | ~met[matches.codes])
            nothing = np.full(len(alone), -1, dtype=np.int32)
            assert isinstance(join.left, Scan)
            yield Rows({join.left.leaf: nothing, **alone.numbers}, alone.owners)

    def _matches(self, join: Join, right: Rows) -> Matches:
        """The rows of the right side; a public table is sorted once for all pieces."""
        known = self.leaves.leaves[join.right.leaf].matches
        if join.on in known:
            return known[join.on]
        matches = Matches.of(self._values(join, 1, right), len(right))
        if join.right.table.public:
            known[join.on] = matches
        return matches

    def _values(self, join: Join, side: int, rows: Rows) -> list[AnyVector]:
        """The values that must be equal on both sides: the owner too if both tables are private.

        Where rows have two owners the equalities say that they have the right row's.
        """
        equal = [pair[side] for pair in join.on]
        private = not (join.right.table.public or self.source.kinds)
        return self.leaves.values(rows, equal, owners=private)

    def _pairs(self, join: Join, left: Rows, right: Rows, matches: Matches, codes: Array) -> Rows:
        """The pairs of rows; for an outer join also the rows of the left side without a match."""
        name = join.right.leaf
        places, others = matches.pairs(codes)
        pairs = left.take(places).beside(name, right.numbers[name][others])
        if join.rest is not None:
            passed = self.leaves.true(join.rest, pairs)
            places, pairs = places[passed], pairs.take(passed)
        if join.kind is JoinKind.INNER:
            return pairs
        alone = left.take(np.bincount(places, minlength=len(left)) == 0)
        return Rows.joined([pairs, alone.beside(name, np.full(len(alone), -1))])
