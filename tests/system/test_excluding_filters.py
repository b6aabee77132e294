"""Filters that exclude each other, or seem to: which of two statements is paid for."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from itertools import product
from operator import mul

import numpy as np
import pytest

from dpdb.policy.catalog import Column, Kind
from dpdb.session.session import Session
from tests.support.brute import world
from tests.support.exactly import nothing_settled
from tests.support.filters import LARGE, Mask, counting, prices
from tests.support.noiseless import Noiseless

pytestmark = pytest.mark.usefixtures("in_memory")

NUMBERS = [
    "",
    "0",
    "0.1",
    "0.10000000000000002",
    "0.3",
    "1.5",
    "4.999999999999999",
    "5",
    "5.000000000000001",
    "9",
]
ODD = (
    Column("n", Kind.INTEGER, Fraction(0), Fraction(3)),
    Column("x", Kind.NUMBER, Fraction(0), Fraction(9), Fraction(1, 10**15)),
    Column("s", Kind.TEXT),
    Column("f", Kind.BOOLEAN),
)  # fmt: skip
ODD_ROWS = list(product(["", "0", "1", "2", "3"], NUMBERS, ["", "a", "A", "b"], ["", "true", "false"]))  # fmt: skip
ONCE, TWICE, IN_DOUBT, NEVER = "once", "twice", "in doubt", "never"
"""In doubt, twice: no row passes both filters, but that cannot be told of a column by itself.

Never: no row passes the first by the policy, which costs nothing; the second is paid for.
"""
PAID = {ONCE: [1, 0], TWICE: [1, 1], IN_DOUBT: [1, 1], NEVER: [0, 1]}
PAIRS = [
    # (one filter, another, what is paid for both)
    ("x < 5", "x >= 5", ONCE),
    ("x < 5", "x >= 5.0000000000000000001", ONCE),
    ("x <= 5", "x >= 5.0000000000000000001", TWICE),
    ("x = 0.1", "x = 0.1000000000000000055", TWICE),
    ("x <= 0.1", "x > 0.1000000000000000055", ONCE),
    ("x = 0.3", "x = 1 / 10 + 0.2", IN_DOUBT),
    ("n > 1", "n < 2", ONCE),
    ("x > 1", "x < 2", TWICE),
    ("n = 0.5", "n = 0", NEVER),
    ("n <> 1", "n <> 2", TWICE),
    ("n = 1 OR n = 2", "n = 3 OR n = 0", ONCE),
    ("n = 1 OR f", "n = 2", TWICE),
    ("n = 1 OR n IS NULL", "n = 2 OR n IS NULL", TWICE),
    ("n = 1 AND f OR n = 2", "n = 3", ONCE),
    ("NOT (n = 1 AND f)", "n = 1", TWICE),
    ("NOT (n = 1 OR f)", "n = 1", ONCE),
    ("n IN (1, 2)", "n NOT IN (1, 2)", ONCE),
    ("n IN (1, 2)", "n NOT IN (1, 3)", TWICE),
    ("n NOT IN (1, NULL)", "n = 2", NEVER),
    ("n IN (1, NULL)", "n = 1", TWICE),
    ("n = NULL", "n IS NULL", NEVER),
    ("n IS NULL", "n IS NOT NULL", ONCE),
    ("n IS NULL", "f IS NULL", TWICE),
    ("f", "NOT f", ONCE),
    ("f IS NOT TRUE", "f IS NOT FALSE", TWICE),
    ("f IS NOT TRUE", "f", IN_DOUBT),
    ("COALESCE(f, TRUE)", "NOT f", IN_DOUBT),
    ("COALESCE(f, TRUE)", "f IS NULL", TWICE),
    ("s = 'a'", "s = 'A'", ONCE),
    ("s = 'a'", "LOWER(s) = 'a'", TWICE),
    ("s LIKE 'a'", "s = 'a'", TWICE),
    ("s LIKE 'b%'", "s = 'a'", IN_DOUBT),
    ("s >= 'a'", "s < 'b'", TWICE),
    ("CASE WHEN f THEN n ELSE 0 END = 1", "n = 1", TWICE),
    ("CASE WHEN f THEN 1 ELSE 0 END = n", "n = 1", TWICE),
    ("n = x", "n <> x", IN_DOUBT),
    ("n * 2 = 2", "n = 1", TWICE),
    ("-n = -1", "n = 1", TWICE),
    ("CAST(n AS TEXT) = '1'", "n = 1", TWICE),
    ("1 = 1", "n = 1", TWICE),
]


@cache
def counted(text: str) -> Mask:
    """Which of ODD_ROWS the engine counts, each in a table of its own.

    Those that have the same cells in the columns that the text names are tried once.
    """
    here = world(ODD)
    with nothing_settled():
        planned = here.plan(f"SELECT COUNT(*) FROM t WHERE {text}")
    named = [re.search(rf"\b{column.name}\b", text) is not None for column in ODD]
    tried = [tuple(map(mul, row, named)) for row in ODD_ROWS]
    passed = {row: here.exact(planned, [row])[0].tolist() == [1] for row in set(tried)}
    return np.array([passed[row] for row in tried])


@pytest.mark.parametrize(("one", "other", "paid"), PAIRS)
def test_an_adversarys_filters(one: str, other: str, paid: str) -> None:
    here = world(ODD, budget=LARGE)
    here.source.rows = ODD_ROWS[:100]
    both = Session(here.policy, noise=Noiseless())
    assert prices(both, *counting(one, other)) == PAID[paid]
    assert (counted(one) & counted(other)).any() == (paid == TWICE)
    assert counted(one).any() == (paid != NEVER)
