"""Which rows of a unit count is as if they were drawn: each with the others, whatever they hold.

Units have the same 20 rows, with the values 0 to 19, of which 5 count. Keys draw again and again.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import pytest

from dpdb.engines.sources.cells.words import Words
from dpdb.engines.units import row_hashes
from dpdb.engines.units.caps import Units
from dpdb.engines.units.keys import Owners, UnitNumbers
from dpdb.engines.units.row_hashes import HashKey
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.vector import Array
from tests.support import row_hashes as by_hand

ROWS, CAP, KEYS = 20, 5, 1_500
TEXTS = tuple(f"name {number}" for number in range(ROWS))
SETS = np.array(
    [[row in chosen for row in range(ROWS)] for chosen in combinations(range(ROWS), CAP)]
)
"""All sets that can count."""
PAIRS = 4.05
"""|z| of one of 19 normal variables is greater with a probability of at most 0.001 (Bonferroni)."""


def column(kind: str) -> Numbers | Codes:
    """20 values, for each of two units."""
    values = np.tile(np.arange(ROWS), 2)
    match kind:
        case "steps":
            return Numbers(values.astype(np.int8), Fraction(1), None, 0)
        case "doubles":
            return Numbers(values / 8, None, None, 0)
    return Codes(values, TEXTS)


def samples(kind: str) -> Array:
    """For each key, unit and row whether it counts."""
    declared = (Column("who", Kind.INTEGER), Column("x", Kind.INTEGER))
    who = Numbers(np.repeat(np.int64([1, 2]), ROWS), Fraction(1), None, 0)
    table, owners = Table("t", Path(), declared, "who", CAP), Owners(UnitNumbers().of(who), who)
    columns = {"who": who, "x": column(kind)}
    found = [Units.of(table, columns, owners, f"{key}").capped(None, CAP) for key in range(KEYS)]
    return np.array(found).reshape(KEYS, 2, ROWS)


def uneven(drawn: Array) -> float:
    """χ² with 19 degrees of freedom of how often each row counts.

    Var = n·p·(1 - p)·20/19 within the plane of a constant sum.
    """
    expected, rest = KEYS * CAP / ROWS, 1 - CAP / ROWS
    return float(((drawn.sum(axis=0) - expected) ** 2).sum() / (expected * rest) * (1 - 1 / ROWS))


def together(drawn: Array) -> float:
    """The largest |z| of how many pairs of rows of which values are so far apart count together."""
    largest = 0.0
    for apart in range(1, ROWS):
        of_sets, of_keys = (
            (each[:, apart:] & each[:, :-apart]).sum(axis=1) for each in (SETS, drawn)
        )
        z = (of_keys.mean() - of_sets.mean()) / (of_sets.std() / KEYS**0.5)
        largest = max(largest, abs(float(z)))
    return largest


def shared(drawn: Array) -> float:
    """χ² with 3 degrees of freedom of how many rows two units have in common: 0, 1, 2 or more."""
    common = np.bincount((drawn[:, 0] & drawn[:, 1]).sum(axis=1).clip(max=3), minlength=4)
    chances = [comb(CAP, n) * comb(ROWS - CAP, CAP - n) / comb(ROWS, CAP) for n in range(3)]
    expected = KEYS * np.array([*chances, 1 - sum(chances)])
    return float(((common - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("kind", ["steps", "doubles", "texts"])
def test_each_row_and_each_pair_count_as_often(kind: str) -> None:
    """α = 0.001 for each of three tests."""
    drawn = samples(kind)
    assert uneven(drawn[:, 0]) < 43.82
    assert together(drawn[:, 0]) < PAIRS
    assert shared(drawn) < 16.27


def test_without_the_finalizer_rows_at_equal_distances_would_count_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_hashes, "mixed", lambda words: words)
    assert together(samples("steps")[:, 0]) > PAIRS


def test_without_the_last_finalizer_units_with_the_same_rows_would_have_the_same_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """But for the one that comes first: terms that are added turn the order of all."""

    def sums(terms: list[Words], rows: int) -> Words:
        return np.sum([*terms], axis=0, dtype=np.uint64)

    monkeypatch.setattr(row_hashes, "hash_of", sums)
    assert shared(samples("steps")) > 16.27


def test_a_change_of_any_bit_changes_each_other_bit_of_half_of_all_words() -> None:
    """64·64 numbers of 2,000 words, each of variance 500: |z| < 5.2, α = 0.001 (Bonferroni)."""
    words = np.random.default_rng(3).integers(0, 2**64, 2_000, dtype=np.uint64)
    place = HashKey.of("").place("column", "x")
    terms = place.terms(words.copy())
    for bit in range(64):
        changed = terms ^ place.terms(words ^ np.uint64(1 << bit))
        bits = np.unpackbits(changed.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=0)
        assert (abs(bits.astype(np.int64) - 1_000) / 500**0.5 < 5.2).all()


def test_columns_have_factors_of_their_own() -> None:
    """Two columns that are exchanged make another row, and so do other kinds of one name."""
    key = HashKey.of("key")
    places = [key.place("column", "x"), key.place("column", "y"), key.place("leaf", "x")]
    places.append(HashKey.of("another").place("column", "x"))
    ones = np.ones(1, dtype=np.uint64)
    assert len({each.terms(ones.copy()).item() for each in places}) == len(places)
    assert all(int(each.factor) % 2 for each in places)


def test_a_hash_is_the_same_everywhere() -> None:
    """In every session, process and engine: this one is written down."""
    names = Codes(np.array([1, 0]), ("bob", "ann"))
    columns: dict[str, Numbers | Codes] = {
        "x": Numbers(np.array([0, 3], dtype=np.int16), Fraction(1), None, 0),
        "y": Codes(np.array([0, 1]), (True,)),
    }
    table = Table("t", Path(), (Column("x", Kind.INTEGER), Column("y", Kind.BOOLEAN)), "who", CAP)
    owners = Owners(np.zeros(2, dtype=np.int32), names, np.array([1, 0]))
    cells = [("owner ", "ann"), ("column x", 3), ("column y", None)]
    found = Units.of(table, columns, owners, "").hashes(np.array([1]))
    assert found.tolist() == [by_hand.row_hash("", cells)] == [16615748742860987018]
