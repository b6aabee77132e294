"""Several tables about one unit: what a unit can change, and what that costs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.errors import InvalidOption
from dpdb.interfaces.prompt.completion import ShellCompleter
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless
from tests.support.shops import shop

TABLES = {
    "customers": [(7,), (8,)],
    "orders": [(1, 7), (2, 8), (3, 8), (4, None)],
    "lines": [(10, 1, 5), (11, 1, 6), (12, 2, 7), (13, 4, 8), (14, None, 9), (15, 9, 9)],
}

MORE = """
[tables.days]
public = true
[tables.days.columns]
day = { type = "date" }
[tables.orders]
unit = "customer"
key = "id"
[tables.orders.columns]
id = { type = "text" }
customer = { type = "integer" }
[tables.returns]
unit = "customer"
key = ["order_id", "day"]
[tables.returns.columns]
customer = { type = "integer" }
order_id = { type = "text", references = "orders.id" }
day = { type = "date" }
"""


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return shop(tmp_path, **TABLES)


def session(policy: Policy) -> Session:
    return Session(policy, noise=Noiseless())


def sensitivity(policy: Policy, select: str) -> Fraction | None:
    [report] = session(policy).execute(f"EXPLAIN SELECT {select}").releases
    return report.sensitivity


def test_a_customer_s_lines(policy: Policy) -> None:
    here = session(policy)
    for table, number in (("customers", 2), ("orders", 3), ("lines", 3)):
        assert here.execute(f"SELECT COUNT(*) FROM {table}").rows == ((number,),)
    assert sensitivity(policy, "COUNT(*) FROM customers") == 1
    assert sensitivity(policy, "COUNT(*) FROM orders") == 20
    assert sensitivity(policy, "COUNT(*) FROM lines") == 60
    assert sensitivity(policy, "COUNT(*) FROM claims") == 60
    assert sensitivity(policy, "SUM(quantity) FROM lines") == 60 * 99


def test_different_customers_and_different_orders(policy: Policy) -> None:
    """A customer counts once, but has as many orders as rows."""
    assert sensitivity(policy, "COUNT(DISTINCT customer_id) FROM orders") == 1
    for counted, most in {"COUNT(DISTINCT order_id) FROM lines": 60,
                          "COUNT(DISTINCT id) FROM orders": 20}.items():  # fmt: skip
        explained = session(policy).execute(f"EXPLAIN SELECT {counted}")
        assert f"a unit adds: 2 … {most}, found first" in explain_screen(explained)


def test_explain_says_whose_rows_are_hidden(policy: Policy) -> None:
    explained = session(policy).execute("EXPLAIN SELECT COUNT(*) FROM lines")
    assert "at most 60 rows per unit of orders, chosen by a keyed hash" in explained.bounding


def test_the_catalog_says_whom_rows_are_about(tmp_path: Path, policy: Policy) -> None:
    here = session(policy)
    assert here.execute("SHOW TABLES").rows == (
        ("customers", 1, "id"),
        ("orders", 2, "customer_id"),
        ("lines", 3, "order_id -> orders.id"),
        ("claims", 2, "line_id -> lines.id"),
    )
    names = {
        (table, row[0]): row[-1]
        for table in ("customers", "orders", "lines")
        for row in here.execute(f"DESCRIBE {table}").rows
    }
    assert names == {
        ("customers", "id"): "unit, key",
        ("orders", "id"): "key",
        ("orders", "customer_id"): "unit",
        ("lines", "id"): "key",
        ("lines", "order_id"): "orders.id",
        ("lines", "quantity"): None,
    }
    (tmp_path / "more.toml").write_text(MORE, encoding="utf-8")
    (tmp_path / "days.csv").write_text("day\n2020-01-01\n", encoding="utf-8")
    more = session(read_policy(tmp_path / "more.toml"))
    assert ("days", 1, "public") in more.execute("SHOW TABLES").rows
    described = more.execute("DESCRIBE returns").rows
    assert [row[-1] for row in described] == [
        "unit",
        "part of the key, orders.id",
        "part of the key",
    ]


def test_completion_says_what_columns_name(tmp_path: Path) -> None:
    (tmp_path / "more.toml").write_text(MORE, encoding="utf-8")
    completer = ShellCompleter(read_policy(tmp_path / "more.toml"), {})
    found = {
        each.text: each.display_meta_text
        for text in ("SELECT COUNT(*) FROM ", "SELECT COUNT( FROM returns")
        for each in completer.get_completions(
            Document(text, text.find(" FROM r") if "returns" in text else len(text)),
            CompleteEvent(completion_requested=True),
        )
    }
    assert found["days"] == "public, 1 columns"
    assert found["returns"] == "3 columns"
    assert (found["customer"], found["order_id"]) == ("unit", "part of the key, orders.id")


def test_all_tables_have_one_budget(policy: Policy) -> None:
    """A customer has rows in each, and filters of one may let all of them through."""
    here, each = session(policy), Fraction(10)
    asked = [
        "SELECT COUNT(*) FROM customers WHERE id = 7",
        "SELECT COUNT(*) FROM orders WHERE customer_id = 8",
        "SELECT COUNT(*) FROM lines WHERE quantity = 5",
        "SELECT COUNT(*) FROM lines WHERE quantity = 6",
        "SELECT COUNT(*) FROM claims WHERE amount = 6",
    ]
    for number, text in enumerate(asked, 1):
        assert here.execute(text).cost.epsilon == each
        assert here.balance.epsilon_left == 10_000 - number * each


def test_rows_of_two_tables_share_a_budget(tmp_path: Path) -> None:
    """Filters on one table exclude each other; those on two say nothing of each other."""
    for name in ("t", "u"):
        (tmp_path / f"{name}.csv").write_text("x\n1\n2\n", encoding="utf-8")
    columns = 'x = { type = "integer", bounds = [0, 9] }\n'
    text = f"[tables.t.columns]\n{columns}[tables.u.columns]\n{columns}"
    (tmp_path / "both.toml").write_text(text, encoding="utf-8")
    here = session(read_policy(tmp_path / "both.toml"))
    costs = [
        here.execute(f"SELECT COUNT(*) FROM {table} WHERE x = {x}").cost.epsilon
        for table, x in (("t", 1), ("t", 2), ("u", 1), ("u", 2), ("t", 3), ("u", 3))
    ]
    tenth = Fraction(1, 10)
    assert costs[:2] == [tenth, 0]
    assert here.balance.epsilon_left <= 1 - 2 * tenth
    assert sum(costs) == 2 * tenth


def test_the_column_of_a_chain_is_no_unit(policy: Policy) -> None:
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({}) COUNT(*) FROM lines"
    with pytest.raises(InvalidOption, match="the privacy unit of lines is a unit of orders"):
        session(policy).execute(clause.format("privacy_unit_column = order_id"))
    with pytest.raises(InvalidOption) as refused:
        session(policy).execute(clause.format("min_privacy_units_per_group = 5"))
    assert "COUNT(*)" in (refused.value.hint or "")
