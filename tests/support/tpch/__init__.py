"""TPC-H with the customer as privacy unit: its queries, a policy, and small tables from a seed.

The queries are those of the benchmark [TPCH], with the parameters of its validation. The tables
have its columns and its values, in some hundred rows: queries run at once.
"""

from __future__ import annotations

import csv
import datetime
import random
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy

HERE = Path(__file__).parent
SUPPLIERS, PARTS, CUSTOMERS, ORDERS = 25, 40, 90, 900
HOMES = (2, 3, 6, 7, 8, 12, 18, 20)
"""The nations that customers live in."""
REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = (
    *(("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4)),
    *(("ETHIOPIA", 0), ("FRANCE", 3), ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2)),
    *(("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0)),
    *(("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3)),
    *(("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3), ("UNITED KINGDOM", 3)),
    ("UNITED STATES", 1),
)
TYPES = (
    ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
    ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
)
CONTAINERS = (
    ("SM", "LG", "MED", "JUMBO", "WRAP"),
    ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"),
)
ASKED_FOR = {
    1: ("Brand#12", "ECONOMY ANODIZED STEEL", 3, "SM CASE"),
    2: ("Brand#23", "ECONOMY ANODIZED STEEL", 5, "MED BOX"),
    3: ("Brand#34", "STANDARD BRUSHED BRASS", 15, "LG CASE"),
}
"""The brand, type, size and container of parts that queries ask for by these words."""
COLOURS = ("almond", "blue", "forest", "green", "ivory", "lemon", "navy", "plum", "red", "snow")
WORDS = ("quick", "special", "requests", "Customer", "Complaints", "pending", "deposits", "even")
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
INSTRUCTIONS = ("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
FIRST_DAY, TODAY = datetime.date(1992, 1, 1), datetime.date(1995, 6, 17)

Rows = Iterable[Sequence[object]]


def queries() -> dict[int, str]:
    """The text of each query, without the semicolon, by its number."""
    parts = re.split(r"^-- (\d+)$", (HERE / "queries.sql").read_text(encoding="utf-8"), flags=re.M)
    texts = (text.strip().removesuffix(";") for text in parts[2::2])
    return dict(zip(map(int, parts[1::2]), texts, strict=True))


def benchmark(folder: Path) -> Policy:
    """The policy, over small tables that are written to a folder."""
    chance = random.Random(22)
    parts = list(_parts(chance))
    offers = list(_offers(chance))
    orders, lines = _orders(chance, [float(str(part[7])) for part in parts])
    tables: dict[str, Rows] = {
        "region": ((key, name, _words(chance)) for key, name in enumerate(REGIONS)),
        "nation": ((key, *nation, _words(chance)) for key, nation in enumerate(NATIONS)),
        "supplier": _suppliers(chance),
        "part": parts,
        "partsupp": offers,
        "customer": _customers(chance),
        "orders": orders,
        "lineitem": lines,
    }
    shutil.copy(HERE / "tpch.toml", folder)
    policy = read_policy(HERE / "tpch.toml")
    for table in policy.tables:
        with (folder / f"{table.name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(column.name for column in table.columns)
            writer.writerows(tables[table.name])
    return read_policy(folder / "tpch.toml")


def _parts(chance: random.Random) -> Iterable[Sequence[object]]:
    for key in range(1, PARTS + 1):
        brand = f"Brand#{chance.randint(1, 5)}{chance.randint(1, 5)}"
        invented = brand, _joined(chance, TYPES), chance.randint(1, 50), _joined(chance, CONTAINERS)
        made = ASKED_FOR.get(key, invented)
        name, maker = " ".join(chance.sample(COLOURS, 5)), f"Manufacturer#{made[0][-2]}"
        yield key, name, maker, *made, f"{900 + key:.2f}", _words(chance)


def _suppliers(chance: random.Random) -> Iterable[Sequence[object]]:
    for key in range(1, SUPPLIERS + 1):
        nation = key % len(NATIONS)
        yield (
            *(key, f"Supplier#{key:09}", f"street {key}", nation, _phone(chance, nation)),
            *(_cents(chance, -99_999, 999_999), _words(chance)),
        )


def _customers(chance: random.Random) -> Iterable[Sequence[object]]:
    for key in range(1, CUSTOMERS + 1):
        nation = chance.choice(HOMES)
        yield (
            *(key, f"Customer#{key:09}", f"street {key}", nation, _phone(chance, nation)),
            *(_cents(chance, -99_999, 999_999), chance.choice(SEGMENTS), _words(chance)),
        )


def _suppliers_of(part: int) -> tuple[int, ...]:
    return tuple((part + place * SUPPLIERS // 4) % SUPPLIERS + 1 for place in range(4))


def _offers(chance: random.Random) -> Iterable[Sequence[object]]:
    for part in range(1, PARTS + 1):
        for supplier in _suppliers_of(part):
            cost = _cents(chance, 100, 100_000)
            yield part, supplier, chance.randint(1, 9_999), cost, _words(chance)


def _orders(
    chance: random.Random, prices: Sequence[float]
) -> tuple[list[Sequence[object]], list[Sequence[object]]]:
    """Orders and their lines: one customer of three has none, and one order of 50 is large."""
    orders: list[Sequence[object]] = []
    lines: list[Sequence[object]] = []
    buyers = [key for key in range(1, CUSTOMERS + 1) if key % 3]
    for key in range(1, ORDERS + 1):
        day = FIRST_DAY + datetime.timedelta(chance.randrange(2_406))
        size = range(7 if key % 50 == 0 else chance.randint(1, 7))
        own = [_line(chance, key, number, day, prices) for number in size]
        lines += own
        states = {str(line[9]) for line in own}
        orders.append(
            (
                *(key, chance.choice(buyers), states.pop() if len(states) == 1 else "P"),
                f"{sum(float(str(line[5])) for line in own):.2f}",
                *(day, chance.choice(PRIORITIES), f"Clerk#{key % 10:09}", 0, _words(chance)),
            )
        )
    return orders, lines


def _line(
    chance: random.Random, order: int, number: int, day: datetime.date, prices: Sequence[float]
) -> Sequence[object]:
    part, quantity = chance.randint(1, PARTS), chance.randint(1 if order % 50 else 44, 50)
    shipped = day + datetime.timedelta(chance.randint(1, 121))
    received = shipped + datetime.timedelta(chance.randint(1, 30))
    return (
        *(order, part, chance.choice(_suppliers_of(part)), number + 1, quantity),
        *(f"{quantity * prices[part - 1]:.2f}", f"0.{chance.randint(0, 10):02}"),
        *(f"0.{chance.randint(0, 8):02}", chance.choice("AR") if received <= TODAY else "N"),
        *("F" if shipped <= TODAY else "O", shipped),
        *(day + datetime.timedelta(chance.randint(30, 90)), received),
        *(chance.choice(INSTRUCTIONS), chance.choice(MODES), _words(chance)),
    )


def _phone(chance: random.Random, nation: int) -> str:
    return f"{nation + 10}-{chance.randint(100, 999)}-{chance.randint(1000, 9999)}"


def _cents(chance: random.Random, low: int, high: int) -> str:
    return f"{chance.randint(low, high) / 100:.2f}"


def _joined(chance: random.Random, syllables: Iterable[Sequence[str]]) -> str:
    return " ".join(chance.choice(each) for each in syllables)


def _words(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=5))
