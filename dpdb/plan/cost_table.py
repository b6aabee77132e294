"""Public costs: the most time that a row or a character takes in each step of an evaluation.

The figures are nanoseconds on one core of a usual machine, about twice what was measured. They are
no secret and no promise: the moment at which an answer leaves is chosen by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

SCAN = 50
"""A row that a table has, or a join or a SELECT within FROM goes over; 12 were measured."""
UNION = 60
"""A row of a part of UNION ALL, for each of its columns; 41."""
JOIN_PAIR = 140
"""A pair of rows that a join makes; 60 to 138."""
LOOKUP_PAIR = 130
"""A row, or a pair of rows, that EXISTS or IN looks at; 113 to 125."""
HASH = 20
"""A row that is hashed, because a cap may leave it out or a window breaks ties by it; 10."""
HASHED_COLUMN = 25
"""One column of such a row: the columns of the key, or all; up to 25."""
WINDOW = 500
"""A row of a window, sorted and worked out; 240 to 315."""
COUNTED = 30
"""A row that counts, for each aggregate and each key; 16."""
AGGREGATE = 100
"""A row of a unit's groups, for each aggregate and each key; 16."""
CAP = 300_000
"""The first unit over a cap, which starts the hashing; 150,000 to 290,000."""
BLOCK = 110_000
"""One more block of rows in a node, because of one more row; 110,000 in one process."""


@dataclass(frozen=True)
class Cost:
    """What an operation takes for each row, and for each character of its texts."""

    row: int
    character: float = 0


NUMBER = Cost(10)
"""Arithmetic, comparisons, AND, CASE and the like over numbers; 0 to 4."""
REAL = Cost(120)
"""SQRT, LN and other functions of real numbers, and those of dates; 54."""
LISTED = Cost(50)
"""IN with a list of numbers."""
EQUAL = Cost(50, 0.4)
"""A comparison of texts, or IN with a list of them; at most 0.4 a character."""
KEY = Cost(2_500, 1)
"""A text that is sorted, grouped, joined on or put into a table with others; 1,000 to 2,100."""
LIKE = Cost(1_000, 1)
"""LIKE with `%` alone; 462 and 0.4 a character."""
LIKE_ANY = Cost(1_000, 12)
"""LIKE with `_`; 462 and 6 a character."""
LIKE_PLACE = 2.5
"""A character of LIKE with `_`, for each place of the longest part between two `%`; 1.2."""
TEXT = Cost(2_000, 2)
"""UPPER, CONTAINS, REPLACE and the like; 933 and 0.7 to 0.95 a character."""
SPLIT = Cost(2_000, 8)
"""SPLIT_PART; 933 and 3.9 a character."""
CAST = Cost(600)
"""A text that is read as another type, or the reverse, or chosen among several; 299."""
JOINED = Cost(1_200)
"""Texts that are joined by `||`; 578."""
MATCH = Cost(2_400, 40)
"""A regular expression; 1,090 and 1 to 34 a byte."""

_TEXTS = dict.fromkeys(
    ("lower", "upper", "trim", "ltrim", "rtrim", "substr", "left", "right", "replace"), TEXT
)
_TESTS = dict.fromkeys(("length", "position", "starts_with", "ends_with", "contains"), TEXT)
_NUMBERS = dict.fromkeys(
    ("abs", "floor", "ceil", "trunc", "sign", "clamp", "least", "greatest", "coalesce", "nullif"),
    NUMBER,
)
_CALLS = {
    **_TEXTS,
    **_TESTS,
    **_NUMBERS,
    "split_part": SPLIT,
    "concat": JOINED,
    "regexp_contains": MATCH,
}


def like(pattern: Sequence[str | None]) -> Cost:
    """What LIKE takes; where `_` stands between two `%` it is tried from every place of a text."""
    if "" not in pattern:
        return LIKE
    parts = (
        len([*part]) for whole, part in groupby(pattern, lambda each: each is None) if not whole
    )
    return replace(LIKE_ANY, character=LIKE_ANY.character + LIKE_PLACE * max(parts))


def call(name: str) -> Cost:
    """What a scalar function takes; one that is not listed is one of real numbers or dates."""
    return _CALLS.get(name, REAL)
