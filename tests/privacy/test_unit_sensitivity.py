"""Units of several rows: planned sensitivities against brute force, and capping itself."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from dpdb.engines.units.caps import Units
from dpdb.engines.units.keys import Owners, UnitNumbers
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.vectors.columns import Codes, Numbers
from tests.support.brute import ADD_REMOVE, REPLACE, Row, as_pairs, multisets, read_cells, world
from tests.support.domains import (
    CAP,
    DOMAINS,
    PLENTY,
    UNIT,
    any_number,
    attained,
    bystanders,
    expectations,
    one_is_absent,
    same_number,
    sensitivities,
    unit_world,
)

pytestmark = pytest.mark.usefixtures("in_memory")

UNIT_CASES = [
    # The changes that are possible: when the unit comes or goes, when its rows are replaced by as
    # many others, and by any number of others.
    ("SELECT COUNT(*) FROM t", "2", "0", "1"),
    ("SELECT COUNT(x) FROM t", "2", "2", "2"),
    ("SELECT COUNT(*) FROM t WHERE x > 0", "2", "2", "2"),
    ("SELECT COUNT(DISTINCT x) FROM t", "2", "2", "2"),
    # A unit counts once, and in groups once in each: 2 rows leave two cells and enter two others.
    ("SELECT COUNT(DISTINCT u) FROM t", "1", "0", "0"),
    ("SELECT COUNT(DISTINCT u) FROM t WHERE x > 0", "1", "1", "1"),
    ("SELECT COUNT(DISTINCT u) FILTER (WHERE b) FROM t", "1", "1", "1"),
    ("SELECT g, COUNT(DISTINCT u) FROM t GROUP BY g", "2", "2", "2"),
    ("SELECT g, COUNT(DISTINCT u) FROM t WHERE g = 'a' GROUP BY g", "1", "1", "1"),
    ("SELECT g, b, COUNT(DISTINCT u) FROM t GROUP BY g, b", "2", "4", "4"),
    ("SELECT SUM(x) FROM t", "10", "14", "14"),
    ("SELECT SUM(k) FROM t", "14", "8", "11"),
    ("SELECT AVG(x) FROM t", "14", "16", "16"),
    ("SELECT AVG(k) FROM t", "8", "8", "8"),
    ("SELECT VAR_POP(k) FROM t", "64", "128", "128"),
    ("SELECT MEDIAN(x) FROM t", "1", "2", "2"),
    ("SELECT MIN(k) FROM t", "2", "2", "2"),
    ("SELECT MODE(g) FROM t", "2", "2", "2"),
    ("SELECT MODE(g, k) FROM t", "14", "14", "14"),
    ("SELECT MODE(g, x) FROM t", "10", "14", "14"),
    ("SELECT g, COUNT(*) FROM t GROUP BY g", "2", "4", "4"),
    ("SELECT g, SUM(k) FROM t GROUP BY g", "14", "28", "28"),
    ("SELECT g, AVG(k) FROM t GROUP BY g", "8", "16", "16"),
    ("SELECT g, COUNT(DISTINCT k) FROM t GROUP BY g", "2", "4", "4"),
    ("SELECT g, MEDIAN(k) FROM t GROUP BY g", "1", "2", "2"),
    ("SELECT g, MODE(b) FROM t GROUP BY g", "2", "4", "4"),
    ("SELECT g, MODE(b, k) FROM t GROUP BY g", "14", "28", "28"),
    ("SELECT g, b, COUNT(*) FROM t GROUP BY g, b", "2", "4", "4"),
    # Different values of one cell differ: 7 and 5 are the most, and of two cells 7 and 7.
    ("SELECT g, SUM(DISTINCT k) FROM t GROUP BY g", "14", "24", "24"),
    # What a unit comes to in each cell is clamped, so that its rows do not count but its cells.
    ("SELECT SUM(x, contribution_bounds_per_group => (-1, 3)) FROM t", "3", "4", "4"),
    ("SELECT SUM(k, contribution_bounds_per_group => (0, 10)) FROM t", "10", "4", "7"),
    ("SELECT COUNT(*, contribution_bounds_per_group => (0, 1)) FROM t", "1", "0", "0"),
    ("SELECT COUNT(x, contribution_bounds_per_group => (0, 1)) FROM t", "1", "1", "1"),
    ("SELECT COUNTIF(b, contribution_bounds_per_group => (0, 1)) FROM t", "1", "1", "1"),
    ("SELECT AVG(k, contribution_bounds_per_group => (4, 6)) FROM t", "2e9", "2e9", "2e9"),
    ("SELECT SUM(k, contribution_bounds_per_group => (0, 9)) FILTER (WHERE b) FROM t",
     "9", "9", "9"),
    ("SELECT g, SUM(x, contribution_bounds_per_group => (-1, 3)) FROM t GROUP BY g",
     "6", "8", "8"),
    ("SELECT g, COUNT(*, contribution_bounds_per_group => (0, 1)) FROM t GROUP BY g",
     "2", "2", "2"),
    ("SELECT g, b, SUM(k, contribution_bounds_per_group => (0, 5)) FROM t GROUP BY g, b",
     "10", "20", "20"),
    ("SELECT COUNT(*) FILTER (WHERE x < 0), COUNT(*) FILTER (WHERE x = 1), "
     "COUNT(*) FILTER (WHERE x > 3) FROM t", "2", "4", "4"),
]  # fmt: skip


@pytest.mark.parametrize("relation", ["add-remove", "replace", "replace, any number"])
@pytest.mark.parametrize("case", UNIT_CASES, ids=[case[0][7:] for case in UNIT_CASES])
def test_a_unit_of_several_rows(case: tuple[str, ...], relation: str) -> None:
    """A unit comes and goes with all its rows, up to one more than are kept."""
    neighbors = ADD_REMOVE if relation == "add-remove" else REPLACE
    here, kinds = unit_world(case[0], neighbors)
    planned = here.plan(case[0], PLENTY)
    at = ["add-remove", "replace", "replace, any number"].index(relation)
    related = (one_is_absent, same_number, any_number)[at]
    sets = multisets(len(kinds), CAP + 1)
    pairs = as_pairs(
        (i, j) for i, j in combinations(range(len(sets)), 2) if related(sets[i], sets[j])
    )
    worst = [Fraction(0)] * len(planned.releases)
    for others in bystanders(kinds):
        tables = [[*others, *((*kinds[i], "1") for i in rows)] for rows in sets]
        results = here.all_exact(planned, tables)
        found = attained(planned, results, pairs)
        worst = [max(pair) for pair in zip(worst, found, strict=True)]
    assert worst == expectations(case[1 + at])[0]
    assert all(c <= allowed for c, allowed in zip(worst, sensitivities(planned), strict=True))
    if neighbors is ADD_REMOVE:
        assert worst == sensitivities(planned)


def test_uncapped_rows_would_break_the_plan() -> None:
    """Three rows do change the count by three: it is the cap that keeps the tests above green."""
    here, kinds = unit_world("SELECT COUNT(*) FROM t", ADD_REMOVE)
    planned = here.plan("SELECT COUNT(*) FROM t", PLENTY)
    assert sensitivities(planned) == [CAP]
    rows = [(*kinds[0], "1")] * (CAP + 1)
    assert here.exact(planned, rows)[0].tolist() == [CAP]
    uncapped = world(here.table.columns)
    planned = uncapped.plan("SELECT COUNT(*) FROM t", PLENTY)
    assert uncapped.exact(planned, rows)[0].tolist() == [CAP + 1]


def test_a_unit_has_each_value_once() -> None:
    """However many rows it has: of 0 and 1 there are two values at most, and both are 1 together."""
    here = world([DOMAINS["h"].column, UNIT], REPLACE, unit="u", rows_per_unit=5)
    planned = here.plan("SELECT SUM(DISTINCT h) FROM t", PLENTY)
    assert sensitivities(planned) == [2]
    sums = [here.exact(planned, [(cell, "1") for cell in rows])[0].tolist()
            for rows in combinations_with_replacement(("0", "1", "7", ""), 4)]  # fmt: skip
    assert max(sums) == [1]
    assert min(sums) == [0]


# ------------------------------------------------------------------------- capping itself


OWNERS = [
    Column("u", Kind.TEXT),
    Column("u", Kind.INTEGER),
    Column("u", Kind.NUMBER),
    Column("u", Kind.DATE),
    Column("u", Kind.INTEGER, Fraction(0), Fraction(50)),
    Column("u", Kind.TEXT, values=("1", "2", "3")),
]
NAMES = {Kind.DATE: ("1999-12-31", "2000-01-01", "2000-01-02")}
CAPPED = (DOMAINS["x"], DOMAINS["m"], DOMAINS["s"], DOMAINS["b"], DOMAINS["w"])


def decoded(column: Numbers | Codes) -> list[Any]:
    """What the cells of a column mean, whatever numbers stand for them."""
    if isinstance(column, Codes):
        return [(*column.values, None)[code] for code in column.codes.tolist()]
    null = column.null if column.null is not None else np.zeros(len(column.units), dtype=bool)
    values = zip(column.units.tolist(), null.tolist(), strict=True)
    return [None if missing else value for value, missing in values]


def kept_rows(columns: Sequence[Column], rows: Sequence[Row], cap: int) -> list[tuple[Any, ...]]:
    """The rows that are kept, decoded, in an order of their own."""
    held = {c.name: read_cells(c, tuple(r[i] for r in rows)) for i, c in enumerate(columns)}
    owners = Owners(UnitNumbers().of(held["u"]), held["u"])
    units = Units.of(Table("t", Path(), tuple(columns), "u", cap), held, owners, "")
    kept = units.capped(None, cap)
    decoded_rows = list(zip(*(decoded(held[column.name]) for column in columns), strict=True))
    return sorted((decoded_rows[at] for at in np.flatnonzero(kept)), key=repr)


def dropped_by_capping(owner: Column, cap: int, rounds: int) -> int:
    """The number of rows that are left out, of many tables whose rows are the same ones in any.

    One unit's rows are drawn anew; of all others the same rows stay, wherever they stand.
    """
    columns = [owner, *(domain.column for domain in CAPPED)]
    mine, *theirs = NAMES.get(owner.kind, ("1", "2", "3"))
    random = Random(f"{owner.kind}{owner.bounds}{cap}{rounds}")

    def draw(name: str) -> Row:
        return (name, *(random.choice(domain.cells) for domain in CAPPED))

    [own_value] = decoded(read_cells(owner, (mine,)))
    dropped = kept_with = 0
    for _ in range(rounds):
        others = [draw(random.choice([*theirs, ""])) for _ in range(random.randrange(12))]
        alone = kept_rows(columns, others, cap)
        for name in {row[0] for row in others}:
            rows = [row for row in others if row[0] == name]
            separately = kept_rows(columns, rows, cap)
            # Rows that name no unit could be anybody's, and are left out.
            assert len(separately) == (min(cap, len(rows)) if name else 0)
            assert separately == [row for row in alone if separately and row[0] == separately[0][0]]
        dropped += len(others) - len(alone)
        for number in (0, 1, cap, cap + 1, 6):
            own = [draw(mine) for _ in range(number)]
            everybody = [*others, *own]
            random.shuffle(everybody)
            kept = kept_rows(columns, everybody, cap)
            assert [row for row in kept if row[0] != own_value] == alone
            assert [row for row in kept if row[0] == own_value] == kept_rows(columns, own, cap)
            kept_with += len(kept) - len(alone)
    assert kept_with == rounds * (0 + 1 + cap + cap + cap)
    return dropped


@pytest.mark.parametrize("owner", OWNERS, ids=lambda column: f"{column.kind}-{column.bounds}")
@pytest.mark.parametrize("cap", [1, 2, 3])
def test_capping_keeps_each_units_rows_whatever_the_others_are(owner: Column, cap: int) -> None:
    """Any kind of column is tried here; a policy takes those in which units stay apart."""
    assert dropped_by_capping(owner, cap, rounds=3) > 0


def test_capping_nothing_keeps_nothing() -> None:
    assert kept_rows([UNIT, DOMAINS["x"].column], [], 2) == []
