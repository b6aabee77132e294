"""What is known of relations: which columns name a unit, and how many rows it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdb.plan.logical.query import Query
from dpdb.plan.relations.privacy_ids import unit_columns
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.names import Reference
from dpdb.sql.selects.statements import Select, statement

NOWHERE = Path("nowhere.csv")


def number(name: str, references: Reference | None = None) -> Column:
    return Column(name, Kind.INTEGER, references=references)


POLICY = Policy(
    (
        Table("people", NOWHERE, (number("id"),), "id", key=("id",)),
        Table(
            "gifts",
            NOWHERE,
            (number("giver"), number("day"), number("taker", Reference("people", "id"))),
            "giver",
            7,
        ),
        Table("days", NOWHERE, (number("day"),), public=True, at_most=(("day", 3),)),
    )
)


def query(text: str) -> Query:
    found = statement(text, POLICY)
    assert isinstance(found, Select)
    return found.query


@pytest.mark.parametrize(
    ("read", "columns"),
    [
        ("gifts", {"giver"}),
        ("gifts g JOIN people p ON g.taker = p.id", {"gifts.giver", "people.id"}),
        ("(SELECT giver, COUNT(*) FROM gifts GROUP BY giver, day)", {"k1"}),
        ("(SELECT taker, COUNT(*) FROM gifts GROUP BY taker, day)", set()),
    ],
)
def test_a_column_that_only_references_the_unit_does_not_name_it(
    read: str, columns: set[str]
) -> None:
    """It may hold several values in the rows of one unit, whatever the policy says."""
    assert unit_columns(query(f"SELECT COUNT(*) FROM {read}").table) == columns


@pytest.mark.parametrize(
    ("read", "rows"),
    [
        ("people", 1),
        ("gifts", 7),
        ("people JOIN gifts ON id = giver", 7),
        ("people LEFT JOIN gifts ON id = giver", 7),
        ("gifts a JOIN gifts b ON a.giver = b.giver", 49),
        ("people a JOIN people b USING (id)", 1),
        ("gifts JOIN days USING (day)", 21),
        ("gifts LEFT JOIN days ON gifts.day = days.day AND days.day > 3", 21),
        ("people FULL JOIN gifts ON id = giver", 8),
        ("gifts a FULL JOIN gifts b ON a.giver = b.giver", 49),
        ("gifts a FULL JOIN gifts b ON a.giver = b.giver JOIN people ON id = b.giver", 49),
        ("people WHERE id IN (SELECT giver FROM gifts)", 1),
        ("(SELECT giver, COUNT(*) FROM gifts GROUP BY giver)", 1),
        ("(SELECT giver, COUNT(*) FROM gifts GROUP BY giver, day)", 7),
    ],
)
def test_so_many_rows_of_a_unit_count(read: str, rows: int) -> None:
    assert query(f"SELECT COUNT(*) FROM {read}").table.rows_per_unit == rows
