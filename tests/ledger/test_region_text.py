"""Filters as a ledger writes them down are the same filters when it reads them."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from dpdb.ledger.book import plan_text
from dpdb.plan.relations.regions import ColumnLimit, Region, Span, region
from dpdb.policy.catalog import Column, Kind
from tests.support.plans import PRIVATE, query

TABLE = PRIVATE.tables[0]
CONDITIONS = [
    "age = 30",
    "age BETWEEN 30 AND 39 OR age > 70",
    "NOT (pay < 0.1)",
    "pay = 0.30 AND wealth >= -123456789.01",
    "loose < 1e300",
    "loose > -0.0000001",
    "born = '1970-01-03'",
    "zip IN (1, 3) AND city <> 'Ely'",
    "city = 'R''ye' OR city IS NULL",
    "note = 'ünï\N{GRINNING FACE}' OR note > '\udc80'",
    "ok IS NOT TRUE",
    "ok IS TRUE AND id IS NULL",
    "age + 1 > 3",
    "age > 101",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_filter_is_read_as_it_was_written(condition: str) -> None:
    where = region(TABLE, query(f"COUNT(*) FROM t WHERE {condition}").where)
    told = plan_text.region_text(where, PRIVATE.tables)
    assert told is not None
    again = plan_text.read_region(json.loads(json.dumps(told)), PRIVATE.tables)
    assert again == where
    assert again.key == where.key
    assert again.turns == where.turns
    assert repr(dict(again.limits)) == repr(dict(where.limits))  # 1 is not 1.0 there


def test_all_rows_and_other_tables_are_not_written() -> None:
    assert plan_text.region_text(None, PRIVATE.tables) is None
    assert plan_text.region_text(region(TABLE, None), ()) is None


def test_limits_on_columns_that_a_table_lacks_are_left_out() -> None:
    """Also where a column has the name of one of the table's."""
    age = next(column for column in TABLE.columns if column.name == "age")
    other = replace(age, upper=Fraction(1))
    for column in (Column("made up", Kind.INTEGER), other):
        limits = {column.name: ColumnLimit(column, Span(below=True, turns=(3,)))}
        told, found = plan_text.kept_region(Region(TABLE, limits), PRIVATE.tables)
        assert told == {"table": TABLE.name, "limits": {}}
        assert found == Region(TABLE, {})
    for broken in ({}, {"table": "none", "limits": {}}, {"table": TABLE.name, "limits": {"age": 1}},
                   {"table": TABLE.name, "limits": {"made up": [False, [1, 2], False]}}):  # fmt: skip
        with pytest.raises(plan_text.UnreadableRegionError):
            plan_text.read_region(broken, PRIVATE.tables)
