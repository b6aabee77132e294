"""The terms of a ledger say all that a policy says, and those of older ledgers still hold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpdb.errors import LedgerError
from dpdb.ledger.terms import check_session, described, policy_in, public_terms, tables_in
from dpdb.policy.catalog import Policy, Table
from dpdb.policy.reading.reader import read_policy
from tests.policy.test_several_tables import SHOP
from tests.support.plans import PRIVATE

LATER = ("chain", "public", "key", "at_most", "groups_per_unit", "rows_held_per_unit")
"""What older ledgers do not say of a table."""


def written(policy: Policy) -> Any:
    return json.loads(json.dumps(described(policy)))


def test_tables_are_read_as_they_were_written(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(SHOP, encoding="utf-8")
    policy = read_policy(tmp_path / "shop.toml")
    assert [*map(held, tables_in(written(policy)))] == [*map(held, policy.tables)]


def held(table: Table) -> tuple[Table, int]:
    """The table without its file, nor what is declared of the rows held but their number."""
    return replace(table, path=Path(), rows_held_per_unit=None), table.rows_held


def test_an_analyst_is_told_neither_keys_nor_places_nor_others(tmp_path: Path) -> None:
    """What is told describes the same policy, but for these."""
    secret = (
        SHOP
        + """
[budget]
name = "shop-2026"
epsilon = 3
composition = "advanced"
delta = 1e-9
period = "7 days"
acknowledge_renewal = true
anchor = "private-place"
ledger = "secret-place"
[budget.analysts]
ann = { epsilon = 1 }
bob = { epsilon = 2 }
"""
    )
    secret = secret.replace(
        'region = { type = "text" }', 'region = { type = "text", null = ["secret-null"] }'
    )
    (tmp_path / "shop.toml").write_text(secret, encoding="utf-8")
    policy = replace(read_policy(tmp_path / "shop.toml"), sample_key="secret-key")
    first, *others = policy.tables
    policy = replace(policy, tables=(replace(first, stored_as="secret-table"), *others))
    told = json.dumps(public_terms(policy))
    for word in ("secret", "private-place", "ann", "bob", str(tmp_path), ".csv"):
        assert word not in told
    read = policy_in(json.loads(told))
    assert read.budget == policy.budget
    assert (read.lasting.name, read.lasting.duration) == ("shop-2026", "every 7 days")
    assert public_terms(read) == public_terms(policy)


def test_ledgers_from_before_there_were_several_tables() -> None:
    terms = written(PRIVATE)
    del terms["unit"]
    for table in terms["tables"].values():
        for key in LATER:
            del table[key]
        del table["csv"]["multiline"], table["csv"]["comment"], table["csv"]["skip"]
        for column in table["columns"].values():
            del column["references"], column["values_from"], column["length"], column["cells"]
    check_session(terms, PRIVATE)
    assert tables_in(terms) == tuple(replace(t, path=Path()) for t in PRIVATE.tables)


def test_limits_on_work_are_terms_where_they_are_declared(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(SHOP, encoding="utf-8")
    before = read_policy(tmp_path / "shop.toml")
    others = SHOP.replace("groups_per_unit = 3", "groups_per_unit = 3\nrows_held_per_unit = 50")
    others = others.replace('region = { type = "text" }', 'region = { type = "text", length = 9 }')
    (tmp_path / "shop.toml").write_text(others, encoding="utf-8")
    policy = read_policy(tmp_path / "shop.toml")
    assert [*map(held, tables_in(written(policy)))] == [*map(held, policy.tables)]
    with pytest.raises(LedgerError, match="rows_held_per_unit is not declared there, 50 here"):
        check_session(written(before), policy)


@pytest.mark.parametrize("rows", ["", "\nrows_held_per_unit = 50", "\nrows_held_per_unit = 5_000"])
def test_a_cap_that_is_found_is_a_term(rows: str, tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(SHOP, encoding="utf-8")
    before = read_policy(tmp_path / "shop.toml")
    text = SHOP.replace("rows_per_unit = 20", f'rows_per_unit = "find"{rows}')
    (tmp_path / "shop.toml").write_text(text, encoding="utf-8")
    policy = read_policy(tmp_path / "shop.toml")
    assert [*map(held, tables_in(written(policy)))] == [*map(held, policy.tables)]
    check_session(written(policy), policy)
    for there, here, said in (before, policy, "20 there, find"), (policy, before, "find there, 20"):
        with pytest.raises(LedgerError, match=f"rows_per_unit is {said} here"):
            check_session(written(there), here)


def test_how_cells_are_written_is_a_term(tmp_path: Path) -> None:
    """Another format makes other rows of the same file."""
    (tmp_path / "shop.toml").write_text(SHOP, encoding="utf-8")
    before = read_policy(tmp_path / "shop.toml")
    text = SHOP.replace('region = { type = "text" }', 'region = { type = "text", null = ["NA"] }')
    (tmp_path / "shop.toml").write_text(text, encoding="utf-8")
    policy = read_policy(tmp_path / "shop.toml")
    assert [*map(held, tables_in(written(policy)))] == [*map(held, policy.tables)]
    check_session(written(policy), policy)
    with pytest.raises(LedgerError, match="cells is not declared there"):
        check_session(written(before), policy)
