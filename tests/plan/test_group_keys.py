"""The values of a key: declared, narrowed by the filter's text, never looked up."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpdb.errors import Unsupported
from dpdb.plan.expressions.expressions import ColumnRef
from dpdb.plan.ranges.group_keys import MAX_RANGE, MAX_VALUES, key_values
from dpdb.policy.catalog import Column, Kind, Value
from tests.support.plans import PRIVATE, query


def values(name: str, where: str = "") -> tuple[Value, ...]:
    """The values of a column of the small table."""
    column = PRIVATE.tables[0].column(name)
    assert column is not None
    asked = query(f"COUNT(*) FROM t {where and 'WHERE'} {where}")
    return key_values(ColumnRef(column), asked.where, {})


def test_what_is_declared() -> None:
    assert values("zip") == (1, 2, 3)
    assert values("city") == ("Ely", "Rye")
    assert values("ok") == (False, True)
    assert values("born") == tuple(range(7))  # days
    assert values("age") == tuple(range(101))


@pytest.mark.parametrize(
    ("name", "where", "expected"),
    [
        ("zip", "zip > 1", (2, 3)),
        ("zip", "zip >= 1.5 AND zip <> 3", (2, 3)),
        ("zip", "zip = 2", (2,)),
        ("zip", "2 = zip", (2,)),
        ("zip", "zip IN (3, 7, 1)", (1, 3)),
        ("zip", "zip IN (1, 2) AND zip IN (2, 3)", (2,)),
        ("zip", "zip IN (1, 2) OR age > 3", (1, 2, 3)),
        ("zip", "zip = 3 OR zip = 1 AND age > 3", (1, 3)),
        ("zip", "(zip = 1 AND zip IN (1, 2) OR zip = 3 OR FALSE) AND zip < 3", (1, 2)),
        ("city", "city = 'Rye' AND zip = 1 OR zip = 2 AND 'Rye' = city", ("Rye",)),
        ("city", "city = 'Rye'", ("Rye",)),
        ("city", "city IN ('Rye', 'Bath') AND age > 3", ("Rye",)),
        ("city", "note = 'Rye'", ("Ely", "Rye")),
        ("ok", "ok = TRUE", (True,)),
        ("age", "age BETWEEN 7 AND 9.5", (7, 8, 9)),
        ("age", "age > 98", (99, 100)),
        ("age", "pay < 3", tuple(range(101))),
    ],
)
def test_what_the_filter_admits(name: str, where: str, expected: tuple[Value, ...]) -> None:
    assert values(name, where) == expected


@pytest.mark.parametrize("where", ["zip = 9", "zip > 5", "zip > 2 AND zip < 2", "zip IN (7, 8)"])
def test_filters_that_admit_none_leave_all(where: str) -> None:
    assert values("zip", where) == (1, 2, 3)


@pytest.mark.parametrize(
    "where", ["age > 200", "age = 0.5", "age BETWEEN 0.2 AND 0.7", "0.5 BETWEEN age AND age"]
)
def test_so_they_do_where_values_are_between_bounds(where: str) -> None:
    assert values("age", where) == tuple(range(101))
    assert values("born", "born = DATE '2000-01-01'") == tuple(range(7))


@pytest.mark.parametrize("name", ["note", "loose", "pay", "id"])
def test_a_column_without_declared_values_is_refused(name: str) -> None:
    with pytest.raises(Unsupported, match=f"the policy lists no values of {name}"):
        values(name)


def test_whole_numbers_between_near_bounds_need_no_list() -> None:
    last = Fraction(MAX_RANGE)
    column = Column("n", Kind.INTEGER, Fraction(1), last)
    assert len(key_values(ColumnRef(column), None, {})) == MAX_RANGE
    with pytest.raises(Unsupported):
        key_values(ColumnRef(replace(column, upper=last + 1)), None, {})


def of_expression(text: str, where: str = "") -> tuple[Value, ...]:
    """The values of an expression by which rows of the small table are grouped."""
    asked = query(f"COUNT(*) FROM t {where and 'WHERE'} {where} GROUP BY {text}")
    [key] = asked.keys
    return key_values(key, asked.where, {})


@pytest.mark.parametrize(
    ("text", "where", "expected"),
    [
        ("age > 30", "", (False, True)),
        ("FLOOR(age / 10) * 10", "", tuple(range(0, 101, 10))),
        ("FLOOR(age / 10)", "age BETWEEN 20 AND 39", (2, 3)),
        ("FLOOR(age / 10)", "age > 200", tuple(range(11))),
        ("ROUND(age, -1)", "age >= 90", (90, 100)),
        ("CASE WHEN age < 3 THEN 'few' WHEN ok THEN NULL ELSE 'many' END", "", ("few", "many")),
        ("CASE WHEN ok THEN zip END", "zip > 1", (2, 3)),
        ("COALESCE(city, 'none')", "", ("Ely", "Rye", "none")),
        ("NULLIF(city, 'Ely')", "", ("Rye",)),
        ("COALESCE(NULLIF(city, 'Ely'), 'none')", "", ("Rye", "none")),
        ("NULLIF(zip, age)", "", (1, 2, 3)),
        ("LEFT(UPPER(city), 1)", "", ("E", "R")),
        ("REPLACE(city, 'Rye', 'Ely')", "", ("Ely",)),
        ("LOWER(city)", "LOWER(city) = 'ely'", ("ely",)),
        ("zip * 2 + 1", "", (3, 5, 7)),
        ("6 / zip", "", (2, 3, 6)),
        ("zip % 2", "", (0, 1)),
        ("6 / (zip - 1)", "", (3, 6)),
        ("GREATEST(2, zip)", "", (2, 3)),
        ("LEAST(2, zip)", "", (1, 2)),
        ("GREATEST(NULL, 2, zip)", "", (2, 3)),
        ("LEAST(zip, 2, NULL)", "", (1, 2)),
        ("CAST(zip AS TEXT)", "", ("1", "2", "3")),
        ("CAST(ok AS TEXT)", "", ("false", "true")),
        ("CAST(born AS TEXT)", "born < '1970-01-03'", ("1970-01-01", "1970-01-02")),
        ("YEAR(born)", "", (1970,)),
        ("MONTH(born)", "", tuple(range(1, 13))),
        ("MONTH(CAST(note AS DATE))", "", tuple(range(1, 13))),
        ("YEAR(CAST(note AS DATE)) > 2000", "", (False, True)),
        ("YEAR(CAST(note AS DATE)) % 4", "", (0, 1, 2, 3)),
        ("SIGN(YEAR(CAST(note AS DATE)) - 2000)", "", (-1, 0, 1)),
        ("LEAST(GREATEST(YEAR(CAST(note AS DATE)), 2020), 2022)", "", (2020, 2021, 2022)),
        ("CAST(YEAR(CAST(note AS DATE)) > 2000 AS INTEGER)", "", (0, 1)),
        ("DATE_TRUNC('month', born)", "", (0,)),
        ("DATE_TRUNC('week', born)", "", (-3, 4)),
        ("DATE_TRUNC('month', born) + INTERVAL 2 MONTH", "", (59,)),
        ("LAST_DAY(born)", "", (30,)),
        ("STRFTIME(born, '%Y-%m')", "", ("1970-01",)),
        ("STRFTIME(born, '%d')", "born < '1970-01-03'", ("01", "02")),
        ("DAYNAME(born)", "DAYNAME(born) IN ('Monday', 'Friday')", ("Monday", "Friday")),
        ("LENGTH(city) > 2", "", (False, True)),
        ("LENGTH(city) + zip", "", (4, 5, 6)),
        ("STARTS_WITH(city, 'E')", "", (False, True)),
    ],
)
def test_values_of_expressions(text: str, where: str, expected: tuple[Value, ...]) -> None:
    assert of_expression(text, where) == expected


@pytest.mark.parametrize(
    "text",
    ["LOWER(note)", "pay * 2", "age * age", "LENGTH(note)", "CAST(pay AS TEXT)", "id / 7",
     "YEAR(CAST(note AS DATE))", "YEAR(CAST(note AS TIMESTAMP)) - 2000",
     "DATE_TRUNC('year', CAST(note AS DATE))", "DATE_DIFF('year', born, CAST(note AS DATE))"],
)  # fmt: skip
def test_expressions_whose_values_are_not_known_are_refused(text: str) -> None:
    with pytest.raises(Unsupported, match="does not say which values"):
        of_expression(text)


def test_too_many_values_are_refused() -> None:
    assert len(of_expression("age * 99 + 99")) <= MAX_VALUES
    with pytest.raises(Unsupported):
        of_expression("age * 200 + age")
