"""Rows of two units: the same filled sums whatever the order of rows."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.policy.catalog import Policy
from dpdb.session.session import Session
from tests.support.exactly import raw
from tests.support.noiseless import Noiseless
from tests.support.rows_of_two import HEADERS, POLICY, STATEMENTS, Data, random_data, shop_of_two

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
    return {**data, "orders": orders, "lines": lines, "messages": messages}


def test_with_room_for_all_the_sums_are_those_of_sqlite(tmp_path: Path) -> None:
    roomy = POLICY.replace("{ customer = 3, supplier = 4 }", "1000")
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
