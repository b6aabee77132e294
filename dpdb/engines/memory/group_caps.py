"""At most so many groups of each privacy unit.

Of a unit with rows in more groups those stay that have the smallest keyed hashes

    md5(sample_key | owner | keys),

with the keys written as the digest of a row is (see `contribution_bounds`), and numbers with
decimals as Python writes doubles. Which groups these are is a function of the unit's rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpdb.engines.memory.contribution_bounds import Units
from dpdb.engines.memory.key_numbers import numbered, whole
from dpdb.engines.memory.keys import NONE
from dpdb.engines.memory.written import hashed, text_of
from dpdb.plan.plan import Plan
from dpdb.policy.catalog import Kind
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.plain import plain_values
from dpdb.vectors.vector import AnyVector, Array, Bools, Vector


def within_groups(plan: Plan, frame: Frame, units: Units, where: Bools | None, limit: int) -> Bools:
    """The rows for which `where` holds, in the at most `limit` groups that each unit keeps."""
    numbers = units.owners.numbers
    rows, owned = len(numbers), numbers != NONE
    kept = np.flatnonzero(owned if where is None else owned & where)
    vectors = [whole(evaluate(key, frame), rows) for key in plan.keys]
    groups, different = numbered(vectors, kept)
    number = max(len(different), 1)
    pairs, first, pair_of = np.unique(
        numbers[kept].astype(np.int64) * number + groups,
        return_index=True,
        return_inverse=True,
    )
    owners = pairs // number
    sizes = np.bincount(owners)
    contested = np.flatnonzero(sizes[owners] > limit)
    one_row = kept[first[contested]]
    joined = b"".join(_hashes(plan, vectors, units, one_row))
    hashes = np.frombuffer(joined, dtype=">u8").reshape(-1, 2)
    # Unit by unit, as pairs stand in the order of the units' numbers.
    ranked = contested[np.lexsort((hashes[:, 1], hashes[:, 0], owners[contested]))]
    lengths = sizes[sizes > limit]
    place = np.arange(len(ranked)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    stays = np.ones(len(pairs), dtype=np.bool_)
    stays[ranked[place >= limit]] = False
    passed = np.zeros(rows, dtype=np.bool_)
    passed[kept[stays[pair_of]]] = True
    return passed


def _hashes(plan: Plan, vectors: list[AnyVector], units: Units, rows: Array) -> Iterator[bytes]:
    """The hash of the unit and the keys of each of these rows."""
    owners = units.owner_texts(rows)
    keys = [_texts(vector, key.kind, rows) for vector, key in zip(vectors, plan.keys, strict=True)]
    for owner, *texts in zip(owners, *keys, strict=True):
        yield hashed("|".join((plan.sample_key, owner, *texts)))


def _texts(vector: AnyVector, kind: Kind, rows: Array) -> list[str]:
    if kind is Kind.NUMBER:
        assert isinstance(vector, Vector)
        missing = np.zeros(len(rows), np.bool_) if vector.null is None else vector.null[rows]
        numbers = vector.values[rows].tolist()
        return ["~" if no else repr(n) for no, n in zip(missing.tolist(), numbers, strict=True)]
    return [text_of(value) for value in plain_values(vector, kind, rows)]
