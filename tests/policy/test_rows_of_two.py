"""Policies with units of several kinds, and tables whose rows are two units'."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpdb.errors import PolicyError
from dpdb.ledger.terms import described, tables_in
from dpdb.policy.budget import Neighbors
from dpdb.policy.names import OwnedBy, Reference
from tests.support.rows_of_two import POLICY, random_data, shop_of_two

LINES = 'unit = { customer = "order_id -> orders.id", supplier = "supplier_id" }'
CAPS = "rows_per_unit = { customer = 3, supplier = 4 }"
VISITS = 'unit = { supplier = "(shop, product) -> deals.(shop, product)" }'
DEALS = 'key = ["product", "shop"]'
MESSAGES = 'unit = { person = ["sender", "receiver"] }'
KINDS = 'units = ["customer", "supplier", "person"]'


def test_owners_are_read_and_kept_in_a_ledger_s_terms(tmp_path: Path) -> None:
    policy = shop_of_two(tmp_path, random_data(1))
    customers, _, _, lines, _, messages, *_, claims, visits = policy.tables
    assert (customers.kind, customers.owners) == ("customer", ())
    orders = Reference("orders", "id")
    assert lines.owners == (
        OwnedBy("customer", "order_id", orders),
        OwnedBy("supplier", "supplier_id"),
    )
    assert (lines.rows_per_unit, lines.kinds) == (4, ("customer", "supplier"))
    assert claims.owners[1].chain == Reference("deals", "product", (("shop", "shop"),))
    assert (visits.unit, visits.unit_as_written) == (
        "shop",
        "supplier: (shop, product) -> deals.(shop, product)",
    )
    assert (messages.rows_per_unit, messages.kinds) == (2, ("person",))
    for told, table in zip(tables_in(described(policy)), policy.tables, strict=True):
        assert (told.kind, told.owned_by, told.rows_per_unit) == (
            table.kind,
            table.owned_by,
            table.rows_per_unit,
        )


def test_a_chain_is_read_with_spaces_in_it(tmp_path: Path) -> None:
    spaced = POLICY.replace(VISITS, VISITS.replace("(", "( ").replace(")", " )"))
    assert spaced != POLICY
    assert shop_of_two(tmp_path, random_data(1), spaced) == shop_of_two(tmp_path, random_data(1))


def test_a_number_of_rows_of_two_units_is_never_public(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="add-remove"):
        shop_of_two(
            tmp_path, random_data(1), POLICY.replace(KINDS, f'{KINDS}\nneighbors = "replace"')
        )
    policy = shop_of_two(tmp_path, random_data(1))
    with pytest.raises(PolicyError, match="add-remove"):
        replace(policy, neighbors=Neighbors.REPLACE)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (KINDS, "", "kinds of units in [privacy] are none"),
        (KINDS, 'units = ["customer", "supplier"]', "kinds of units in [privacy] are customer"),
        (KINDS, 'units = "customer"', "units is a list of names"),
        (KINDS, f'{KINDS}\nunit_name = "person"', "unit_name is for units of one kind"),
        (LINES, 'unit = "supplier_id"', "units are of several kinds: say which"),
        (LINES, LINES.replace("orders.id", "suppliers.id"), "is about a supplier, and no"),
        (LINES, 'unit = { customer = "nobody", supplier = "supplier_id" }', "the name of a column"),
        (CAPS, "rows_per_unit = { customer = 3 }", "for each customer and supplier"),
        (CAPS, 'rows_per_unit = "find"', "is declared, and not found"),
        (CAPS, f"{CAPS}\ngroups_per_unit = 2", "is for rows of one unit"),
        (CAPS, f"{CAPS}\nrows_held_per_unit = 9", "is for rows of one unit"),
        (MESSAGES, 'unit = { person = ["sender", "receiver", "amount"] }', "without bounds"),
        (MESSAGES, 'unit = { person = ["sender", "sender"] }', "an owner is named twice"),
        (
            MESSAGES,
            'unit = { person = ["sender", "receiver"], customer = "sender" }',
            "a row belongs to 3 units, and 1 or 2 are possible",
        ),
        (
            "[tables.suppliers.columns]\n",
            '[tables.suppliers.columns]\nof = { type = "integer", references = "customers.id" }\n',
            "a row of customers is about a customer, and no supplier",
        ),
        (VISITS, 'unit = { supplier = "(shop, product) -> deals.(shop)" }', "as many columns"),
        (VISITS, 'unit = { supplier = "shop -> deals.(shop, product)" }', "as many columns"),
        (
            VISITS,
            'unit = { supplier = "(shop, shop) -> deals.(shop, product)" }',
            "as many columns",
        ),
        (
            VISITS,
            'unit = { supplier = "(shop, product) -> deals(shop, product)" }',
            "as many columns",
        ),
        (VISITS, 'unit = { supplier = "(shop, product) -> deals.(shop, maker)" }', "a unique key"),
        (VISITS, 'unit = { supplier = "shop -> deals.shop" }', 'key = "shop" in [tables.deals]'),
        (VISITS, 'unit = { supplier = "(shop, what) -> deals.(shop, product)" }', "of a column"),
        (
            VISITS,
            'unit = { supplier = "(shop, amount) -> deals.(shop, product)" }',
            "without bounds",
        ),
        (
            VISITS,
            'unit = { supplier = ["shop", "(shop, product) -> deals.(shop, product)"] }',
            "a column in parentheses is of one owner's chain",
        ),
        (DEALS, 'key = ["product"]', "are not declared a unique key"),
        ("product = { type", 'product = { references = "orders.id", type', "one for each row"),
    ],
)
def test_what_cannot_be_declared(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in POLICY
    with pytest.raises(PolicyError) as refused:
        shop_of_two(tmp_path, random_data(1), POLICY.replace(old, new, 1))
    assert said in f"{refused.value.message} {refused.value.hint}"
