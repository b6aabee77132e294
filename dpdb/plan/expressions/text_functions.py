"""Functions of texts, and the folding of letters to one case."""

from __future__ import annotations

import string
from collections.abc import Callable

from dpdb.errors import InternalError
from dpdb.plan.expressions.expressions import Call, Literal
from dpdb.plan.expressions.functions import TEXT_CALLS
from dpdb.policy.catalog import Value
from dpdb.policy.cell_format import CellFormat
from dpdb.policy.timestamps import read_day, read_timestamp

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)


def lower(text: str) -> str:
    """The text with A to Z in lower case."""
    return text.translate(_LOWER)


def upper(text: str) -> str:
    """The text with a to z in upper case."""
    return text.translate(_UPPER)


LONGEST_JOINED = 1_000
"""The most characters that `||` and REPLACE make of shorter texts; a longer result is NULL.

Otherwise a short statement could make long texts of short cells, in every row.
"""

_OfText = Callable[[str], Value | None]


def _strip(strip: Callable[[str, str], str]) -> Callable[..., _OfText]:
    """TRIM, LTRIM or RTRIM, of blanks or of the characters given."""
    return lambda characters=" ": lambda text: strip(text, characters)


def _substr(start: int, length: int | None = None) -> _OfText:
    begin = max(start - 1, 0)
    end = None if length is None else max(begin, start - 1 + max(0, length))
    return lambda text: text[begin:end]


def _matches(pattern: str) -> _OfText:
    from dpdb.plan.expressions.regular_expressions import searcher  # noqa: PLC0415 (few queries have any)

    return searcher(pattern)


def _parsed(kind: str, read: _OfText) -> Callable[[str], _OfText]:
    """PARSE_DATE or STRPTIME: a text as a column with this `format` reads it."""

    def parse(written: str) -> _OfText:
        cells = CellFormat(formats=(written,))
        return lambda text: read(cells.plain(text, kind))

    return parse


TEXT_FUNCTIONS: dict[str, Callable[..., _OfText]] = {
    "lower": lambda: lower,
    "upper": lambda: upper,
    "length": lambda: len,
    "trim": _strip(str.strip),
    "ltrim": _strip(str.lstrip),
    "rtrim": _strip(str.rstrip),
    "substr": _substr,
    "left": lambda number: lambda text: text[:number],
    "right": lambda number: (
        lambda text: text[-number:] if number < 0 else text[max(len(text) - number, 0) :]
    ),
    "replace": lambda old, new: lambda text: _replaced(text, old, new),
    "split_part": lambda separator, number: lambda text: _part(text.split(separator), number),
    "position": lambda part: lambda text: text.find(part) + 1,
    "starts_with": lambda part: lambda text: text.startswith(part),
    "ends_with": lambda part: lambda text: text.endswith(part),
    "contains": lambda part: lambda text: part in text,
    "regexp_contains": _matches,
    "strptime": _parsed("timestamp", read_timestamp),
    "parse_date": _parsed("date", read_day),
}
"""The function of one text that a call is, given the constants behind the text.

None as its value becomes NULL; only a function with `?` in the table may have it.
"""
if TEXT_FUNCTIONS.keys() != TEXT_CALLS:
    raise InternalError(f"without a meaning: {sorted(TEXT_CALLS ^ TEXT_FUNCTIONS.keys())}")


def text_function(call: Call) -> Callable[[str], Value | None]:
    """The function of one text that a call of a text and constants is."""
    return TEXT_FUNCTIONS[call.name](
        *(part.value for part in call.arguments[1:] if isinstance(part, Literal))
    )


def _replaced(text: str, old: str, new: str) -> str | None:
    """The text with every `old` replaced; None if that makes it too long."""
    if not old:
        return text
    longer = text.count(old) * (len(new) - len(old))
    return None if longer > 0 and len(text) + longer > LONGEST_JOINED else text.replace(old, new)


def _part(parts: list[str], number: int) -> str:
    """The part of this number from 1, or from -1 at the end; the empty text if there is none."""
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if 0 <= place < len(parts) else ""
