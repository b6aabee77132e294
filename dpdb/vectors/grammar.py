"""The meaning of one cell: a strict grammar, the same for every row.

Nothing here raises: a text that is no number, date or boolean gives None. That holds for texts
that Python takes for numbers, too: `1_000`, Arabic digits and `inf`.
"""

from __future__ import annotations

import datetime
import math
import re
from functools import cache

from dpdb.policy.numbers import days_of

LONGEST = 10_000
"""The most bytes of a cell's text, without quotes around it: a longer one is missing."""

SPACE = " \t\n\v\f\r"
"""The characters that may stand around a number."""
_SPACE = rf"[{SPACE}]*+"
# All repetitions are possessive: no part of a cell is read twice, however long the cell.
_NUMBER = re.compile(
    _SPACE + r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+" + _SPACE
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), False),
}


def text(raw: bytes, quote: bytes = b'"') -> str:
    """The text of a cell from its bytes in the file, quotes included; `quote` may be empty.

    Bytes that are not UTF-8 become U+FFFD, and so does NUL. No other cell loses
    anything by that, as no byte that separates cells is ever part of it.
    """
    held = content(raw, quote)
    if held.isascii() and 0 not in held:
        return held.decode()
    return held.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def is_whole(raw: bytes) -> bool:
    """Whether `text` replaces nothing in the cell: its bytes are UTF-8 without NUL."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in raw


def content(raw: bytes, quote: bytes) -> bytes:
    """The bytes of a cell without the quotes around it; a doubled quote within becomes one.

    A quote that no other closes is text.
    """
    if not (quote and raw.startswith(quote)):
        return raw
    parts = _quoted(quote).fullmatch(raw)
    assert parts is not None  # The pattern fits all that begins with a quote.
    if parts[2] is None:
        return raw
    # Quotes that come after the closing one are text, as they are in a cell without quotes.
    return parts[1].replace(quote * 2, quote) + parts[2]


def is_open(raw: bytes, quote: bytes) -> bool:
    """Whether a cell begins with a quote that no other closes, and that is text."""
    parts = _quoted(quote).fullmatch(raw) if quote else None
    return parts is not None and parts[2] is None


@cache
def _quoted(quote: bytes) -> re.Pattern[bytes]:
    """Two groups: the text within the quotes, and the rest of the cell after them."""
    one = re.escape(quote)
    return re.compile(b"%b((?:[^%b]|%b%b)*+)(?:%b(.*))?" % (one, one, one, one, one), re.DOTALL)


def with_point(text: str, decimal: str) -> str:
    """The text of a number with a point, where it is written with another decimal mark."""
    return text if decimal == "." else text.translate({ord(decimal): ".", ord("."): decimal})


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
        return days_of(datetime.date.fromisoformat(text))
    except ValueError:  # 30 February
        return None


def boolean(text: str) -> bool | None:
    """Whether `text` says true or false, in any case."""
    return _BOOLEANS.get(text.lower())
