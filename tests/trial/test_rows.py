"""Rows made up from a policy: their law, and what the policy declares of them."""

from __future__ import annotations

import datetime
import hashlib
import tomllib
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.engines.sources.opening import open_source
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import policy_in, read_policy
from dpdb.session.backends import check_data
from dpdb.trial.policy import trial_files, trial_policy
from dpdb.trial.rows import SEED, TrialRows
from dpdb.vectors.columns import Numbers
from tests.support.rows_of_two import POLICY as ROWS_OF_TWO

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = read_policy(SAMPLES / "shop" / "shop.toml")
PEOPLE = read_policy(SAMPLES / "people.toml")


def made(**tables: dict[str, object]) -> tuple[Policy, TrialRows]:
    policy = policy_in({"tables": tables})
    return policy, TrialRows(policy)


def words(table: str, column: str, purpose: str, number: int) -> list[int]:
    """The words of the law, written anew: 64 bits of SHAKE-128, the least byte first."""
    stream = hashlib.shake_128(f"{SEED}\0{table}\0{column}\0{purpose}".encode()).digest(8 * number)
    return [
        sum(byte << 8 * place for place, byte in enumerate(stream[8 * i : 8 * i + 8]))
        for i in range(number)
    ]


def test_cells_follow_from_the_words_of_the_law() -> None:
    _, rows = made(
        t={
            "columns": {
                "v": {"type": "text", "values": ["a", "b", "c"], "nullable": False},
                "x": {"type": "integer", "bounds": [5, 9], "nullable": False},
                "y": {"type": "number", "bounds": [0, 1], "step": 0.25},
                "name": {"type": "text"},
            }
        }
    )
    cells = rows.cells("t")
    assert {len(column) for column in cells.values()} == {10_000}
    assert cells["v"] == ["abc"[word * 3 // 2**64] for word in words("t", "v", "", 10_000)]
    pairs = zip(words("t", "x", "", 10_000), words("t", "x", "second", 10_000), strict=True)
    assert cells["x"] == [str(5 + (5 * a // 2**64 + 5 * b // 2**64) // 2) for a, b in pairs]
    assert set(cells["y"]) == {None, "0", "0.25", "0.5", "0.75", "1"}
    missing = [word * 32 // 2**64 == 0 for word in words("t", "name", "null", 10_000)]
    assert [cell is None for cell in cells["name"]] == missing
    drawn = zip(cells["name"], words("t", "name", "", 10_000), strict=True)
    assert all(cell in (None, f"name {word * 1000 // 2**64 + 1}") for cell, word in drawn)


def test_rows_are_the_same_for_everybody_and_of_the_policy_alone() -> None:
    again = TrialRows(read_policy(SAMPLES / "shop" / "shop.toml"))
    assert again.cells("orders") == TrialRows(SHOP).cells("orders")
    # Tables are made in any order, and a table by itself is made as among others.
    assert TrialRows(SHOP).cells("regions") == again.cells("regions")


@pytest.mark.parametrize("policy", [SHOP, PEOPLE])
def test_no_unit_is_over_its_cap_and_declarations_hold(policy: Policy) -> None:
    trial = trial_policy(policy)
    check_data(trial)
    for table in trial.tables:
        assert table.made_up is not None
        cells = table.made_up.cells(table.name)
        assert [*cells] == [column.name for column in table.columns]
        for column in table.columns:
            for cell in set(cells[column.name]) - {None}:
                assert cell is not None
                if column.bounds and column.kind in ("integer", "number"):
                    assert column.bounds[0] <= Fraction(cell) <= column.bounds[1]
                if column.kind == "date":
                    datetime.date.fromisoformat(cell)


def test_units_chains_and_references_of_the_shop() -> None:
    rows = TrialRows(SHOP)
    customers, orders, lines, returns = map(rows.cells, ("customers", "orders", "lines", "returns"))
    assert sorted(map(int, map(str, customers["id"]))) == list(range(1, 1001))
    owned = Counter(orders["customer_id"])
    assert set(owned) <= set(customers["id"])
    assert 0 < max(owned.values()) <= 8
    assert len(set(orders["id"])) == len(orders["id"])
    assert set(lines["order_id"]) <= set(orders["id"])
    assert max(Counter(lines["order_id"]).values()) <= 4
    of_order = dict(zip(orders["id"], orders["customer_id"], strict=True))
    per_unit = Counter(of_order[order] for order in lines["order_id"])
    assert max(per_unit.values()) <= 20  # the cap of the policy
    # A return names an order of its own customer, or none where the customer has none.
    for order, customer in zip(returns["order_id"], returns["customer_id"], strict=True):
        assert of_order[order] == customer if order is not None else owned[customer] == 0
    assert len(rows.cells("regions")["id"]) == 100


def test_a_chain_of_two_columns_names_rows_that_are_there() -> None:
    names = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    _, rows = made(
        deals={"unit": "u", "key": ["a", "b"], "rows_per_unit": 9,
               "columns": {"u": {"type": "text"}, **names}},
        visits={"unit": "(b, a) -> deals.(b, a)", "rows_per_unit": 9, "columns": names},
    )  # fmt: skip
    deals, visits = (
        list(zip(cells["a"], cells["b"], strict=True))
        for cells in map(rows.cells, ("deals", "visits"))
    )
    assert len({*deals}) == len(deals) > len({*visits}) > 100
    assert {*visits} <= {*deals}


def test_keys_of_two_columns_and_values_that_few_rows_share() -> None:
    policy, rows = made(
        t={
            "public": True, "key": ["a", "b"],
            "columns": {"a": {"type": "integer", "values": [3, 4, 5]}, "b": {"type": "boolean"}},
        },
        u={
            "public": True, "key": ["k"], "at_most": {"g": 3, "h": 40},
            "columns": {
                "k": {"type": "text"},
                "g": {"type": "integer"},
                "h": {"type": "text", "values": ["x", "y"]},
            },
        },
    )  # fmt: skip
    cells = rows.cells("t")
    pairs = list(zip(cells["a"], cells["b"], strict=True))
    assert len(pairs) == len(set(pairs)) == 6
    assert rows.cells("u")["k"][:2] == ["k 1", "k 2"]
    assert rows.cells("u")["g"][:7] == ["1", "1", "1", "2", "2", "2", "3"]
    assert Counter(rows.cells("u")["h"]) == {"x": 40, "y": 40, None: 20}
    check_data(trial_policy(policy))


def test_files_are_written_as_the_policy_declares(tmp_path: Path) -> None:
    """A session on the files beside their policy has the rows of the trial."""
    (tmp_path / "t.toml").write_text(
        """
        [tables.t]
        path = "in/t.csv"
        separator = ";"
        decimal = ","
        encoding = "utf-16"
        [tables.t.columns]
        d = { type = "date", bounds = [2001-01-01, 2003-12-31], format = "%m/%d/%Y" }
        s = { type = "timestamp", format = "%d %b %Y %I:%M:%S %p" }
        p = { type = "number", bounds = [0, 1], step = 0.001, percent = true }
        x = { type = "number", bounds = [0, 9], step = 0.25, thousands = "." }
        n = { type = "text", null = ["NA"] }
        """,
        encoding="utf-8",
    )
    policy = read_policy(tmp_path / "t.toml")
    (tmp_path / "in").mkdir()
    [(name, content)] = trial_files(policy)
    (tmp_path / "in" / name).write_bytes(content)
    names = [column.name for column in policy.tables[0].columns]
    [real], [trial] = policy.tables, trial_policy(policy).tables
    read, made_up = (open_source(table).load(names) for table in (real, trial))
    assert read.rows == made_up.rows == 10_000
    for column in names:
        one, other = read.columns[column], made_up.columns[column]
        assert type(one) is type(other)
        if isinstance(one, Numbers) and isinstance(other, Numbers):
            assert (one.null == other.null).all()
            assert (one.units[~one.null] == other.units[~one.null]).all()
            assert 100 < one.null.sum() < 600
        else:
            texts = [[*each.values, None] for each in (one, other)]
            codes = zip(one.codes.tolist(), other.codes.tolist(), strict=True)
            assert all(texts[0][a] == texts[1][b] for a, b in codes)


def test_files_have_the_rows_of_the_session() -> None:
    files = dict(trial_files(SHOP))
    assert [*files] == [f"{table.name}.csv" for table in SHOP.tables]
    header, *lines = files["customers.csv"].decode().splitlines()
    assert header == "id,name,region,segment,born"
    assert len(lines) == 1000


def test_both_owners_of_a_row_are_units_or_rows_that_name_them() -> None:
    """Though units of one kind have texts as names, and those of the others numbers."""
    owned = tomllib.loads(ROWS_OF_TWO)
    of_messages = owned["tables"]["messages"]["columns"]
    of_messages["sender"] = of_messages["receiver"] = {"type": "text"}
    rows = TrialRows(policy_in({each: owned[each] for each in ("privacy", "tables")}))
    claims, deals, lines = map(rows.cells, ("claims", "deals", "lines"))
    assert {*zip(claims["product"], claims["shop"], strict=True)} <= {
        *zip(deals["product"], deals["shop"], strict=True)
    }
    assert {*lines["supplier_id"]} <= {*rows.cells("suppliers")["id"]}
    assert {*lines["order_id"]} <= {*rows.cells("orders")["id"]}
    messages = rows.cells("messages")
    assert len({*messages["sender"], *messages["receiver"]}) <= 1_000
    assert min(map(len, (*claims.values(), *lines.values(), *messages.values()))) > 500
