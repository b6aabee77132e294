"""Joins: the rows of a relation, made unit by unit from each unit's own rows.

The rows come in pieces that are capped as they come, so that memory holds the rows that count and
two pieces, whatever the tables hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpdb.engines.memory.leaves import Leaves, Rows
from dpdb.engines.memory.lookups import LookedUp
from dpdb.engines.memory.matching import NO_CODE, PIECE, Matches, pieces
from dpdb.plan.expressions import Expr
from dpdb.plan.relations import Join, Joined, JoinKind, Mark, Relation, Scan
from dpdb.vectors.vector import AnyVector, Array

_BASE = 2**18
"""How many rows of the first table are taken at a time."""


@dataclass(frozen=True, repr=False)
class JoinedRows:
    """The rows of a relation that pass a condition."""

    source: Joined
    where: Expr | None
    leaves: Leaves

    def counted(self) -> Rows:
        """The rows that count: of each unit at most its cap."""
        kept: list[Rows] = []
        fresh = 0
        for piece in self._rows(self.source.relation):
            kept.append(self._passing(piece))
            fresh += len(kept[-1])
            if fresh > PIECE:
                kept, fresh = [self._capped(kept)], 0
        return self._capped(kept)

    def all(self) -> Rows:
        """All rows, for what is worked out per unit."""
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
        """The rows of a private table that enter: of a unit few that are equal in `on`."""
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
        """The rows of the right side; those of a public table are sorted once for all pieces."""
        known = self.leaves.leaves[join.right.leaf].matches
        if join.on in known:
            return known[join.on]
        matches = Matches.of(self._values(join, 1, right), len(right))
        if join.right.table.public:
            known[join.on] = matches
        return matches

    def _values(self, join: Join, side: int, rows: Rows) -> list[AnyVector]:
        """What must be equal on both sides: the owner, too, where both are private."""
        equal = [pair[side] for pair in join.on]
        return self.leaves.values(rows, equal, owners=not join.right.table.public)

    def _pairs(self, join: Join, left: Rows, right: Rows, matches: Matches, codes: Array) -> Rows:
        """The pairs of rows, and of an outer join the rows of the left side without a match."""
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
