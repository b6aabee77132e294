"""What the tables of a policy say of each other: keys, chains, references and public tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpdb.errors import PolicyError
from dpdb.policy.catalog import Kind, Policy
from dpdb.policy.names import Reference
from dpdb.policy.reading.reader import read_policy

SHOP = """\
[privacy]
unit_name = "customer"
[tables.customers]
unit = "id"
key = "id"
[tables.customers.columns]
id = { type = "integer" }
[tables.orders]
unit = "customer_id"
key = "id"
rows_per_unit = 20
groups_per_unit = 3
[tables.orders.columns]
id = { type = "integer" }
customer_id = { type = "integer" }
[tables.lines]
unit = "order_id -> orders.id"
rows_per_unit = 60
[tables.lines.columns]
order_id = { type = "integer" }
supplier = { type = "integer", values = "suppliers.id" }
[tables.returns]
unit = "customer_id"
key = ["order_id", "day"]
[tables.returns.columns]
day = { type = "date" }
order_id = { type = "integer", references = "orders.id" }
customer_id = { type = "integer" }
[tables.suppliers]
public = true
key = "id"
at_most = { region = 50 }
[tables.suppliers.columns]
id = { type = "integer" }
region = { type = "text" }
[tables.visits.columns]
id = { type = "text" }
"""


def policy_of(folder: Path, text: str) -> Policy:
    """The policy with this text."""
    path = folder / "shop.toml"
    path.write_text(text, encoding="utf-8")
    return read_policy(path)


def test_what_each_table_says_of_the_others(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, SHOP)
    assert policy.unit == "customer"
    customers, orders, lines, returns, suppliers, visits = policy.tables
    assert (customers.unit, customers.key, customers.public) == ("id", ("id",), False)
    assert (orders.unit, orders.rows_per_unit, orders.groups_per_unit) == ("customer_id", 20, 3)
    assert (lines.unit, lines.chain) == ("order_id", Reference("orders", "id"))
    assert (lines.rows_per_unit, lines.groups_per_unit) == (60, None)
    assert lines.columns[1].values_from == Reference("suppliers", "id")
    assert lines.columns[1].values is None
    assert returns.key == ("day", "order_id"), "in the order of the columns"
    assert returns.columns[1].references == Reference("orders", "id")
    assert suppliers.public
    assert suppliers.unit is None
    assert suppliers.at_most == (("region", 50),)
    assert (visits.unit, visits.chain, visits.key, visits.public) == (None, None, (), False)


def test_rows_that_are_held_of_a_unit(tmp_path: Path) -> None:
    told = SHOP.replace("groups_per_unit = 3", "rows_held_per_unit = 30")
    held = {table.name: table.rows_held for table in policy_of(tmp_path, told).tables}
    assert held == {"customers": 1, "orders": 30, "lines": 1_000, "returns": 1_000,
                    "suppliers": 1, "visits": 1}  # fmt: skip
    many = SHOP.replace("rows_per_unit = 60", "rows_per_unit = 6_000")
    assert policy_of(tmp_path, many).tables[2].rows_held == 6_000
    found = told.replace("rows_per_unit = 20", 'rows_per_unit = "find"')
    orders = policy_of(tmp_path, found).tables[1]
    assert (orders.rows_per_unit, orders.rows_held, orders.finds_cap) == (30, 30, True)
    lower = replace(policy_of(tmp_path, told).tables[1], rows_per_unit=1)
    assert lower.rows_held == 30, "whatever cap a query sets"


def test_longest_texts(tmp_path: Path) -> None:
    told = SHOP.replace('region = { type = "text" }', 'region = { type = "text", length = 5 }')
    policy = policy_of(tmp_path, told)
    assert [each.length for each in policy.tables[4].columns] == [10_000, 5]


def test_the_columns_that_hold_values_unchanged(tmp_path: Path) -> None:
    _, _, lines, returns, _, visits = policy_of(tmp_path, SHOP).tables
    assert lines.identifiers == {"order_id"}
    assert returns.identifiers == {"customer_id", "order_id", "day"}
    assert visits.identifiers == set()
    assert [returns.unit_types, lines.unit_types, visits.unit_types] == [{"": Kind.INTEGER}, {}, {}]


CHAIN = '"order_id -> orders.id"'
ORDER_ID = 'order_id = { type = "integer" }'

REFUSED = [
    # (what is changed, into what, the line of the mistake, what is said of it)
    (CHAIN, '"order_id -> orders.number"', 17, "no column orders.number is declared"),
    (CHAIN, '"order_id -> id"', 17, "as in orders.id"),
    (CHAIN, '"order_id ->"', 17, '"row" or the name of a column'),
    (CHAIN, '"orders_id -> orders.id"', 17, '"row" or the name of a column'),
    (CHAIN, '"order_id -> orders.customer_id"', 17, "orders.customer_id is not declared a unique key"),
    (CHAIN, '"order_id -> suppliers.id"', 17, "suppliers is public"),
    (CHAIN, '"order_id -> visits.id"', 17, "each row of visits is a unit of its own"),
    (CHAIN, '"order_id -> returns.day"', 17, "returns.day is not declared a unique key"),
    (ORDER_ID, 'order_id = { type = "text" }', 17, "order_id is text, and orders.id an integer"),
    (ORDER_ID, 'order_id = { type = "integer", bounds = [0, 9] }', 17, "without bounds"),
    (ORDER_ID, 'order_id = { type = "integer", values = [1], nullable = false }', 17, "nullable"),
    ('unit = "customer_id"\nkey = "id"', 'unit = "customer_id -> orders.id"\nkey = "id"', 9,
     "the units go round in a circle: orders -> orders"),
    ('key = "id"\nrows_per_unit', "rows_per_unit", 16, "orders.id is not declared a unique key"),
    ('key = ["order_id", "day"]', 'key = "day2"', 24, "key is the name of a column"),
    ('key = ["order_id", "day"]', 'key = ["day", "day"]', 24, "key is the name of a column"),
    ('key = ["order_id", "day"]', "key = []", 24, "key is the name of a column"),
    ('key = ["order_id", "day"]', "key = [3]", 24, "key is the name of a column"),
    ('day = { type = "date" }', 'day = { type = "number" }', 24, "a key is no number"),
    ('day = { type = "date" }', 'day = { type = "date", bounds = [2020-01-01, 2021-01-01] }', 24,
     "without bounds"),
    ('day = { type = "date" }', 'day = { type = "date", values = [2020-01-01], nullable = false }',
     24, "nullable"),
    ('references = "orders.id"', 'references = "orders"', 27, "as in orders.id"),
    ('references = "orders.id"', "references = 3", 27, "as in orders.id"),
    ('references = "orders.id"', 'references = "suppliers.id"', 27, "suppliers is public"),
    ('references = "orders.id"', 'references = "visits.id"', 27, "a unit of its own"),
    ('references = "orders.id"', 'references = "orders.customer_id"', 27, "not declared a unique key"),
    ('integer", references', 'text", references', 27, "and orders.id an integer"),
    ('region = { type = "text" }', 'region = { type = "integer", references = "orders.id" }', 35,
     "references goes with a unit"),
    ('[tables.returns.columns]\n', '[tables.returns.columns]\n'
     'amount = { type = "integer", bounds = [0, 9], references = "orders.id" }\n', 26, "no bounds"),
    ('values = "suppliers.id"', 'values = "orders.id"', 21, "orders is not public"),
    ('values = "suppliers.id"', 'values = "suppliers.region"', 21, "suppliers.region text"),
    ('values = "suppliers.id"', 'values = "suppliers"', 21, "as in orders.id"),
    ('type = "integer", values = "suppliers.id"', 'type = "number", values = "suppliers.id"', 21,
     "numbers are listed"),
    ('values = "suppliers.id"', 'values = "suppliers.id", bounds = [0, 9]', 21, "no room"),
    ('region = { type = "text" }', 'region = { type = "integer", values = "suppliers.id" }', 35,
     "the values of a public table"),
    ("public = true", 'public = "yes"', 30, "true or false"),
    ("public = true", 'public = true\nunit = "id"', 31, "no unit"),
    ("public = true", "public = true\nrows_per_unit = 1", 31, "no unit"),
    ("public = true", "public = true\ngroups_per_unit = 1", 31, "no unit"),
    ("at_most = { region = 50 }", "at_most = { region = 0 }", 32, "whole number"),
    ("at_most = { region = 50 }", "at_most = { regions = 5 }", 32, "did you mean region?"),
    ("at_most = { region = 50 }", "at_most = 5", 32, "at_most is a section"),
    ("groups_per_unit = 3", "groups_per_unit = 3\nat_most = { id = 1 }", 13, "public = true"),
    ("groups_per_unit = 3", "groups_per_unit = 0", 12, "whole number"),
    ("groups_per_unit = 3", "rows_held_per_unit = 19", 12, "at least rows_per_unit"),
    ("groups_per_unit = 3", "rows_held_per_unit = 100_001", 12, "from 1 to 100,000"),
    ("groups_per_unit = 3", "rows_held_per_unit = 2.5", 12, "whole number"),
    ("rows_per_unit = 20", "rows_per_unit = 100_001", 11, "from 1 to 100,000"),
    ("rows_per_unit = 20", 'rows_per_unit = "finds"', 11, "from 1 to 100,000"),
    ("public = true", 'public = true\nrows_per_unit = "find"', 31, "no unit"),
    ("[tables.visits.columns]", '[tables.visits]\nrows_per_unit = "find"\n[tables.visits.columns]',
     37, "goes with a unit"),
    ("public = true", "public = true\nrows_held_per_unit = 9", 31, "no unit"),
    ('region = { type = "text" }', 'region = { type = "text", length = 0 }', 35, "1 to 10,000"),
    ('region = { type = "text" }', 'region = { type = "text", length = 10_001 }', 35, "to 10,000"),
    ('region = { type = "text" }', 'region = { type = "date", length = 5 }', 35, "with a text"),
    ('region = { type = "text" }', 'region = { type = "text", length = 5, values = ["a"] }', 35,
     "without values"),
    ('customer_id = { type = "integer" }\n[tables.lines]',
     'customer_id = { type = "text" }\n[tables.lines]', 9, "a unit is text here, and an integer in"),
    ("[tables.visits.columns]", "[tables.visits]\ngroups_per_unit = 2\n[tables.visits.columns]", 37,
     "goes with a unit"),
    ('unit_name = "customer"', "unit_name = 3", 2, "unit_name is a string"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "said"), REFUSED)
def test_what_cannot_be(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    assert old in SHOP
    text = SHOP.replace(old, new, 1)
    with pytest.raises(PolicyError) as refused:
        policy_of(tmp_path, text)
    shown = f"{refused.value.message} {refused.value.hint}"
    assert f"line {line}:" in shown
    assert said in shown


def test_a_circle_of_two(tmp_path: Path) -> None:
    text = SHOP.replace('"customer_id"\nkey = "id"', '"customer_id -> customers.id"\nkey = "id"')
    text = text.replace('unit = "id"\nkey', 'unit = "id -> orders.id"\nkey')
    with pytest.raises(PolicyError, match="in a circle: customers -> orders -> customers"):
        policy_of(tmp_path, text)


def test_names_with_dots(tmp_path: Path) -> None:
    text = SHOP.replace("[tables.orders", '[tables."all.orders"').replace(
        "orders.id", "all.orders.id"
    )
    assert policy_of(tmp_path, text).tables[2].chain == Reference("all.orders", "id")
