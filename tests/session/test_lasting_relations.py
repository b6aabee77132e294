"""What was released of several tables, or of what units come to, answers later sessions."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpdb.policy.reading.reader import read_policy
from dpdb.session import budget_overview
from dpdb.session.session import Session
from tests.support.lasting import folder_in_memory

SHOP = Path("sample_data/shop")


@pytest.fixture(scope="module")
def shop() -> Iterator[Path]:
    """The sample shop with a budget that lasts."""
    with folder_in_memory() as folder:
        for file in SHOP.iterdir():
            shutil.copy(file, folder)
        policy = folder / "shop.toml"
        text = policy.read_text().replace("[budget]", '[budget]\nname = "shop"')
        policy.write_text(text.replace("delta   = 0.0", "delta = 0.000001"))
        budget_overview.open_budget(read_policy(policy))
        yield policy


@pytest.mark.parametrize("text", [
    "SELECT c.segment, COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY 1",
    "SELECT COUNT(*) FROM orders o, customers c WHERE o.customer_id = c.id AND o.amount > 100",
    "SELECT AVG(n) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id)",
    "SELECT COUNT(*) FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)",
    "SELECT MAX(n) FROM (SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel)",
    "SELECT region, COUNT(*) FROM customers WHERE region > 2 GROUP BY region",
    "SELECT COUNT(*) FROM customers UNION ALL SELECT COUNT(*) FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)",
    "SELECT COUNT(*) FROM orders WHERE amount > (SELECT AVG(n) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id))",
    "SELECT channel, SUM(amount, contribution_bounds_per_group => (0, 900)) FROM orders GROUP BY 1",
    "SELECT AVG(o.amount, contribution_bounds_per_group => (0, 9)) FROM orders o JOIN customers c ON o.customer_id = c.id",
    "SELECT SUM(DISTINCT amount), AVG(DISTINCT amount + 1) FROM orders",
    "SELECT n, COUNT(*) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) GROUP BY ROLLUP(n)",
])  # fmt: skip
def test_a_later_session_is_told_the_same_for_nothing(shop: Path, text: str) -> None:
    first = Session(read_policy(shop)).execute(text)
    second = Session(read_policy(shop)).execute(text)
    assert first.cost.epsilon > 0
    assert (second.repeat, second.cost.epsilon) == (True, 0)
    assert second.rows == first.rows


def test_further_columns_of_a_join_are_read_anew(shop: Path) -> None:
    """What was kept of columns that a session did not know at first is found later."""
    whole = "FROM orders o JOIN customers c ON o.customer_id = c.id"
    asked = [f"SELECT SUM(o.amount) {whole}", f"SELECT COUNT(c.born) {whole}"]
    told = [Session(read_policy(shop)).execute(text).rows for text in asked]
    later = Session(read_policy(shop))
    again = [later.execute(text) for text in asked]
    assert [answer.rows for answer in again] == told
    assert all(answer.repeat for answer in again)
