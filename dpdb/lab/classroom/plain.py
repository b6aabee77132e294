"""Plain values: what a student's process may send, and nothing that could act."""

from __future__ import annotations

from collections.abc import Sequence

Plain = bool | int | float | str | None | tuple["Plain", ...]


class Unfit(Exception):
    """A student's file, or what comes out of it, is not what is needed; the message says why."""


def plain(value: object) -> Plain:
    """A number, a text, or a tuple of them, as JSON can carry it; numpy's become Python's."""
    value = getattr(value, "tolist", lambda: value)()
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value)
        case float():
            return float(value)
        case Sequence():
            return tuple(map(plain, value))
    raise Unfit(f"a number, a text or a tuple of them is needed, not {type(value).__name__}")


def from_json(value: object) -> Plain:
    """A value as it was before JSON turned its tuples into lists."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return tuple(map(from_json, value))
    raise Unfit("a number, a text or a tuple of them is needed")
