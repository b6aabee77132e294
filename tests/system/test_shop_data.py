"""The sample shop: the script writes what is committed, and the policy fits it."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.lab.studies.check import check
from dpdb.policy.catalog import Kind, Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "sample_data" / "shop"
TABLES = ("customers", "orders", "lines", "returns", "regions", "products")

Row = dict[str, str]


def rows(table: str) -> list[Row]:
    with (SHOP / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def policy() -> Policy:
    return read_policy(SHOP / "shop.toml")


def test_the_committed_files_are_what_the_script_writes(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "make_shop_data.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, timeout=60)
    written = (*TABLES, "suppliers", "deliveries")
    for table in written:
        name = f"{table}.csv"
        same = (tmp_path / name).read_bytes() == (SHOP / name).read_bytes()
        assert same, f"{name} is stale: run scripts/make_shop_data.py"
    assert {path.stem for path in tmp_path.iterdir()} == set(written)


def test_the_policy_of_suppliers_fits_the_files() -> None:
    """No cell is lost, and few units have more rows than count."""
    tables = read_policy(SHOP / "suppliers.toml").tables
    for table in tables:
        units = check(table, tables).units
        assert (units is None) is table.public
        assert units is None or units.overfull_units <= units.units / 10


def test_the_policy_fits_the_files(policy: Policy) -> None:
    """No cell is lost but those of guests, and few values are clamped."""
    for table in policy.tables:
        found = check(table, policy.tables)
        assert found.repeated_keys == 0
        for column in found.columns:
            lost = sum(number for fate, number in column.fates.items() if not fate.kept)
            clamped = sum(number for fate, number in column.fates.items() if fate.clamped)
            guests = column.column.name == "customer_id" and table.name == "orders"
            assert (lost > 0) is guests
            assert clamped < found.records.rows / 20
        assert [column.column.name for column in found.columns] == list(rows(table.name)[0])


def test_every_row_that_counts_is_counted(policy: Policy) -> None:
    session = Session(policy, noise=Noiseless())
    orders, lines = rows("orders"), rows("lines")
    customer_of = {order["id"]: order["customer_id"] for order in orders}
    owners = {
        "customers": Counter(row["id"] for row in rows("customers")),
        "orders": Counter(customer_of.values()),
        "lines": Counter(customer_of.get(line["order_id"], "") for line in lines),
        "returns": Counter(row["customer_id"] for row in rows("returns")),
    }
    for name, sizes in owners.items():
        table = policy.table(name)
        assert table is not None
        counted = sum(min(size, table.rows_per_unit) for owner, size in sizes.items() if owner)
        assert session.execute(f"SELECT COUNT(*) FROM {name}").rows == ((counted,),)
    assert owners["lines"][""] > owners["orders"][""] > 0
    assert max(owners["orders"].values()) > 20


def test_the_tables_belong_together() -> None:
    customers = {row["id"]: row for row in rows("customers")}
    orders, products = rows("orders"), {row["id"]: row for row in rows("products")}
    owner_of = {order["id"]: order["customer_id"] for order in orders}
    assert {order["customer_id"] for order in orders} - {""} <= set(customers)
    assert {row["region"] for row in customers.values()} == {row["id"] for row in rows("regions")}
    assert {line["product"] for line in rows("lines")} == set(products)
    assert all(owner_of[row["order_id"]] == row["customer_id"] for row in rows("returns"))
    paid = Counter[str]()
    for line in rows("lines"):
        paid[line["order_id"]] += int(line["quantity"]) * Fraction(line["price"])
    whole = sum(paid[order["id"]] == Fraction(order["amount"]) for order in orders)
    assert 0.98 * len(orders) < whole < len(orders)


def test_trade_buys_more(policy: Policy) -> None:
    segment_of = {row["id"]: row["segment"] for row in rows("customers")}
    orders = Counter(segment_of.get(row["customer_id"]) for row in rows("orders"))
    people = Counter(segment_of.values())
    assert orders["trade"] / people["trade"] > 2 * orders["home"] / people["home"]
    segment = policy.tables[0].column("segment")
    assert segment is not None
    assert segment.kind is Kind.TEXT
    assert set(segment.values or ()) == set(people)
