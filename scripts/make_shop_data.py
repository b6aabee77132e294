"""Write the sample shop: customers, orders, their lines and returns, all invented, from a seed.

    python scripts/make_shop_data.py [DIRECTORY]

Regions and products are public. The files are committed, and a run gives the same bytes everywhere,
as with make_sample_data.py. Like real files they are not quite clean: some orders were paid by
guests, and some lines are of orders that are no longer kept.
"""

import argparse
import datetime
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from make_sample_data import (
    DEFAULT_DIRECTORY,
    FIRST_NAMES,
    LAST_NAMES,
    dollars,
    normal,
    pick,
    shuffled,
    write_csv,
)

CUSTOMERS = 2_000
FIRST_DAY, DAYS = datetime.date(2024, 1, 1), 731
GUESTS, LOST_LINES, RETURNED = 0.02, 0.005, 0.06

REGIONS = (
    *((1, "Harbour", "coast"), (2, "Old Town", "city"), (3, "Hillside", "city")),
    *((4, "Riverbank", "valley"), (5, "Mills", "valley"), (6, "Lighthouse", "coast")),
    *((7, "Orchards", "valley"), (8, "Station", "city"), (9, "Dunes", "coast")),
    *((10, "Quarry", "valley"), (11, "University", "city"), (12, "Islands", "coast")),
)
PRODUCTS_TEXT = """
books: atlas 39.00, cookbook 28.50, dictionary 24.00, diary 9.90, novel 12.99, poems 14.00
games: cards 6.50, chess 45.00, dice 3.20, dominoes 11.00, jigsaw 17.90, kite 21.50
garden: bulbs 7.40, gloves 12.00, hose 34.90, rake 19.50, seeds 2.80, spade 29.00, trowel 8.90
kitchen: bowl 13.50, kettle 49.90, knife 38.00, ladle 7.20, pan 42.00, teapot 26.00, whisk 6.10
office: desk 289.00, folder 2.40, lamp 59.00, notebook 4.90, pen 1.80, stapler 9.20, stool 89.00
outdoor: backpack 74.00, bottle 16.50, compass 22.00, hammock 64.00, stove 82.50, tent 219.00
"""
CHANNELS = ("web", "web", "web", "phone", "store", "store")
SEGMENTS = ("home", "home", "home", "office", "trade")
REASONS = ("broken", "changed mind", "late", "wrong item")


class Product(NamedTuple):
    """One row of products.csv, its price in cents."""

    number: int
    name: str
    category: str
    price: int


class Customer(NamedTuple):
    """One row of customers.csv, and how many orders there are of it."""

    number: int
    name: str
    region: int
    segment: str
    born: datetime.date
    orders: int


class Line(NamedTuple):
    """One row of lines.csv, its price in cents."""

    order: int
    product: int
    quantity: int
    price: int


class Order(NamedTuple):
    """One row of orders.csv with its lines."""

    number: int
    customer: int | None
    day: datetime.date
    channel: str
    lines: list[Line]

    @property
    def amount(self) -> int:
        """What is paid, in cents."""
        return sum(line.quantity * line.price for line in self.lines)


def make_products() -> list[Product]:
    """Read the products out of their text."""
    found: list[Product] = []
    for listed in PRODUCTS_TEXT.strip().splitlines():
        category, _, items = listed.partition(": ")
        for item in items.split(", "):
            name, price = item.split()
            number = 101 + len(found)
            found.append(Product(number, name, category, int(price.replace(".", ""))))
    return found


def make_customers(rng: random.Random) -> list[Customer]:
    """Draw the customers; a few of them buy very often, most of them in trade."""
    numbers = shuffled(rng, range(1_000, 10_000))[:CUSTOMERS]
    return [make_customer(rng, number) for number in sorted(numbers)]


def make_customer(rng: random.Random, number: int) -> Customer:
    """Draw one customer."""
    # Regions differ in how many customers live there.
    region = REGIONS[int(len(REGIONS) * rng.random() ** 1.5)][0]
    segment = pick(rng, SEGMENTS)
    usual = 4.5 if segment == "trade" else 1.5
    return Customer(
        number,
        f"{pick(rng, FIRST_NAMES)} {pick(rng, LAST_NAMES)}",
        region,
        segment,
        datetime.date(2005, 12, 31) - datetime.timedelta(days=int(rng.random() * 23_000)),
        int(usual * math.exp(0.9 * normal(rng))),
    )


