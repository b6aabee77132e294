"""HKUST's fifteen statements: nine are answered as sqlite and the law of filling say, six refused."""

from __future__ import annotations

import random
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from unittest.mock import patch

import pytest

from dpdb.engines.units import keys as keys_of_units
from dpdb.errors import DpdbError
from dpdb.session.session import Session
from tests.support import hkust
from tests.support.hkust import ANSWERED, REFUSED, Frames, Statement
from tests.support.noiseless import Noiseless

ROOM = 1_000
"""Room for all rows of a unit: no row is left out."""
NEVER_FULL = ("Q4", "Q8_100")
"""So few lines are in one of their groups that the least room, 105 for one row, has all."""
SHUFFLES = 99
"""A filled sum is outside of those of so many random orders with a probability of 2 %."""


@pytest.fixture(scope="module")
def tables() -> Frames:
    return hkust.frames(0.001)


@pytest.fixture(scope="module")
def lite(tables: Frames) -> sqlite3.Connection:
    return lite_of(tables)


def lite_of(tables: Frames) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for name, frame in tables.items():
        frame.to_sql(name, connection, index=False)
        connection.execute(f"CREATE INDEX key_of_{name} ON {name} ({frame.columns[0]})")
    connection.execute("CREATE INDEX pairs ON partsupp (ps_partkey, ps_suppkey)")
    return connection


def in_sqlite(text: str) -> str:
    text = text.replace("EXTRACT(year FROM l_shipdate)", "CAST(SUBSTR(l_shipdate, 1, 4) AS INT)")
    return text.replace("DATE '", "'")


def cells(rows: Iterable[tuple[object, ...]], keys: int) -> dict[tuple[str, ...], float]:
    """The values that are not 0, by the keys before them."""
    named = {tuple(map(str, row[:keys])): float(str(row[keys] or 0)) for row in rows}
    return {key: value for key, value in named.items() if value}


@pytest.mark.parametrize("name", ANSWERED)
def test_with_room_for_all_the_answers_are_those_of_sqlite(
    name: str, tables: Frames, lite: sqlite3.Connection
) -> None:
    asked = ANSWERED[name]
    answer = Session(hkust.policy_of(asked.kinds, tables, ROOM), noise=Noiseless()).execute(
        asked.text
    )
    expected = cells(lite.execute(in_sqlite(asked.text)), asked.keys)
    assert expected
    assert cells(answer.rows, asked.keys) == pytest.approx(expected)


_OWNER = {
    "customer": "o_custkey",
    "purchase": "o_orderkey",
    "supplier": "s_suppkey",
    "offer": "ps_id",
}


def filled(asked: Statement, lite: sqlite3.Connection, room: int) -> list[float]:
    """The sums of all groups, filled in random orders, with the owners that sqlite joins."""
    found = re.fullmatch(
        r"SELECT (.*?, )??(SUM|COUNT)\((.*)\) FROM (.*?)( GROUP BY .*)?", asked.text
    )
    assert found is not None
    keys, aggregate, value, source, _ = found.groups()
    value = "1" if aggregate == "COUNT" else value
    owners = ", ".join(map(_OWNER.__getitem__, asked.kinds))
    rows = lite.execute(in_sqlite(f"SELECT {owners}, {value}, {keys or '1, '} 0 FROM {source}"))
    drawn, draw, sums = rows.fetchall(), random.Random(1), []
    scale = 1 if aggregate == "COUNT" else 105
    rooms = [scale * max(1, room // number) for number in asked.groups]
    for _ in range(SHUFFLES):
        draw.shuffle(drawn)
        one, two = (defaultdict[object, float](lambda full=full: full) for full in rooms)
        total = 0.0
        for first, second, weight, *key in drawn:
            ours, theirs = (first, *key), (second, *key)
            part = min(weight, one[ours], two[theirs])
            one[ours] -= part
            two[theirs] -= part
            total += part
        sums.append(total)
    return sums


@pytest.mark.parametrize(("name", "room"), [
    ("Q5", 4), ("Q7", 30), ("Q8", 12), ("Q21", 40), ("Q13", 3), ("Q4", 4), ("Q6", 1), ("Q17", 1),
    ("Q8_100", 1),
])  # fmt: skip
def test_in_a_narrow_room_the_sums_are_among_those_of_random_orders(
    name: str, room: int, tables: Frames, lite: sqlite3.Connection
) -> None:
    """The noise is for the room of the kind with the most: G times T / G, of at least a row each."""
    asked = ANSWERED[name]
    session = Session(hkust.policy_of(asked.kinds, tables, room), noise=Noiseless())
    answer = session.execute(asked.text)
    [release] = answer.releases
    scale = 1 if "COUNT" in asked.text else 105
    assert release.sensitivity == scale * max(g * max(1, room // g) for g in asked.groups)
    expected, found = filled(asked, lite, room), sum(cells(answer.rows, asked.keys).values())
    whole = sum(cells(lite.execute(in_sqlite(asked.text)), asked.keys).values())
    assert max(expected) < 0.99 * whole or name in NEVER_FULL
    assert min(expected) - 1e-6 <= found <= max(expected) + 1e-6


def test_a_chain_of_one_column_has_other_answers(tables: Frames, lite: sqlite3.Connection) -> None:
    """The rows of four suppliers of a part are not one supplier's."""

    def first_alone(wanted: Sequence[Any], keys: Sequence[Any]) -> Any:
        return keys_of_units.rows_named(wanted[0], keys[0])

    asked = ANSWERED["Q6"]
    session = Session(hkust.policy_of(asked.kinds, tables, ROOM), noise=Noiseless())
    with patch.object(keys_of_units, "rows_named_together", first_alone):
        found = sum(cells(session.execute(asked.text).rows, 1).values())
    assert found < sum(cells(lite.execute(in_sqlite(asked.text)), 1).values())


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_three_owners_or_is_a_rank_is_refused(name: str, tables: Frames) -> None:
    asked, message, hint = REFUSED[name]
    session = Session(hkust.policy_of(asked.kinds, tables, 5))
    before = session.balance
    with pytest.raises(DpdbError) as refused:
        session.execute(asked.text)
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")
    assert session.balance == before
