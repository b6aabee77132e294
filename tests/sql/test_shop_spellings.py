"""Other systems' spellings of joins, windows and dates mean what dpdb's own mean, in the shop."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpdb
from dpdb.errors import StatementError
from dpdb.plan.logical.query import Query
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.sql.selects.statements import Select, statement

SHOP = Path(dpdb.__file__).parents[1] / "sample_data" / "shop" / "shop.toml"
ALIKE = [
    ("SELECT COUNT(*) FROM customers c SEMI JOIN returns r ON c.id = r.customer_id",
     "SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT 1 FROM returns r WHERE c.id = r.customer_id)"),
    ("SELECT COUNT(*) FROM returns LEFT ANTI JOIN orders USING (customer_id) WHERE reason = 'late' OR reason = 'broken'",
     "SELECT COUNT(*) FROM returns WHERE (reason = 'late' OR reason = 'broken') AND NOT EXISTS"
     " (SELECT 1 FROM orders WHERE returns.customer_id = orders.customer_id)"),
    ("SELECT DATE_TRUNC(day, MONTH) AS month, COUNT(*) AS n FROM orders GROUP BY month ORDER BY DATE_TRUNC(day, MONTH)",
     "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM orders GROUP BY month ORDER BY month"),
    ("SELECT AVG(DATE_DIFF(day, DATE '2024-01-01', MONTH)) AS n FROM orders",
     "SELECT AVG(DATE_DIFF('month', DATE '2024-01-01', day)) AS n FROM orders"),
    ("SELECT AVG(DATE_DIFF(day, DATE '2024-01-01', day)) AS n FROM orders",
     "SELECT AVG(DATE_DIFF('day', DATE '2024-01-01', day)) AS n FROM orders"),
    ("SELECT channel, 100 * RATIO_TO_REPORT(COUNT(*)) OVER (PARTITION BY channel ORDER BY channel) AS part"
     " FROM orders GROUP BY channel",
     "SELECT channel, 100 * (COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY channel)) AS part"
     " FROM orders GROUP BY channel"),
    ("WITH t AS (SELECT c.segment, COUNT(*) AS n FROM customers c GROUP BY c.segment) SELECT segment, n FROM t",
     "WITH t AS (SELECT segment AS segment, COUNT(*) AS n FROM customers GROUP BY 1) SELECT segment, n FROM t"),
]  # fmt: skip
REFUSED = [
    ("SELECT COUNT(*) FROM customers SEMI JOIN orders ON id = customer_id", "named by its table"),
    ("SELECT COUNT(*) FROM customers c SEMI JOIN orders o ON c.region = o.amount", "another customer"),
    ("SELECT COUNT(*) FROM customers c SEMI JOIN orders o", "needs ON"),
    ("SELECT COUNT(*) FROM returns r SEMI JOIN orders o ON r.order_id = o.id"
     " RIGHT JOIN customers c ON c.id = r.customer_id", "SEMI JOIN is not supported"),
    ("SELECT DATE_TRUNC(day, FORTNIGHT), COUNT(*) FROM orders GROUP BY 1", "no column FORTNIGHT"),
    ("SELECT COUNT(STRFTIME(day, '%c')) FROM orders", "STRFTIME does not know this format"),
    ("SELECT COUNT(STRFTIME(day, channel)) FROM orders", "STRFTIME does not know this format"),
    ("SELECT COUNT(TIME_BUCKET(INTERVAL 2 MONTH, day)) FROM orders", "an interval of one unit"),
    ("SELECT COUNT(TIME_BUCKET(INTERVAL 1 DECADE, day)) FROM orders", "has no decade"),
    ("SELECT RATIO_TO_REPORT(COUNT(*), 2) OVER () FROM orders", "takes one argument"),
]  # fmt: skip


@pytest.fixture(scope="module")
def shop() -> Policy:
    return read_policy(SHOP)


def bound(text: str, policy: Policy) -> Query:
    read = statement(text, policy)
    assert isinstance(read, Select)
    return read.query


@pytest.mark.parametrize(("theirs", "ours"), ALIKE)
def test_a_spelling_means_the_same(shop: Policy, theirs: str, ours: str) -> None:
    assert bound(theirs, shop) == bound(ours, shop)


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_near_a_spelling_is_refused(shop: Policy, text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        bound(text, shop)