def make_orders(
    rng: random.Random, customers: list[Customer], products: list[Product]
) -> list[Order]:
    """Draw all orders, numbered by their days."""
    buyers = [customer for customer in customers for _ in range(customer.orders)]
    days = sorted(int(rng.random() * DAYS) for _ in buyers)
    orders = []
    for number, (day, buyer) in enumerate(zip(days, shuffled(rng, buyers), strict=True), 50_001):
        guest = rng.random() < GUESTS
        orders.append(
            Order(
                number,
                None if guest else buyer.number,
                FIRST_DAY + datetime.timedelta(days=day),
                pick(rng, CHANNELS),
                list(make_lines(rng, number, buyer, products)),
            )
        )
    return orders


def make_lines(
    rng: random.Random, order: int, buyer: Customer, products: list[Product]
) -> Iterator[Line]:
    """Draw the lines of one order: trade buys more of each, at a tenth less."""
    trade = buyer.segment == "trade"
    for _ in range(1 + int(3.5 * rng.random() ** 2)):
        product = pick(rng, products)
        quantity = 1 + int((9 if trade else 3) * rng.random() ** 3)
        yield Line(order, product.number, quantity, product.price * (9 if trade else 10) // 10)


def make_returns(rng: random.Random, orders: list[Order]) -> Iterator[tuple[object, ...]]:
    """Draw which orders came back, and why."""
    for order in orders:
        if order.customer is not None and rng.random() < RETURNED:
            day = order.day + datetime.timedelta(days=2 + int(rng.random() * 25))
            yield order.number, order.customer, day, pick(rng, REASONS)


REGION_NUMBERS = tuple(region[0] for region in REGIONS)
SUPPLIERS = 250


def make_suppliers(rng: random.Random) -> list[tuple[object, ...]]:
    """Draw the suppliers, each in a region."""
    numbers = shuffled(rng, range(700, 1_000))[:SUPPLIERS]
    words = ("Mill", "Press", "Works", "Yard", "Trade", "Craft")
    return [
        (number, f"{pick(rng, LAST_NAMES)} {pick(rng, words)}", pick(rng, REGION_NUMBERS))
        for number in sorted(numbers)
    ]


def make_deliveries(
    rng: random.Random, lines: list[Line], suppliers: list[tuple[object, ...]]
) -> Iterator[tuple[object, ...]]:
    """Draw who delivered each line of an order, and how many days it took."""
    for line in lines:
        supplier, *_ = pick(rng, suppliers)
        yield line.order, supplier, line.quantity, 1 + int(12 * rng.random() ** 2)


def write_shop(directory: Path) -> None:
    """Write every file of the shop."""
    directory.mkdir(parents=True, exist_ok=True)
    rng = random.Random(20173)
    products, customers = make_products(), make_customers(rng)
    orders = make_orders(rng, customers, products)
    lines = [line for order in orders for line in order.lines]
    lines = [line._replace(order=40_000) if rng.random() < LOST_LINES else line for line in lines]
    more = random.Random(20174)
    suppliers = make_suppliers(more)
    for name, header, rows in (
        ("regions", ("id", "name", "landscape"), REGIONS),
        (
            "products",
            ("id", "name", "category", "price"),
            [(p.number, p.name, p.category, dollars(p.price)) for p in products],
        ),
        (
            "customers",
            ("id", "name", "region", "segment", "born"),
            [customer[:-1] for customer in customers],
        ),
        (
            "orders",
            ("id", "customer_id", "day", "channel", "amount"),
            [(*order[:4], dollars(order.amount)) for order in orders],
        ),
        (
            "lines",
            ("order_id", "product", "quantity", "price"),
            [(*line[:3], dollars(line.price)) for line in lines],
        ),
        ("suppliers", ("id", "name", "region"), suppliers),
        (
            "deliveries",
            ("order_id", "supplier_id", "quantity", "days"),
            make_deliveries(more, lines, suppliers),
        ),
        ("returns", ("order_id", "customer_id", "day", "reason"), make_returns(rng, orders)),
    ):
        write_csv(directory / f"{name}.csv", header, rows)


def main() -> None:
    """Read the command line and write the files."""
    parser = argparse.ArgumentParser(description="Write the CSV files of the sample shop.")
    parser.add_argument("directory", nargs="?", type=Path, default=DEFAULT_DIRECTORY / "shop")
    write_shop(parser.parse_args().directory)


if __name__ == "__main__":
    main()
