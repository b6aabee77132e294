"""Small shops whose lines are a customer's and a supplier's, and messages between persons."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from dpdb.engines.protocol import Engine
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.exactly import planned, raw_of
from tests.support.noiseless import Noiseless

POLICY = """\
[budget]
epsilon = 10_000
queries = 10_000
[privacy]
units = ["customer", "supplier", "person"]
[tables.customers]
unit = { customer = "id" }
key = "id"
[tables.customers.columns]
id = { type = "integer" }
nation = { type = "integer", values = [1, 2] }
[tables.suppliers]
unit = { supplier = "id" }
key = "id"
[tables.suppliers.columns]
id = { type = "integer" }
nation = { type = "integer", values = [1, 2] }
[tables.orders]
unit = { customer = "customer_id" }
key = "id"
rows_per_unit = 9
[tables.orders.columns]
id = { type = "integer" }
customer_id = { type = "integer" }
day = { type = "integer", values = [1, 2, 3] }
[tables.lines]
unit = { customer = "order_id -> orders.id", supplier = "supplier_id" }
rows_per_unit = { customer = 3, supplier = 4 }
[tables.lines.columns]
order_id = { type = "integer" }
supplier_id = { type = "integer" }
product = { type = "integer" }
amount = { type = "integer", bounds = [-2, 3] }
[tables.offers]
unit = { supplier = "supplier_id" }
key = ["product", "supplier_id"]
rows_per_unit = 4
[tables.offers.columns]
product = { type = "integer" }
supplier_id = { type = "integer" }
cost = { type = "integer", bounds = [0, 3] }
[tables.messages]
unit = { person = ["sender", "receiver"] }
rows_per_unit = 2
[tables.messages.columns]
sender = { type = "integer" }
receiver = { type = "integer" }
amount = { type = "integer", bounds = [-2, 3] }
[tables.products]
public = true
key = "id"
[tables.products.columns]
id = { type = "integer" }
kind = { type = "integer", values = [1, 2] }
[tables.deals]
unit = { supplier = "maker" }
key = ["product", "shop"]
rows_per_unit = 4
[tables.deals.columns]
maker = { type = "integer" }
product = { type = "integer" }
shop = { type = "integer" }
[tables.claims]
unit = { customer = "order_id -> orders.id", supplier = "(product, shop) -> deals.(product, shop)" }
rows_per_unit = { customer = 3, supplier = 4 }
[tables.claims.columns]
order_id = { type = "integer" }
product = { type = "integer" }
shop = { type = "integer" }
amount = { type = "integer", bounds = [-2, 3] }
[tables.visits]
unit = { supplier = "(shop, product) -> deals.(shop, product)" }
rows_per_unit = 4
[tables.visits.columns]
product = { type = "integer" }
shop = { type = "integer" }
amount = { type = "integer", bounds = [-2, 3] }
"""
HEADERS = {
    "customers": "id,nation",
    "suppliers": "id,nation",
    "orders": "id,customer_id,day",
    "lines": "order_id,supplier_id,product,amount",
    "offers": "product,supplier_id,cost",
    "messages": "sender,receiver,amount",
    "products": "id,kind",
    "deals": "maker,product,shop",
    "claims": "order_id,product,shop,amount",
    "visits": "product,shop,amount",
}
Data = Mapping[str, Sequence[tuple[int | None, ...]]]

STATEMENTS = (
    "SELECT COUNT(*) FROM lines",
    "SELECT COUNT(*), COUNT(amount), SUM(amount), AVG(amount) FROM lines WHERE product < 4",
    "SELECT SUM(amount) FILTER (WHERE amount > 0), COUNT(*) FILTER (WHERE amount < 2) FROM lines",
    "SELECT s.nation, COUNT(*) FROM lines l JOIN suppliers s ON l.supplier_id = s.id GROUP BY 1",
    "SELECT o.day, SUM(amount) FROM lines l JOIN orders o ON o.id = l.order_id GROUP BY o.day",
    "SELECT c.nation, s.nation, COUNT(*), AVG(l.amount) FROM customers c, suppliers s, lines l,"
    " orders o WHERE o.id = l.order_id AND o.customer_id = c.id AND s.id = l.supplier_id"
    " AND l.amount > -2 GROUP BY c.nation, s.nation",
    "SELECT p.kind, COUNT(*) FROM lines l LEFT JOIN products p ON l.product = p.id GROUP BY p.kind",
    "SELECT COUNT(*), SUM(p.cost) FROM lines l JOIN offers p ON p.product = l.product"
    " AND p.supplier_id = l.supplier_id WHERE p.cost < 3",
    "SELECT COUNT(*), SUM(amount) FROM messages",
    "SELECT AVG(amount) FROM (SELECT amount FROM messages WHERE sender < 4) m",
    "SELECT COUNT(*) FROM lines l JOIN products p ON p.kind = l.amount",
    "SELECT COUNT(*), SUM(x) FROM (SELECT amount AS x FROM messages WHERE amount > 0"
    " UNION ALL SELECT amount - 1 FROM messages) u WHERE x > -2",
    "SELECT n, COUNT(*) FROM (SELECT s.nation AS n FROM lines l JOIN suppliers s"
    " ON s.id = l.supplier_id UNION ALL SELECT o.day FROM lines l JOIN orders o"
    " ON o.id = l.order_id WHERE o.day < 3) u GROUP BY n",
    "SELECT amount, COUNT(*) FROM messages WHERE amount IN (0, 1, 2) GROUP BY amount",
    "SELECT COUNT(*), SUM(amount) FROM claims WHERE amount > -2",
    "SELECT s.nation, COUNT(*) FROM claims c JOIN deals d ON d.product = c.product"
    " AND d.shop = c.shop JOIN suppliers s ON s.id = d.maker GROUP BY s.nation",
    "SELECT COUNT(*), SUM(v.amount) FROM visits v JOIN deals d ON d.shop = v.shop"
    " AND d.product = v.product WHERE v.amount > 0",
    "SELECT COUNT(*) FROM deals d WHERE EXISTS (SELECT 1 FROM visits v WHERE v.shop = d.shop"
    " AND v.product = d.product)",
)

ONE_SUM = [STATEMENTS[at] for at in (0, 3, 4, 12, 13)]
"""Statements whose last column is the only aggregate, and no average."""


FIND = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(rows_per_unit = 'find') "
FINDING = (
    "COUNT(*) FROM lines WHERE product < 4",
    "COUNT(amount), AVG(amount), SUM(amount) FROM messages",
    "SUM(amount) FROM messages",
    "SUM(amount) FILTER (WHERE product > 1) FROM lines WHERE amount >= 0",
    "AVG(p.cost) FROM lines l JOIN offers p ON p.product = l.product"
    " AND p.supplier_id = l.supplier_id",
    "SUM(x) FROM (SELECT amount AS x FROM messages WHERE amount > 0"
    " UNION ALL SELECT amount + 2 FROM messages) u",
)
"""Statements that find a room after `FIND`; in two of them by a sum."""


def searched(text: str, policy: Policy, engine: Engine) -> list[int]:
    """The filled sums among which a statement selects a room."""
    (search,) = planned(FIND + text, policy, engine).subplans
    [[sums]] = raw_of(search, engine)
    return [*sums]


def random_data(seed: int, lines: int = 14) -> Data:
    """Few units with many rows; some rows are nobody's, and ids are the same in all kinds."""
    draw = random.Random(seed)

    def one_of(number: int) -> int | None:
        return None if draw.random() < 0.04 else draw.randint(1, number)

    return {
        "customers": [(i, one_of(2)) for i in range(1, 4)],
        "suppliers": [(i, one_of(2)) for i in range(1, 4)],
        "orders": [(i, one_of(4), one_of(3)) for i in range(1, 7)],
        "lines": [(one_of(7), one_of(4), one_of(4), draw.randint(-2, 3)) for _ in range(lines)],
        "offers": [(p, s, draw.randint(0, 3)) for p in (1, 2, 3) for s in (1, 2, 3)],
        "messages": [(one_of(5), one_of(5), draw.randint(-2, 3)) for _ in range(lines)],
        "products": [(i, i % 2 + 1) for i in range(1, 4)],
        "deals": [(one_of(4), p, s) for p in (1, 2, 3) for s in (1, 2, 3)],
        "claims": [(one_of(7), one_of(4), one_of(3), draw.randint(-2, 3)) for _ in range(lines)],
        "visits": [(one_of(4), one_of(3), draw.randint(-2, 3)) for _ in range(lines)],
    }


