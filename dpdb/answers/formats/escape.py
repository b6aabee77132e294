"""Texts made harmless for a spreadsheet; `errors.printable` makes them so for a terminal."""

from __future__ import annotations

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def spreadsheet(text: str) -> str:
    """`text` so that a spreadsheet shows it and does not compute it as a formula (CWE-1236)."""
    return f"'{text}" if text.startswith(_FORMULA) else text
