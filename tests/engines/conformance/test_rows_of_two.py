"""Rows of two units: the same filled sums whatever the order of rows."""

from __future__ import annotations

import random
import sqlite3
from itertools import cycle
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.cells.words import random_factors
from dpdb.engines.units import row_hashes
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.exactly import raw
from tests.support.noiseless import Noiseless
from tests.support.rows_of_two import HEADERS, POLICY, STATEMENTS, Data, random_data, shop_of_two
from tests.support.streams import SmallBlocks

DATA = random_data(7, lines=60)


def _found(policy: Policy) -> list[object]:
    engine = MemoryEngine(tables=policy.tables)
    return [raw(text, policy, engine) for text in STATEMENTS]


def test_the_order_of_rows_has_no_say(tmp_path: Path) -> None:
    expected = _found(shop_of_two(tmp_path, DATA))
    draw = random.Random(1)
    shuffled = {name: draw.sample(rows, len(rows)) for name, rows in DATA.items()}
    assert _found(shop_of_two(tmp_path, shuffled)) == expected


def _owned(data: Data) -> Data:
    """The rows that are somebody's, as the others count for nobody."""
    orders = [row for row in data["orders"] if row[1] is not None]
    numbers = {row[0] for row in orders}
    lines = [row for row in data["lines"] if row[0] in numbers and row[1] is not None]
    messages = [row for row in data["messages"] if None not in row[:2]]
    made = {row[1:] for row in data["deals"] if row[0] is not None}
    deals = [row for row in data["deals"] if row[1:] in made]
    claims = [row for row in data["claims"] if row[0] in numbers and row[1:3] in made]
    visits = [row for row in data["visits"] if row[:2] in made]
    bought = {"orders": orders, "lines": lines, "messages": messages}
    return {**data, **bought, "deals": deals, "claims": claims, "visits": visits}


def test_with_room_for_all_the_sums_are_those_of_sqlite(tmp_path: Path) -> None:
    roomy = POLICY.replace("{ customer = 3, supplier = 4 }", "1000")
    roomy = roomy.replace("rows_per_unit = 4\n", "rows_per_unit = 1000\n")
    roomy = roomy.replace('"receiver"] }\nrows_per_unit = 2', '"receiver"] }\nrows_per_unit = 1000')
    session = Session(shop_of_two(tmp_path, DATA, roomy), noise=Noiseless())
    lite = sqlite3.connect(":memory:")
    for name, rows in _owned(DATA).items():
        lite.execute(f"CREATE TABLE {name} ({HEADERS[name]})")
        marks = ", ".join("?" * len(HEADERS[name].split(",")))
        lite.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    for text in STATEMENTS:
        here = [tuple(row) for row in session.execute(text).rows]
        for row in lite.execute(text):
            assert None in row or any(row == pytest.approx(each) for each in here), text


def test_equal_ids_of_two_kinds_have_rooms_of_their_own(tmp_path: Path) -> None:
    """Customer 1 fills a room with suppliers 2 and 3, and leaves that of supplier 1 as it was."""
    data = {
        **{name: [] for name in HEADERS},
        "orders": [(1, 1, 1), (2, 2, 1)],
        "lines": [(1, 2, 1, 1), (1, 3, 1, 1), (2, 1, 1, 1), (2, 1, 2, 1)],
    }
    narrow = POLICY.replace("{ customer = 3, supplier = 4 }", "2")
    policy = shop_of_two(tmp_path, data, narrow)
    engine = MemoryEngine(tables=policy.tables)
    assert raw("SELECT COUNT(*) FROM lines", policy, engine) == [[4]]
    of_persons = [(1, 2, 1), (1, 3, 1), (2, 1, 1), (2, 1, 1)]
    policy = shop_of_two(tmp_path, {**data, "messages": of_persons}, narrow)
    engine = MemoryEngine(tables=policy.tables)
    assert raw("SELECT COUNT(*) FROM messages", policy, engine)[0][0] < 4


PARCELS = """\
[tables.routes]
unit = "driver"
key = ["place", "number"]
rows_per_unit = 9
[tables.routes.columns]
place = { type = "text" }
number = { type = "text" }
driver = { type = "text" }
[tables.parcels]
unit = "(to, part) -> routes.(place, number)"
rows_per_unit = 9
[tables.parcels.columns]
to = { type = "text" }
part = { type = "text" }
"""


@pytest.mark.parametrize("parcels", ["a,11", "a1,1", ",11", "a,", "a,1", "11,a", "A,11"])
def test_each_of_two_texts_names_a_part_of_a_key(tmp_path: Path, parcels: str) -> None:
    """They are not put together: (a, 11) and (a1, 1) differ, and NULL names nothing."""
    there = {"a,11": 1, "a1,1": 1}
    (tmp_path / "routes.csv").write_text("place,number,driver\na,11,x\na1,1,y\n,11,x\na,,y\n")
    (tmp_path / "parcels.csv").write_text(f"to,part\n{parcels}\n")
    (tmp_path / "parcels.toml").write_text(PARCELS, encoding="utf-8")
    policy = read_policy(tmp_path / "parcels.toml")
    engine = MemoryEngine(tables=policy.tables)
    assert raw("SELECT COUNT(*) FROM parcels", policy, engine) == [[there.get(parcels, 0)]]


DEALS = """\
[privacy]
units = ["buyer", "seller"]
[tables.deals]
unit = { buyer = "name", seller = "shop" }
rows_per_unit = { buyer = 3, seller = 4 }
engine = "stream"
[tables.deals.columns]
name = { type = "text" }
shop = { type = "integer" }
price = { type = "integer", bounds = [-9, 9] }
day = { type = "integer", values = [1, 2, 3] }
"""


@pytest.mark.parametrize("alike", [False, True], ids=["as they come", "with one first word"])
def test_blocks_tell_owners_of_two_kinds_apart(tmp_path: Path, *, alike: bool) -> None:
    """Names are told apart by two hashes, also where all have the same first one."""
    draw = random.Random(2)
    names = ["", "ann", "Ann", "zoë", "a long name " * 20]
    rows = [
        f"{draw.choice(names)},{draw.randint(1, 4)},{draw.randint(-9, 9)},{draw.randint(1, 3)}\n"
        for _ in range(60)
    ]
    (tmp_path / "deals.csv").write_text("name,shop,price,day\n" + "".join(rows), encoding="utf-8")
    (tmp_path / "deals.toml").write_text(DEALS, encoding="utf-8")
    policy = read_policy(tmp_path / "deals.toml")
    memory, blocks = (engine(tables=policy.tables) for engine in (MemoryEngine, SmallBlocks))
    drawn = cycle(
        [np.zeros_like(random_factors()) if alike else random_factors(), random_factors()]
    )
    with mock.patch.object(row_hashes, "random_factors", side_effect=drawn):
        for text in ("COUNT(*)", "SUM(price) FILTER (WHERE day < 3)", "AVG(price)"):
            asked = f"SELECT day, {text} FROM deals GROUP BY day"
            assert raw(asked, policy, blocks) == raw(asked, policy, memory)
