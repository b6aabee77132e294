"""The segments of conditions, held against all rows that there can be of a few columns."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from dpdb.plan.logical.query import Query
from dpdb.plan.ranges.statistics import Histogram
from dpdb.plan.releases import count_groups
from tests.support.plain_values import evaluate
from tests.support.plans import query

AGES = [Fraction(age) for age in range(101)]
ZIPS = [Fraction(code) for code in (1, 2, 3)]
CITIES = ["Ely", "Rye", None]
OKS = [True, False, None]


def filters(*conditions: str, where: str = "TRUE") -> Query:
    counts = (f"COUNT(*) FILTER (WHERE {condition})" for condition in conditions)
    return query(f"{', '.join(counts)} FROM t WHERE {where}")


def histogram(*conditions: str, where: str = "TRUE") -> Histogram | None:
    asked = filters(*conditions, where=where)
    wanted = [each.where for each in asked.aggregates]
    assert None not in wanted
    return count_groups.cell_histogram(asked.table, asked.where, wanted)  # type: ignore[arg-type]


def patterns(*conditions: str, where: str = "TRUE") -> list[str]:
    """For each segment which conditions are true, as a text of zeros and ones."""
    found = histogram(*conditions, where=where)
    assert found is not None
    return ["".join("01"[true] for true in segment) for segment in found.segments]


@pytest.mark.parametrize(
    ("conditions", "where", "expected"),
    [
        (["age < 30", "age < 40", "age < 50"], "TRUE", ["001", "011", "111"]),
        (["age >= 30", "age >= 40", "age >= 50"], "age < 45", ["100", "110"]),
        (["age <= 29", "age >= 30"], "TRUE", ["01", "10"]),
        (["zip = 1", "zip = 2", "zip = 3", "TRUE"], "TRUE", ["0011", "0101", "1001"]),
        (["zip IN (1, 2)", "zip <> 1"], "TRUE", ["01", "10", "11"]),
        (["ok", "NOT ok"], "TRUE", ["01", "10"]),
        (["ok IS TRUE", "NOT ok", "ok IS NULL"], "TRUE", ["001", "010", "100"]),
        (["city IS NULL", "city = 'Ely'", "city IS NOT NULL"], "TRUE", ["001", "011", "100"]),
        (
            ["zip = 1 AND age < 30", "zip = 1 AND age >= 30", "zip > 1 AND age < 30", "zip = 1"],
            "TRUE", ["0010", "0101", "1001"],
        ),
        # Conditions that follow from each other are not recognised where they are not plain.
        (["age * 2 < 30", "age * 2 < 40"], "TRUE", ["01", "10", "11"]),
        (["id < 5", "id < 6"], "TRUE", ["01", "11"]),
    ],
)  # fmt: skip
def test_segments_are_those_that_columns_can_hold(
    conditions: list[str], where: str, expected: list[str]
) -> None:
    assert patterns(*conditions, where=where) == expected


def test_overlapping_ranges_have_few_segments() -> None:
    """m ranges of one column have at most 2m - 1 segments, where unrelated conditions have 2^m - 1."""
    ranges = [f"age BETWEEN {low} AND {low + 30}" for low in range(0, 60, 6)]
    assert len(patterns(*ranges)) == 19
    assert len(patterns(*(f"note LIKE '%{i}%'" for i in range(6)))) == 63
    assert histogram(*(f"note LIKE '%{i}%'" for i in range(9))) is None


PLAIN = [
    "age < 30", "age >= 70", "age BETWEEN 20 AND 50", "age IN (3, 5, 30)", "age <> 30",
    "NOT (age < 10 OR age > 90)", "(age < 60) IS TRUE", "age = 200",
    "zip = 1", "zip IN (1, 3)", "zip <> 2", "city = 'Ely'", "city <> 'Ely'", "city IS NULL",
    "NOT (city IS NULL)", "city NOT IN ('Ely', NULL)", "ok", "NOT ok", "ok IS FALSE", "ok = TRUE",
]  # fmt: skip
MIXED = [
    *PLAIN, "zip = 1 AND age < 30", "zip = 1 OR age < 30", "NOT (zip = 1 AND ok)",
    "age < 50 AND (city = 'Rye' OR ok)", "age % 2 = 0", "zip < age", "COALESCE(ok, zip = 2)",
]  # fmt: skip


def seen(asked: Query) -> set[tuple[bool, ...]]:
    """What is true together of some row, other than nothing."""
    rows = (
        {"age": age, "zip": code, "city": city, "ok": ok}
        for age, code, city, ok in product(AGES[::5] + AGES[1:4], ZIPS, CITIES, OKS)
    )
    wanted = [each.where for each in asked.aggregates]
    assert asked.where is not None
    inside = (row for row in rows if evaluate(asked.where, row, {}) is True)
    found = {tuple(evaluate(each, row, {}) is True for each in wanted) for row in inside}  # type: ignore[arg-type]
    return {each for each in found if any(each)}


@pytest.mark.parametrize("seed", range(25))
def test_every_row_that_counts_is_in_an_segment(seed: int) -> None:
    """Otherwise an answer would leave it out."""
    chosen = Random(seed).sample(MIXED, 5)
    where = Random(-seed).choice(["TRUE", *MIXED])
    asked = filters(*chosen, where=where)
    found = histogram(*chosen, where=where)
    assert found is not None
    assert seen(asked) <= set(found.segments)


@pytest.mark.parametrize("name", ["age", "zip", "city", "ok"])
def test_plain_conditions_on_one_column_have_no_empty_segment(name: str) -> None:
    own = [each for each in PLAIN if name in each and "= 200" not in each]
    found = histogram(*own)
    assert found is not None
    values = {"age": AGES, "zip": ZIPS, "city": CITIES, "ok": OKS}[name]
    wanted = [each.where for each in filters(*own).aggregates]
    held = {tuple(evaluate(c, {name: v}, {}) is True for c in wanted) for v in values}  # type: ignore[arg-type]
    assert set(found.segments) == {each for each in held if any(each)}
