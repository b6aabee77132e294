"""A session that nobody holds is gone at once: its rows are, and its ledger is closed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from fractions import Fraction

import pytest

from dpdb.errors import DpdbError
from dpdb.policy.budget import Budget
from dpdb.session.session import Session
from tests.support.audited import COLUMNS, noise
from tests.support.brute import REPLACE, Row, world

ROWS: list[Row] = [("a", "1", "3", "0", "1"), ("b", "5", "7", "0.5", "1")]
STATEMENTS = [
    "SELECT COUNT(*), SUM(x), AVG(x), VARIANCE(x) FROM t",
    "SELECT COUNT(*) FILTER (WHERE x > 3), COUNT(*) FILTER (WHERE x > 4) FROM t",
    "SELECT MEDIAN(x), MAX(x), MODE(g) FROM t",
    "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(relative_error = 0.5) COUNT(*) FROM t",
    "EXPLAIN SELECT AVG(x) FROM t",
    "SELECT AVG(nothing) FROM t",
]


@pytest.fixture(autouse=True)
def _uncollected() -> Iterator[None]:
    """Circles of objects stay where they are."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("in_memory")
@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("text", STATEMENTS)
def test_a_session_is_in_no_circle(text: str, planned: bool) -> None:
    here = world(COLUMNS, REPLACE, budget=Budget(Fraction(100), Fraction(0), 100))
    here.source.rows = ROWS
    session = Session(here.policy, noise=noise(1))
    gone = weakref.ref(session)
    try:
        if planned:
            session.plan([text, "SELECT COUNT(*) FROM t WHERE x > 1"])
        session.execute(text)
    except DpdbError:
        pass
    del session
    assert gone() is None
