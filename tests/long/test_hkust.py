"""HKUST's nine answered statements at TPC-H's scale 0.1: 600,000 lines."""

from __future__ import annotations

import math
import sqlite3

import pytest

from dpdb.session.session import Session
from tests.support import hkust
from tests.support.hkust import ANSWERED, Frames
from tests.support.noiseless import Noiseless
from tests.system.test_hkust import ROOM, cells, in_sqlite, lite_of


@pytest.fixture(scope="module")
def tables() -> Frames:
    return hkust.frames(0.1)


@pytest.fixture(scope="module")
def lite(tables: Frames) -> sqlite3.Connection:
    return lite_of(tables)


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


@pytest.mark.parametrize(("name", "room"), [("Q5", 39), ("Q8", 216), ("Q21", 725), ("Q7", 250)])
def test_the_error_is_a_quarter_of_a_percent(
    name: str, room: int, tables: Frames, lite: sqlite3.Connection
) -> None:
    """The law's RMSE: the rows left out, and Laplace noise of variance 2 (sensitivity / ε)²."""
    asked = ANSWERED[name]
    session = Session(hkust.policy_of(asked.kinds, tables, ROOM), noise=Noiseless())
    options = (
        f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, max_rows_contributed = {room})"
    )
    answer = session.execute(asked.text.replace("SELECT", options, 1))
    [release] = answer.releases
    assert release.scale == release.sensitivity == room * (105 if name == "Q7" else 1)
    [(exact,)] = lite.execute(in_sqlite(asked.text))
    left_out = exact - float(str(answer.rows[0][0]))
    assert math.hypot(left_out, math.sqrt(2) * release.scale) <= 0.0025 * exact
