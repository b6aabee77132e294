"""Queries with the sensitivities expected of them, and columns of a few values each."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dpdb.plan.physical.plan import Plan
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.numbers import days_of
from dpdb.policy.timestamps import read_timestamp
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from tests.support.brute import Row, World, denominator, farthest, profile, widest, world

PLENTY = Fraction(10**4)  # of epsilon, so that no bounds are too large for it
BIG = 2**53
ANYTHING_FITS = 12  # more kinds of rows than this, and tables have two rows at most


def day(text: str) -> Fraction:
    return Fraction(days_of(datetime.date.fromisoformat(text)))


def moment(text: str) -> Fraction:
    found = read_timestamp(text)
    assert found is not None
    return Fraction(found)


def integer(name: str, lower: int, upper: int, *, nullable: bool = True) -> Column:
    return Column(name, Kind.INTEGER, Fraction(lower), Fraction(upper), nullable=nullable)


class Domain(NamedTuple):
    column: Column
    cells: tuple[str, ...]
    few: tuple[str, ...]
    """The cells used where a query reads two columns; the first three, where it reads more."""


STEP = Fraction(1, 2)
DOMAINS = {
    domain.column.name: domain
    for domain in (
        Domain(
            integer("x", -2, 5),
            ("-2", "0", "1", "3", "5", "99", "-99", "", "abc"),
            ("-2", "5", "", "1", "-99"),
        ),
        Domain(
            integer("k", 3, 7, nullable=False),
            ("3", "4", "5", "6", "7", "1", "1e9", ""),
            ("3", "99", "", "5"),
        ),
        Domain(
            Column("m", Kind.NUMBER, Fraction(-3, 2), Fraction(1, 2), STEP),
            ("-1.5", "-0.3", "0.5", "8", "-8", "nan"),
            ("-1.5", "8", "", "0.2"),
        ),
        Domain(
            Column("w", Kind.NUMBER),
            ("-1e9", "-4", "2", "7.5", "1e300", "inf", ""),
            ("-1e9", "1e300", ""),
        ),
        Domain(Column("g", Kind.TEXT, values=("a", "b")), ("a", "b", "z", ""), ("a", "b", "z", "")),
        Domain(Column("s", Kind.TEXT), ("4", "17", "q", ""), ("4", "q", "")),
        Domain(integer("h", 0, 1), ("0", "1", "7", ""), ("0", "1", "")),
        Domain(Column("b", Kind.BOOLEAN), ("true", "false", "x"), ("true", "false", "")),
        Domain(
            Column("d", Kind.DATE, day("2020-01-01"), day("2020-01-11")),
            ("2020-01-01", "2020-01-06", "2020-01-11", "2021-01-01", "2020-02-30", ""),
            ("2020-01-01", "2020-01-11", ""),
        ),
        Domain(
            Column(
                "p",
                Kind.TIMESTAMP,
                moment("2020-01-01 00:00:00"),
                moment("2020-01-01 00:00:09"),
                Fraction(3 * 10**6),
            ),
            (
                "2020-01-01",
                "2020-01-01 00:00:04.5",
                "2020-01-01T01:00:09+01:00",
                "2021-01-01",
                "2019-12-31 23:59",
                "2020-01-01 24:00",
                "",
            ),
            ("2020-01-01", "2020-01-01 00:00:09", "2019-12-31 23:59", ""),
        ),
        Domain(
            Column("v", Kind.INTEGER, Fraction(2), Fraction(9), values=(2, 9)),
            ("2", "9", "5", ""),
            ("2", "9", "5"),
        ),
        Domain(
            integer("big", BIG - 2, BIG),
            (str(BIG - 2), str(BIG - 1), str(BIG), str(BIG + 2), "0", ""),
            (str(BIG - 2), str(BIG), ""),
        ),
        Domain(integer("f", 0, 1000, nullable=False), ("0", "1", "1000", ""), ("0", "1", "1000")),
    )
}


class Case(NamedTuple):
    sql: str
    add_remove: str
    replace: str


CASES = [
    Case("SELECT COUNT(*) FROM t", "1", "public"),
    Case("SELECT COUNT(x) FROM t", "1", "1"),
    Case("SELECT COUNT(k) FROM t", "1", "public"),
    Case("SELECT COUNT(COALESCE(x, 0)) FROM t", "1", "public"),
    Case("SELECT COUNT(NULLIF(k, 7)) FROM t", "1", "1"),
    Case("SELECT COUNT(1 / (k - 4)) FROM t", "1", "1"),
    Case("SELECT COUNT(*) FROM t WHERE x > 0", "1", "1"),
    Case("SELECT COUNT(*) FROM t WHERE NOT (x BETWEEN 0 AND 1)", "1", "1"),
    Case("SELECT COUNT(*) FILTER (WHERE x > 0) FROM t", "1", "1"),
    Case("SELECT COUNT(k) FILTER (WHERE k = 7) FROM t", "1", "1"),
    Case("SELECT COUNT(*) FROM t WHERE g LIKE 'a%' OR g IS NULL", "1", "1"),
    # No row can be left out: that is not looked for, and sound.
    Case("SELECT COUNT(*) FROM t WHERE 1 = 1", "1", "1>0"),
    Case("SELECT COUNT(*) FROM t WHERE COALESCE(1, v) = 1", "1", "1>0"),
    Case("SELECT COUNT(DISTINCT x) FROM t", "1", "1"),
    Case("SELECT COUNT(DISTINCT k) FROM t", "1", "1"),
    Case("SELECT COUNT(DISTINCT s) FROM t", "1", "1"),
    Case("SELECT COUNT(DISTINCT x) FROM t WHERE x <> 1", "1", "1"),
    Case("SELECT SUM(x) FROM t", "5", "7"),
    # A value may be there already, so a row that is replaced can add one and take none away.
    Case("SELECT SUM(DISTINCT x) FROM t", "5", "7"),
    Case("SELECT SUM(DISTINCT k) FROM t", "7", "7"),
    Case("SELECT SUM(DISTINCT v) FROM t", "9", "9"),
    Case("SELECT SUM(DISTINCT m) FROM t WHERE m < 0.2", "3", "3"),
    Case("SELECT SUM(DISTINCT CLAMP(w, -4, 2)) FROM t", "4e9", "6e9"),
    Case("SELECT AVG(DISTINCT k) FROM t", "4", "4"),
    Case("SELECT SUM(k) FROM t", "7", "4"),
    Case("SELECT SUM(m) FROM t", "3", "4"),
    Case("SELECT SUM(k) FROM t WHERE k >= 4", "7", "7"),
    Case("SELECT SUM(x) FILTER (WHERE x < 0) FROM t", "2", "2"),
    Case("SELECT SUM(-x) FROM t", "5", "7"),
    Case("SELECT SUM(k - 5) FROM t", "2", "4"),
    Case("SELECT SUM(x * 2 - 10) FROM t", "14", "14"),
    Case("SELECT SUM(x * x) FROM t", "25", "35>25"),  # bounds [-10, 25]: x is not known to be x
    Case("SELECT SUM(x / 2) FROM t", "2.5e9", "3.5e9"),
    Case("SELECT SUM(x % 3) FROM t", "3>2", "5>4"),  # |a % b| is below |b|, bounded by it
    Case("SELECT SUM(ABS(x)) FROM t", "5", "5"),
    Case("SELECT SUM(FLOOR(m)) FROM t", "2", "2"),
    Case("SELECT SUM(ROUND(m)) FROM t", "2", "3"),
    Case("SELECT SUM(LEAST(x, 3)) FROM t", "5>3", "7>5"),  # x may be NULL, 3 is not
    Case("SELECT SUM(GREATEST(x, 3)) FROM t", "5", "7>2"),
    Case("SELECT SUM(NULLIF(x, 5)) FROM t", "5>3", "7>5"),
    Case("SELECT SUM(CLAMP(1 / x, -1, 1)) FROM t", "1e9", "2e9>1.5e9"),  # 1/-2 and 1/1
    Case("SELECT SUM(CLAMP(w, -4, 2)) FROM t", "4e9", "6e9"),
    Case("SELECT SUM(w) FROM t WHERE w BETWEEN 2 AND 7.5", "7.5e9", "7.5e9"),
    Case("SELECT SUM(CASE WHEN x > 0 THEN 1 ELSE -3 END) FROM t", "3", "4"),
    Case("SELECT SUM(CASE WHEN k > 3 THEN 2 ELSE -3 END) FROM t", "3", "5"),
    Case("SELECT SUM(CASE WHEN x = 5 THEN k * 1000 ELSE 0 END) FROM t", "7000", "7000"),
    Case("SELECT SUM(COALESCE(x, 3)) FROM t", "5", "7"),
    Case("SELECT SUM(COALESCE(CLAMP(x, 1, 5), 1)) FROM t", "5", "4"),
    Case("SELECT SUM(CLAMP(CAST(s AS INTEGER), 0, 9)) FROM t", "9", "9"),
    Case("SELECT SUM(d - DATE '2020-01-06') FROM t", "5", "10"),
    Case("SELECT SUM(big) FROM t", f"{BIG}", f"{BIG}"),
    Case("SELECT SUM(1) FROM t", "1", "0"),
    Case("SELECT SUM(-3) FROM t WHERE x > 0", "3", "3"),
    # The product overflows to NULL for f = 1000 alone; then 0, which is not in [5, 10], is added.
    Case("SELECT SUM(CLAMP(f * 1e150 * 1e150 * 1e6, 5, 10)) FROM t", "1e9", "1e9"),
    Case("SELECT SUM(CLAMP(ROUND(f * 1e297, 9), 5, 10)) FROM t", "1e9", "1e9"),
    Case("SELECT AVG(x) FROM t", "7", "8"),  # y in [-3, 4], and the count weighs 4
    Case("SELECT AVG(k) FROM t", "4", "4"),
    Case("SELECT AVG(m) FROM t", "4", "4"),
    Case("SELECT AVG(x) FROM t WHERE x >= 0", "5", "6"),  # [0, 5], y in [-2, 3]
    Case("SELECT AVG(k) FILTER (WHERE k > 3) FROM t", "3", "4"),
    Case("SELECT AVG(d) FROM t", "10", "10"),
    Case("SELECT AVG(p) FROM t", "3", "4"),  # 3 steps; y in [-1, 2], and the count weighs 2
    Case("SELECT SUM(SECOND(p)) FROM t WHERE p < '2020-01-01 00:00:09'", "59>6", "59>6"),
    Case(
        "SELECT SUM(EXTRACT(EPOCH FROM p - TIMESTAMP '2020-01-01 00:00:03')) FROM t", "6e9", "9e9"
    ),
    Case("SELECT COUNT(DISTINCT DATE_TRUNC('hour', p)) FROM t", "1", "1"),
    Case("SELECT MEDIAN(p) FROM t", "1/2", "1"),
    Case("SELECT AVG(big) FROM t", "2", "2"),
    # Centred values y in [-3, 4], so h = 4: 32·3 + 5·(16 - 9), most of all y; in steps of 1/2
    # [-2, 2], so h = 2: 16·2. Over n rows of k, 7|y² - y'²| + 8|y - y'| is most for 2 and -1.
    Case("SELECT VAR_POP(x) FROM t", "131", "259"),
    Case("SELECT VARIANCE(m) FROM t", "32", "64"),
    Case("SELECT STDDEV(k) FROM t", "32", "45"),
    Case("SELECT STDDEV_POP(x) FROM t WHERE x > 0", "32", "64"),  # [1, 5], the centre is 3
    Case("SELECT MIN(x) FROM t", "1", "1"),
    Case("SELECT MAX(k) FROM t", "1", "1"),
    Case("SELECT MEDIAN(x) FROM t", "1/2", "1"),
    Case("SELECT MEDIAN(x) FROM t WHERE x > 0", "1/2", "1"),
    Case("SELECT QUANTILE_CONT(k, 0.25) FROM t", "3/4", "1"),
    Case("SELECT PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY d DESC) FROM t", "9/10", "1"),
    Case("SELECT MODE(v) FROM t", "1", "1"),
    Case("SELECT MODE(g) FROM t", "1", "1"),
    Case("SELECT MODE(h) FROM t", "1", "1"),
    Case("SELECT MODE(b) FILTER (WHERE b) FROM t", "1", "1"),
    Case("SELECT MODE(g, k) FROM t", "7", "7"),
    Case("SELECT MODE(b, -k) FROM t", "7", "7"),
    Case("SELECT MODE(v, CLAMP(w, 1, 3)) FROM t", "3e9", "3e9"),
    Case("SELECT MODE(g, big) FROM t", f"{BIG}", f"{BIG}"),
    Case("SELECT MODE(h, 0) FROM t", "1>0", "1>0"),
    # Of both signs: scores move by 7 at most, but against each other by 10.
    Case("SELECT MODE(g, x) FROM t", "5", "10>7"),
    Case("SELECT MODE(b, m) FILTER (WHERE b) FROM t", "3", "6>4"),
    Case("SELECT MODE(b, x) FROM t WHERE x > 0", "5", "5"),
    Case("SELECT SUM(x), COUNT(*), AVG(x) FROM t", "7", "8"),
    # Counts that tell rows apart are one histogram: replaced, a row can leave one segment for another.
    Case(
        "SELECT COUNT(*) FILTER (WHERE x < 0), COUNT(*) FILTER (WHERE x = 1), "
        "COUNT(*) FILTER (WHERE x > 3) FROM t",
        "1",
        "2",
    ),
    Case("SELECT COUNT(*) FILTER (WHERE x > 0), COUNT(*) FILTER (WHERE x > 1) FROM t", "1", "1 1"),
    Case(
        "SELECT SUM(CASE WHEN k > 4 THEN 1 ELSE 0 END), COUNT(CASE WHEN x > 1 THEN k END), "
        "COUNT(x), COUNT(*) FROM t",
        "1",
        "1 1 1",
    ),
    Case(
        "SELECT g, COUNT(*) FILTER (WHERE b), COUNT(*) FILTER (WHERE NOT b), COUNT(*) FROM t "
        "GROUP BY g",
        "1",
        "2",
    ),
    # A row leaves or enters one cell; replaced, it can leave one and enter another.
    Case("SELECT g, COUNT(*) FROM t GROUP BY g", "1", "2"),
    Case("SELECT g, COUNT(*) FROM t WHERE g = 'a' GROUP BY g", "1", "1"),
    Case("SELECT x, COUNT(*) FROM t GROUP BY x", "1", "2"),
    Case("SELECT d, COUNT(*) FROM t WHERE d < '2020-01-07' GROUP BY d", "1", "2"),
    Case("SELECT g, h, COUNT(*) FROM t GROUP BY g, h", "1", "2"),
    Case("SELECT g, SUM(x) FROM t GROUP BY g", "5", "10"),
    Case("SELECT g, SUM(x) FROM t WHERE g = 'a' GROUP BY g", "5", "7"),
    Case("SELECT h, SUM(x) FROM t GROUP BY h", "5", "10"),
    Case("SELECT h, SUM(x) FROM t WHERE x < 0 GROUP BY h", "2", "4"),
    Case("SELECT v, SUM(k) FROM t GROUP BY v", "7", "14"),
    Case("SELECT b, SUM(m) FROM t GROUP BY b", "3", "6"),
    Case("SELECT k, SUM(k) FROM t GROUP BY k", "7", "14>13"),  # 7 in one cell, 6 in another
    Case("SELECT g, h, SUM(x) FROM t GROUP BY g, h", "5", "10"),
    Case("SELECT g, SUM(DISTINCT k) FILTER (WHERE b) FROM t GROUP BY g", "7", "14"),
    Case("SELECT g, SUM(x) FILTER (WHERE b) FROM t GROUP BY g", "5", "10"),
    Case("SELECT g, COUNT(DISTINCT x) FROM t GROUP BY g", "1", "2"),
    Case("SELECT g, AVG(x) FROM t GROUP BY g", "7", "14"),
    Case("SELECT g, AVG(big) FROM t GROUP BY g", "2", "4"),
    Case("SELECT g, VAR_SAMP(x) FROM t GROUP BY g", "131", "262"),
    Case("SELECT g, MEDIAN(x) FROM t GROUP BY g", "1/2", "1"),
    Case("SELECT g, MAX(x) FROM t GROUP BY g", "1", "2"),
    Case("SELECT g, MODE(b) FROM t GROUP BY g", "1", "2"),
    Case("SELECT g, MODE(b, k) FROM t GROUP BY g", "7", "14"),
    Case("SELECT g, MODE(h, x) FROM t GROUP BY g", "5", "10"),
]


def read_row_kinds(sql: str) -> tuple[list[Column], list[Row]]:
    """The columns that a query reads, and all rows there can be."""
    names = [name for name in DOMAINS if re.search(rf"\b{name}\b", sql)] or ["x"]
    domains = [DOMAINS[name] for name in names]
    cells = [domain.cells if len(domains) == 1 else domain.few for domain in domains]
    if len(domains) > 2:
        cells = [few[:3] for few in cells]
    return [domain.column for domain in domains], list(product(*cells))


def expectations(text: str) -> tuple[list[Fraction], list[Fraction]]:
    """What is planned with, and what is attained, for each release."""
    parts = [] if text == "public" else text.split(" ")
    ends = [part.split(">") for part in parts]
    return [Fraction(part[0]) for part in ends], [Fraction(part[-1]) for part in ends]


def attained(planned: Plan, results: Sequence[Sequence[Any]], pairs: Any) -> list[Fraction]:
    """The largest change of each release between the two results of any pair.

    The span of a selection is checked on the way: no pair may go beyond it.
    """
    changes = []
    for position, release in enumerate(planned.releases):
        profiles = np.array([profile(release, result[position]) for result in results])
        changes.append(Fraction(farthest(profiles, pairs), denominator(release)))
        if isinstance(release.mechanism, Exponential):
            span = Fraction(widest(profiles, pairs), denominator(release))
            assert span <= release.mechanism.span, release
    return changes


def sensitivities(planned: Plan) -> list[Fraction]:
    return [Fraction(release.mechanism.sensitivity) for release in planned.releases]


CAP = 2
UNIT = Column("u", Kind.TEXT)
UNIT_DOMAINS = {
    "x": ("-2", "5", "", "1"),
    "k": ("3", "7", "5"),
    "g": ("a", "b", "z"),
    "b": ("true", "false"),
}
"""The more of these columns a query reads, the fewer of their cells are used."""


def unit_world(sql: str, relation: Neighbors) -> tuple[World, list[Row]]:
    names = [name for name in UNIT_DOMAINS if re.search(rf"\b{name}\b", sql)] or ["g"]
    columns = [DOMAINS[name].column for name in names]
    kinds = list(product(*(UNIT_DOMAINS[name][: 5 - len(names)] for name in names)))
    return world([*columns, UNIT], relation, unit="u", rows_per_unit=CAP), kinds


def bystanders(kinds: Sequence[Row]) -> list[list[Row]]:
    """Rows of units other than the one that changes: some alike, capped, or without a name."""
    first, last, middle = kinds[0], kinds[-1], kinds[len(kinds) // 2]
    capped, nameless = [first, first, last], [middle, last, first]
    return [
        [],
        [(*middle, "2"), (*middle, "3")],
        [*((*row, "0") for row in capped), (*middle, "3"), *((*row, "") for row in nameless)],
    ]


def same_number(left: Sequence[int], right: Sequence[int]) -> bool:
    return len(left) == len(right)


def any_number(left: Sequence[int], right: Sequence[int]) -> bool:
    return bool(left) and bool(right)


def one_is_absent(left: Sequence[int], right: Sequence[int]) -> bool:
    return not left or not right
