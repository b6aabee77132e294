"""What the text of one cell means: a strict grammar, the same for every row.

Nothing here raises: a text that is no number, date or boolean is None. What
Python would also take for a number (`1_000`, Arabic digits, `inf`) is none.
"""

from __future__ import annotations

import datetime
import math
import re

from dpdb.policy import EPOCH

_SPACE = r"[ \t\n\v\f\r]*+"
# Possessive throughout: however long a cell, no part of it is read twice.
_NUMBER = re.compile(
    _SPACE + r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+" + _SPACE
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "1"), True),
    **dict.fromkeys(("false", "f", "no", "0"), False),
}


def number(text: str) -> float | None:
    """The number written in `text`, correctly rounded: ASCII digits, maybe within spaces."""
    if _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    # 1e400 is no number. Adding zero makes -0.0 the same zero as 0.0.
    return value + 0.0 if math.isfinite(value) else None


def date(text: str) -> int | None:
    """The days from 1970-01-01 to the date written `YYYY-MM-DD`."""
    if _DATE.fullmatch(text) is None:
        return None
    try:
        return datetime.date.fromisoformat(text).toordinal() - EPOCH.toordinal()
    except ValueError:  # 30 February
        return None


def boolean(text: str) -> bool | None:
    """Whether `text` says true or false, in any case."""
    return _BOOLEANS.get(text.lower())
