"""Functions of texts, and the folding of letters to one case."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence

from dpdb.errors import InternalError
from dpdb.policy.catalog import Value

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

_STRIPS = {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}
TEXT_CHANGES = frozenset(
    (*_STRIPS, "lower", "upper", "substr", "left", "right", "replace", "split_part")
)


def text_change(name: str, constants: Sequence[Value]) -> Callable[[str], str | None]:
    """What the function does to a text, given the constants behind it; None becomes NULL."""
    match name, constants:
        case "lower", _:
            return lower
        case "upper", _:
            return upper
        case "trim" | "ltrim" | "rtrim", _:
            strip, characters = _STRIPS[name], str(constants[0]) if constants else " "
            return lambda text: strip(text, characters)
        case "substr", [int(start), *length]:
            begin = max(start - 1, 0)
            end = None if not length else max(begin, start - 1 + max(0, int(length[0])))
            return lambda text: text[begin:end]
        case "left", [int(number)]:
            return lambda text: text[:number]
        case "right", [int(number)] if number < 0:
            return lambda text: text[-number:]
        case "right", [int(number)]:
            return lambda text: text[max(len(text) - number, 0) :]
        case "replace", [old, new]:
            return lambda text: _replaced(text, str(old), str(new))
        case "split_part", [separator, int(number)]:
            return lambda text: _part(text.split(str(separator)), number)
    raise InternalError(f"{name} changes no text")


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
