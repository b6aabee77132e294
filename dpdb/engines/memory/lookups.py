"""What EXISTS and IN find: for each row true, false or NULL, as codes of a boolean column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpdb.engines.memory.leaves import BOOLEANS, Leaves, Rows, Searched
from dpdb.engines.memory.matching import NO_CODE, Matches, pieces
from dpdb.plan.expressions import compare
from dpdb.plan.relations import Equality, Lookup
from dpdb.vectors.evaluate import evaluate
from dpdb.vectors.logic import is_null
from dpdb.vectors.vector import Array, Bools, Vector

_NULL = len(BOOLEANS)
"""The code of NULL."""


@dataclass(frozen=True, repr=False)
class LookedUp:
    """The rows in which a lookup looks."""

    lookup: Lookup
    leaves: Leaves
    searched: Searched

    @classmethod
    def of(cls, lookup: Lookup, rows: Rows, leaves: Leaves) -> LookedUp:
        """The lookup in these rows; those of a public table are sorted once for all pieces."""
        known = leaves.leaves[lookup.right.leaf].searched
        if lookup in known:
            return cls(lookup, leaves, known[lookup])
        searched = _searched(lookup, rows, leaves)
        if lookup.right.table.public:
            known[lookup] = searched
        return cls(lookup, leaves, searched)

    def marked(self, asking: Rows) -> Rows:
        """Rows with a mark for what is found for each."""
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
        """For which rows there is one that is equal."""
        private = not self.lookup.right.table.public
        values = self.leaves.values(asking, [one for one, _ in on], owners=private)
        return np.asarray(matches.find(values, len(asking)) != NO_CODE)

    def _pair_by_pair(self, asking: Rows) -> Iterator[Array]:
        """What is found for each row where a condition is about both rows."""
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
    """The rows that pass what a lookup asks of them alone."""
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
    """The rows, by what is equal in them."""
    private = not lookup.right.table.public
    values = leaves.values(rows, [other for _, other in on], owners=private)
    return Matches.of(values, len(rows))
