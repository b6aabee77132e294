"""Windows over the rows of a unit, within FROM: what they come to, and what is told of them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from dpdb.errors import DpdbError
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless
from tests.support.units import DENSE, Database, policy_text, random_database


def opened(folder: Path, database: Database, rows: int = 2) -> Session:
    database.write(folder)
    (folder / "units.toml").write_text(policy_text(orders=rows, lines=rows))
    return Session(read_policy(folder / "units.toml"), noise=Noiseless())


FUNCTIONS = [
    "ROW_NUMBER()", "RANK()", "DENSE_RANK()", "LAG(amt)", "LEAD(amt + id, 2, 7)", "LAG(amt, 1, id)",
    "FIRST_VALUE(amt)", "LAST_VALUE(amt)", "NTH_VALUE(amt, 2)", "COUNT(*)", "COUNT(st)", "SUM(amt)",
    "AVG(amt)", "MIN(amt)", "MAX(amt - id)", "SUM(amt) FILTER (WHERE st = 'x')",
]  # fmt: skip
PARTITIONS = ["cust", "cust, st", "amt, cust"]
ORDERS = ["id", "id DESC", "st, id DESC", "amt DESC NULLS LAST, id", "amt NULLS FIRST, id"]
FRAMES = [
    "", "", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
]  # fmt: skip


def test_random_windows_are_as_sqlite_has_them(tmp_path: Path) -> None:
    """Bounds and caps are wide here, so that nothing is clamped."""
    for seed in range(40):
        chance = Random(seed)
        function, partition = chance.choice(FUNCTIONS), chance.choice(PARTITIONS)
        window = f"PARTITION BY {partition} ORDER BY {chance.choice(ORDERS)}"
        if not function.startswith(("LAG", "LEAD", "R", "D")):
            window += f" {chance.choice(FRAMES)}"
        read = f"(SELECT 4 * {function} OVER ({window}) AS w FROM o WHERE cust > 0 AND id < 9) t"
        text = f"SELECT SUM(COALESCE(w, 1)) FROM {read.replace('id', 'CLAMP(id, 0, 9)')}"
        database = random_database(chance)
        ((expected,),) = database.rows(f"SELECT SUM(COALESCE(w, 1)) FROM {read}")
        ((found,),) = opened(tmp_path, database, 9).execute(text).rows
        assert (found or 0) == (expected or 0), text


LATER = "(SELECT id, amt, SUM(amt) OVER w AS t, LAG(st) OVER w AS s FROM o WINDOW w AS (PARTITION BY cust ORDER BY amt ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW))"


def test_rows_that_are_equal_in_order_by_are_told_apart_by_their_values(tmp_path: Path) -> None:
    orders = [(number, number % 2, 1, "x" if number < 5 else "y") for number in range(9)]
    found = []
    for rows in (orders, orders[::-1], orders[4:] + orders[:4]):
        session = opened(tmp_path, Database({**DENSE.tables, "o": rows, "l": [], "b": []}), 9)
        text = f"SELECT COUNT(*) FROM {LATER} WHERE t = 3 AND s = 'x' AND id IN (1, 2, 4, 7)"
        found.append(session.execute(text).rows)
    assert found[0] == found[1] == found[2]


def test_neighbours_are_told_the_same_of_windows(tmp_path: Path) -> None:
    told = []
    for units in ([1, 2], [2], []):
        session = opened(tmp_path, DENSE.of(units))
        text = f"SELECT t, COUNT(*), SUM(CASE WHEN s = 'x' THEN amt END) FROM {LATER} GROUP BY t"
        answer, explained = session.execute(text), session.execute(f"EXPLAIN {text}")
        kinds = [[type(cell) for cell in row] for row in answer.rows]
        keys = [row[0] for row in answer.rows]
        told.append((answer.releases, answer.notes, explained.releases, keys, kinds))
    assert told[0] == told[1] == told[2]
    assert told[0][3] == [*range(7)]


def test_a_total_beyond_its_bounds_is_clamped_and_of_its_unit_alone(tmp_path: Path) -> None:
    """A customer with more rows than count: the window reads them all, and no other's."""
    orders = [(number, 1 + number % 2, 3, "x") for number in range(10)]
    database = Database({**DENSE.tables, "o": orders, "l": [], "b": []})
    text = "SELECT SUM(t) FROM (SELECT SUM(amt) OVER (PARTITION BY cust) AS t FROM o)"
    assert opened(tmp_path, database).execute(text).rows == ((4 * 6,),)
    assert opened(tmp_path, database, 5).execute(text).rows == ((10 * 15,),)


@pytest.mark.parametrize(
    ("qualified", "plain"),
    [
        (
            "(SELECT amt FROM o QUALIFY ROW_NUMBER() OVER (PARTITION BY cust ORDER BY id) = 1)",
            "(SELECT amt, ROW_NUMBER() OVER (PARTITION BY cust ORDER BY id) AS k FROM o) WHERE k = 1",
        ),
        (
            "(SELECT *, LAG(amt) OVER (PARTITION BY cust ORDER BY id) AS p FROM o WHERE st = 'x'"
            " QUALIFY p = 3 AND st = 'x')",
            "(SELECT amt, LAG(amt) OVER (PARTITION BY cust ORDER BY id) AS p FROM o WHERE st = 'x')"
            " WHERE p = 3",
        ),
    ],
)
def test_qualify_is_a_condition_on_windows(qualified: str, plain: str, tmp_path: Path) -> None:
    session = opened(tmp_path, DENSE)
    answers = [session.execute(f"SELECT SUM(amt) FROM {read}") for read in (qualified, plain)]
    assert answers[0].rows == answers[1].rows != ((0,),)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        ("SELECT CUME_DIST() OVER (PARTITION BY cust) AS k FROM o", "not worked out over the rows"),
        ("SELECT SUM(amt) OVER (PARTITION BY st) AS k FROM o", "would look at other rows"),
        ("SELECT LAG(amt) OVER (ORDER BY id) AS k FROM o", "would look at other rows"),
        ("SELECT AVG(id) OVER (PARTITION BY cust) AS k FROM o", "unit needs bounds"),
        ("SELECT id FROM o QUALIFY SUM(amt) OVER (ORDER BY id) > 1", "would look at other rows"),
        ("SELECT id FROM o QUALIFY amt > 1", "QUALIFY is for conditions on windows"),
    ],
)
def test_other_windows_are_refused(read: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DpdbError, match=message):
        opened(tmp_path, DENSE).execute(f"SELECT COUNT(*) FROM ({read})")