def neighbours(data: Data) -> Iterator[tuple[str, Data]]:
    """The data without each unit of each kind: without all rows that it is in."""
    for unit in range(1, 6):
        orders = {i for i, owner, _ in data["orders"] if owner == unit}
        yield (
            "customer",
            {
                **data,
                "customers": [row for row in data["customers"] if row[0] != unit],
                "orders": [row for row in data["orders"] if row[1] != unit],
                "lines": [row for row in data["lines"] if row[0] not in orders],
                "claims": [row for row in data["claims"] if row[0] not in orders],
            },
        )
        deals = {(product, shop) for maker, product, shop in data["deals"] if maker == unit}
        yield (
            "supplier",
            {
                **data,
                "suppliers": [row for row in data["suppliers"] if row[0] != unit],
                "lines": [row for row in data["lines"] if row[1] != unit],
                "offers": [row for row in data["offers"] if row[1] != unit],
                "deals": [row for row in data["deals"] if row[0] != unit],
                "claims": [row for row in data["claims"] if row[1:3] not in deals],
                "visits": [row for row in data["visits"] if row[:2] not in deals],
            },
        )
        yield "person", {**data, "messages": [m for m in data["messages"] if unit not in m[:2]]}


def largest_moves(moved: Callable[[Policy, Path], Policy], folder: Path) -> list[Fraction]:
    """How far a unit moves what a session answers to each of ONE_SUM, noise left out.

    1 is as far as the noise pays for. `moved` takes a policy to the rows in another storage.
    """
    paid: list[Fraction] = []

    def answers(at: int, data: Data) -> list[list[tuple[object, ...]]]:
        policy = shop_of_two(folder / str(at), data)
        session = Session(moved(policy, folder / str(at)), noise=Noiseless())
        found = [session.execute(text) for text in ONE_SUM]
        paid[:] = [answer.releases[0].sensitivity for answer in found]
        return [answer.rows for answer in found]

    data = random_data(1)
    whole, largest = answers(0, data), [Fraction(0)] * len(ONE_SUM)
    for at, (_, without) in enumerate(list(neighbours(data))[:6], 1):
        for which, rows in enumerate(answers(at, without)):
            pairs = zip(whole[which], rows, strict=True)
            far = sum(
                (abs(Fraction(one[-1]) - Fraction(two[-1])) for one, two in pairs), Fraction(0)
            )
            largest[which] = max(largest[which], far / paid[which])
    return largest


def shop_of_two(folder: Path, data: Data, policy: str = POLICY) -> Policy:
    """The policy of a shop with these rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, header in HEADERS.items():
        rows = (",".join("" if c is None else str(c) for c in row) for row in data[name])
        (folder / f"{name}.csv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    (folder / "shop.toml").write_text(policy, encoding="utf-8")
    return read_policy(folder / "shop.toml")
