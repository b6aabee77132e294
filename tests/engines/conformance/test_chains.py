"""Rows that are about the unit of a row of another table."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.protocol import Engine
from dpdb.policy.catalog import Policy
from tests.engines.conformance.conftest import OpenEngine
from tests.support.exactly import raw
from tests.support.plain_engine import PlainEngine
from tests.support.shops import random_shop, shop

STATEMENTS = [
    "SELECT COUNT(*) FROM orders",
    "SELECT COUNT(*), SUM(quantity), COUNT(DISTINCT order_id) FROM lines",
    "SELECT quantity, COUNT(*) FROM lines GROUP BY quantity",
    "SELECT COUNT(*) FROM lines WHERE quantity > 1",
    "SELECT amount, COUNT(*) FROM claims GROUP BY amount",
]


def counts(policy: Policy, engine: Engine) -> list[object]:
    return [raw(text, policy, engine) for text in STATEMENTS]


@pytest.mark.parametrize("kind", ["integer", "text"])
def test_a_row_is_its_order_s_customer_s(
    open_engine: OpenEngine, tmp_path: Path, kind: str
) -> None:
    """Not that of an order of nobody, of one that is not there, or of none."""
    orders = [(1, 7), (2, 8), (3, None)]
    lines = [(10, 1, 5), (11, 1, 5), (12, 2, 5), (13, 3, 5), (14, None, 5), (15, 9, 5)]
    claims = [(10, 1), (12, 1), (12, 1), (13, 1), (99, 1), (None, 1)]
    tables = {"orders": orders, "lines": lines, "claims": claims}
    for cap, counted in ((60, [3, 3]), (1, [2, 2])):
        policy = shop(tmp_path, kind, cap, **tables)
        engine = open_engine(tables=policy.tables)
        found = [raw(f"SELECT COUNT(*) FROM {t}", policy, engine) for t in ("lines", "claims")]
        assert found == [[[each]] for each in counted]


@pytest.mark.parametrize("kind", ["integer", "text"])
@pytest.mark.parametrize("cap", [1, 3, 60])
def test_random_shops(tmp_path: Path, kind: str, cap: int) -> None:
    """The same rows count in both engines, in whichever order tables are asked about."""
    policy = shop(tmp_path, kind, cap, **random_shop(random.Random(cap)))
    plain = counts(policy, PlainEngine(policy.tables))
    assert counts(policy, MemoryEngine(tables=policy.tables)) == plain
    backwards = MemoryEngine(tables=policy.tables)
    assert [raw(text, policy, backwards) for text in reversed(STATEMENTS)] == plain[::-1]


@pytest.mark.parametrize("cap", [1, 3])
def test_a_shop_is_the_sum_of_its_customers(tmp_path: Path, cap: int) -> None:
    """What counts of a customer's rows is a function of these rows alone."""
    tables = random_shop(random.Random(11))
    owner_of = dict(tables["orders"])
    order_of = {number: order for number, order, _ in tables["lines"]}
    whole = _quantities(shop(tmp_path, cap=cap, **tables))
    parts = [
        _quantities(
            shop(
                tmp_path,
                cap=cap,
                customers=tables["customers"],
                orders=[order for order in tables["orders"] if order[1] == person],
                lines=[line for line in tables["lines"] if owner_of.get(line[1]) == person],
                claims=[
                    claim
                    for claim in tables["claims"]
                    if owner_of.get(order_of.get(claim[0])) == person
                ],
            )
        )
        for person in range(1, 6)
    ]
    assert whole == [sum(each) for each in zip(*parts, strict=True)]
    assert sum(whole) > 5 * cap


def _quantities(policy: Policy) -> list[int]:
    engine = MemoryEngine(tables=policy.tables)
    texts = ("SELECT quantity, COUNT(*) FROM lines GROUP BY quantity",
             "SELECT amount, COUNT(*) FROM claims GROUP BY amount")  # fmt: skip
    return [count for text in texts for count in raw(text, policy, engine)[0]]
